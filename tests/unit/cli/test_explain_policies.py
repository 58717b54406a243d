"""`explain` of a cluster with policies: which of them take the object, when, what holds it, and why others do not."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds.policies import policy_definitions
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule
from tests.unit.cli.policies import STATE_IS_OLD, cleaning, deleting, holds
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import ASKING, KEEP, Town, config_map, obj

pytestmark = pytest.mark.unit

HOURLY = "0 * * * *"
SUNDAY = "2026-05-03T07:00:00Z"
UID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch).holding(*policy_definitions())


def item(town: Town, target: str = "cm/a") -> dict[str, Any]:
    (found,) = town.document("explain", target, "-n", "shop")["items"]
    return dict(found)


def answers(told: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["answer"], one["why"]) for one in told["policies"]}


def test_a_policy_that_matches_is_told_with_its_next_run_in_the_words_of_plan(town: Town) -> None:
    town.holding(cleaning(where={"namespaces": ["shop"]}), config_map("a"))
    told = item(town)
    assert (told["due"], told["goesAt"]) == (SUNDAY, SUNDAY)
    (planned,) = town.document("plan", "-A")["items"]
    assert told["claims"] == planned["claims"]
    (policy,) = told["policies"]
    assert (policy["answer"], policy["nextRun"], policy["words"]) == (
        "matches",
        SUNDAY,
        "at 07:00 on Sundays (UTC)",
    )
    lines = town("explain", "cm/a", "-n", "shop").out
    assert "why: ClusterCleanupPolicy/old matches it, for a run at 2026-05-03T07:00:00Z" in lines
    assert "policy: ClusterCleanupPolicy/old matches it\n" in lines
    assert "runs at 07:00 on Sundays (UTC); next Sun 2026-05-03 07:00 UTC, in 1d19h" in lines


def test_the_earliest_of_several_policies_decides(town: Town) -> None:
    town.holding(cleaning("late"), cleaning("soon", schedule=HOURLY), config_map("a"))
    told = item(town)
    assert told["due"] == "2026-05-01T13:00:00Z"
    assert [claim["rule"] for claim in told["claims"]] == [
        "ClusterCleanupPolicy/soon",
        "ClusterCleanupPolicy/late",
    ]


@pytest.mark.parametrize(
    ("labels", "ttl", "code", "goes"),
    [
        ({}, "7d", "ttl-ahead", "2026-05-08T10:00:00Z"),
        ({KEEP: "true"}, None, "kept", None),
    ],
)
def test_what_holds_it_against_policies_is_told(
    town: Town, labels: dict[str, str], ttl: str | None, code: str, goes: str | None
) -> None:
    town.holding(cleaning(schedule=HOURLY), config_map("a", ttl, labels=labels))
    told = item(town)
    assert told["goesAt"] == goes
    assert holds({"items": [told]}) == {"a": [code]}


def test_an_unclear_expression_holds_with_its_reason(town: Town) -> None:
    never = {"all": [{"key": "{{ target.data.missing }}", "operator": "Equals", "value": "old"}]}
    town.holding(cleaning(conditions=never), config_map("a"))
    told = item(town)
    answer, why = answers(told)["old"]
    assert answer == "unclear"
    assert "target.data.missing" in why
    assert holds({"items": [told]}) == {"a": ["policy-unclear"]}
    assert f"may match it: {why}" in town("explain", "cm/a", "-n", "shop").out


def test_kyvernos_resource_filters_and_exceptions_spare_it(town: Town) -> None:
    exception = {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "mercy", "namespace": "shop"},
        "spec": {
            "policyRefs": [{"name": "cel", "kind": "DeletingPolicy"}],
            "matchConditions": [{"name": "all", "expression": "true"}],
        },
    }
    town.holding(deleting("true"), exception, config_map("a"))
    assert answers(item(town))["cel"][0] == "spares"
    assert holds({"items": [item(town)]}) == {"a": ["exempted"]}
    town.holding(
        cleaning(),
        config_map("kyverno", namespace="kyverno", data={"resourceFilters": "[ConfigMap,shop,a]"}),
    )
    assert answers(item(town))["old"][0] == "spares"
    assert holds({"items": [item(town)]}) == {"a": ["kyverno-filter"]}, "of both policies"


def test_why_a_policy_that_means_its_kind_does_not_take_it(town: Town) -> None:
    either = {"any": [{"key": "{{ target.metadata.name }}", "operator": "AnyIn", "value": ["x", "y"]}]}
    town.holding(
        cleaning("names", where={"names": ["b*"]}),
        cleaning("excludes", exclude={"any": [{"resources": {"names": ["a"]}}]}),
        cleaning("state", conditions=STATE_IS_OLD),
        cleaning("either", conditions=either),
        deleting("object.data.state == 'new' && object.metadata.name\n  == 'b'"),
        cleaning("pods", kinds=("Pod",)),
        cleaning("elsewhere", namespace="other"),
        config_map("a", data={"state": "new"}),
    )
    told = item(town)
    assert told["due"] is None
    assert answers(told) == {
        "names": ("leaves", "match.any[0]: it has another name"),
        "excludes": ("leaves", "exclude.any[0] fits"),
        "state": (
            "leaves",
            'conditions.all[0] does not hold: "{{ target.data.state || \'\' }}" Equals "old" (key is "new")',
        ),
        "either": (
            "leaves",
            'conditions.any[0] does not hold: "{{ target.metadata.name }}" AnyIn ["x","y"] (key is "a")',
        ),
        "cel": (
            "leaves",
            "the condition that is false: object.data.state == 'new' && object.metadata.name == 'b'",
        ),
    }
    lines = town("explain", "cm/a", "-n", "shop").out
    assert "Nothing wants it to go." in lines
    assert "not by: ClusterCleanupPolicy/names: match.any[0]: it has another name\n" in lines


def test_the_first_of_several_cel_conditions_that_is_false_is_named(town: Town) -> None:
    policy = deleting("true")
    policy["spec"]["conditions"] += [
        {"name": "second", "expression": "variables.n == 2"},
        {"name": "third", "expression": "false"},
    ]
    policy["spec"]["variables"] = [{"name": "n", "expression": "1"}]
    town.holding(policy, config_map("a"))
    assert answers(item(town)) == {"cel": ("leaves", "the condition second is false: variables.n == 2")}


def test_values_of_secrets_are_never_told(town: Town) -> None:
    looks = {"all": [{"key": "{{ target.data.word }}", "operator": "Equals", "value": "b3RoZXI="}]}
    secret = obj("Secret", "a", namespace="shop", data={"word": "aHVzaA=="})
    town.holding(cleaning(kinds=("Secret",), conditions=looks), secret)
    answer, why = answers(item(town, "secret/a"))["old"]
    assert (answer, why) == (
        "leaves",
        "conditions.all[0] does not hold (more is not shown of a Secret)",
    )
    said = town("explain", "secret/a", "-n", "shop")
    assert "aHVzaA" not in said.out + said.err


def test_a_value_that_came_of_a_secret_by_context_is_not_told_either(town: Town) -> None:
    context = [
        {"name": "word", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/s", "jmesPath": "data.word"}}
    ]
    looks = {"all": [{"key": "{{ word }}", "operator": "Equals", "value": "b3RoZXI="}]}
    town.holding(
        cleaning(context=context, conditions=looks),
        obj("Secret", "s", namespace="shop", data={"word": "aHVzaA=="}),
        config_map("a"),
    )
    assert answers(item(town))["old"][0] == "leaves"
    said = town("explain", "cm/a", "-n", "shop")
    assert "aHVzaA" not in said.out + said.err


def test_a_suspended_policy_and_one_that_only_reports_are_told_as_such(town: Town) -> None:
    town.holding(
        cleaning("off", annotations={"skoupa.dev/suspend": "true"}),
        cleaning("new", annotations={"skoupa.dev/observe": "30d"}, schedule=HOURLY),
        config_map("a"),
    )
    told = item(town)
    assert answers(told) == {"off": ("matches", ""), "new": ("matches", "")}
    assert [claim["rule"] for claim in told["claims"]] == ["ClusterCleanupPolicy/new"]
    assert holds({"items": [told]}) == {"a": ["policy-observes"]}
    lines = town("explain", "cm/a", "-n", "shop").out
    assert "it is suspended, so it does not" in lines
    assert "only reports until" in lines


def test_what_goes_along_with_an_owner_under_a_wildcard_is_spared(town: Town) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": UID}
    town.holding(
        cleaning(kinds=("*",), where={"namespaces": ["shop"]}),
        obj("Deployment", "web", api="apps/v1", namespace="shop", uid=UID),
        config_map("a", owners=[owner]),
    )
    assert holds({"items": [item(town)]}) == {"a": ["owner-goes"]}


def test_a_brake_that_the_object_alone_would_pull_holds_it(town: Town) -> None:
    town.holding(
        cleaning(kinds=("Namespace",), where={"names": ["shop"]}),
        obj("Namespace", "shop"),
        *(config_map(f"c{number}") for number in range(60)),
    )
    told = item(town, "namespace/shop")
    (planned,) = town.document("plan", "-A")["items"]
    assert told["holds"] == planned["holds"]
    assert [hold["reason"]["code"] for hold in told["holds"]] == ["run-would-brake"]


def test_no_service_outside_is_called_and_it_is_said(town: Town) -> None:
    calling = [{"name": "word", "apiCall": {"service": {"url": "https://example.com/"}, "method": "GET"}}]
    looks = {"all": [{"key": "{{ word }}", "operator": "Equals", "value": "yes"}]}
    town.holding(cleaning(context=calling, conditions=looks), config_map("a"))
    answer, why = answers(item(town))["old"]
    assert answer == "unclear"
    assert "outside the cluster is not asked" in why


def test_policies_that_may_not_be_read_are_one_remark(town: Town) -> None:
    town.holding(cleaning(), config_map("a", "4h"))
    reading = Rule(verbs=("get", "list"), resources=("configmaps", "namespaces"))
    town.cluster.allow_only("bob", (reading, ASKING))
    town.user = "bob"
    said = town("explain", "cm/a", "-n", "shop")
    assert said.code == 0, said.err
    assert "Due Fri 2026-05-01 14:00 UTC" in said.out, "what a label says is told all the same"
    remarks = [line for line in said.err.splitlines() if "olic" in line]
    assert len(remarks) == 1, remarks
    assert "policies that are not read" in remarks[0]
    assert "ClusterCleanupPolicy" in remarks[0]
    assert "no permission to list them" in remarks[0]


def test_a_policy_that_would_not_run_is_one_remark(town: Town) -> None:
    town.holding(cleaning("broken", schedule="@every 5m"), config_map("a"))
    document = town.document("explain", "cm/a", "-n", "shop")
    assert [one for one in document["warnings"] if "ClusterCleanupPolicy/broken" in one] == [
        "policies that would not run, so that nothing is told of them: ClusterCleanupPolicy/broken"
    ]
    assert document["items"][0]["policies"] == []


def test_cel_that_does_not_compile_makes_nothing_due(town: Town) -> None:
    town.holding(deleting("object.nosuch("), cleaning("broken", schedule="@every 5m"), config_map("a"))
    document = town.document("explain", "cm/a", "-n", "shop")
    assert [one for one in document["warnings"] if "would not run" in one] == [
        "policies that would not run, so that nothing is told of them: ClusterCleanupPolicy/broken, DeletingPolicy/cel"
    ]
    (told,) = document["items"]
    assert (told["policies"], told["due"]) == ([], None)


class Counted:
    """A transport that remembers what was asked for."""

    def __init__(self, transport: Transport, asked: list[str]) -> None:
        self._transport = transport
        self._asked = asked

    async def send(self, request: Request) -> Response:
        self._asked.append(f"{request.path}?{request.query}")
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self._asked.append(f"{request.path}?{request.query}")
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


def test_no_list_of_its_kind_is_read(town: Town) -> None:
    town.holding(cleaning(conditions=STATE_IS_OLD), config_map("a"), config_map("b"))
    asked: list[str] = []
    town.wrap = lambda transport: Counted(transport, asked)
    item(town)
    lists = [one for one in asked if one.split("?")[0].endswith("/configmaps")]
    assert [one for one in lists if "Selector" not in one] == []
    assert any(one.startswith("/api/v1/namespaces/shop/configmaps/a?") for one in asked)


def test_several_objects_are_told_each_by_itself(town: Town) -> None:
    town.holding(cleaning(where={"names": ["a"]}), config_map("a"), config_map("b"))
    first, second = town.document("explain", "cm/a", "cm/b", "-n", "shop")["items"]
    assert (first["due"], second["due"]) == (SUNDAY, None)
    assert [one["answer"] for one in (*first["policies"], *second["policies"])] == ["matches", "leaves"]


def test_many_policies_that_leave_it_do_not_fill_the_page(town: Town) -> None:
    town.holding(*(cleaning(f"p{n}", where={"names": ["b"]}) for n in range(14)), config_map("a"))
    lines = town("explain", "cm/a", "-n", "shop").out
    assert lines.count("not by:") == 11
    assert "not by: 4 more policies that may mean its kind (-o json has all)" in lines
    assert len(item(town)["policies"]) == 14


def test_with_the_feature_off_policies_are_not_asked(town: Town, tmp_path: Path) -> None:
    town.holding(cleaning(), config_map("a"))
    settings = tmp_path / "settings.yaml"
    settings.write_text("features:\n  policies: false\n", encoding="utf-8")
    (told,) = town.document("explain", "cm/a", "-n", "shop", "--config", str(settings))["items"]
    assert "policies" not in told
    assert told["claims"] == []

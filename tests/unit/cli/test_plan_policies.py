"""`plan` of a cluster with policies: each object at its policy's tick, beside what goes by a label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds import definitions
from skoupa.kinds.brake import BrakeSpec, Scope, manifest
from skoupa.kinds.policies import policy_definitions
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule
from tests.unit.cli.policies import STATE_IS_OLD, cleaning, deleting, holds
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import ASKING, KEEP, NOON, Town, config_map, obj

pytestmark = pytest.mark.unit

HOURLY = "0 * * * *"
UID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch).holding(*policy_definitions())


def named(policy: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**policy, "metadata": {**policy["metadata"], **metadata}}


def due(document: Mapping[str, Any]) -> dict[str, str]:
    return {item["name"]: item["due"] for item in document["items"]}


def test_what_a_policy_matches_goes_at_its_tick(town: Town) -> None:
    town.holding(cleaning(where={"namespaces": ["shop"]}), config_map("a"), config_map("b", "1h"))
    document = town.document("plan", "-A")
    assert due(document) == {"b": "2026-05-01T11:00:00Z", "a": "2026-05-03T07:00:00Z"}
    first, second = document["items"]
    assert [claim["mechanism"] for claim in first["claims"]] == ["ttl", "policies"], "the earliest decides"
    assert second["claims"][0]["reason"]["code"] == "policy-matches"
    (policy,) = document["policies"]
    assert (policy["name"], policy["lookedAt"], policy["matched"]) == ("old", True, 2)
    assert (policy["nextRun"], policy["file"]) == ("2026-05-03T07:00:00Z", "")


def test_a_ttl_that_is_still_to_come_then_holds_against_the_policy(town: Town) -> None:
    town.holding(cleaning(schedule=HOURLY, where={"namespaces": ["shop"]}), config_map("later", "7d"))
    (item,) = town.document("plan", "-A")["items"]
    assert (item["due"], item["goesAt"]) == ("2026-05-01T13:00:00Z", "2026-05-08T10:00:00Z")
    assert holds({"items": [item]}) == {"later": ["ttl-ahead"]}


def test_what_one_rule_is_held_back_from_goes_by_another_that_is_still_to_come(town: Town) -> None:
    """A Brake holds its TTL and not the policy, whose tick is in an hour."""
    pulled = manifest("stop-ttl", BrakeSpec(scope=Scope(mechanism="ttl"), reason="by hand"))
    town.holding(*definitions(), named(pulled, uid=UID))
    town.holding(cleaning("soon", schedule=HOURLY, where={"names": ["a"]}), config_map("a", "1h"))
    document = town.document("plan", "-A", "--within", "6h")
    (item,) = document["items"]
    assert (item["due"], item["goesAt"], item["holds"]) == (
        "2026-05-01T13:00:00Z",
        "2026-05-01T13:00:00Z",
        [],
    )
    assert [claim["mechanism"] for claim in item["claims"]] == ["policies", "ttl"]
    told = town("plan", "-A", "--within", "6h").out
    assert "1 due: 1 will go.\n" in told
    assert "matches 1 object: 1 would go\n" in told
    said = town("explain", "cm/a", "-n", "shop").out
    assert "Goes Fri 2026-05-01 13:00 UTC" in said
    assert "       held by: brake stop-ttl: by hand" in said
    # Behind a Brake on everything it stays, by whichever.
    everything = manifest("stop", BrakeSpec(scope=Scope(all=True), reason="by hand"))
    town.holding(named(everything, uid=UID.replace("1", "2")))
    (item,) = town.document("plan", "-A", "--within", "6h")["items"]
    assert item["goesAt"] is None
    assert {hold["reason"]["code"] for hold in item["holds"]} == {"brake"}


def test_policies_that_run_after_the_window_are_not_asked(town: Town) -> None:
    town.holding(
        cleaning("soon", schedule=HOURLY, where={"names": ["a"]}),
        cleaning("late", where={"names": ["b"]}),
        cleaning("off", annotations={"skoupa.dev/suspend": "true"}),
        config_map("a"),
        config_map("b"),
    )
    assert due(town.document("plan", "-A", "--within", "6h")) == {"a": "2026-05-01T13:00:00Z"}
    looked = {one["name"]: one["lookedAt"] for one in town.document("plan", "-A")["policies"]}
    assert looked == {"soon": True, "late": True, "off": False}
    told = town("plan", "-A", "--within", "6h").out
    assert (
        "ClusterCleanupPolicy/soon\n  runs every hour at minute 0 (UTC); next Fri 2026-05-01 13:00 UTC"
        in told
    )
    assert "1 more policy runs at another time.\n1 policy is suspended.\n" in told
    assert town.document("plan", "-A", "--between", "2026-05-02..2026-05-02")["items"] == []


def test_one_namespace_shows_what_goes_in_it_by_its_own_policies_and_those_of_the_cluster(town: Town) -> None:
    town.holding(
        cleaning("everywhere", where={"names": ["a"]}),
        cleaning("own", namespace="shop", where={"names": ["b"]}),
        cleaning("others", namespace="foo", where={"names": ["a"]}),
        cleaning("spaces", kinds=("Namespace",), where={"names": ["shop", "foo"]}),
        obj("Namespace", "shop"),
        obj("Namespace", "foo"),
        *(config_map(name, namespace=place) for name in "ab" for place in ("shop", "foo")),
    )
    document = town.document("plan", "-n", "shop")
    assert [(item["namespace"], item["name"]) for item in document["items"]] == [
        ("", "shop"),
        ("shop", "a"),
        ("shop", "b"),
    ]
    assert sorted(one["name"] for one in document["policies"]) == ["everywhere", "own", "spaces"]
    assert len(town.document("plan", "-A")["items"]) == 5


def test_kinds_narrow_what_is_shown_and_short_lived_kinds_need_no_watch(town: Town) -> None:
    lease = obj("Lease", "gone", namespace="shop", api="coordination.k8s.io/v1")
    town.holding(
        cleaning(kinds=("ConfigMap", "Lease"), where={"namespaces": ["shop"]}), config_map("a"), lease
    )
    assert holds(town.document("plan", "-A")) == {"a": [], "gone": []}
    assert town("plan", "cm", "-A", "-o", "name").out == "configmap/shop/a\n"


def test_conditions_are_asked_for_the_time_of_the_run(town: Town) -> None:
    old = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
    conditions = {"all": [{"key": old, "operator": "GreaterThan", "value": "24h"}]}
    town.holding(cleaning(conditions=conditions, where={"namespaces": ["shop"]}), config_map("a"))
    assert due(town.document("plan", "-A")) == {"a": "2026-05-03T07:00:00Z"}, "by Sunday it is old enough"
    town.holding(cleaning("hourly", schedule=HOURLY, conditions=conditions))
    assert due(town.document("plan", "-A", "--within", "6h")) == {}


def test_cel_exceptions_and_what_is_unclear(town: Town) -> None:
    exception = {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "spare", "namespace": "shop"},
        "spec": {
            "policyRefs": [{"kind": "DeletingPolicy", "name": "cel"}],
            "matchConditions": [{"name": "it", "expression": "object.metadata.name == 'spared'"}],
        },
    }
    policy = deleting("object.metadata.namespace == 'shop' && object.data.state == 'old'")
    old = [config_map(name, data={"state": "old"}) for name in ("a", "spared")]
    town.holding(policy, exception, *old, config_map("none"))
    assert holds(town.document("plan", "-A")) == {"a": [], "spared": ["exempted"], "none": ["policy-unclear"]}


def test_a_policy_that_does_not_run_says_why_and_the_others_are_planned(town: Town) -> None:
    town.holding(
        cleaning("broken", schedule="nonsense"),
        deleting("object.nosuch("),
        cleaning("good", where={"names": ["a"]}),
        config_map("a"),
    )
    document = town.document("plan", "-A")
    assert due(document) == {"a": "2026-05-03T07:00:00Z"}
    problems = {one["name"]: one["problems"] for one in document["policies"]}
    assert problems["good"] == []
    assert problems["broken"][0].startswith("spec.schedule: ")
    (why,) = problems["cel"]
    assert "conditions[0]" in why
    runs = {one["name"]: one["nextRun"] for one in document["policies"]}
    assert runs == {"broken": None, "cel": None, "good": "2026-05-03T07:00:00Z"}
    assert "ClusterCleanupPolicy/broken\n  problem: spec.schedule: " in town("plan", "-A").out


def test_policies_that_may_not_be_read_are_one_line_and_no_failure(town: Town) -> None:
    town.holding(cleaning(), cleaning("own", namespace="shop"), config_map("a", "1h"), config_map("b"))
    readable = ("configmaps", "namespaces", "configmaps.", "customresourcedefinitions.apiextensions.k8s.io")
    town.cluster.allow_only("bob", (Rule(verbs=("list", "get", "delete"), resources=readable), ASKING))
    town.user = "bob"
    said = town("plan", "cm", "-A")
    assert said.code == 0, said.err
    (line,) = [line for line in said.err.splitlines() if "polic" in line.lower() and "Exception" not in line]
    assert line.startswith(
        "skoupa: policies that are not read, and so not shown: CleanupPolicy, ClusterCleanupPolicy"
    )
    assert "(no permission to list them)" in line
    assert " b " not in said.out


def test_a_cluster_without_these_kinds_has_no_policies(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(skoupa, monkeypatch).holding(config_map("a", "1h"))
    said = town("plan", "-A", "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["policies"] == []


def test_policies_of_files_can_be_planned_where_their_kinds_are_not_known_yet(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    town = Town(skoupa, monkeypatch).holding(config_map("a"))
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(cleaning(where={"namespaces": ["shop"]})), encoding="utf-8")
    said = town("plan", "-f", str(policy), "-o", "name")
    assert (said.code, said.out) == (0, "configmap/shop/a\n")
    assert (
        "this cluster does not know ClusterCleanupPolicy yet: `skoupa install --policy-kinds | kubectl apply -f -` brings"
        in said.err
    )


def test_what_a_policy_of_files_may_not_list_is_a_gap(town: Town, tmp_path: Path) -> None:
    town.holding(config_map("a"), obj("Secret", "s", namespace="shop"))
    town.cluster.allow_only(
        "bob", (Rule(verbs=("list", "get", "delete"), resources=("configmaps", "namespaces")), ASKING)
    )
    town.user = "bob"
    policy = tmp_path / "policy.json"
    policy.write_text(
        json.dumps(cleaning(kinds=("ConfigMap", "Secret"), where={"namespaces": ["shop"]})), encoding="utf-8"
    )
    said = town("plan", "-f", str(policy), "-o", "name")
    assert (said.code, said.out) == (4, "configmap/shop/a\n")
    assert (
        "not read, so objects may be missing here: secrets in shop (no permission to list them)\n" in said.err
    )
    table = town("plan", "-f", str(policy)).out
    assert "  matches 1 object: 1 would go\n" in table
    assert (
        "  problem: it may match more: secrets in shop could not be read (no permission to list them)\n"
        in table
    )
    town.cluster.allow_only("bob", (Rule(verbs=("get",), resources=("namespaces",)), ASKING))
    assert town("plan", "-f", str(policy)).code == 6, "nothing readable is no empty plan"


def test_lists_that_may_not_be_read_are_told_once_however_policies_ask_for_them(
    town: Town, tmp_path: Path
) -> None:
    """The server names in each refusal what was asked for; one reads bodies, another metadata."""
    looking = {"all": [{"key": "{{ target.data.a }}", "operator": "Equals", "value": "b"}]}
    spec = {"names": ["a", "b"], "namespaces": ["shop"]}
    policies = [
        cleaning("names", where=spec),
        cleaning("bodies", where=spec, conditions=looking),
    ]
    policy = tmp_path / "policies.json"
    policy.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": policies}), encoding="utf-8")
    town.holding(config_map("a"), obj("Secret", "s", namespace="shop"))
    rights = [Rule(verbs=("get",), resources=("namespaces",)), ASKING]
    town.cluster.allow_only("bob", tuple(rights))
    town.user = "bob"
    assert town("plan", "-f", str(policy)).code == 6, "nothing readable is no empty plan"
    secrets = cleaning("secrets", kinds=("Secret",), where={"namespaces": ["shop"]})
    policy.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*policies, secrets]}), encoding="utf-8"
    )
    town.cluster.allow_only("bob", (*rights, Rule(verbs=("list", "delete"), resources=("secrets",))))
    said = town("plan", "-f", str(policy))
    assert said.code == 4
    assert "may be missing here: configmaps in shop, namespaces (no permission to list them)\n" in said.err
    assert said.out.count("it may match more: configmaps in shop could not be read") == 2


def test_a_feature_that_is_off_plans_no_policies(town: Town, tmp_path: Path) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("features: {policies: false}\n", encoding="utf-8")
    town.holding(cleaning(), config_map("a"), config_map("b", "1h"))
    document = town.document("plan", "-A", "--config", str(config))
    assert due(document) == {"b": "2026-05-01T11:00:00Z"}
    assert "policies" not in document
    config.write_text("features: {ttl: false}\n", encoding="utf-8")
    assert set(due(town.document("plan", "cm", "-n", "shop", "--config", str(config)))) == {"a", "b"}


def remembering(town: Town, counts_from: float, **policy: Any) -> Town:
    known = {UID: [int(counts_from), 1, int(counts_from), True, 0]}
    state = config_map("skoupa-state", namespace="skoupa", data={"policies": json.dumps(known)})
    annotations = policy.pop("annotations", {})
    written = {**cleaning(schedule=HOURLY, where={"names": ["a"]}, annotations=annotations), **policy}
    return town.holding(named(written, uid=UID, generation=1), state, config_map("a"))


def test_a_run_that_was_missed_is_overdue_unless_it_is_skipped(town: Town) -> None:
    remembering(town, NOON - 3 * 3600)
    assert due(town.document("plan", "-A", "--within", "0")) == {"a": "2026-05-01T12:00:00Z"}


def test_a_run_that_was_missed_and_is_skipped_waits_for_the_next(town: Town) -> None:
    town.clock.moment = NOON + 1800
    remembering(town, NOON - 3 * 3600, annotations={"skoupa.dev/missed-runs": "Skip"})
    assert due(town.document("plan", "-A")) == {"a": "2026-05-01T13:00:00Z"}


def test_a_run_that_began_and_waits_for_a_brake_is_not_what_comes_next(town: Town) -> None:
    town.clock.moment = NOON + 1800
    remembering(town, NOON - 1800, status={"lastExecutionTime": "2026-05-01T12:00:00Z"})
    assert due(town.document("plan", "-A")) == {"a": "2026-05-01T13:00:00Z"}
    assert "next Fri 2026-05-01 13:00 UTC" in town("explain", "cm/a", "-n", "shop").out


def test_a_run_that_took_place_is_not_planned_again(town: Town) -> None:
    remembering(town, NOON)
    assert due(town.document("plan", "-A")) == {"a": "2026-05-01T13:00:00Z"}


@pytest.mark.parametrize(
    ("seen", "metadata", "runs"),
    [
        (NOON - 1800, {}, "2026-05-01T12:00:00Z"),
        (NOON - 1800, {"annotations": {"skoupa.dev/missed-runs": "Skip"}}, "2026-05-01T13:00:00Z"),
        (NOON - 300, {}, "2026-05-01T13:00:00Z"),
        (NOON - 2 * 86400, {}, "2026-05-01T13:00:00Z"),
        (NOON - 1800, {"generation": 2}, "2026-05-01T13:00:00Z"),
    ],
    ids=["made-since", "skips", "seen", "long-off", "written-again"],
)
def test_a_policy_that_was_made_while_nobody_led_is_caught_up_with(
    town: Town, seen: float, metadata: dict[str, Any], runs: str
) -> None:
    town.clock.moment = NOON + 300
    data = {"policies": "{}", "policiesSeen": json.dumps(int(seen))}
    written = cleaning(schedule=HOURLY, where={"names": ["a"]})
    made = {"uid": UID, "generation": 1, "creationTimestamp": "2026-05-01T11:50:00Z", **metadata}
    town.holding(
        named(written, **made), config_map("skoupa-state", namespace="skoupa", data=data), config_map("a")
    )
    assert due(town.document("plan", "-A")) == {"a": runs}


def test_a_policy_that_only_reports_holds_until_the_tick_at_which_it_acts(town: Town) -> None:
    town.holding(
        cleaning(schedule=HOURLY, where={"names": ["a"]}, annotations={"skoupa.dev/observe": "90m"}),
        config_map("a"),
    )
    document = town.document("plan", "-A")
    (item,) = document["items"]
    assert holds(document) == {"a": ["policy-observes"]}
    assert (item["due"], item["goesAt"]) == ("2026-05-01T13:00:00Z", "2026-05-01T14:00:00Z")
    assert document["policies"][0]["observedUntil"] == "2026-05-01T13:30:00Z"
    assert town.document("plan", "-A", "--within", "65m", "--detailed-exitcode")["items"] != []


def test_brakes_and_keep_labels_hold_what_policies_want(town: Town) -> None:
    brake = {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": "Brake",
        "metadata": {"name": "stop"},
        "spec": {"scope": {"policy": "ClusterCleanupPolicy/old"}, "reason": "not today"},
    }
    town.holding(*definitions(), brake, cleaning(where={"namespaces": ["shop"]}))
    town.holding(config_map("a"), config_map("kept", labels={KEEP: "true"}), config_map("b", "1h"))
    assert holds(town.document("plan", "-A")) == {"b": [], "a": ["brake"], "kept": ["kept", "brake"]}


class _Noting:
    """Passes on, and notes what would change something."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.writes: list[str] = []

    def _note(self, request: Request) -> None:
        if request.method != "GET" and request.verb != "review":
            self.writes.append(f"{request.method} {request.path}")

    async def send(self, request: Request) -> Response:
        self._note(request)
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self._note(request)
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


def test_a_plan_changes_nothing(town: Town) -> None:
    town.holding(cleaning(conditions=STATE_IS_OLD), deleting("true"), config_map("a", data={"state": "old"}))
    notes: list[_Noting] = []

    def wrap(transport: Transport) -> Transport:
        notes.append(_Noting(transport))
        return notes[-1]

    town.wrap = wrap
    assert town.document("plan", "-A", "--detailed-exitcode", code=10)["items"]
    assert notes
    assert [write for note in notes for write in note.writes] == []


def test_sweep_does_not_act_on_policies(town: Town) -> None:
    town.holding(cleaning(schedule="* * * * *"), config_map("a"))
    said = town("sweep", "-A", "--yes", "-o", "json", "--ledger", "none")
    assert said.code == 0, said.err
    assert json.loads(said.out)["items"] == []
    assert town.metadata("a")


def test_filters_of_a_kyverno_that_you_may_not_read_are_told_and_the_rest_is_planned(town: Town) -> None:
    kind = Resource(
        group="kyverno.io", version="v1", plural="clusterpolicies", kind="ClusterPolicy", namespaced=False
    )
    town.cluster.install(kind)
    town.holding(cleaning(where={"namespaces": ["shop"]}), config_map("a"))

    def asks_for_filters(request: Request) -> bool:
        by_name = dict(request.query).get("fieldSelector") == "metadata.name=kyverno"
        return by_name or request.path.endswith("/configmaps/kyverno")

    town.cluster.faults.answer(403, when=asks_for_filters, times=None)
    said = town("plan", "-A")
    assert "1 would go" in said.out
    assert said.err.count("resourceFilters of its ConfigMap) may not be read with these rights") == 1


def test_secrets_that_a_policy_of_a_namespace_asks_for_are_told(town: Town) -> None:
    call = {"name": "login", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/login"}}
    town.holding(cleaning(namespace="shop", context=[call]), config_map("a"))
    (policy,) = town.document("plan", "-A")["policies"]
    assert [one for one in policy["cautions"] if "may not look at Secrets" in one] == policy["cautions"][-1:]

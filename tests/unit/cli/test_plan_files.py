"""`plan -f`: what policies of files would delete if they ran now, what holds it, and what would stop the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.policies import STATE_IS_OLD, Files, cleaning, deleting, holds
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, config_map, obj

pytestmark = pytest.mark.unit

OLD: dict[str, Any] = {"data": {"state": "old"}}


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


def test_what_a_policy_would_delete_if_it_ran_now_and_when_it_runs_next(files: Files) -> None:
    files.with_policies(cleaning(conditions=STATE_IS_OLD))
    files.holding(config_map("a", **OLD), config_map("b", data={"state": "new"}), config_map("c"))
    said = files.plan()
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "If they ran now, Fri 2026-05-01 12:00 UTC:"
    assert lines[2].split()[:6] == ["2026-05-01", "12:00", "now", "ConfigMap", "shop", "a"]
    assert "ClusterCleanupPolicy/old matches it, for a run at 2026-05-01T12:00:00Z" in lines[2]
    assert lines[-3] == f"ClusterCleanupPolicy/old ({files.policies / 'all.yaml'}, document 1)"
    assert lines[-2] == "  runs at 07:00 on Sundays (UTC); next Sun 2026-05-03 07:00 UTC, in 1d19h"
    assert lines[-1] == "  matches 1 object: 1 would go"


def test_the_document_has_the_policies_beside_the_objects(files: Files) -> None:
    files.with_policies(cleaning(conditions=STATE_IS_OLD), deleting("object.data.state == 'older'"))
    files.holding(config_map("a", **OLD), config_map("b", data={"state": "older"}), config_map("c"))
    document = files.document()
    assert [(item["name"], item["claims"][0]["rule"]) for item in document["items"]] == [
        ("a", "ClusterCleanupPolicy/old"),
        ("b", "DeletingPolicy/cel"),
        ("c", "DeletingPolicy/cel"),
    ]
    old, cel = document["policies"]
    assert (old["schedule"], old["words"], old["nextRun"]) == (
        "0 7 * * 0",
        "at 07:00 on Sundays (UTC)",
        "2026-05-03T07:00:00Z",
    )
    assert (old["matched"], old["wouldGo"], old["held"], old["unclear"]) == (1, 1, 0, 0)
    assert (cel["matched"], cel["wouldGo"], cel["held"], cel["unclear"]) == (2, 1, 0, 1)
    assert (cel["file"], cel["document"]) == (str(files.policies / "all.yaml"), 2)


def test_what_is_unclear_is_a_held_line_with_the_expression_and_the_reason(files: Files) -> None:
    strict = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "old"}]}
    files.with_policies(cleaning(conditions=strict)).holding(config_map("a", **OLD), config_map("none"))
    document = files.document()
    assert holds(document) == {"a": [], "none": ["policy-unclear"]}
    assert "target.data.state" in document["items"][1]["holds"][0]["reason"]["text"]
    assert files.plan().out.splitlines()[-1] == "  matches 2 objects: 1 would go, 1 unclear"


def test_whatever_holds_an_object_holds_it_here_too(files: Files) -> None:
    files.with_policies(cleaning())
    files.holding(
        config_map("free"),
        config_map("kept", labels={KEEP: "true"}),
        config_map("later", "7d"),
        config_map("over", "1h"),
        config_map("system", namespace="kube-system"),
    )
    document = files.document()
    assert holds(document) == {
        "free": [],
        "kept": ["kept"],
        "later": ["ttl-ahead"],
        "over": [],
        "system": ["protected-namespace"],
    }
    said = files.plan()
    assert "5 matched: 2 would go, 3 held.\n" in said.out, (
        "what goes by its own TTL later does not go by this run"
    )
    assert "  matches 5 objects: 2 would go, 3 held" in said.out.splitlines()


def test_only_objects_of_the_files_are_meant_and_not_what_every_cluster_has(files: Files) -> None:
    files.with_policies(cleaning(kinds=("ConfigMap", "Namespace"))).holding(config_map("a"))
    assert [item["name"] for item in files.document()["items"]] == ["a"]


def test_an_object_that_two_policies_match_is_one_line_with_both(files: Files) -> None:
    files.with_policies(cleaning("one"), cleaning("two")).holding(config_map("a"))
    (item,) = files.document()["items"]
    assert [claim["rule"] for claim in item["claims"]] == [
        "ClusterCleanupPolicy/one",
        "ClusterCleanupPolicy/two",
    ]


def test_what_one_policy_can_not_tell_does_not_hold_what_another_wants(files: Files) -> None:
    strict = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "old"}]}
    files.with_policies(cleaning("strict", conditions=strict), cleaning("all")).holding(config_map("a"))
    document = files.document()
    assert holds(document) == {"a": []}
    assert document["items"][0]["claims"][0]["rule"] == "ClusterCleanupPolicy/all"


@pytest.mark.parametrize(
    ("number", "annotations", "settings", "told"),
    [
        (
            60,
            {},
            {"share": 50, "shareOver": 50},
            "claims 60 of all 64 configmaps (93 %): more than the 50 % of brakes.share",
        ),
        (5, {"skoupa.dev/max-deletions": "3"}, {}, "claims 5 objects: more than the 3 it allows itself"),
        (5, {}, {"maxPerRun": 4}, "5 objects in one run: more than the 4 of brakes.maxPerRun"),
    ],
)
def test_a_run_that_a_brake_would_stop_says_so_and_nothing_of_it_goes(
    files: Files, number: int, annotations: dict[str, str], settings: dict[str, int], told: str
) -> None:
    files.with_policies(cleaning(where={"namespaces": ["shop"]}, annotations=annotations))
    files.holding(*(config_map(f"map-{index}") for index in range(number)))
    config = files.objects.parent / "skoupa.yaml"
    config.write_text(yaml.safe_dump({"brakes": settings}), encoding="utf-8")
    document = files.document("--config", str(config))
    (policy,) = document["policies"]
    assert any(told in why for why in policy["wouldBrake"]), policy["wouldBrake"]
    assert (policy["matched"], policy["wouldGo"], policy["held"]) == (number, 0, number)
    assert set(map(tuple, holds(document).values())) == {("run-would-brake",)}
    said = files.plan("--config", str(config))
    assert "a Brake would stop the whole run: ClusterCleanupPolicy/old claims" in said.out
    refused = files.plan("--config", str(config), "--fail-over", str(number - 1))
    assert refused.code == 5, "somebody may release the Brake"
    assert f"{number} objects would go ({number} of them only if a Brake lets them)" in refused.err


def test_all_that_would_trip_is_told_at_once(files: Files) -> None:
    files.with_policies(cleaning(kinds=("Namespace",), annotations={"skoupa.dev/max-deletions": "3"}))
    files.holding(*(obj("Namespace", f"team-{index}") for index in range(7)))
    (policy,) = files.document()["policies"]
    assert [why.partition(" claims ")[2].split(":")[0] for why in policy["wouldBrake"]] == [
        "7 namespaces, which hold data or take much along",
        "7 objects",
    ]


def test_claims_on_parents_would_trip(files: Files) -> None:
    files.with_policies(cleaning(kinds=("Namespace",), where={"names": ["team-*"]}))
    files.holding(*(obj("Namespace", f"team-{index}") for index in range(7)))
    (policy,) = files.document()["policies"]
    assert any("7 namespaces" in why and "brakes.parentsMost" in why for why in policy["wouldBrake"])


def test_fail_over_and_detailed_exit_codes_count_what_would_go(files: Files) -> None:
    files.with_policies(cleaning()).holding(
        config_map("a"), config_map("b"), config_map("kept", labels={KEEP: "true"})
    )
    codes = [
        files.plan(*options).code
        for options in (("--fail-over", "1"), ("--fail-over", "2"), ("--detailed-exitcode",))
    ]
    assert codes == [5, 0, 10]


def test_kinds_narrow_what_is_shown(files: Files) -> None:
    files.with_policies(cleaning(kinds=("ConfigMap", "Secret")))
    files.holding(config_map("a"), obj("Secret", "s", namespace="shop"))
    assert files.plan("secrets", "-o", "name").out == "secret/shop/s\n"
    assert files.document("secrets")["policies"][0]["matched"] == 2, "a run is what it is"


def test_a_policy_of_a_namespace_stays_in_it_and_n_says_where_one_would_go(files: Files) -> None:
    policy = cleaning(namespace="shop")
    objects = (config_map("a"), config_map("b", namespace="other"))
    files.with_policies(policy).holding(*objects)
    assert files.plan("-o", "name").out == "configmap/shop/a\n"
    del policy["metadata"]["namespace"]
    files.with_policies(policy)
    assert files.plan("-n", "other", "-o", "name").out == "configmap/other/b\n"
    assert files.document("-n", "other")["policies"][0]["namespace"] == "other"


def test_a_suspended_policy_and_one_that_reports_first_say_so(files: Files) -> None:
    files.with_policies(cleaning(annotations={"skoupa.dev/suspend": "true"})).holding(config_map("a"))
    said = files.plan()
    assert "next" not in said.out
    assert "  runs at 07:00 on Sundays (UTC); it is suspended, so it does not\n" in said.out
    assert "  matches 1 object: 1 would go\n" in said.out, "if it ran"


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("/api/v1/namespaces/{{ target.metadata.namespace }}/pods", []),
        ("/api/v1/namespaces/shop/configmaps/nosuch", []),
        ("/apis/metrics.k8s.io/v1beta1/pods", ["policy-unclear"]),
        ("/version/nosuch", ["policy-unclear"]),
    ],
)
def test_files_answer_calls_to_the_server_as_far_as_they_can(
    files: Files, path: str, codes: list[str]
) -> None:
    call = {"name": "found", "apiCall": {"urlPath": path, "jmesPath": "items || `[]`", "default": []}}
    none = {"all": [{"key": "{{ length(found) }}", "operator": "Equals", "value": 0}]}
    files.with_policies(cleaning(context=[call], conditions=none)).holding(config_map("a"))
    document = files.document()
    assert holds(document) == {"a": codes}, "a default is for what is not there, not for what nobody knows"
    if codes:
        told = document["items"][0]["holds"][0]["reason"]["text"]
        assert "nothing in the files can answer that" in told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        # As a snapshot writes it.
        ("", {"key": ["policy-unclear"], "tag": ["policy-unclear"], "named": []}),
        ("aHVudGVyMg==", {"key": [], "tag": [], "named": []}),
    ],
)
def test_values_of_secrets_that_a_snapshot_lacks_are_not_taken_for_empty(
    files: Files, value: str, told: dict[str, list[str]]
) -> None:
    full = {"all": [{"key": "{{ target.data.key || '' }}", "operator": "NotEquals", "value": ""}]}
    empty = {"all": [{"key": "{{ target.data.key || '' }}", "operator": "Equals", "value": ""}]}
    path = {"urlPath": "/api/v1/namespaces/shop/secrets/key", "jmesPath": "data.key"}
    asked = {"all": [{"key": "{{ found }}", "operator": "Equals", "value": value}]}
    secret = ("Secret",)
    files.with_policies(
        cleaning("full", where={"names": ["key"]}, conditions=full, kinds=secret),
        cleaning("empty", where={"names": ["key"]}, conditions=empty, kinds=secret),
        cleaning("asks", context=[{"name": "found", "apiCall": path}], conditions=asked),
        cleaning("named", where={"names": ["named"]}, kinds=secret),
    )
    secrets = [
        obj("Secret", name, namespace="shop", type="Opaque", data={"key": value}) for name in ("key", "named")
    ]
    files.holding(*secrets, config_map("tag"))
    assert holds(files.document()) == told
    if not value:
        assert "are left out of these files" in files.document()["items"][0]["holds"][0]["reason"]["text"]


def test_files_do_not_tell_who_may_do_what(files: Files) -> None:
    review = {"method": "POST", "urlPath": "/apis/authorization.k8s.io/v1/subjectaccessreviews"}
    conditions = {"all": [{"key": "{{ review.status.allowed }}", "operator": "Equals", "value": True}]}
    context = [{"name": "review", "apiCall": review}]
    files.with_policies(cleaning(context=context, conditions=conditions)).holding(config_map("a"))
    assert holds(files.document()) == {"a": ["policy-unclear"]}


def test_nobody_outside_is_asked_unless_that_is_allowed(files: Files) -> None:
    service = {"name": "said", "apiCall": {"method": "GET", "service": {"url": "https://127.0.0.1:1/x"}}}
    conditions = {"all": [{"key": "{{ said }}", "operator": "Equals", "value": "yes"}]}
    files.with_policies(cleaning(context=[service], conditions=conditions)).holding(config_map("a"))
    told = files.document()["items"][0]["holds"][0]["reason"]["text"]
    assert "--allow-calls" in told
    told = files.document("--allow-calls")["items"][0]["holds"][0]["reason"]["text"]
    assert "policies.allowedHosts" in told, "and then only whom the settings name"


def test_the_account_that_a_policy_acts_as_is_not_known_from_files(files: Files) -> None:
    account = {"skoupa.dev/service-account": "tidier"}
    files.with_policies(cleaning(namespace="shop", annotations=account)).holding(config_map("a"))
    said = files.plan()
    assert said.code == 0
    assert "what the ServiceAccount tidier of CleanupPolicy/shop/old may delete is not known" in said.err


def test_an_exception_among_the_objects_holds(files: Files) -> None:
    exception = {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "spare", "namespace": "shop"},
        "spec": {"policyRefs": [{"kind": "DeletingPolicy", "name": "cel"}]},
    }
    files.with_policies(deleting("true")).holding(config_map("a"), exception)
    assert holds(files.document()) == {"a": ["exempted"]}


def test_the_examples_would_delete_what_their_test_expects(skoupa: Shell) -> None:
    folder = Path(__file__).parents[3] / "examples" / "policies"
    expected = yaml.safe_load((folder / "skoupa-test.yaml").read_text())
    given = ("-f", str(folder), "--from", str(folder / "objects.yaml"), "--now", expected["now"])
    said = skoupa("plan", *given, "-o", "json")
    assert said.code == 0, said.err
    found: dict[str, set[str]] = {}
    for item in json.loads(said.out)["items"]:
        called = "/".join(part for part in (item["kind"], item["namespace"], item["name"]) if part)
        for claim in item["claims"]:
            found.setdefault(claim["rule"].rpartition("/")[2], set()).add(called)
    assert found == {name: set(each["goes"]) for name, each in expected["expect"].items()}

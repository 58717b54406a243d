"""Cleanup rules in the form of the proposal (seed 004) become policies of their own, with everything told that is not taken along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.policy.converting.conversion import Converted
from skoupa.policy.converting.rule_form import has_rules, policies_of
from tests.unit.policy.world import ALL, read

pytestmark = pytest.mark.unit

SEED = Path(__file__).parents[1] / "seed"
RULES: dict[str, Any] = yaml.safe_load((SEED / "rules.yaml").read_text(encoding="utf-8"))


def rule(**fields: Any) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    return {"name": "old-pods", "match": match, "cleanup": {"schedule": "@daily"}, **fields}


def policy(*rules: dict[str, Any], kind: str = "ClusterPolicy") -> dict[str, Any]:
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "old"},
        "spec": {"rules": [*rules]},
    }


def made(*rules: dict[str, Any], kind: str = "ClusterPolicy") -> list[Converted]:
    return list(policies_of(policy(*rules, kind=kind), ALL))


def test_each_rule_of_the_proposal_becomes_a_policy_that_can_run() -> None:
    assert has_rules(RULES)
    found = list(policies_of(RULES, ALL))
    assert [each.body and each.body["metadata"]["name"] for each in found] == [
        "cleanup-deploys-no-labels",
        "cleanup-bare-pods",
        "cleanup-everything-in-foo",
        "cleanup-unbound-pvcs",
    ]
    for each, written in zip(found, RULES["spec"]["rules"], strict=True):
        assert each.body is not None
        ready = read(dict(each.body), discovery=ALL)
        assert ready.kind == "ClusterCleanupPolicy"
        assert ready.schedule.text == written["cleanup"]["schedule"]
        assert each.body["spec"]["match"] == written["match"]
        assert each.body["spec"].get("exclude") == written.get("exclude")


def test_a_kind_that_does_not_exist_is_told_beside_the_policy() -> None:
    unbound = list(policies_of(RULES, ALL))[-1]
    assert any("did you mean PersistentVolumeClaim?" in remark for remark in unbound.remarks)


def test_a_policy_of_a_namespace_becomes_policies_of_that_namespace() -> None:
    (found,) = made(rule(), kind="Policy")
    assert found.body is not None
    assert found.body["kind"] == "CleanupPolicy"


def test_preconditions_become_conditions() -> None:
    before, after = ({"key": "{{ target.a }}", "operator": "Equals", "value": each} for each in "ab")
    (found,) = made(
        rule(preconditions={"all": [before]}, cleanup={"schedule": "@daily", "conditions": {"any": [after]}})
    )
    assert found.body is not None
    assert found.body["spec"]["conditions"] == {"any": [after], "all": [before]}


def test_two_choices_do_not_fit_into_one_policy_and_the_rule_is_left_out() -> None:
    choice = {"any": [{"key": "{{ target.a }}", "operator": "Equals", "value": "b"}]}
    (found,) = made(rule(preconditions=choice, cleanup={"schedule": "@daily", "conditions": choice}))
    assert found.body is None
    assert "both have `any`" in found.remarks[0]


def test_what_a_cleanup_does_not_know_is_left_out_and_told() -> None:
    (found,) = made({"name": "labels", "validate": {}}, rule(skipBackgroundRequests=True))
    assert any("skipBackgroundRequests" in remark for remark in found.remarks)
    assert any("left out: labels" in remark for remark in found.remarks)


def test_names_are_made_fit_and_each_is_there_once() -> None:
    found = made(rule(name="Old Pods"), rule(name="Old Pods"), rule(name=""))
    assert [each.body and each.body["metadata"]["name"] for each in found] == [
        "old-pods",
        "old-pods-2",
        "old-3",
    ]


def test_a_policy_without_cleanup_rules_is_somebody_elses() -> None:
    assert not has_rules(policy({"name": "a", "validate": {}}))

"""Every YAML block of the proposal (seed 004): read as written, or refused with what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kube.objects import Metadata
from skoupa.policy.expansion import expand
from skoupa.policy.match import answer
from skoupa.policy.reading import read_policy
from tests.unit.policy.world import ALL, kind, read, told

pytestmark = pytest.mark.unit

SEED = Path(__file__).parent / "seed"
RULES: dict[str, Any] = yaml.safe_load((SEED / "rules.yaml").read_text(encoding="utf-8"))
POLICY: dict[str, Any] = yaml.safe_load((SEED / "policy.yaml").read_text(encoding="utf-8"))


def as_policy(name: str) -> dict[str, Any]:
    """One rule as a policy of its own: the same match, exclude, schedule and conditions."""
    rule = next(each for each in RULES["spec"]["rules"] if each["name"] == name)
    spec = {key: rule[key] for key in ("match", "exclude") if key in rule} | rule["cleanup"]
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_the_policy_of_the_proposal_is_read_as_written() -> None:
    policy = read(POLICY, discovery=ALL)
    assert (policy.kind, policy.namespace, policy.name) == ("CleanupPolicy", "default", "cleanuppolicy")
    assert policy.schedule.text == "* * * * *"
    assert policy.clauses.comparisons == POLICY["spec"]["conditions"]


def test_the_rule_form_is_refused_with_what_makes_policies_of_it() -> None:
    (problem,) = told(RULES)
    assert problem == (
        "spec.rules: cleanup rules inside of a policy are the form of a proposal, and nobody runs them; "
        "`skoupa convert` makes a ClusterCleanupPolicy of each rule"
    )


@pytest.mark.parametrize("name", [rule["name"] for rule in RULES["spec"]["rules"]])
def test_every_rule_is_read_as_a_policy_of_its_own(name: str) -> None:
    assert read(as_policy(name), discovery=ALL)


def test_deployments_without_the_label_go_and_those_with_it_stay() -> None:
    policy = read(as_policy("cleanup-deploys-no-labels"))
    deployment = kind("Deployment")
    labels: list[dict[str, str] | None] = [None, {}, {"application": ""}, {"application": "web"}]
    found = [
        answer(policy.subject, deployment, Metadata(name="web", namespace="shop", labels=each)).matches
        for each in labels
    ]
    assert found == [True, True, True, False]


def test_everything_in_foo_is_what_lives_there_and_not_foo_itself() -> None:
    policy = read(as_policy("cleanup-everything-in-foo"))
    kinds = expand(policy.subject, ALL).resources
    assert kind("Secret") in kinds
    assert kind("Namespace") not in kinds
    for place, goes in (("foo", True), ("bar", False)):
        assert answer(policy.subject, kind("Secret"), Metadata(name="a", namespace=place)).matches == goes
    assert not answer(policy.subject, kind("Namespace"), Metadata(name="foo")).matches


def test_the_kind_and_the_phase_that_do_not_exist_are_told_with_those_that_do() -> None:
    reading = read_policy(as_policy("cleanup-unbound-pvcs"), discovery=ALL)
    assert sorted(str(warning) for warning in reading.warnings) == [
        'spec.conditions.all[0].value: no PersistentVolumeClaim is ever "Unbound"; there are Bound, Lost, Pending',
        'spec.match: there is no kind "PersistentVolumeClaims"; did you mean PersistentVolumeClaim?',
    ]

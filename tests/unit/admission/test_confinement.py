"""Policies of a namespace stay in it by the word of the API server: which settings make which policies."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.admission.built_in import CLUSTER_WIDE, NAMESPACED, plurals
from skoupa.admission.confinement import (
    CLEANUP_CONFINEMENT,
    DELETING_CONFINEMENT,
    policy_admission,
)
from skoupa.admission.policies import denying
from skoupa.admission.policy_right import CLEANUP_RIGHT, DELETING_RIGHT, RETENTION_RIGHT
from skoupa.kube.kinds import Discovery
from skoupa.policy.expansion import meant
from skoupa.policy.kind_patterns import kind_pattern
from skoupa.settings import decode
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit


def made(**settings: Any) -> dict[tuple[str, str], Any]:
    found = policy_admission(decode(settings, source="the test"))
    return {(one["kind"], one["metadata"]["name"]): one["spec"] for one in found}


def test_an_observer_warns_and_who_enforces_denies() -> None:
    for name in (CLEANUP_CONFINEMENT, DELETING_CONFINEMENT):
        assert made()["ValidatingAdmissionPolicyBinding", name]["validationActions"] == ["Warn"]
        assert made()["ValidatingAdmissionPolicy", name]["failurePolicy"] == "Ignore"
        enforcing = made(mode="enforce")
        assert enforcing["ValidatingAdmissionPolicyBinding", denying(name)]["validationActions"] == ["Deny"]
        assert enforcing["ValidatingAdmissionPolicy", name]["failurePolicy"] == "Fail"


def test_warning_and_denying_never_share_a_binding() -> None:
    """The server has the actions of a binding as a set, in which two writers' Warn and Deny would meet."""
    asking = {"policies": {"requireDeleteRight": True}}
    by_mode = [
        {name: spec for (kind, name), spec in made(mode=mode, **asking).items() if kind.endswith("Binding")}
        for mode in ("observe", "enforce")
    ]
    assert not by_mode[0].keys() & by_mode[1].keys()
    for name in (CLEANUP_CONFINEMENT, DELETING_CONFINEMENT, CLEANUP_RIGHT, DELETING_RIGHT, RETENTION_RIGHT):
        assert by_mode[0][name]["policyName"] == by_mode[1][denying(name)]["policyName"] == name


def test_without_policies_and_for_some_namespaces_there_is_none() -> None:
    assert not made(features={"policies": False})
    assert not made(namespaces=["shop"])


def test_what_the_operator_allows_is_not_refused() -> None:
    strict = made()["ValidatingAdmissionPolicy", CLEANUP_CONFINEMENT]["validations"]
    allowing = {"allowHttpInNamespacedPolicies": True, "allowSecretsInNamespacedPolicies": True}
    free = made(policies=allowing)["ValidatingAdmissionPolicy", CLEANUP_CONFINEMENT]["validations"]
    assert len(free) == len(strict) - 2


def test_every_built_in_kind_without_a_namespace_is_known() -> None:
    known = {(group, plural) for group, plural, _ in CLUSTER_WIDE}
    built_in = {(one.group, one.plural) for one in BUILT_IN if not one.namespaced and one.may("delete")}
    assert built_in <= known
    kinds = {(group, kind) for group, _, kind in CLUSTER_WIDE}
    assert not [one for one in BUILT_IN if one.namespaced and (one.group, one.kind) in kinds]


def test_every_built_in_kind_in_namespaces_is_known() -> None:
    built_in = {
        (one.group, one.plural, one.kind) for one in BUILT_IN if one.namespaced and one.may("list", "delete")
    }
    assert built_in == set(NAMESPACED)


def test_a_kind_without_a_group_is_the_one_that_a_run_takes() -> None:
    known = dict(plurals())
    discovery = Discovery(resources=BUILT_IN)
    for written, found in known.items():
        if "/" not in written:
            (resource,) = meant(kind_pattern(written), discovery)
            assert f"{resource.group}/{resource.plural}" == found
    assert known["v1/Event"] == "/events"
    assert known["events.k8s.io/Event"] == "events.k8s.io/events"


def test_the_right_to_delete_is_asked_for_where_the_operator_wants_it() -> None:
    wanted = {("ValidatingAdmissionPolicy", name) for name in (CLEANUP_RIGHT, DELETING_RIGHT)}
    assert not wanted & made(mode="enforce").keys()
    found = made(mode="enforce", policies={"requireDeleteRight": True})
    assert wanted <= found.keys()
    assert {found[one]["failurePolicy"] for one in wanted} == {"Fail"}


def test_who_writes_a_retention_policy_is_asked_whatever_is_switched_on() -> None:
    """Its kind is there in any case, and what is written while the feature is off counts once it is on."""
    asking = {"policies": {"requireDeleteRight": True}}
    for features in ({}, {"policies": False}, {"policies": False, "retention": True}):
        found = made(mode="enforce", features=features, **asking)
        assert found["ValidatingAdmissionPolicyBinding", denying(RETENTION_RIGHT)]["validationActions"] == [
            "Deny"
        ]
        assert ("ValidatingAdmissionPolicy", CLEANUP_RIGHT) in found or features
    assert ("ValidatingAdmissionPolicy", RETENTION_RIGHT) not in made(mode="enforce")
    assert not made(namespaces=["shop"], **asking)

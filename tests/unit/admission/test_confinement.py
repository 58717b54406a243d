"""Policies of a namespace stay in it by the word of the API server: which settings make which policies."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.admission.confinement import (
    CLEANUP_CONFINEMENT,
    CLUSTER_WIDE,
    DELETING_CONFINEMENT,
    policy_admission,
)
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
        assert enforcing["ValidatingAdmissionPolicyBinding", name]["validationActions"] == ["Deny"]
        assert enforcing["ValidatingAdmissionPolicy", name]["failurePolicy"] == "Fail"


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

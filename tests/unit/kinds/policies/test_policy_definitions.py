"""The definitions of policies: what was agreed on, and field for field what Kyverno's manifests need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kinds.policies import DEFINITIONS, policy_definitions
from skoupa.kinds.policies.cleanup import OPERATORS
from skoupa.policy import operators

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("found", policy_definitions(), ids=lambda found: found["metadata"]["name"])
def test_a_definition_changes_only_on_purpose(found: dict[str, Any]) -> None:
    """One golden file shows the stored version in full; what the others differ in is told by the rest of this module."""
    golden = GOLDEN / f"{found['metadata']['name']}.yaml"
    assert yaml.safe_load(golden.read_text(encoding="utf-8")) == stored(found), (
        f"if this change is meant, write yaml.safe_dump(stored(definition), sort_keys=False, width=110) to {golden.name}"
    )


def test_every_golden_file_belongs_to_a_definition() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {each.name for each in DEFINITIONS}


@pytest.mark.parametrize("found", policy_definitions(), ids=lambda found: found["metadata"]["name"])
def test_all_versions_of_a_kind_say_the_same(found: dict[str, Any]) -> None:
    first, *others = found["spec"]["versions"]
    for other in others:
        for part in ("schema", "subresources", "additionalPrinterColumns"):
            assert other.get(part) == first.get(part), other["name"]
        assert other["served"]
        assert not other["storage"]


@pytest.mark.parametrize(
    ("name", "versions", "short", "namespaced"),
    [
        ("cleanuppolicies.kyverno.io", ["v2", "v2beta1", "v2alpha1", "v1alpha1"], ["cleanpol"], True),
        (
            "clustercleanuppolicies.kyverno.io",
            ["v2", "v2beta1", "v2alpha1", "v1alpha1"],
            ["ccleanpol"],
            False,
        ),
        ("deletingpolicies.policies.kyverno.io", ["v1beta1", "v1", "v1alpha1"], ["dpol"], False),
        ("namespaceddeletingpolicies.policies.kyverno.io", ["v1beta1", "v1"], ["ndpol"], True),
        ("globalcontextentries.kyverno.io", ["v2beta1", "v2", "v2alpha1"], ["gctxentry"], False),
        ("policyexceptions.policies.kyverno.io", ["v1beta1", "v1", "v1alpha1"], [], True),
    ],
)
def test_kinds_are_called_and_versioned_as_kyvernos(
    name: str, versions: list[str], short: list[str], *, namespaced: bool
) -> None:
    found = next(each for each in policy_definitions() if each["metadata"]["name"] == name)["spec"]
    assert [each["name"] for each in found["versions"]] == versions
    assert found["versions"][0]["storage"]
    assert found["names"].get("shortNames", []) == short
    assert (found["scope"] == "Namespaced") == namespaced


def test_the_definition_has_just_the_operators_that_can_be_evaluated() -> None:
    assert OPERATORS == operators.OPERATORS


def stored(found: dict[str, Any]) -> dict[str, Any]:
    """The definition with the schema of its stored version only: those of the others are the same."""
    versions = [
        each if each["storage"] else {key: value for key, value in each.items() if key != "schema"}
        for each in found["spec"]["versions"]
    ]
    return {**found, "spec": {**found["spec"], "versions": versions}}

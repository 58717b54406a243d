"""Definitions: our own are what was agreed on, and what a definition of several versions says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import yaml

from skoupa.kinds import definitions
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import AGE, Column, Definition, Version, document, resource
from skoupa.kinds.schema import SchemaError, about

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parent / "golden"


class Old(msgspec.Struct, frozen=True):
    """As it was."""

    spec: Annotated[str, about("What is wanted.")]


class New(msgspec.Struct, frozen=True):
    """As it is."""

    spec: Annotated[str, about("What is wanted.")]
    status: Annotated[str, about("What there is.")] = ""


def widgets(*versions: Version) -> Definition:
    return Definition(
        group="example.com", kind="Widget", plural="widgets", namespaced=True, versions=versions
    )


OLD = Version(name="v1alpha1", shape=Old, storage=False, deprecation="use example.com/v1", columns=())
NEW = Version(name="v1", shape=New, columns=(Column(name="Want", path=".spec", priority=1), AGE))


@pytest.mark.parametrize("found", definitions(), ids=lambda found: found["metadata"]["name"])
def test_a_definition_changes_only_on_purpose(found: dict[str, Any]) -> None:
    """It is an interface: where a change is meant, the golden file is written anew and read in review."""
    golden = GOLDEN / f"{found['metadata']['name']}.yaml"
    assert yaml.safe_load(golden.read_text(encoding="utf-8")) == found, (
        f"if this change is meant, write yaml.safe_dump(definition, sort_keys=False, width=110) to {golden.name}"
    )


def test_every_golden_file_belongs_to_a_definition() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {found["metadata"]["name"] for found in definitions()}


def test_versions_are_told_apart_by_what_they_know() -> None:
    spec = document(widgets(NEW, OLD))["spec"]
    new, old = spec["versions"]
    assert (new["name"], new["served"], new["storage"]) == ("v1", True, True)
    assert new["subresources"] == {"status": {}}
    assert new["additionalPrinterColumns"][0] == {
        "name": "Want",
        "type": "string",
        "jsonPath": ".spec",
        "priority": 1,
    }
    assert (old["name"], old["served"], old["storage"]) == ("v1alpha1", True, False)
    assert old["deprecationWarning"] == "use example.com/v1"
    assert "subresources" not in old
    assert spec["scope"] == "Namespaced"


@pytest.mark.parametrize("versions", [(OLD,), (NEW, NEW), ()])
def test_exactly_one_version_is_stored(versions: tuple[Version, ...]) -> None:
    with pytest.raises(SchemaError, match="one version is stored"):
        document(widgets(*versions))


def test_a_kind_is_asked_for_in_its_stored_version_unless_another_is_named() -> None:
    both = widgets(OLD, NEW)
    assert (
        resource(both).path(namespace="shop", name="one")
        == "/apis/example.com/v1/namespaces/shop/widgets/one"
    )
    assert resource(both, "v1alpha1").api_version == "example.com/v1alpha1"
    assert resource(both).subresources == ("status",)
    assert resource(both, "v1alpha1").subresources == ()


def test_a_brake_is_in_no_namespace_and_has_a_short_name() -> None:
    assert BRAKES.path(name="one") == "/apis/skoupa.dev/v1alpha1/brakes/one"
    assert BRAKE.short_names == ("brk",)

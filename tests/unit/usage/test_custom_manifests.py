"""Objects of well-known custom kinds as people write them: exactly what each uses is found, by the tables and the walk together.

A file for each family in `manifests/`; beside each object stands what it `uses`, and what it only `mentions`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from skoupa.kube.decoding import decode_list
from skoupa.usage import custom
from skoupa.usage.found import Found, Use
from skoupa.usage.reading import shipped
from skoupa.usage.rules import Means
from skoupa.usage.walking import walk

pytestmark = pytest.mark.unit

FILES = sorted((Path(__file__).parent / "manifests").glob("*.yaml"))
MANIFESTS: list[dict[str, Any]] = [one for file in FILES for one in yaml.safe_load_all(file.read_text())]


def kind_of(manifest: dict[str, Any]) -> str:
    group = manifest["apiVersion"].rpartition("/")[0]
    return f"{group}/{manifest['kind']}" if group else str(manifest["kind"])


def found(manifest: dict[str, Any]) -> Found:
    """As it would come from a server: by its rules, or walked where it has none."""
    kind = kind_of(manifest)
    if kind not in shipped().kinds():
        return walk(manifest)
    _, items, bad = decode_list(
        msgspec.json.encode({"metadata": {}, "items": [manifest]}), shipped().view(kind), doing="test"
    )
    assert not bad
    return shipped().found(kind, items[0])


def told(use: Use) -> str:
    target = use.target
    where = f"{target.namespace}/{target.name}" if target.namespace else target.name
    how = f" {use.means.value}" if use.means in {Means.PRODUCES, Means.MANAGES} else ""
    return f"{target.kind} {where}{how}"


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_what_people_write_is_understood(manifest: dict[str, Any]) -> None:
    expected = dict(manifest)
    uses, mentions = set(expected.pop("uses")), set(expected.pop("mentions", ()))
    read = found(expected)
    assert {told(use) for use in read.uses if use.means is not Means.MENTIONS} == uses
    assert {told(use) for use in read.uses if use.means is Means.MENTIONS} == mentions
    assert not read.doubts


def test_each_family_has_manifests() -> None:
    assert {file.stem for file in FILES} == {family.__name__.rpartition(".")[2] for family in custom.FAMILIES}

"""Each field of a real server's schemas that refers to something, one by one: what is named there alone is kept, and is unused without."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from harness.controlplane import Access
from skoupa.facts.rows import Row
from skoupa.kube.decoding import decode_list
from skoupa.usage import builtin
from skoupa.usage.applying.layout import unfolded
from skoupa.usage.found import Found
from skoupa.usage.graph import Graph
from skoupa.usage.needs import Needed, Needs, Unneeded
from skoupa.usage.paths import parsed, written
from skoupa.usage.reading import Readings
from skoupa.usage.rules import KindRules, Means, Selection
from skoupa.usage.scopes import WITHOUT_NAMESPACE
from skoupa.usage.sight import Sight
from tests.cluster.openapi import Field, Schemas, served
from tests.cluster.reaching import connected
from tests.cluster.test_references import known, read_by
from tests.unit.usage.made_from_rules import OWN, Example, examples
from tests.unit.usage.making import row

pytestmark = pytest.mark.cluster

READINGS = Readings(builtin.RULES, builtin.ANNOTATED)
# Where any kind may be meant.
ANY_KIND = {"*": "ConfigMap", "*/Gadget": "example.com/Gadget"}


@pytest.fixture(scope="module")
def fields(control_plane: Access) -> list[tuple[str, Field]]:
    """Those that look like a reference and that the tables read."""

    async def read() -> Schemas:
        async with connected(control_plane.kubeconfig) as client:
            return await served(client)

    tables = {table.kind: set(read_by(table)) - set(beside(table)) for table in builtin.RULES}
    found = asyncio.run(read()).references()
    return [(kind, field) for kind, field in found if known(field, tables.get(kind, set()))]


def beside(table: KindRules) -> Iterator[str]:
    """Fields that say of a selector beside them in which Namespaces it selects."""
    for base, part in unfolded(table.parts):
        if isinstance(part, Selection) and part.namespaces_at:
            yield written((*base, *parsed(part.at)[:-1], *parsed(part.namespaces_at)))


def named_by(kind: str, field: Field, made: list[Example]) -> list[Example]:
    """Objects of the kind that say something in this field, and nowhere else."""
    inside = (f"{field.path}.", f"{field.path}[]", f"{field.path}{{")
    return [
        one
        for one in made
        if one.kind == kind and (one.at.replace("{@}", "{}") == field.path or one.at.startswith(inside))
    ]


def meant(example: Example) -> Row:
    """What it refers to, as an object of a cluster."""
    kind, namespace, name = example.meant
    kind = ANY_KIND.get(kind, kind)
    place = "" if kind in WITHOUT_NAMESPACE or not namespace else namespace.replace("*", OWN)
    labels = {}
    if example.chosen:
        key, _, value = name.partition("=")
        labels, name = {key: value}, "chosen"
    return row(kind, name.replace("*", "x").replace("#", "0"), namespace=place, labels=labels)


def read(example: Example) -> tuple[Row, Found]:
    """The object as it comes from a server."""
    view = READINGS.view(example.kind)
    body = msgspec.json.encode({"metadata": {}, "items": [example.manifest]})
    _, (item,), bad = decode_list(body, view, doing="test")
    assert not bad
    metadata = example.manifest["metadata"]
    user = row(example.kind, metadata["name"], namespace=metadata.get("namespace", ""))
    return user, READINGS.found(example.kind, item)


def wrong(example: Example) -> Iterator[str]:
    """What is not as it should be."""
    target, (user, found) = meant(example), read(example)
    graph = Graph()
    sight = Sight(readings=READINGS, read=frozenset({*READINGS.kinds(), "example.com/Gadget"}))
    needs = Needs(graph, sight)
    graph.put(target, Found())
    if needs.of(target) != Unneeded("proved"):
        yield "it is needed though nothing refers to it"
    graph.put(user, found)
    answer = needs.of(target, most=9)
    # What is only made for an object (its Endpoints, an Event about it) says so, and keeps nothing.
    at = {one.at: one.means for one in found.uses} | {one.at: one.means for one in found.choices}
    if at.get(example.at) is Means.CONCERNS:
        if isinstance(answer, Needed):
            yield "it is kept by what is only made for it"
    elif not isinstance(answer, Needed):
        yield "it is not kept"
    elif example.at not in {need.at for need in answer.needs}:
        yield f"it is kept for another reason: {answer.needs}"
    graph.remove(user.uid)
    if needs.of(target) != Unneeded("proved"):
        yield "it is still needed when nothing refers to it any more"


def test_what_is_named_in_this_field_alone_is_kept_and_is_unused_without_it(
    fields: list[tuple[str, Field]],
) -> None:
    made = list(examples(builtin.RULES, ()))
    looked: set[tuple[str, str]] = set()
    faults = []
    for kind, field in fields:
        objects = named_by(kind, field, made)
        if not objects:
            faults.append(f"{kind} {field.path}: no object can be made that refers to something there")
        for one in objects:
            key = (one.kind, one.at)
            if key not in looked:
                looked.add(key)
                faults += [f"{one} -> {one.meant}: {fault}" for fault in wrong(one)]
    assert not faults, "\n".join(faults)
    # Every kind that refers to anything at all in its schema was looked at.
    assert {kind for kind, _ in looked} == {kind for kind, _ in fields}

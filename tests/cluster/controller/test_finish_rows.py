"""Every row of the table of finishing on a real server: what has finished goes by its label, and what runs stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator

import pytest

from skoupa import names
from skoupa.errors import NotFound
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.timestamps import whole_seconds
from skoupa.usage.finishing import RULES
from tests.cluster.controller.finishing_kinds import REQUESTS, Made, definitions, make, objects
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_ttl_after import ON, after
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

# A caution of its rule holds each of them.
ALWAYS_HELD = {"velero.io/Backup"}


@pytest.fixture
async def kinds(people: People) -> AsyncIterator[None]:
    """Other tests of this control plane do without them."""
    brought = definitions()
    for _, definition in brought:
        await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def served() -> bool:
        try:
            for resource, _ in brought:
                await everything(people.client, resource, METADATA, scope=Scope(namespace=people.namespace))
        except NotFound:
            return False
        return True

    await eventually(served, what="the kinds to be served", seconds=60)
    yield
    gone = {resource.qualified for resource, _ in brought}
    for one in (await everything(people.client, CUSTOM_RESOURCE_DEFINITIONS, METADATA)).items:
        if one.metadata.name in gone:
            await people.remove(
                {"metadata": {"name": one.metadata.name, "uid": one.metadata.uid}},
                resource=CUSTOM_RESOURCE_DEFINITIONS,
            )

    async def taken() -> bool:
        left = await everything(people.client, CUSTOM_RESOURCE_DEFINITIONS, METADATA)
        return not gone & {one.metadata.name for one in left.items}

    await eventually(taken, what="the kinds to go", seconds=60)


async def left(people: People, resource: Resource) -> dict[str, str]:
    """Names of what is there, each with its mark."""
    scope = Scope(namespace="" if resource == REQUESTS else people.namespace, labels=names.TTL_AFTER_LABEL)
    found = await everything(people.client, resource, METADATA, scope=scope)
    return {
        one.metadata.name: (one.metadata.annotations or {}).get(names.UNNEEDED_SINCE_ANNOTATION, "")
        for one in found.items
        if one.metadata.name.startswith(people.namespace)
    }


async def test_of_every_row_what_has_finished_goes_and_what_runs_stays(
    kinds: None, yard: Yard, people: People
) -> None:
    made = objects(people.namespace)
    rows = {rule.kind for rule in RULES}
    assert {one.case.kind for one in made if not one.stays} == rows - ALWAYS_HELD
    assert {one.case.kind for one in made if one.case.finish} == rows
    assert {one.case.kind for one in made if not one.case.finish} == rows
    by_kind: dict[Resource, list[Made]] = defaultdict(list)
    # What stays is there before what goes, so that whoever saw the one go has seen the other.
    for one in sorted(made, key=lambda one: not one.stays):
        by_kind[one.resource].append(one)
        now = whole_seconds(people.client.clock.now() + 1)
        await make(people, one, labels=after("finished-1s"), now=now)
    skoupa = await yard.started(**ON)
    for resource, ones in by_kind.items():
        stay = {one.name for one in ones if one.stays}

        async def only_those(resource: Resource = resource, stay: set[str] = stay) -> bool:
            return set(await left(people, resource)) == stay

        await eventually(
            only_those,
            what=lambda ones=ones: [(one.name, one.case.case) for one in ones],  # type: ignore[misc]
            seconds=90,
            patiently=True,
        )
    running = {one.name for one in made if not one.case.finish}
    for resource in by_kind:
        marks = await left(people, resource)
        assert not [name for name, mark in marks.items() if name in running and mark]
    goes = {one.name for one in made if not one.stays}
    # The line about a delete comes a moment after it.
    await until(lambda: goes <= {line["name"] for line in skoupa.said("deleted")}, what="all to be told")
    assert {line["name"] for line in skoupa.said("deleted")} == goes
    for one in made:
        if one.resource == REQUESTS and one.stays:
            found = await people.client.get(REQUESTS, one.name, view=METADATA)
            await people.remove(
                {"metadata": {"name": one.name, "uid": found.metadata.uid}}, resource=REQUESTS
            )

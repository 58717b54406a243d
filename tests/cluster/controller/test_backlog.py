"""Many at once by mistake, on a real server: held and shown to the last of them, and gone once somebody accepts it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.kube.lists import count
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.controller.ageing import grow_old
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

HOUR = 3600
ACCEPTING = ("--accept-backlog",)


async def held(process: Skoupa, reason: str, number: int) -> None:
    async def all_held() -> bool:
        return await process.metric(f'skoupa_holds{{reason="{reason}"}}') == number

    await eventually(all_held, what=f"{number} to be held by {reason}")


async def all_gone(people: People) -> None:
    async def nothing_left() -> bool:
        # One is in every namespace.
        return await count(people.client, CONFIG_MAPS, namespace=people.namespace) == 1

    await eventually(nothing_left, what="all to go")


async def state(people: People, home: str) -> dict[str, str]:
    found = await people.client.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=home, view=WHOLE)
    data: dict[str, str] = found["data"]
    return data


async def test_more_than_a_hundred_forgotten_labels_wait_at_the_first_start_until_they_are_accepted(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    forgotten = [f"web-{number}" for number in range(101)]
    await asyncio.gather(*(people.make(name, "2020-01-01") for name in forgotten))
    process = await yard.started()
    await held(process, "first-start-backlog", 101)
    assert (
        await process.metric('skoupa_oldest_overdue_seconds{reason="first-start-backlog"}') > 5 * 365 * 86400
    )
    lines = process.said("held", namespace=people.namespace, level="warning")
    told = {line["name"]: line["why"] for line in lines}
    assert told.keys() == set(forgotten)
    assert told["web-7"] == (
        "one of 101 objects that were overdue when Skoupa first looked at this cluster; "
        "look at them with `skoupa plan`, then start with --accept-backlog"
    )

    await people.make("new", "1s")
    await people.gone("new")
    assert {entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)} == {"new"}
    process.end()

    await yard.started(flags=ACCEPTING)
    await all_gone(people)
    written = await state(people, yard.home)
    assert {"firstSweep", "backlogAccepted"} <= written.keys()


async def test_a_label_on_more_than_fifty_old_objects_waits_to_the_first_of_them_until_it_is_accepted(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    labelled = [f"web-{number}" for number in range(51)]
    made = await asyncio.gather(*(people.make(name) for name in labelled))
    await grow_old(plane, made, seconds=2 * HOUR)
    process = await yard.started()
    await asyncio.gather(*(people.label(name, ttl="1h") for name in labelled))
    await held(process, "retroactive-label", 51)
    lines = process.said("held", namespace=people.namespace, level="warning")
    last = {line["name"]: line["why"] for line in lines}
    assert last.keys() == set(labelled)
    assert all(why.startswith("one of 51 objects that became overdue together") for why in last.values())

    await people.make("new", "1s")
    await people.gone("new")
    assert {entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)} == {"new"}
    process.end()
    (mass,) = msgspec.json.decode((await state(people, yard.home))["massLabellings"])
    assert mass["count"] == 51

    await yard.started(flags=ACCEPTING)
    await all_gone(people)

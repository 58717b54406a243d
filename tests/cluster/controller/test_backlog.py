"""Many at once by mistake, on a real server: held and shown to the last of them, and gone once somebody accepts it."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import NotFound
from skoupa.kube.lists import count
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.commands import skoupa
from tests.cluster.controller.ageing import grow_old
from tests.cluster.controller.braking import brake
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import AuditLog, People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_rights import EVENTS, OWN
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
        "look at them with `skoupa plan`, then `skoupa brakes release first-start` (without Brakes: --accept-backlog)"
    )

    await people.make("new", "1s")
    await people.gone("new")
    assert {entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)} == {"new"}
    process.end()

    await yard.started(flags=ACCEPTING)
    await all_gone(people)
    written = await state(people, yard.home)
    assert {"firstSweep", "backlogAccepted"} <= written.keys()


async def test_forgotten_labels_of_a_kind_that_may_be_read_later_wait_as_at_a_first_start(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    forgotten = [f"web-{number}" for number in range(101)]
    await asyncio.gather(*(people.make(name, "2020-01-01") for name in forgotten))
    user = f"sweeper-{secrets.token_hex(4)}"
    await grant(people.client, user, OWN, namespace=yard.home)
    await grant(people.client, user, [("list watch", "", "namespaces"), EVENTS])
    process = await yard.started(program=IMPATIENT, kubeconfig=plane.kubeconfig_for(user=user))

    async def swept() -> bool:
        try:
            return {"firstSweep", "kindsRead"} <= (await state(people, yard.home)).keys()
        except NotFound:
            return False

    await eventually(swept, what="the first sweep")
    await grant(people.client, user, [("list watch delete", "", "configmaps")])
    await held(process, "first-start-backlog", 101)
    await people.make("new", "1s")
    await people.gone("new")
    assert {entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)} == {"new"}
    process.end()

    await yard.started(kubeconfig=plane.kubeconfig_for(user=user), flags=ACCEPTING)
    await all_gone(people)


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


async def test_plan_explain_and_sweep_hold_what_a_first_start_holds(
    plane: ControlPlane, people: People, running: Yard, tmp_path: Path
) -> None:
    forgotten = [f"web-{number}" for number in range(120)]
    await asyncio.gather(*(people.make(name, "2020-01-01") for name in forgotten))
    process = await running.started()
    await held(process, "first-start-backlog", 120)

    async def counted() -> bool:
        return ((await brake(people, "first-start")).get("status") or {}).get("held") == 120

    await eventually(counted, what="the Brake to tell how many it holds")
    config = tmp_path / "settings.yaml"
    config.write_text(f"lease: {{namespace: {running.home}}}\n")

    # Who knows no settings looks for the state elsewhere, and has the Brake alone.
    for given in (("--config", str(config)), ()):

        async def said(*words: str, given: tuple[str, ...] = given) -> str:
            answer = await skoupa(*words, "-n", people.namespace, *given, kubeconfig=plane.kubeconfig)
            assert answer.code == 0, answer
            return answer.out

        items = msgspec.json.decode(await said("plan", "-o", "json"))["items"]
        codes = [[hold["reason"]["code"] for hold in item["holds"]] for item in items]
        assert codes == [["first-start-backlog"]] * 120
        told = await said("explain", "cm/web-7")
        assert "but held: it stays." in told
        assert "held by: one of 120 objects" in told
        assert "120 due: 0 will go, 120 held." in await said("sweep", "--yes")
    assert await count(people.client, CONFIG_MAPS, namespace=people.namespace) == 121
    released = await skoupa("brakes", "release", "first-start", "--yes", kubeconfig=plane.kubeconfig)
    assert released.code == 0, released
    await all_gone(people)

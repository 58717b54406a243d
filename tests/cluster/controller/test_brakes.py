"""Brakes on a real server, with `skoupa run` as a process: how quickly they stop, that they stop at the number, and letting go."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import Rule, Slow
from skoupa import names
from skoupa.errors import NotFound
from skoupa.kinds.brake import BRAKES
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.commands import ended, skoupa, started
from tests.cluster.controller.braking import (
    all_gone,
    brake,
    bring_kind,
    held,
    left,
    make_all,
    pull,
    release,
    take_kind_away,
)
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually, faulty

pytestmark = pytest.mark.cluster

PER_SECOND = 40
# Who is killed keeps the next one waiting for as long.
SHORT_LEASE = {"lease__seconds": "5", "lease__retrySeconds": "1"}
# Seconds that a reading takes.
SLOWLY = 0.3


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def begun(audit: AuditLog, people: People) -> list[float]:
    return sorted(moment(entry["requestReceivedTimestamp"]) for entry in audit.deletes(people.namespace))


def created(audit: AuditLog, name: str) -> float:
    """When the server had the Brake, by its own clock."""
    (entry,) = [
        entry
        for entry in audit.entries(agent="people/")
        if entry["verb"] == "create"
        and entry["stage"] == "ResponseComplete"
        and (entry.get("objectRef") or {}).get("resource") == BRAKES.plural
        and entry["requestURI"].startswith(BRAKES.path())
        and (entry.get("objectRef") or {}).get("name", name) == name
    ]
    return moment(entry["stageTimestamp"])


async def test_a_new_brake_stops_a_backlog_that_is_under_way_within_a_second(
    people: People, running: Yard, audit: AuditLog
) -> None:
    process = await running.started(rate__deletionsPerSecond=str(PER_SECOND))
    await make_all(people, 250, "4s")

    async def under_way() -> bool:
        return len(audit.deletes(people.namespace)) >= 60

    await eventually(under_way, what="deletions to be under way", patiently=False)
    name = f"stop-{secrets.token_hex(3)}"
    await pull(people, name, namespace=people.namespace)

    async def stands() -> bool:
        if await process.metric('skoupa_queue{queue="under_way"}'):
            return False
        return await process.metric('skoupa_holds{reason="brake"}') == await left(people)

    await eventually(stands, what="all that is left to be held")
    await logged(audit, people, 250 - await left(people))
    assert begun(audit, people)[-1] <= created(audit, name) + 1
    assert await left(people) > 100, "it stopped in the middle"
    status = (await brake(people, name)).get("status") or {}
    assert status.get("active") is True

    await release(people, name)
    await all_gone(people)


async def test_a_new_brake_stops_a_sweep_by_hand_within_a_second_also_on_a_slow_server(
    people: People, kind: None, audit: AuditLog, plane: ControlPlane, tmp_path: Path
) -> None:
    await make_all(people, 300, "0")
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"rate: {{deletionsPerSecond: {PER_SECOND}}}\n")
    async with faulty(plane.access) as proxy:
        slowly = proxy.write_kubeconfig(tmp_path / "slowly")
        process = await started(
            "sweep", "-n", people.namespace, "--yes", "--config", settings, kubeconfig=slowly
        )

        # What it reads before may be quick.
        await proxy.wait_for(lambda seen: seen.method == "DELETE", within=60)
        proxy.script(Rule(Slow(delay=SLOWLY), method="GET", times=None))

        async def under_way() -> bool:
            return len(audit.deletes(people.namespace)) >= 40

        await eventually(under_way, what="deletions to be under way", patiently=False)
        name = f"stop-{secrets.token_hex(3)}"
        await pull(people, name, namespace=people.namespace)
        said = await ended(process)
    assert said.code == 4, said.err
    await logged(audit, people, 300 - await left(people))
    # The news waits for the slow server too.
    assert begun(audit, people)[-1] <= created(audit, name) + 1 + SLOWLY
    assert await left(people) > 100, "it stopped in the middle"
    assert f"brake {name}" in said.out


async def stays(people: People, number: int) -> None:
    assert await stable_left(people) == number


async def logged(audit: AuditLog, people: People, number: int) -> None:
    """The audit log is written a moment later."""

    async def all_of_them() -> bool:
        return len(audit.deletes(people.namespace)) >= number

    await eventually(all_of_them, what=f"{number} deletes in the audit log")
    assert len(audit.deletes(people.namespace)) == number


async def stable_left(people: People) -> int:
    """How many are left when nothing goes any more."""
    seen: list[int] = []

    async def stands() -> bool:
        seen.append(await left(people))
        return len(seen) > 50 and len(set(seen[-50:])) == 1

    await eventually(stands, what="deletions to stop", patiently=False)
    return seen[-1]


async def test_a_ceiling_lets_exactly_its_number_go_and_a_restart_keeps_the_hold(
    people: People, running: Yard, audit: AuditLog
) -> None:
    ceiling = {"brakes__namespacePerMinute": "60", "rate__deletionsPerSecond": "500", **SHORT_LEASE}
    process = await running.started(**ceiling)
    await make_all(people, 150, "3s")
    name = f"ceiling-namespace-{people.namespace}-per-minute"
    made = await brake(people, name)
    await held(process, "brake", 90)
    await stays(people, 90)
    await logged(audit, people, 60)
    assert made["spec"]["scope"] == {"namespace": people.namespace}
    assert made["metadata"]["finalizers"] == [names.BRAKE_FINALIZER]
    assert await process.metric('skoupa_trips_total{span="namespace-minute"}') == 1
    process.kill()

    again = await running.started(**ceiling)
    await held(again, "brake", 90)
    assert await left(people) == 90
    assert len(audit.deletes(people.namespace)) == 60

    async def told() -> bool:
        status = (await brake(people, name)).get("status") or {}
        return status.get("held") == 90 and len(status.get("sample", ())) == 20

    await eventually(told, what="the status to say what is held")
    await release(people, name)
    await all_gone(people)
    await again.says("brake released", name=name, held="90", by="somebody unknown")

    async def brake_gone() -> bool:
        try:
            await people.client.get(BRAKES, name, view=METADATA)
        except NotFound:
            return True
        return False

    await eventually(brake_gone, what="the Brake to go, and not to come back")


async def test_brakes_that_vanish_with_their_definition_hold_everything_and_come_back_with_it(
    people: People, running: Yard, audit: AuditLog
) -> None:
    process = await running.started(**SHORT_LEASE)
    name = f"stop-{secrets.token_hex(3)}"
    await pull(people, name, namespace=people.namespace)

    async def taken_on() -> bool:
        return bool((await brake(people, name))["metadata"].get("finalizers"))

    await eventually(taken_on, what="the finalizer")
    await make_all(people, 5, "1s", what="braked")
    await held(process, "brake", 5)
    await take_kind_away(people.client)
    await make_all(people, 5, "1s", what="free")
    await held(process, "brakes-unknown", 10)
    assert audit.deletes(people.namespace) == []
    assert not process.said("brake released")
    process.kill()

    again = await running.started(**SHORT_LEASE)
    await held(again, "brakes-unknown", 10)
    state = await people.client.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=running.home, view=WHOLE)
    assert msgspec.json.decode(state["data"]["brakesSeen"]) > 0
    assert audit.deletes(people.namespace) == []

    await bring_kind(people.client)
    assert (await brake(people, name))["spec"]["scope"] == {"namespace": people.namespace}
    await held(again, "brake", 10)
    assert audit.deletes(people.namespace) == []
    await release(people, name)
    await all_gone(people)


async def test_a_brake_goes_on_holding_when_its_definition_is_replaced(
    people: People, running: Yard, audit: AuditLog
) -> None:
    process = await running.started()
    name = f"stop-{secrets.token_hex(3)}"
    made = await pull(people, name, namespace=people.namespace)

    async def taken_on() -> bool:
        return bool((await brake(people, name))["metadata"].get("finalizers"))

    await eventually(taken_on, what="the finalizer")
    await make_all(people, 5, "1s")
    await held(process, "brake", 5)
    await take_kind_away(people.client)
    await bring_kind(people.client)
    again = await brake(people, name)
    assert again["metadata"]["uid"] != made["metadata"]["uid"]
    assert again["spec"] == made["spec"]
    await held(process, "brake", 5)
    assert audit.deletes(people.namespace) == []
    await release(people, name)
    await all_gone(people)


async def test_a_first_start_backlog_is_released_by_its_brake(people: People, running: Yard) -> None:
    await make_all(people, 101, "2020-01-01")
    process = await running.started()
    await held(process, "first-start-backlog", 101)
    made = await brake(people, "first-start")
    assert "101 objects were overdue" in made["spec"]["reason"]
    await release(people, "first-start")
    await all_gone(people)


async def test_pause_and_release_by_command_with_the_name_of_who_did_it(
    plane: ControlPlane, people: People, running: Yard, audit: AuditLog
) -> None:
    process = await running.started()
    paused = await skoupa("pause", f"ns/{people.namespace}", "--for", "1h", kubeconfig=plane.kubeconfig)
    assert paused.code == 0, paused.err
    assert paused.err == "", "the controller has answered"
    name = f"pause-ns-{people.namespace}"
    await make_all(people, 3, "1s")
    await held(process, "brake", 3)
    assert audit.deletes(people.namespace) == []

    async def counted() -> bool:
        shown = await skoupa("brakes", kubeconfig=plane.kubeconfig)
        line = next(line for line in shown.out.splitlines() if line.startswith(f"{name} "))
        return line.split()[1:4] == [f"ns/{people.namespace}", "holds", "3"]

    await eventually(counted, what="the held objects to be shown")
    planned = await skoupa("plan", "-n", people.namespace, kubeconfig=plane.kubeconfig)
    assert planned.out.count(f"brake {name}") == 3

    released = await skoupa("brakes", "release", name, "--yes", kubeconfig=plane.kubeconfig)
    assert released.code == 0, released.err
    assert released.out.splitlines()[-1] == f"released {name}"
    await all_gone(people)
    line = await process.says("brake released", name=name)
    assert line["held"] == "3"
    assert line["by"] not in {"", "somebody unknown"}
    event = await people.event(name, "SkoupaReleased", kind="Brake", namespace="default")
    assert line["by"] in str(event["message"])


async def test_a_crash_does_not_empty_the_windows_of_the_ceilings(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    """Without the kind nothing but the ledger knows what went."""
    ceiling = {"brakes__namespacePerHour": "40", "rate__deletionsPerSecond": "500", **SHORT_LEASE}
    process = await yard.started(**ceiling)
    await make_all(people, 60, "3s")
    await held(process, "brake", 20)
    await stays(people, 20)
    process.kill()

    again = await yard.started(**ceiling)
    await held(again, "brake", 20)
    await stays(people, 20)
    await logged(audit, people, 40)

"""The server's clock and the one here come apart while much is going on, as the Date of its answers tells.

Dates have whole seconds, so less than two seconds can't be told from none. From two on nothing goes, which is warned
about, until the clocks agree again; then everything due goes, once. Who asks for a plan is told by the server's clock.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, OtherClock, Rule, Seen
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_ledger import left, make_many
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

MANY = 240
IN_FLIGHT = 64
# So slow that much is left when the clocks come apart.
PER_SECOND = "30"


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


@pytest.fixture
def through(proxy: FaultProxy, tmp_path: Path) -> Path:
    return proxy.write_kubeconfig(tmp_path / "proxy")


def set_apart(proxy: FaultProxy, seconds: float) -> None:
    proxy.clear()
    proxy.script(Rule(OtherClock(seconds), times=None))


async def apart(process: Skoupa) -> None:
    async def are_apart() -> bool:
        return abs(await process.metric("skoupa_clock_skew_seconds")) >= 2

    await eventually(are_apart, what="the clocks to be apart")


def sent(proxy: FaultProxy, people: People) -> list[Seen]:
    """The deletes so far; the server writes its log of them a moment later."""
    place = CONFIG_MAPS.path(namespace=people.namespace)
    return [seen for seen in proxy.requests if seen.method == "DELETE" and seen.path.startswith(place)]


def deleted(audit: AuditLog, people: People) -> Counter[str]:
    return Counter(entry["objectRef"]["name"] for entry in audit.deletes(people.namespace))


@pytest.mark.parametrize("ahead", [4, -4])
async def test_clocks_that_come_apart_hold_with_a_warning_until_they_agree_again(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, ahead: int
) -> None:
    process = await yard.started(kubeconfig=through)
    await people.make("before", "1s")
    await people.gone("before")
    set_apart(proxy, ahead)
    await apart(process)
    await people.make("web", "1s")
    held = await process.says("held", namespace=people.namespace, name="web")
    assert held["level"] == "warning"
    assert held["why"].startswith(f"the clock here and the server's differ by {'+' if ahead > 0 else '-'}")
    assert await process.metric('skoupa_holds{reason="clock-skew"}') >= 1
    path = CONFIG_MAPS.path(namespace=people.namespace, name="web")
    assert not [seen for seen in sent(proxy, people) if seen.path == path]
    assert await people.there("web")
    proxy.clear()
    await people.gone("web")


@pytest.mark.parametrize("ahead", [2, -2])
async def test_what_whole_seconds_can_not_tell_from_none_holds_nothing(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, ahead: int
) -> None:
    set_apart(proxy, ahead)
    process = await yard.started(kubeconfig=through)
    await people.make("web", "1s")
    await people.gone("web")
    assert not process.said("held", namespace=people.namespace)


async def test_what_is_left_of_many_waits_and_then_goes_once(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(
        kubeconfig=through, rate__inFlight=str(IN_FLIGHT), rate__deletionsPerSecond=PER_SECOND
    )
    await make_many(people, MANY)
    await people.label(people.namespace, resource=NAMESPACES, keep=None)

    async def some_went() -> bool:
        return await left(people) < MANY - 20

    await eventually(some_went, what="some to go", patiently=False)
    set_apart(proxy, 30)
    await apart(process)
    before = len(sent(proxy, people))

    async def all_held() -> bool:
        return await process.metric('skoupa_holds{reason="clock-skew"}') == await left(people) > 0

    await eventually(all_held, what="all that are left to be held")
    # What had left when the server's clock was seen to be off.
    assert len(sent(proxy, people)) <= before + IN_FLIGHT
    proxy.clear()

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=60)
    wanted = Counter(f"web-{number}" for number in range(MANY))
    await until(lambda: deleted(audit, people) >= wanted, what="all of them in the audit log")
    assert deleted(audit, people) == wanted


async def test_a_sweep_by_hand_holds_everything_and_a_plan_is_by_the_servers_clock(
    proxy: FaultProxy, through: Path, people: People, audit: AuditLog
) -> None:
    await people.make("due", "1s")
    await people.make("in-a-while", "2m")
    set_apart(proxy, 300)
    swept = await skoupa("sweep", "-n", people.namespace, "--yes", "-o", "json", kubeconfig=through)
    planned = await skoupa("plan", "-n", people.namespace, "-o", "json", kubeconfig=through)
    for said in (swept, planned):
        assert said.code == 0, said.err
        assert "the clock here and the server's differ by +" in said.err
        assert "times are the server's" in said.err
    held = {item["name"]: item for item in json.loads(swept.out)["items"]}
    assert held.keys() == {"due", "in-a-while"}
    for item in held.values():
        assert "clock-skew" in [hold["reason"]["code"] for hold in item["holds"]]
        assert "outcome" not in item
    assert not audit.deletes(people.namespace)
    document = json.loads(planned.out)
    # By the clock here one of them is not due yet.
    assert {item["name"]: item["due"] < document["now"] for item in document["items"]} == {
        "due": True,
        "in-a-while": True,
    }

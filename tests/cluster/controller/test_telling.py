"""What is told when the server itself stands in the way: kinds that it can't list, deletes that it refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, Rule, kube_status
from skoupa import names
from tests.cluster.controller.objects import People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.refusing import doorman
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

# The selector is escaped in the address.
TIMED_CONFIG_MAPS = re.compile(r"^/api/v1/configmaps\?.*cleanup\.kyverno\.io(/|%2F)ttl")
NAMESPACES = re.compile(r"^/api/v1/namespaces\?")
CANT = ("can't be read", "can't be followed", "can't be read any more", "can't be understood")


@pytest.fixture
async def proxy(plane: ControlPlane) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FaultProxy, tmp_path: Path) -> Path:
    return proxy.write_kubeconfig(tmp_path / "proxy")


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    """How long it waits before the next try is a story of its own; here it only has to come."""
    return OtherTime(tmp_path, shorter=5).program


@pytest.fixture(autouse=True)
async def end_in_time(yard: Yard, proxy: FaultProxy) -> AsyncIterator[None]:
    """While the proxy still serves: a process that ends has a Lease to hand over."""
    yield
    await asyncio.to_thread(yard.close)


async def test_a_kind_that_the_server_can_not_list_is_told_with_its_words_and_when_it_can_again(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, program: tuple[str, ...]
) -> None:
    failing = proxy.script(
        Rule(kube_status(500, message="etcd is unwell"), method="GET", path=TIMED_CONFIG_MAPS, times=None)
    )
    process = await yard.started(program=program, kubeconfig=through)
    (ready,) = process.said("ready")
    assert ready["unreadable"] == "configmaps"
    assert (await process.get("/readyz"))[0] == 200
    await people.make("web", "1s")
    line = await process.says("can't be read")
    assert (line["level"], line["kinds"]) == ("warning", "configmaps")
    assert "etcd is unwell" in line["why"]
    assert "what is due there is not seen, and stays" in line["so"]
    assert await process.metric('skoupa_blind_kinds{state="never-read"}') == 1
    assert await process.metric('skoupa_watches{state="behind"}') == 1
    assert proxy.hits(failing) >= 2
    assert await people.there("web")

    proxy.clear()
    await people.gone("web", seconds=60)
    back = await process.says("can be read again", seconds=60)
    assert back["kinds"] == "configmaps"
    assert [line["event"] for line in process.lines if line["event"] in CANT] == ["can't be read"]


async def test_a_watch_of_namespaces_that_breaks_is_no_news_of_every_object_that_is_kept(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, program: tuple[str, ...]
) -> None:
    process = await yard.started(program=program, kubeconfig=through)
    kept = [f"kept-{number}" for number in range(10)]
    for name in kept:
        await people.make(name, "1s", labels={names.KEEP_LABEL: "true"})
    for name in kept:
        await process.says("held", name=name, namespace=people.namespace)
    proxy.script(Rule(kube_status(500, message="etcd is unwell"), method="GET", path=NAMESPACES, times=None))
    assert proxy.cut_open_connections()
    line = await process.says("can't be followed")
    assert line["kinds"] == "namespaces"
    assert "everything due in namespaces is held" in line["so"]
    proxy.clear()
    await process.says("can be read again", seconds=100)
    assert len(process.said("held", namespace=people.namespace)) == len(kept)


async def test_a_delete_that_a_webhook_refuses_is_an_event_on_the_object_and_one_line(
    people: People, yard: Yard, tmp_path: Path, program: tuple[str, ...]
) -> None:
    async with doorman(people, tmp_path) as door:
        process = await yard.started(program=program)
        door.refuse("web", "ask the owner of the shop first")
        made = await people.make("web", "1s")

        async def told() -> list[dict[str, Any]]:
            return [event for event in await people.events("web") if event["reason"] == "SkoupaFailed"]

        await eventually(told, what="the Event")
        await until(lambda: len(door.asked_about("web")) >= 4, what="it to be tried again")
        (event,) = await told()
        assert event["type"] == "Warning"
        assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
        assert "ask the owner of the shop first" in event["message"]
        assert len(process.said("delete failed", name="web", namespace=people.namespace)) == 1

        door.refuse("web", "not on a Friday")
        await until(
            lambda: len(process.said("delete failed", name="web", namespace=people.namespace)) == 2,
            what="the other words",
            seconds=60,
        )

        async def told_anew() -> bool:
            return len(await told()) == 2

        await eventually(told_anew, what="the other Event")
        door.let_go("web")
        await people.gone("web", seconds=60)

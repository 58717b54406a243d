"""Watches that say nothing and are not cut, while people change their minds: what goes all the same, and what does not.

The fault proxy silences every watch of the process, so that all that it can learn is what it asks for. What a delete names
of the object makes the server refuse; a Namespace, and what is inside one that is to go, are read right before. That a
dependent in the same namespace is kept since then nobody hears, which docs/ttl.md says under "What is not seen".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, Rule, Slow
from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.controller.objects import SECRETS, AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, faulty
from tests.unit.controller.stage import owned_by

pytestmark = pytest.mark.cluster

# Long enough for people to change their minds before it is over.
SOON = "9s"


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


@pytest.fixture
async def process(proxy: FaultProxy, yard: Yard, tmp_path: Path) -> Skoupa:
    return await yard.started(kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"))


@asynccontextmanager
async def known(process: Skoupa, proxy: FaultProxy, objects: int) -> AsyncIterator[None]:
    """What is made inside becomes known, and then there is silence."""
    before = await process.metric("skoupa_objects")
    yield

    async def all_known() -> bool:
        return await process.metric("skoupa_objects") == before + objects

    await eventually(all_known, what="the objects to be known")
    assert await proxy.silence_open()


def answers(audit: AuditLog, people: People, name: str) -> list[int]:
    """What the server said to the deletes of that name."""
    return [
        entry["responseStatus"]["code"]
        for entry in audit.deletes(people.namespace)
        if entry["objectRef"]["name"] == name
    ]


async def test_an_object_that_was_changed_is_refused_by_its_version_and_judged_as_it_is_now(
    process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog
) -> None:
    changed = ("cancelled", "kept", "put-off", "hastened")
    async with known(process, proxy, len(changed) + 1):
        for name in changed:
            await people.make(name, SOON)
        made = await people.make("moved", SOON)
    await people.label("cancelled", ttl=None)
    await people.label("kept", keep="true")
    await people.label("put-off", ttl="1h")
    await people.label("moved", ttl="15s")
    # Nobody hears of it, so it goes at the time that was known.
    await people.label("hastened", ttl="1s")
    held = await process.says("held", namespace=people.namespace, name="kept")
    assert held["why"] == "kept by its label skoupa.dev/keep=true"
    await people.gone("hastened")
    await people.gone("moved")
    for name in ("cancelled", "kept", "put-off"):
        assert await people.there(name)
        assert answers(audit, people, name) == [409]
    assert answers(audit, people, "hastened") == [409, 200]
    assert answers(audit, people, "moved") == [409, 200]
    went = await process.says("deleted", namespace=people.namespace, name="moved")
    assert went["why"].startswith("cleanup.kyverno.io/ttl=15s")
    assert _seconds(went["time"]) >= _seconds(made["metadata"]["creationTimestamp"]) + 15


async def test_a_keep_label_on_the_namespace_is_read_before_anything_in_it_goes(
    process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog
) -> None:
    async with known(process, proxy, 2):
        await people.make("web", SOON)
        await people.make("app", SOON)
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    for name in ("web", "app"):
        held = await process.says("held", namespace=people.namespace, name=name)
        assert held["why"] == "kept: its Namespace has the label skoupa.dev/keep=true"
    assert not audit.deletes(people.namespace)
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    # It hears of that when its watches speak again.
    assert proxy.cut_open_connections(watch_only=False)
    await people.gone("web", seconds=40)
    await people.gone("app", seconds=40)


async def test_what_is_kept_inside_a_namespace_is_asked_for_before_the_namespace_goes(
    process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog
) -> None:
    async with known(process, proxy, 1):
        name = f"{people.namespace}-inside"
        labels = {names.TTL_LABEL: SOON}
        await people.client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
    inside = People(people.client, name)
    await inside.make("deed", resource=SECRETS, labels={names.KEEP_LABEL: "true"})
    held = await process.says("held", name=name)
    assert f"{name}/deed" in held["why"]
    assert await people.there(name, resource=NAMESPACES)
    assert not [entry for entry in audit.entries() if entry["verb"] == "delete"]
    # The next test's process would see it.
    await people.label(name, resource=NAMESPACES, ttl=None)


async def test_a_dependent_that_is_kept_meanwhile_is_not_seen_while_its_watch_is_silent_but_is_when_it_is_cut(
    process: Skoupa, proxy: FaultProxy, people: People
) -> None:
    """The limit that the docs name, and where it ends: whoever is cut off knows it, and reads anew."""
    owners = {name: await people.make(name) for name in ("believed", "behind")}
    for name, owner in owners.items():
        await people.make(f"{name}-deed", resource=SECRETS, ownerReferences=[owned_by(owner)])
    async with known(process, proxy, 1):
        await people.label("believed", ttl=SOON)
    await people.label("believed-deed", resource=SECRETS, keep="true")
    await people.gone("believed")
    await people.gone("believed-deed", resource=SECRETS)

    # Silent ones are cut from the outside, and come back.
    await people.label("behind-deed", resource=SECRETS, keep="true")
    await people.label("behind", ttl="1s")
    assert proxy.cut_open_connections(watch_only=False)
    held = await process.says("held", namespace=people.namespace, name="behind", seconds=40)
    assert "behind-deed" in held["why"]
    assert await people.there("behind")
    await people.label("behind-deed", resource=SECRETS, keep=None)
    await people.gone("behind", seconds=40)


class Restless:
    """Somebody who writes to an object all the time, so that no delete names its state in time."""

    def __init__(self, people: People, name: str) -> None:
        self._people = people
        self._name = name
        self._beat = 0

    async def write(self) -> None:
        while True:
            self._beat += 1
            patch = {"metadata": {"annotations": {"beat": str(self._beat)}}}
            await self._people.client.merge_patch(
                CONFIG_MAPS, self._name, patch, namespace=self._people.namespace
            )

    @asynccontextmanager
    async def at_it(self) -> AsyncIterator[None]:
        writer = asyncio.create_task(self.write())
        try:
            yield
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)


async def test_a_keep_label_that_comes_before_the_last_reading_keeps_what_never_rests(
    process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog
) -> None:
    path = CONFIG_MAPS.path(namespace=people.namespace, name="web")
    proxy.script(Rule(Slow(before=2.0), method="DELETE", path=path, times=None))
    async with known(process, proxy, 1):
        await people.make("web", SOON)
    async with Restless(people, "web").at_it():
        await proxy.wait_for(lambda seen: seen.method == "DELETE" and seen.path == path, 30, count=2)
        await people.label("web", keep="true")
        held = await process.says("held", namespace=people.namespace, name="web")
        assert held["why"] == "kept by its label skoupa.dev/keep=true"
    assert answers(audit, people, "web") == [409, 409]
    assert await people.there("web")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

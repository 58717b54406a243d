"""Watches that say nothing and are not cut, while people change their minds: what goes all the same, and what does not.

The fault proxy silences every watch of the process, so that all that it can learn is what it asks for. What a delete names
of the object makes the server refuse; a Namespace, and what is inside one that is to go, are read right before. That a
dependent in the same namespace is kept since then nobody hears, which docs/ttl.md says under "What is not seen".

Stories in namespaces of their own share one process and one silence: each is about what was known when it fell.
"""

from __future__ import annotations

import asyncio
import secrets
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
from tests.cluster.controller.together import together
from tests.cluster.reaching import POLL_SECONDS, faulty
from tests.unit.controller.stage import owned_by

pytestmark = pytest.mark.cluster

# Long enough for people to change their minds before it is over.
SOON = "15s"
LATER_SECONDS = 21


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


@pytest.fixture
async def process(proxy: FaultProxy, yard: Yard, tmp_path: Path) -> Skoupa:
    return await yard.started(kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"))


class Story:
    """What `prepare` makes becomes known; then there is silence, and `while_silent` is told."""

    def __init__(self, process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog) -> None:
        self.process = process
        self.proxy = proxy
        self.people = people
        self.audit = audit

    async def prepare(self) -> None:
        raise NotImplementedError

    async def while_silent(self) -> None:
        raise NotImplementedError

    def answers(self, name: str) -> list[int]:
        """What the server said to the deletes of that name."""
        return [
            entry["responseStatus"]["code"]
            for entry in self.audit.deletes(self.people.namespace)
            if entry["objectRef"]["name"] == name
        ]

    async def held(self, name: str) -> str:
        """Why."""
        line = await self.process.says("held", namespace=self.people.namespace, name=name)
        return str(line["why"])


class Changed(Story):
    """An object that was changed is refused by its version, and judged as it is now."""

    async def prepare(self) -> None:
        for name in ("cancelled", "kept", "put-off", "hastened"):
            await self.people.make(name, SOON)
        self._moved = await self.people.make("moved", SOON)

    async def while_silent(self) -> None:
        people = self.people
        await people.label("cancelled", ttl=None)
        await people.label("kept", keep="true")
        await people.label("put-off", ttl="1h")
        await people.label("moved", ttl=f"{LATER_SECONDS}s")
        # Nobody hears of it, so it goes at the time that was known.
        await people.label("hastened", ttl="1s")
        assert await self.held("kept") == "kept by its label skoupa.dev/keep=true"
        await people.gone("hastened")
        await people.gone("moved")
        for name in ("cancelled", "kept", "put-off"):
            assert await people.there(name)
            assert self.answers(name) == [409]
        assert self.answers("hastened") == [409, 200]
        assert self.answers("moved") == [409, 200]
        went = await self.process.says("deleted", namespace=people.namespace, name="moved")
        assert went["why"].startswith(f"cleanup.kyverno.io/ttl={LATER_SECONDS}s")
        made = _seconds(self._moved["metadata"]["creationTimestamp"])
        assert _seconds(went["time"]) >= made + LATER_SECONDS


class KeptNamespace(Story):
    """A keep label on the Namespace is read before anything in it goes."""

    async def prepare(self) -> None:
        await self.people.make("web", SOON)
        await self.people.make("app", SOON)

    async def while_silent(self) -> None:
        people = self.people
        await people.label(people.namespace, resource=NAMESPACES, keep="true")
        for name in ("web", "app"):
            assert await self.held(name) == "kept: its Namespace has the label skoupa.dev/keep=true"
        assert not self.audit.deletes(people.namespace)

    async def before_the_cut(self) -> None:
        await self.people.label(self.people.namespace, resource=NAMESPACES, keep=None)

    async def after_the_cut(self) -> None:
        """It hears of that when its watches speak again."""
        await self.people.gone("web")
        await self.people.gone("app")


class KeptInside(Story):
    """What is kept inside a Namespace is asked for before the Namespace goes."""

    async def prepare(self) -> None:
        self._inside = People(self.people.client, f"{self.people.namespace}-inside")
        metadata = {"name": self._inside.namespace, "labels": {names.TTL_LABEL: SOON}}
        await self.people.client.create(NAMESPACES, {"metadata": metadata})

    async def while_silent(self) -> None:
        name = self._inside.namespace
        await self._inside.make("deed", resource=SECRETS, labels={names.KEEP_LABEL: "true"})
        held = await self.process.says("held", name=name)
        assert f"{name}/deed" in held["why"]
        assert await self.people.there(name, resource=NAMESPACES)
        deleted = [entry["objectRef"] for entry in self.audit.entries() if entry["verb"] == "delete"]
        assert not [one for one in deleted if name in {one["name"], one.get("namespace")}]
        # The next test's process would see it.
        await self.people.label(name, resource=NAMESPACES, ttl=None)


class KeptDependent(Story):
    """A dependent that is kept meanwhile is not seen while its watch is silent, but is when it is cut.

    That is the limit that the docs name, and where it ends: whoever is cut off knows it, and reads anew.
    """

    async def prepare(self) -> None:
        people = self.people
        owners = {name: await people.make(name) for name in ("believed", "behind")}
        for name, owner in owners.items():
            await people.make(f"{name}-deed", resource=SECRETS, ownerReferences=[owned_by(owner)])
        await people.label("believed", ttl=SOON)

    async def while_silent(self) -> None:
        await self.people.label("believed-deed", resource=SECRETS, keep="true")
        await self.people.gone("believed")
        await self.people.gone("believed-deed", resource=SECRETS)

    async def before_the_cut(self) -> None:
        """Silent ones are cut from the outside, and come back."""
        await self.people.label("behind-deed", resource=SECRETS, keep="true")
        await self.people.label("behind", ttl="1s")

    async def after_the_cut(self) -> None:
        assert "behind-deed" in await self.held("behind")
        assert await self.people.there("behind")
        await self.people.label("behind-deed", resource=SECRETS, keep=None)
        await self.people.gone("behind")


class Restless(Story):
    """A keep label that comes before the last reading keeps what never rests."""

    async def prepare(self) -> None:
        self._path = CONFIG_MAPS.path(namespace=self.people.namespace, name="web")
        self.proxy.script(Rule(Slow(before=4.0), method="DELETE", path=self._path, times=None))
        await self.people.make("web", SOON)

    async def while_silent(self) -> None:
        async with self._never_resting("web"):
            await self.proxy.wait_for(
                lambda seen: seen.method == "DELETE" and seen.path == self._path, 60, count=2
            )
            await self.people.label("web", keep="true")
            assert await self.held("web") == "kept by its label skoupa.dev/keep=true"
        assert self.answers("web") == [409, 409]
        assert await self.people.there("web")

    @asynccontextmanager
    async def _never_resting(self, name: str) -> AsyncIterator[None]:
        """Somebody writes to it all the time, so that no delete names its state in time."""
        writer = asyncio.create_task(self._write(name))
        try:
            yield
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def _write(self, name: str) -> None:
        beat = 0
        while True:
            beat += 1
            patch = {"metadata": {"annotations": {"beat": str(beat)}}}
            await self.people.client.merge_patch(CONFIG_MAPS, name, patch, namespace=self.people.namespace)
            # Often enough for a delete that is seconds on its way.
            await asyncio.sleep(POLL_SECONDS)


async def test_what_people_change_while_all_watches_are_silent_and_when_they_speak_again(
    process: Skoupa, proxy: FaultProxy, people: People, audit: AuditLog
) -> None:
    async def place() -> People:
        name = f"silent-{secrets.token_hex(4)}"
        await people.client.create(NAMESPACES, {"metadata": {"name": name}})
        return People(people.client, name)

    changed = Changed(process, proxy, await place(), audit)
    namespace = KeptNamespace(process, proxy, await place(), audit)
    inside = KeptInside(process, proxy, await place(), audit)
    dependent = KeptDependent(process, proxy, await place(), audit)
    restless = Restless(process, proxy, await place(), audit)
    stories = (changed, namespace, inside, dependent, restless)
    await together(*(story.prepare() for story in stories))
    await process.has_heard_of_all(people, CONFIG_MAPS, NAMESPACES)
    assert await proxy.silence_open()
    await together(*(story.while_silent() for story in stories))
    await together(namespace.before_the_cut(), dependent.before_the_cut())
    assert proxy.cut_open_connections(watch_only=False)
    await together(namespace.after_the_cut(), dependent.after_the_cut())


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

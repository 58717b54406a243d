"""Tenants of an embedded cluster deleted under a running engine, in virtual time, and what that asked of the server.

`python -m harness.bench.tenants.going --tenants 100 --deleted 1` prints a `Gone`; with `--label` Skoupa writes its label before, with `--trash` it
keeps what goes. The ledger is a SQLite file, as shipped. It is a process of its own, since virtual time needs a loop of its own. What is counted is
what the engine sends from the moment in which the Tenants are deleted until they are gone, beyond what it would send in that time anyway: its Lease
and the watches that it has open are no part of it.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bench.tenants import town
from skoupa import names
from skoupa.controller.engine import Engine
from skoupa.controller.tenancy.labelling import ROUND_SECONDS, WRITES_A_SECOND
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.events import EventWriter
from skoupa.kube.flow import Flow
from skoupa.kube.lists import pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.ledger.sqlite import SqliteStore
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.reporter import Reporter
from skoupa.settings import Settings, TenantSettings, decode
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sweep.record import Record
from skoupa.tenants.reading import countable

HOME: Final = "skoupa"
_PATIENCE_SECONDS: Final = 3600.0
# Longer than what begins with an engine takes.
_SETTLE_SECONDS: Final = 30.0
_TOLD_SECONDS: Final = 10.0
_NO_BRAKES: Final = dict.fromkeys(
    ("perMinute", "perHour", "namespacePerMinute", "namespacePerHour"), 1_000_000_000
)


class Labelling(msgspec.Struct, frozen=True, kw_only=True):
    """What it cost to write the label on all of it, and what each round costs from then on."""

    patches: int
    list_bytes: int
    round_bytes: int


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """`list_bytes` of all lists; `inside` are looks into Namespaces before they go, one by one or together, `lists` all other lists.

    `once_bytes` of one list of the metadata of everything in no namespace; `others` by what they are. With the trash `lists` are those of bodies, too.
    """

    objects: int
    tenants: int
    seconds: float
    lists: int
    inside: int
    list_bytes: int
    once_lists: int
    once_bytes: int
    others: dict[str, int]
    left: int
    labelling: Labelling | None = None

    @property
    def all_lists(self) -> int:
        return self.lists + self.inside

    @property
    def requests_each(self) -> float:
        """The Tenants are objects that go, too."""
        return sum(self.others.values()) / (self.objects + self.tenants)


class Counting:
    """A transport that counts what passes, by verb and kind; `namespaced` are kinds of which the metadata is looked at before Namespaces go."""

    def __init__(self, inner: Transport, *, namespaced: Collection[str] = ()) -> None:
        self._inner = inner
        self._namespaced = frozenset(namespaced)
        self.lists = 0
        self.list_bytes = 0
        self.others: Counter[str] = Counter()
        self.inside = 0

    def forget(self) -> None:
        self.lists = self.list_bytes = 0
        self.inside = 0
        self.others.clear()

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.verb == "list":
            self.lists += 1
            self.list_bytes += len(response.body)
            # Who uses what is read of whole objects.
            self.inside += request.kind in self._namespaced and METADATA.accept(many=True) in dict(
                request.headers
            ).get("Accept", "")
        elif request.verb != "watch":
            self.others[f"{request.verb} {request.kind or request.path}"] += 1
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


async def gone(clock: VirtualClock, *, tenants: int, deleted: int, label: bool, trash: bool) -> Gone:
    with tempfile.TemporaryDirectory() as folder:
        ledger = SqliteStore(Path(folder) / "ledger.db", cluster="bench")
        await ledger.open()
        try:
            return await _gone(
                clock, ledger, tenants=tenants, deleted=deleted, settings=_settings(label=label, trash=trash)
            )
        finally:
            await ledger.close()


async def _gone(
    clock: VirtualClock, ledger: SqliteStore, *, tenants: int, deleted: int, settings: Settings
) -> Gone:
    async with EmbeddedCluster(clock=clock) as cluster:
        people = Client(Flow(cluster, clock), clock)
        await people.create(NAMESPACES, {"metadata": {"name": HOME}})
        for body in town.definitions():
            await people.create(CUSTOM_RESOURCE_DEFINITIONS, body)
        await clock.idle()
        cluster.fill(town.objects(tenants))
        for place in range(tenants):
            await people.create(TENANTS, _tenant(town.tenant_name(place)))
        once = await _once(cluster, clock)
        kinds = (await discover(people)).preferred()
        wire = Counting(cluster, namespaced=[one.qualified for one in kinds if one.namespaced])
        async with asyncio.TaskGroup() as group:
            playing = [group.create_task(one) for one in _engine(wire, clock, ledger, settings)]
            await clock.sleep(_SETTLE_SECONDS)
            labelling = None
            if settings.tenants.label:
                labelling = await _labelled(wire, clock, objects=tenants * town.OBJECTS_EACH)
            wire.forget()
            # What it asks now and then anyway.
            await clock.sleep(_TOLD_SECONDS + _SETTLE_SECONDS)
            anyway = wire.others.copy()
            wire.forget()
            started = clock.now()
            names = {town.tenant_name(place) for place in range(deleted)}
            for found in cluster.objects(TENANTS):
                if found["metadata"]["name"] in names:
                    uid = found["metadata"]["uid"]
                    await people.delete(TENANTS, found["metadata"]["name"], uid=uid, propagation="Background")
            async with clock.timeout(_PATIENCE_SECONDS):
                while any(one["metadata"]["name"] in names for one in cluster.objects(TENANTS)):
                    await clock.sleep(0.5)
            took = clock.now() - started
            # What is told of it afterwards is asked of the server too.
            await clock.sleep(_TOLD_SECONDS)
            for task in playing:
                task.cancel()
        after = await _once(cluster, clock)
        return Gone(
            objects=town.OBJECTS_EACH * deleted,
            tenants=deleted,
            seconds=took,
            lists=wire.lists - wire.inside,
            list_bytes=wire.list_bytes,
            inside=wire.inside,
            once_lists=once[0],
            once_bytes=once[1],
            others=dict(wire.others - anyway),
            left=town.OBJECTS_EACH * deleted - (once[2] - after[2]),
            labelling=labelling,
        )


async def _labelled(wire: Counting, clock: VirtualClock, *, objects: int) -> Labelling:
    await clock.sleep(objects / WRITES_A_SECOND)
    patches = sum(number for what, number in wire.others.items() if what.startswith("patch "))
    first = wire.list_bytes
    wire.forget()
    # From here on one round and no more.
    await clock.sleep(ROUND_SECONDS)
    return Labelling(patches=patches, list_bytes=first, round_bytes=wire.list_bytes)


def _settings(*, label: bool, trash: bool) -> Settings:
    return decode(
        {
            "mode": "enforce",
            "features": {"tenants": True},
            "tenants": {"label": names.TENANT_LABEL if label else ""},
            "rate": {"deletionsPerSecond": 1_000_000},
            "brakes": _NO_BRAKES,
            "trash": {"enabled": trash},
        },
        source="the benchmark",
    )


def _engine(
    wire: Transport, clock: VirtualClock, ledger: SqliteStore, settings: Settings
) -> list[Coroutine[Any, Any, None]]:
    """As `skoupa run --enforce` has it, and what it tells people."""
    client = Client(Flow(wire, clock), clock)
    events = EventWriter(client, instance="bench")
    report = Reporter(clock, log=Log(clock, stream=io.StringIO()), metrics=Metrics(), events=events)
    assert report.bundles is not None
    record = Record(ledger, clock)
    engine = Engine(client, settings=settings, report=report, record=record)
    return [engine.run(), events.run(), report.bundles.run(), record.journal.run()]


async def _once(transport: Transport, clock: VirtualClock) -> tuple[int, int, int]:
    """One list of all that is in no namespace: requests, bytes, objects."""
    wire = Counting(transport)
    client = Client(wire, clock)
    discovery = await discover(client)
    objects = 0
    for kind in countable(discovery, TenantSettings().ignore_kinds):
        async for page in pages(client, kind, METADATA):
            objects += len(page.items)
    return wire.lists, wire.list_bytes, objects


def _tenant(name: str) -> dict[str, Any]:
    return {"apiVersion": TENANTS.api_version, "kind": TENANTS.kind, "metadata": {"name": name}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m harness.bench.tenants.going")
    parser.add_argument("--tenants", type=int, required=True)
    parser.add_argument("--deleted", type=int, required=True)
    parser.add_argument("--label", action="store_true")
    parser.add_argument("--trash", action="store_true")
    asked = parser.parse_args()

    async def measured(clock: VirtualClock) -> Gone:
        return await gone(
            clock, tenants=asked.tenants, deleted=asked.deleted, label=asked.label, trash=asked.trash
        )

    sys.stdout.buffer.write(msgspec.json.encode(run(measured)))


if __name__ == "__main__":
    main()

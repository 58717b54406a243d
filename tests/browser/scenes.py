"""What a browser is shown: an observing controller before a cluster in memory, and a person's own dashboard beside it.

Both stand on real ports and in real time; `clock.ahead` moves the time that it is, so that nobody waits for an hour.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from skoupa.cli.dashboard.board import PlanBoard
from skoupa.cli.dashboard.typing_along import TypedHere
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerChoice
from skoupa.cli.worlds import World
from skoupa.clock import SystemClock
from skoupa.controller.engine import Engine
from skoupa.controller.opinions import EngineOpinions
from skoupa.kinds.brake import BRAKE
from skoupa.kinds.definition import document
from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.sqlite import SqliteStore
from skoupa.report.endpoints import listening
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.reporter import Reporter
from skoupa.settings import Settings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from skoupa.sweep.record import Record
from skoupa.web.dashboard.door import Door
from skoupa.web.serving import Desk
from tests.unit.ledger.entries import CLUSTER
from tests.unit.web.desks import ServiceProxy

ADMIN, ANNA = "token-of-admin", "token-of-anna"
SECRET = "only-for-this-test"
TTL = "cleanup.kyverno.io/ttl"
HOUR = 3600.0


class Ahead(SystemClock):
    """The machine's clock, moved on by hand."""

    def __init__(self) -> None:
        super().__init__(0)
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """`desk` is the address of the controller's pages; `stop` ends what serves the person's own."""

    clock: Ahead
    cluster: EmbeddedCluster
    store: SqliteStore
    desk: str

    def make(
        self,
        name: str,
        ttl: str | None = None,
        *,
        kind: str = "ConfigMap",
        namespace: str = "shop",
        **rest: Any,
    ) -> None:
        """An object that was made and labelled an hour ago; `rest` are further labels."""
        created = whole_seconds(self.clock.now() - HOUR)
        labels = {**({TTL: ttl} if ttl is not None else {}), **rest}
        # Without it nobody could tell that the label is not from a moment ago.
        wrote = {
            "manager": "people",
            "operation": "Update",
            "apiVersion": "v1",
            "time": created,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {f"f:{key}": {} for key in labels}}},
        }
        metadata = {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created,
            "labels": labels,
            "managedFields": [wrote],
        }
        self.cluster.load([{"apiVersion": "v1", "kind": kind, "metadata": metadata}])

    def brake(self, name: str, reason: str, *, scope: Mapping[str, Any]) -> None:
        metadata = {"name": name, "creationTimestamp": whole_seconds(self.clock.now() - HOUR)}
        status = {"held": 3, "since": whole_seconds(self.clock.now() - HOUR)}
        spec = {"scope": dict(scope), "reason": reason}
        self.cluster.load(
            [
                {
                    "apiVersion": "skoupa.dev/v1alpha1",
                    "kind": "Brake",
                    "metadata": metadata,
                    "spec": spec,
                    "status": status,
                }
            ]
        )

    async def take_away_the_kind_of_brakes(self) -> None:
        client = Client(self.cluster, self.clock)
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, BRAKE.name, view=METADATA)
        await client.delete(
            CUSTOM_RESOURCE_DEFINITIONS, BRAKE.name, uid=found.metadata.uid, propagation="Background"
        )

    def world(self) -> World:
        async def token() -> Secret:
            return Secret(ADMIN)

        transport = ServiceProxy(self.cluster, self.desk.removeprefix("http://"))
        return World(
            client=Client(transport, self.clock), namespace="", cluster="https://shop.example", token=token
        )

    @asynccontextmanager
    async def dashboard(self, *, port: int = 0) -> AsyncIterator[str]:
        """A person's own, as `skoupa dashboard` serves it; gives the address that it prints."""
        connecting, choice = Connecting(), LedgerChoice()
        board = PlanBoard(
            self.world(),
            namespace="",
            choice=choice,
            connecting=connecting,
            config=None,
            typed=TypedHere(connecting, choice, sources=(), config=None),
            place="https://shop.example",
        )
        door = Door(board, secret=SECRET, host="127.0.0.1")
        async with (
            listening(door.application(), f"127.0.0.1:{port}", setting="--port") as bound,
            asyncio.TaskGroup() as group,
        ):
            tasks = [group.create_task(work) for work in board.work()]
            yield f"http://{bound}/#token={SECRET}"
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def open_scene(directory: Path, *, objects: int = 3, unread: str = "") -> AsyncIterator[Scene]:
    """With so many ConfigMaps in shop that would have gone, and a kind that nobody can read."""
    clock = Ahead()
    cluster = EmbeddedCluster(clock=clock)
    cluster.issue(ADMIN, user="admin")
    cluster.issue(ANNA, user="anna")
    cluster.allow_only("anna", [Rule(verbs=("get",), resources=("configmaps",), namespaces=("shop",))])
    cluster.load([document(BRAKE)])
    if unread:
        cluster.faults.answer(500, when=asking(kind=unread), times=None)
    created = whole_seconds(clock.now() - 100 * HOUR)
    for name in ("shop", "lab", "skoupa"):
        metadata = {"name": name, "creationTimestamp": created}
        cluster.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
    store = SqliteStore(directory / "ledger.db", cluster=CLUSTER)
    await store.open()
    client, settings = Client(cluster, clock), Settings()
    log = Log(clock, stream=io.StringIO())
    record = Record(store, clock)
    engine = Engine(
        client,
        settings=settings,
        report=Reporter(clock, log=log, metrics=Metrics(), events=None),
        record=record,
    )
    insight = EngineOpinions(engine, clock=clock, observing=True)
    desk = Desk(client, store, settings=settings, log=log, insight=insight)
    try:
        async with (
            cluster,
            desk.working(),
            listening(desk.application(), "127.0.0.1:0", setting="api.address") as bound,
            asyncio.TaskGroup() as group,
        ):
            scene = Scene(clock=clock, cluster=cluster, store=store, desk=f"http://{bound}")
            for number in range(objects):
                scene.make(f"old-{number}", "10m")
            tasks = [group.create_task(work) for work in (engine.run(), record.journal.run())]
            await engine.ready.wait()
            yield scene
            engine.stop()
            await tasks[0]
            tasks[1].cancel()
    finally:
        await store.close()

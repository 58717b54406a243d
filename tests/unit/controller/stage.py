"""A stage for stories in virtual time: the embedded cluster, the engine with its real report, and what they said.

`@story(...)` turns `async def test_x(stage)` into an ordinary test; an hour of the story takes a few milliseconds.
What reached the cluster is in `stage.requests`, what was logged in `stage.lines`, Events are read from the cluster.
"""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import msgspec

from skoupa import names
from skoupa.controller.backlogs.started import Started
from skoupa.controller.engine import Engine
from skoupa.judge.mechanism import Ruling
from skoupa.kube.client import Client
from skoupa.kube.events import EventWriter
from skoupa.kube.flow import Flow
from skoupa.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES, Resource
from skoupa.kube.skew import SkewMeter
from skoupa.kube.timestamps import whole_seconds
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.reporter import Reporter
from skoupa.settings import decode
from skoupa.sim.clock import START, VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sweep.record import Record

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
HOME = "skoupa"
SHOP = "shop"

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
PRIORITIES = Resource(
    group="scheduling.k8s.io", version="v1", plural="priorityclasses", kind="PriorityClass", namespaced=False
)
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
REPLICA_SETS = Resource(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True)
APPS = (DEPLOYMENTS, REPLICA_SETS)
ALL_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
WIDGETS = Resource(
    group="shop.example", version="v1", plural="widgets", kind="Widget", namespaced=True, verbs=ALL_VERBS
)


class Wire:
    """A transport that writes down what passes."""

    def __init__(self, inner: Transport, clock: VirtualClock) -> None:
        self._inner = inner
        self._clock = clock
        self.seen: list[tuple[float, Request]] = []

    async def send(self, request: Request) -> Response:
        self.seen.append((self._clock.now(), request))
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self.seen.append((self._clock.now(), request))
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Play:
    """One engine and what it told."""

    def __init__(
        self,
        stage: Stage,
        settings: Mapping[str, Any],
        *,
        user: str = "",
        rulings: Sequence[Ruling] = (),
        record: Record | None = None,
        started: Started | None = None,
    ) -> None:
        clock = stage.clock
        self._stage = stage
        self._text = io.StringIO()
        self.wire = Wire(stage.cluster.as_user(user) if user else stage.cluster, clock)
        self.meter = SkewMeter(Flow(self.wire, clock), clock)
        self.client = Client(self.meter, clock)
        self.settings = decode({"mode": "enforce", **settings}, source="the test")
        self.metrics = Metrics()
        enforcing = self.settings.mode == "enforce"
        self.events = EventWriter(Client(self.meter, clock), instance="test") if enforcing else None
        log = Log(clock, stream=self._text)
        self.reporter = Reporter(clock, log=log, metrics=self.metrics, events=self.events)
        self.standing_by = False
        self.engine = Engine(
            self.client,
            settings=self.settings,
            report=self.reporter,
            record=record,
            rulings=rulings,
            standing_by=lambda: self.standing_by,
            skew=lambda: self.meter.skew,
            started=started,
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> Self:
        work: list[Coroutine[Any, Any, None]] = [self.engine.run()]
        if self.events is not None and self.reporter.bundles is not None:
            work += [self.events.run(), self.reporter.bundles.run()]
        self._tasks = [asyncio.create_task(task) for task in work]
        ready = asyncio.create_task(self.engine.ready.wait())
        await asyncio.wait((ready, self._tasks[0]), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._tasks[0].done():
            await self._tasks[0]
        await self._stage.settle()
        return self

    def check(self) -> None:
        """An engine never ends by itself."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def stop(self) -> None:
        """As the process does it: what is under way is finished."""
        self.engine.stop()
        await self._tasks[0]
        await self.kill()

    async def kill(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def lines(self) -> list[dict[str, str]]:
        return [msgspec.json.decode(line) for line in self._text.getvalue().splitlines()]

    def told(self, event: str, name: str = "") -> list[dict[str, str]]:
        """Log lines with this event name, about this object."""
        return [line for line in self.lines if line["event"] == event and name in {"", line.get("name", "")}]

    def why_held(self, name: str) -> str:
        """The last reason that was told for its staying; empty: none."""
        held = self.told("held", name)
        return held[-1]["why"] if held else ""

    @property
    def overdue(self) -> dict[str, int]:
        """How many are overdue, by the code of what holds them: the gauge."""
        found: dict[str, int] = {}
        for _, code in self.engine.sweeper.memory.overdue.values():
            found[code] = found.get(code, 0) + 1
        return found

    def sent(self, method: str, *, path: str = "") -> list[tuple[float, Request]]:
        return [seen for seen in self.wire.seen if seen[1].method == method and path in seen[1].path]

    def value(self, metric: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(metric, labels) or 0.0


class Stage:
    def __init__(self, clock: VirtualClock, cluster: EmbeddedCluster, settings: Mapping[str, Any]) -> None:
        self.clock = clock
        self.cluster = cluster
        self.people = Client(Flow(cluster, clock), clock, user_agent="people/1")
        self._settings = settings
        self.plays: list[Play] = []

    async def play(
        self,
        *,
        user: str = "",
        rulings: Sequence[Ruling] = (),
        record: Record | None = None,
        started: Started | None = None,
        **settings: Any,
    ) -> Play:
        """Starts an engine; `settings` come on top of the story's."""
        play = Play(
            self,
            {**self._settings, **settings},
            user=user,
            rulings=rulings,
            record=record,
            started=started,
        )
        self.plays.append(play)
        return await play.start()

    async def settle(self) -> None:
        await self.clock.idle()
        for play in self.plays:
            play.check()

    async def later(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        await self.settle()

    async def until(self, moment: float) -> None:
        """Up to so many seconds after the beginning of the story."""
        await self.later(START + moment - self.clock.now())

    @property
    def now(self) -> float:
        return self.clock.now() - START

    def time(self, seconds: float = 0.0) -> str:
        """RFC 3339, so many seconds from now."""
        return whole_seconds(self.clock.now() + seconds)

    async def namespace(self, name: str, **metadata: Any) -> dict[str, Any]:
        return await self.people.create(NAMESPACES, {"metadata": {"name": name, **metadata}})

    async def make(
        self,
        name: str,
        ttl: str | None = None,
        *,
        resource: Resource = CONFIG_MAPS,
        namespace: str = SHOP,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        keep: str | None = None,
        owner: Mapping[str, Any] | None = None,
        **metadata: Any,
    ) -> dict[str, Any]:
        found = described(
            name, ttl, labels=labels, annotations=annotations, keep=keep, owner=owner, **metadata
        )
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": found}
        return await self.people.create(resource, body, namespace=namespace if resource.namespaced else "")

    def old(
        self,
        names_: Iterable[str],
        ttl: str | None = None,
        *,
        age: float = 2 * HOUR,
        resource: Resource = CONFIG_MAPS,
        namespace: str = SHOP,
        managed: bool = True,
        **metadata: Any,
    ) -> None:
        """Objects that were there long before the story began; `managed`: the server says who wrote what when."""
        created = whole_seconds(self.clock.now() - age)
        where: dict[str, Any] = {"namespace": namespace} if resource.namespaced else {}
        # Only where somebody is named as the manager of something does the server name the later ones too.
        fields: dict[str, Any] = (
            {"f:metadata": {"f:labels": {".": {}, f"f:{names.TTL_LABEL}": {}}}} if ttl else {}
        )
        manager = {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": resource.api_version,
            "time": created,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        where |= {"managedFields": [manager]} if managed else {}
        self.cluster.load(
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {**described(name, ttl, **metadata), **where, "creationTimestamp": created},
            }
            for name in names_
        )

    async def label(
        self, name: str, *, resource: Resource = CONFIG_MAPS, namespace: str = SHOP, **labels: str | None
    ) -> None:
        """`ttl` and `keep` stand for their keys; None takes a label off."""
        keys = {"ttl": names.TTL_LABEL, "keep": names.KEEP_LABEL}
        patch = {"metadata": {"labels": {keys.get(key, key): value for key, value in labels.items()}}}
        await self._patch(name, patch, resource, namespace)

    async def annotate(
        self,
        name: str,
        key: str,
        value: str | None,
        *,
        resource: Resource = CONFIG_MAPS,
        namespace: str = SHOP,
    ) -> None:
        await self._patch(name, {"metadata": {"annotations": {key: value}}}, resource, namespace)

    async def _patch(self, name: str, patch: Mapping[str, Any], resource: Resource, namespace: str) -> None:
        where = namespace if resource.namespaced else ""
        await self.people.merge_patch(resource, name, patch, namespace=where, manager="people")
        await self.settle()

    async def remove(self, name: str, *, resource: Resource = CONFIG_MAPS, namespace: str = SHOP) -> None:
        """Somebody deletes it."""
        place = namespace if resource.namespaced else ""
        found = self.cluster.objects(resource, namespace=place)
        uid = next(one["metadata"]["uid"] for one in found if one["metadata"]["name"] == name)
        await self.people.delete(resource, name, namespace=place, uid=uid, propagation="Background")
        await self.settle()

    def found(self, resource: Resource = CONFIG_MAPS, namespace: str = SHOP) -> set[str]:
        where = namespace if resource.namespaced else ""
        return {
            found["metadata"]["name"]
            for found in self.cluster.objects(resource, namespace=where)
            if found["metadata"]["name"] != "kube-root-ca.crt"
        }

    def there(self, name: str, resource: Resource = CONFIG_MAPS, namespace: str = SHOP) -> bool:
        return name in self.found(resource, namespace)

    def events(self, reason: str = "", name: str = "", namespace: str = "") -> list[dict[str, Any]]:
        """Kubernetes Events, the oldest first."""
        found = [
            event
            for event in self.cluster.objects(EVENTS, namespace=namespace)
            if reason in {"", event["reason"]} and name in {"", event["regarding"]["name"]}
        ]
        return sorted(found, key=lambda event: str(event["eventTime"]))


def described(
    name: str,
    ttl: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    keep: str | None = None,
    owner: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    marks = dict(labels or {})
    if ttl is not None:
        marks[names.TTL_LABEL] = ttl
    if keep is not None:
        marks[names.KEEP_LABEL] = keep
    found: dict[str, Any] = {"name": name, **metadata}
    if marks:
        found["labels"] = marks
    if annotations:
        found["annotations"] = dict(annotations)
    if owner is not None:
        found["ownerReferences"] = [owned_by(owner)]
    return found


def definition(resource: Resource) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": resource.version, "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": resource.qualified},
        "spec": {
            "group": resource.group,
            "names": {"plural": resource.plural, "kind": resource.kind, "singular": resource.kind.lower()},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def owned_by(owner: Mapping[str, Any], *, controller: bool = True) -> dict[str, Any]:
    """An owner reference to an object as the server gave it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": controller,
        "blockOwnerDeletion": controller,
    }


# A story with fifty kinds takes ten times as long and tells nothing more; `also` brings more of them.
KINDS = frozenset(
    {
        "configmaps",
        "customresourcedefinitions.apiextensions.k8s.io",
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "namespaces",
        "pods",
        "serviceaccounts",
    }
)


@asynccontextmanager
async def _staged(
    clock: VirtualClock, settings: Mapping[str, Any], also: Iterable[Resource]
) -> AsyncIterator[Stage]:
    async with EmbeddedCluster(clock=clock) as cluster:
        catalogue = cluster.plane.catalogue
        wanted = KINDS | {resource.qualified for resource in also}
        for served in list(catalogue.served()):
            if served.resource.qualified not in wanted and "list" in served.resource.verbs:
                catalogue.remove(group=served.resource.group, plural=served.resource.plural)
        stage = Stage(clock, cluster, settings)
        for name in (HOME, SHOP):
            await stage.namespace(name)
        await stage.settle()
        try:
            yield stage
        finally:
            for play in stage.plays:
                await play.kill()


def story(
    *, also: Iterable[Resource] = (), **settings: Any
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """A test in virtual time; what it takes beside the stage comes from pytest as usual."""

    def decorate(told: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def test(**arguments: Any) -> None:
            async def main(clock: VirtualClock) -> None:
                async with _staged(clock, settings, also) as stage:
                    await told(stage, **arguments)

            run(main)

        test.__name__, test.__doc__, test.__module__ = told.__name__, told.__doc__, told.__module__
        signature = inspect.signature(told)
        given = list(signature.parameters.values())[1:]
        test.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        return test

    return decorate

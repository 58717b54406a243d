"""A cluster in memory for the commands: what they ask of a server, without one.

`looking` runs a piece of work in the world of a user of that cluster, in virtual time that begins at `NOON`. A `Town`
stands still at noon and takes whole commands, one after another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from skoupa.cli import installed as installed_settings
from skoupa.cli.acting import changing, sweep
from skoupa.cli.looking import explain, plan, unused
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import World
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.transport import Transport
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Said, Shell

R = TypeVar("R")

NOON = 1_777_636_800.0  # Friday 2026-05-01T12:00:00Z
TTL = "cleanup.kyverno.io/ttl"
KEEP = "skoupa.dev/keep"

# What every user of a real cluster may do: ask about themselves.
ASKING = Rule(
    verbs=("create",),
    resources=(
        "selfsubjectrulesreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
    ),
)

Work = Callable[[World, EmbeddedCluster], Coroutine[Any, Any, R]]


def looking(
    work: Work[R],
    *objects: Mapping[str, Any],
    namespace: str = "",
    user: str = "",
    prepare: Callable[[EmbeddedCluster], None] = lambda _: None,
) -> R:
    async def main(clock: VirtualClock) -> R:
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(objects)
        prepare(cluster)
        transport = cluster.as_user(user) if user else cluster
        return await work(World(client=Client(transport, clock), namespace=namespace), cluster)

    return run(main, start=NOON)


def obj(
    kind: str,
    name: str,
    *,
    namespace: str = "",
    api: str = "v1",
    labels: Mapping[str, str] | None = None,
    created: str = "2026-05-01T10:00:00Z",
    **rest: Any,
) -> dict[str, Any]:
    """An object; further metadata as `annotations`, `uid`, `owners`, the rest of it as it is."""
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": created, "labels": dict(labels or {})}
    if namespace:
        metadata["namespace"] = namespace
    for field, key in (("annotations", "annotations"), ("uid", "uid"), ("owners", "ownerReferences")):
        if field in rest:
            metadata[key] = rest.pop(field)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def config_map(name: str, ttl: str | None = None, *, namespace: str = "shop", **rest: Any) -> dict[str, Any]:
    labels = {**({TTL: ttl} if ttl is not None else {}), **rest.pop("labels", {})}
    return obj("ConfigMap", name, namespace=namespace, labels=labels, **rest)


def installed(settings: str = "mode: enforce\n", *, namespace: str = "skoupa") -> dict[str, Any]:
    """The settings of an installation."""
    labels = {"app.kubernetes.io/part-of": "skoupa"}
    data = {"settings.yaml": settings}
    return obj("ConfigMap", "skoupa-config", namespace=namespace, labels=labels, data=data)


def granting(*rules: Rule, user: str = "bob") -> Callable[[EmbeddedCluster], None]:
    """The user may do this and nothing else, but for asking what that is."""

    def prepare(cluster: EmbeddedCluster) -> None:
        cluster.allow_only(user, (*rules, ASKING))

    return prepare


class Standing:
    """A clock that moves only when it is told to, on any event loop."""

    def __init__(self, moment: float = NOON) -> None:
        self.moment = moment

    def now(self) -> float:
        return self.moment

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        yield

    def jitter(self, seconds: float) -> float:
        return seconds

    async def idle(self) -> None:
        await asyncio.sleep(0)


class Town:
    """A cluster in memory that outlives the commands, and `skoupa` run against it by an administrator or `user`."""

    def __init__(self, skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Standing()
        self.cluster = EmbeddedCluster(clock=self.clock)
        self.user = ""
        self.skew = 0.0
        self.wrap: Callable[[Transport], Transport] = lambda transport: transport
        self._skoupa = skoupa
        for module in (plan, explain, unused, changing, sweep, installed_settings):
            monkeypatch.setattr(module, "in_cluster", self._in_cluster)

    def holding(self, *objects: Mapping[str, Any]) -> Town:
        self.cluster.load(objects)
        return self

    def _in_cluster(self, work: Callable[[World], Coroutine[Any, Any, R]], *, connecting: Connecting) -> R:
        transport = self.wrap(self.cluster.as_user(self.user) if self.user else self.cluster)
        world = World(
            client=Client(transport, self.clock),
            namespace=connecting.namespace or "default",
            skew=lambda: self.skew,
        )
        return asyncio.run(work(world))

    def __call__(self, *args: str) -> Said:
        return self._skoupa(*args, env={"TZ": "UTC"})

    def document(self, *args: str, code: int = 0) -> dict[str, Any]:
        said = self(*args, "-o", "json")
        assert said.code == code, said.err
        found: dict[str, Any] = json.loads(said.out)
        return found

    def find(self, resource: Resource, name: str, namespace: str = "shop") -> dict[str, Any] | None:
        found = self.cluster.objects(resource, namespace=namespace if resource.namespaced else "")
        return next((one for one in found if one["metadata"]["name"] == name), None)

    def metadata(self, name: str) -> dict[str, Any]:
        """Of a ConfigMap in shop."""
        found = self.find(CONFIG_MAPS, name)
        assert found is not None, f"{name} is gone"
        return {"labels": {}, "annotations": {}, **found["metadata"]}

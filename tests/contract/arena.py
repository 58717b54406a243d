"""Where a rule is tried: a client, a namespace of its own, and a way to wait, on whichever cluster.

What the real and the embedded cluster do differently for a test (forget the past, know a user, refuse at admission)
stands behind `Host`; a rule can't tell which of the two it runs on. An arena takes away what it made.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal, Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.errors import ApiError, NotFound
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from skoupa.kube.transport import Method, Request, Response, Stream, Transport
from tests.contract.cutting import Cuttable
from tests.contract.kinds import SERVICE_ACCOUNTS
from tests.contract.schemas import SCHEMAS, definition_of, established

Object = dict[str, Any]
Query = Mapping[str, str]

PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.05


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Verbs on kinds as kubectl names them ("pods", "deployments.apps"), in the arena's namespace or everywhere."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()
    everywhere: bool = False


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """An admission rule: what is said, and whether it refuses, for objects of a kind with the label `gate`."""

    resource: Resource
    operation: Literal["CREATE", "UPDATE", "DELETE"]
    label: str
    message: str
    refuses: bool


class Host(Protocol):
    """A cluster and what only its owner can do to it."""

    clock: Clock
    transport: Transport
    mark: str  # makes names of one run differ from those of another
    shared: dict[str, Resource]  # what outlives an arena, for later ones on this host

    async def forget_the_past(self, custom: Resource) -> None:
        """Makes every resourceVersion and continue token of this custom kind that was handed out so far expire."""

    async def as_user(self, name: str, grants: Sequence[Grant], *, namespace: str) -> Transport: ...

    async def set_gate(self, gate: Gate, *, name: str, namespace: str) -> None: ...


class Watching:
    """An open watch, read event by event."""

    def __init__(self, stream: Stream, chunks: AsyncGenerator[bytes, None], clock: Clock) -> None:
        self.status = stream.status
        self._chunks = chunks
        self._clock = clock
        self._rest = b""

    async def next(self, *, seconds: float = PATIENCE_SECONDS) -> Object | None:
        """The next event, or None when the server ended the watch properly."""
        async with self._clock.timeout(seconds):
            while b"\n" not in self._rest:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    assert not self._rest, "the watch ended in the middle of an event"
                    return None
                self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        event: Object = json.loads(line)
        return event

    async def expect(self, kind: str, name: str = "") -> Object:
        """The object of the next event, which must be of that type and about that name."""
        event = await self.next()
        assert event is not None, f"the watch ended, {kind} {name} was to come"
        found: Object = event["object"]
        assert event["type"] == kind, event
        assert not name or found["metadata"]["name"] == name, event
        return found


class Arena:
    def __init__(self, host: Host, *, rule: str) -> None:
        self._host = host
        self._rule = rule
        self._made = 0
        self._to_remove: list[tuple[Resource, str]] = []
        self.clock = host.clock
        self.transport = host.transport
        self.client = Client(host.transport, host.clock, user_agent="contract")
        self.namespace = ""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Arena]:
        self.namespace = await self.new_namespace()
        try:
            yield self
        finally:
            for resource, name in reversed(self._to_remove):
                await self._remove(resource, name)

    async def _remove(self, resource: Resource, name: str) -> None:
        try:
            found = await self.client.get(resource, name, view=WHOLE)
            await self.client.delete(resource, name, uid=found["metadata"]["uid"], propagation="Background")
        except ApiError as error:
            if not isinstance(error, NotFound):
                raise

    def unique(self, prefix: str = "thing") -> str:
        """A name that no other rule uses, nor this one a second time."""
        self._made += 1
        return f"{prefix}-{self._host.mark}-{self._made}"

    async def new_namespace(self) -> str:
        name = self.unique("contract")
        body = {"metadata": {"name": name, "annotations": {"rule": self._rule}}}
        await self.client.create(NAMESPACES, body)
        self._to_remove.append((NAMESPACES, name))
        return name

    async def create(
        self, resource: Resource, body: Mapping[str, Any], *, namespace: str | None = None
    ) -> Object:
        """Creates in the arena's namespace; a cluster-scoped object is removed with the arena."""
        where = self.namespace if namespace is None else namespace
        typed = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        made = await self.client.create(resource, typed, namespace=where)
        if not resource.namespaced:
            self._to_remove.append((resource, made["metadata"]["name"]))
        return made

    async def config_map(self, name: str = "", *, data: Query | None = None, **metadata: Any) -> Object:
        named = {"name": name or self.unique("cm"), **metadata}
        body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
        return await self.create(CONFIG_MAPS, body if data is None else {**body, "data": dict(data)})

    async def create_pod(self, body: Mapping[str, Any]) -> Object:
        """Pods are refused until their namespace has its ServiceAccount, which is made a moment after it."""

        async def ready() -> bool:
            return await self.exists(SERVICE_ACCOUNTS, "default")

        await self.eventually(ready, what="the namespace has a ServiceAccount")
        return await self.create(PODS, body)

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        where = self.namespace if namespace is None else namespace
        return await self.client.get(resource, name, view=WHOLE, namespace=where)

    async def exists(self, resource: Resource, name: str, *, namespace: str | None = None) -> bool:
        try:
            await self.get(resource, name, namespace=namespace)
        except NotFound:
            return False
        return True

    async def gone(self, resource: Resource, name: str, *, namespace: str | None = None) -> None:
        """Waits until there is no object of that name."""

        async def absent() -> bool:
            return not await self.exists(resource, name, namespace=namespace)

        await self.eventually(absent, what=f"{resource.qualified}/{name} is gone")

    async def eventually(
        self,
        predicate: Callable[[], Awaitable[bool]],
        *,
        what: str = "",
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        end = self.clock.monotonic() + seconds
        while not await predicate():
            assert self.clock.monotonic() < end, f"it did not come true within {seconds} s: {what}"
            await self.clock.sleep(POLL_SECONDS)

    async def ask(
        self,
        method: Method,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | Mapping[str, Any] | Sequence[Any] = b"",
        accept: str = "application/json",
        content_type: str = "application/json",
        transport: Transport | None = None,
    ) -> Response:
        """A request as it stands, answered as it comes: refusals are not raised."""
        headers = [("Accept", accept), ("User-Agent", "contract")]
        if body:
            headers.append(("Content-Type", content_type))
        request = Request(
            method=method,
            path=path,
            query=tuple((query or {}).items()),
            headers=tuple(headers),
            body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        )
        return await (transport or self.transport).send(request)

    async def listed(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        accept: str = "application/json",
        **query: str,
    ) -> Object:
        """A list as the server sends it; refusals are raised as ApiErrors."""
        where = self.namespace if namespace is None else namespace
        request = Request(
            path=resource.path(namespace=where), query=tuple(query.items()), headers=(("Accept", accept),)
        )
        answer = await self.client.ask(request, doing=f"list {resource.qualified}")
        found: Object = json.loads(answer.body)
        return found

    @asynccontextmanager
    async def watching(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        accept: str = "application/json",
        **query: str,
    ) -> AsyncIterator[Watching]:
        where = self.namespace if namespace is None else namespace
        request = Request(
            path=resource.path(namespace=where),
            query=(("watch", "1"), *query.items()),
            headers=(("Accept", accept),),
        )
        async with self.transport.stream(request) as stream, aclosing(stream.chunks()) as chunks:
            yield Watching(stream, chunks, self.clock)

    async def custom_kind(self, of: str = "plain") -> Resource:
        """A namespaced kind with a status that later rules use too: not to be deleted.

        A real server delays the first object of a new kind by two seconds; that is why they are shared.
        """
        if of not in self._host.shared:
            self._host.shared[of] = await self._define(definition_of(self._word(), schema=SCHEMAS[of]))
        return self._host.shared[of]

    async def own_custom_kind(self, **parts: Any) -> Resource:
        """A new kind, `parts` over the definition's spec; it goes with the arena."""
        definition = definition_of(self._word(), **parts)
        self._to_remove.append((CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"]))
        return await self._define(definition)

    def _word(self) -> str:
        return self.unique("w").replace("-", "")

    async def _define(self, definition: Object) -> Resource:
        """Returns once the kind is served."""
        await self.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        spec = definition["spec"]
        custom = Resource(
            group=spec["group"],
            version=spec["versions"][0]["name"],
            plural=spec["names"]["plural"],
            kind=spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
        )

        async def served() -> bool:
            if not established(await self.get(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])):
                return False
            return (await self.ask("GET", custom.path(namespace=self.namespace))).status == 200

        await self.eventually(served, what=f"{custom.qualified} is served")
        return custom

    async def forget_the_past(self, custom: Resource) -> None:
        await self._host.forget_the_past(custom)

    async def as_user(self, *grants: Grant) -> User:
        """Somebody who may do this and nothing else."""
        name = self.unique("user")
        transport = await self._host.as_user(name, grants, namespace=self.namespace)
        return User(name=name, transport=transport, client=Client(transport, self.clock))

    def cuttable(self) -> Cuttable:
        """A client whose open watches can be cut."""
        return Cuttable(self.transport, self.clock)

    async def set_gate(self, gate: Gate) -> None:
        """Returns once it is in force."""
        await self._host.set_gate(gate, name=self.unique("gate"), namespace=self.namespace)


class User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    transport: Any
    client: Client

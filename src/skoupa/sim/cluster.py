"""The embedded cluster: a Kubernetes API server with its basic controllers, in memory, behind `Transport`.

`async with EmbeddedCluster(clock=clock) as cluster:` runs the controllers (owner references, namespaces, definitions,
Pods, Events) on the clock; without it the API answers but nothing is collected. Requests are carried out one at a time,
in the order they arrive, so the same program gives the same run. Bodies of built-in kinds are neither checked against
schemas nor pruned: what a client sends is what it reads. Deployments, Jobs and their like are kept, but nobody acts on
them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self

import msgspec

from skoupa.clock import Clock
from skoupa.errors import TimedOut, Unreachable
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.content.manifests import Manifest, missing_kinds
from skoupa.sim.content.restoring import restore
from skoupa.sim.controllers.foundation import found
from skoupa.sim.faults import Faults
from skoupa.sim.server import encoding, endpoints, reviews
from skoupa.sim.server.answers import Answer, pieces, refused, warned
from skoupa.sim.server.calls import Call, ask_of, place_of, understand, verb_of
from skoupa.sim.server.discovery import Discovery
from skoupa.sim.server.watching import Watch
from skoupa.sim.state.access import ADMIN, Ask, Rule, User
from skoupa.sim.state.admission import Hook
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal, unavailable


class Session:
    """The cluster as one user sees it."""

    def __init__(self, cluster: EmbeddedCluster, user: User) -> None:
        self._cluster = cluster
        self.user = user

    async def send(self, request: Request) -> Response:
        return await self._cluster.serve(request, self.user)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._cluster.serve_stream(request, self.user)

    async def close(self) -> None:
        """Nothing is held open by a session."""


class EmbeddedCluster:
    """`features` imitates older servers: WatchList, AggregatedDiscovery, AggregatedDiscoveryV2 can be switched off."""

    def __init__(
        self,
        *,
        clock: Clock,
        seed: int = 0,
        features: Mapping[str, bool] | None = None,
        user: User = ADMIN,
        bookmark_seconds: float = 60.0,
    ) -> None:
        self.clock = clock
        self.user = user
        # Seconds that the server's clock, as seen in the Date header, is ahead of the real one.
        self.skew = 0.0
        self.plane = Plane(clock=clock, seed=seed, features=features or {}, bookmark_seconds=bookmark_seconds)
        self.discovery = Discovery(self.plane)
        self.faults = Faults(clock)
        self._controllers = found(self.plane)
        self._runner: asyncio.Task[None] | None = None
        self._requests: Counter[str] = Counter()
        self._down_until = 0.0

    async def __aenter__(self) -> Self:
        self._runner = asyncio.create_task(self._run(), name="embedded cluster")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the controllers; raises what one of them failed with."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.cancel()
            await asyncio.wait([runner])
            if not runner.cancelled():
                runner.result()

    async def close(self) -> None:
        """A client that leaves does not stop the cluster; leaving its `async with` does."""

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in self._controllers:
                group.create_task(controller.run(), name=type(controller).__name__)

    async def send(self, request: Request) -> Response:
        return await self.serve(request, self.user)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self.serve_stream(request, self.user)

    def as_user(self, name: str, groups: Iterable[str] = ()) -> Transport:
        """A transport whose requests come from this user."""
        return Session(self, User(name, (*groups, "system:authenticated")))

    async def serve(self, request: Request, user: User) -> Response:
        if _is_watch(request):
            return await self._read_watch(request, user)
        await self.clock.sleep(0)
        self._arrived(request)
        try:
            await self.faults.before(request)
            response = self._respond(request, user)
        except Refusal as refusal:
            response = refused(refusal)
        self.faults.after(request)
        return msgspec.structs.replace(response, headers={**response.headers, "date": self._date()})

    @asynccontextmanager
    async def serve_stream(self, request: Request, user: User) -> AsyncIterator[Stream]:
        if not _is_watch(request):
            response = await self.serve(request, user)
            yield Answer(status=response.status, headers=response.headers, chunks=pieces(response.body))
            return
        await self.clock.sleep(0)
        self._arrived(request)
        try:
            await self.faults.before(request)
            call = self._call(request, user)
            watch = Watch(self.plane, call)
        except Refusal as refusal:
            response = refused(refusal)
            headers = {**response.headers, "date": self._date()}
            yield Answer(status=response.status, headers=headers, chunks=pieces(response.body))
            return
        headers = {"content-type": "application/json", "date": self._date()}
        lines = self.faults.spoil(request, watch.lines())
        try:
            yield Answer(status=200, headers=headers, chunks=lines)
        finally:
            watch.close()
            await lines.aclose()

    async def _read_watch(self, request: Request, user: User) -> Response:
        """A watch asked for as if it were an answer: all of it, if it ends in time."""
        try:
            async with self.clock.timeout(request.timeout), self.serve_stream(request, user) as answer:
                body = b"".join([chunk async for chunk in answer.chunks()])
                return Response(status=answer.status, headers=answer.headers, body=body)
        except TimeoutError as error:
            raise TimedOut(f"no answer within {request.timeout:g} s") from error

    def _arrived(self, request: Request) -> None:
        if self.clock.monotonic() < self._down_until:
            raise Unreachable("connection refused")
        self._requests[request.verb] += 1

    def _call(self, request: Request, user: User) -> Call:
        headers = {name.lower(): value for name, value in request.headers}
        place = place_of(request.path)
        assert place is not None
        query = dict(request.query)
        verb = verb_of(request, place, query)
        acting = _impersonated(headers, user)
        if acting != user:
            self.plane.access.check(user, Ask(verb="impersonate", plural="users", name=acting.name))
        self.plane.access.check(acting, ask_of(place, verb, query))
        if self.discovery.unwell(place.group):
            raise unavailable()
        return understand(
            request, place=place, verb=verb, catalogue=self.plane.catalogue, user=acting, query=query
        )

    def _respond(self, request: Request, user: User) -> Response:
        if place_of(request.path) is None:
            accept = next((value for name, value in request.headers if name.lower() == "accept"), "")
            return self.discovery.answer(request.path, accept)
        call = self._call(request, user)
        if reviews.is_review(call):
            return reviews.respond(self.plane, call)
        author = Author(
            user=call.user,
            manager=call.manager,
            dry_run=call.dry_run,
            unknown_fields=call.query.get("fieldValidation") or "Warn",
        )
        response = endpoints.respond(self.plane, call, author)
        return warned(response, author.warnings)

    def _date(self) -> str:
        return formatdate(int(self.clock.now() + self.skew), usegmt=True)

    # The seams for tests, demos and forecasts.

    def deny(
        self,
        *,
        user: str = "*",
        verbs: Iterable[str] = ("*",),
        resources: Iterable[str] = ("*",),
        namespaces: Iterable[str] = (),
        names: Iterable[str] = (),
    ) -> None:
        """Takes rights away; kinds as kubectl names them ("pods", "deployments.apps", "pods/status")."""
        rule = Rule(
            verbs=tuple(verbs), resources=tuple(resources), namespaces=tuple(namespaces), names=tuple(names)
        )
        self.plane.access.deny(user, rule)

    def allow_only(self, user: str, rules: Iterable[Rule]) -> None:
        self.plane.access.allow_only(user, rules)

    def issue(self, token: str, *, user: str, groups: Iterable[str] = ()) -> None:
        """A TokenReview of this token finds this user."""
        self.plane.access.tokens[token] = User(user, (*groups, "system:authenticated"))

    def admit(self, hook: Hook, *, name: str = "hook.example.com") -> None:
        """Asks `hook` about every write from now on; a hook of the same name is replaced."""
        self.plane.admission.add(name, hook)

    def install(self, resource: Resource) -> Served:
        """Serves a custom kind without a CustomResourceDefinition."""
        return self.plane.catalogue.add(resource, custom=True)

    def load(
        self, manifests: Iterable[Manifest | Mapping[str, Any]], *, resources: Iterable[Resource] = ()
    ) -> int:
        """Restores what manifests say, after serving `resources` and whatever kinds they use; see `fill`."""
        given = list(manifests)
        known = [served.resource for served in self.plane.catalogue.served()]
        read = [entry for entry in given if isinstance(entry, Manifest)]
        for resource in (*resources, *missing_kinds(read, (*known, *resources))):
            if self.plane.catalogue.of_kind(api_version=resource.api_version, kind=resource.kind) is None:
                self.install(resource)
        return self.fill(entry.body if isinstance(entry, Manifest) else entry for entry in given)

    def fill(self, objects: Iterable[Mapping[str, Any]]) -> int:
        """Restores objects as a backup would: identities, times and status stay as given; returns how many."""
        return restore(self.plane, objects)

    def objects(self, resource: Resource, *, namespace: str = "") -> list[dict[str, Any]]:
        """All objects of a kind, decoded, in key order."""
        served = self.plane.served(group=resource.group, version=resource.version, plural=resource.plural)
        return [encoding.shown(served, row) for row in served.shelf.in_namespace(namespace)]

    def compact(self) -> None:
        """Forgets the past: older resourceVersions and continue tokens are answered with 410."""
        self.plane.store.compact()

    def restart(self, *, seconds: float = 0.0) -> None:
        """Cuts all watches and forgets their past; no connection can be made for `seconds`."""
        self.compact()
        self._down_until = self.clock.monotonic() + seconds
        for watches in self.plane.watches.values():
            for watch in tuple(watches):
                watch.cut()

    def statistics(self) -> dict[str, Any]:
        shelves = self.plane.store.shelves.values()
        return {
            "revision": self.plane.store.revision,
            "compacted": self.plane.store.compacted,
            "objects": {
                (f"{shelf.plural}.{shelf.group}" if shelf.group else shelf.plural): len(shelf.rows)
                for shelf in shelves
                if shelf.rows
            },
            "changes_kept": sum(len(shelf.log) for shelf in shelves),
            "watches": sum(len(watches) for watches in self.plane.watches.values()),
            "requests": dict(self._requests),
        }


def _is_watch(request: Request) -> bool:
    place = place_of(request.path)
    return place is not None and verb_of(request, place, dict(request.query)) == "watch"


def _impersonated(headers: Mapping[str, str], user: User) -> User:
    name = headers.get("impersonate-user")
    return User(name, ("system:authenticated",)) if name else user

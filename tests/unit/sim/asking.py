"""Requests to an embedded cluster in one line each, for tests of what only the embedded one can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import msgspec

from skoupa.kube.transport import Method, Request, Stream, Transport, Verb
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster

T = TypeVar("T")
Object = dict[str, Any]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"


def on_cluster(work: Callable[[EmbeddedCluster], Awaitable[T]], **options: Any) -> T:
    """Runs `work` on a new cluster with its controllers, in virtual time."""

    async def main(clock: VirtualClock) -> T:
        async with EmbeddedCluster(clock=clock, **options) as cluster:
            return await work(cluster)

    return run(main)


def request(
    method: Method, path: str, *, body: object = None, query: Mapping[str, str] | None = None, **more: Any
) -> Request:
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    verb: Verb = "watch" if query and query.get("watch") else "get"
    return Request(
        method=method,
        path=path,
        query=tuple((query or {}).items()),
        headers=(("content-type", media), ("user-agent", "test/1")),
        body=b"" if body is None else msgspec.json.encode(body),
        **{"verb": verb, **more},
    )


async def ask(to: Transport, method: Method, path: str, **more: Any) -> tuple[int, Object]:
    """The status and the decoded body of an answer."""
    response = await to.send(request(method, path, **more))
    return response.status, cast("Object", msgspec.json.decode(response.body))


async def made(to: Transport, path: str, name: str, **fields: Any) -> Object:
    """A new object; `fields` are those of its metadata, except for `spec`."""
    spec = fields.pop("spec", None)
    body: Object = {"metadata": {"name": name, **fields}} | ({} if spec is None else {"spec": spec})
    status, found = await ask(to, "POST", path, body=body)
    assert status == 201, found
    return found


async def exists(to: Transport, path: str) -> bool:
    return (await ask(to, "GET", path))[0] == 200


def owner(found: Object, **more: Any) -> Object:
    head = {"apiVersion": found["apiVersion"], "kind": found["kind"]}
    return head | {"name": found["metadata"]["name"], "uid": found["metadata"]["uid"]} | more


@asynccontextmanager
async def watching(to: Transport, path: str, **query: str) -> AsyncIterator[AsyncIterator[Object]]:
    """The events of a watch, one at a time."""
    async with to.stream(request("GET", path, query={"watch": "1", **query})) as stream:
        assert stream.status == 200
        yield _events(stream)


async def _events(stream: Stream) -> AsyncIterator[Object]:
    rest = b""
    async for chunk in stream.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield msgspec.json.decode(line)

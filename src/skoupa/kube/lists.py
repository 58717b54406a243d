"""Lists in pages: memory stays at one page plus what the caller keeps.

A list is consistent: all its pages show the cluster at one resourceVersion. When the server has forgotten that moment
half-way (410) the list starts anew with a page marked `first`; the continue token that the server offers instead would
mix two moments and is never taken. After a few restarts the list is asked for in one piece, which can't expire.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, TypeVar

import msgspec

from skoupa.errors import Gone
from skoupa.kube.client import Client, describe
from skoupa.kube.decoding import Page, Undecodable, decode_list
from skoupa.kube.objects import METADATA, ListMeta, View
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request

T = TypeVar("T")

PAGE_SIZE: Final = 500
# Where pages are measured: of the first nobody knows how large its objects are, and one may have more than a million bytes.
FIRST_PAGE_SIZE: Final = 100
SMALLEST_PAGE_SIZE: Final = 10
RESTARTS_BEFORE_ONE_PIECE: Final = 3
# A page of whole objects can take the server a while; client-go waits as long.
LIST_TIMEOUT_SECONDS: Final = 60.0


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a kind: one namespace or all, narrowed by selectors that the server evaluates."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> tuple[tuple[str, str], ...]:
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return tuple((key, value) for key, value in pairs if value)


EVERYWHERE: Final = Scope()


async def pages(
    client: Client,
    resource: Resource,
    view: View[T],
    *,
    scope: Scope = EVERYWHERE,
    page_size: int = PAGE_SIZE,
    page_bytes: int = 0,
    compressed: bool = False,
) -> AsyncGenerator[Page[T], None]:
    """`page_bytes`: how large a page is to be, where objects are large; each page is as long as the one before suggests."""
    doing = f"list {describe(resource, namespace=scope.namespace)}"
    restarts = 0
    token = ""
    size = min(page_size, FIRST_PAGE_SIZE) if page_bytes else page_size
    while True:
        limit = size if restarts < RESTARTS_BEFORE_ONE_PIECE else 0
        first = not token
        try:
            meta, items, bad, weight = await _page(
                client,
                resource,
                view,
                scope=scope,
                limit=limit,
                token=token,
                compressed=compressed,
                doing=doing,
            )
        except Gone:
            if first:
                raise
            restarts += 1
            token = ""
            continue
        yield Page(
            first=first,
            items=items,
            undecodable=bad,
            resource_version=meta.resource_version,
            remaining=meta.remaining_item_count,
        )
        token = meta.continue_
        if not token:
            return
        if page_bytes:
            fitting = page_bytes * (len(items) + len(bad)) // max(1, weight)
            size = min(page_size, max(SMALLEST_PAGE_SIZE, fitting))


async def _page(
    client: Client,
    resource: Resource,
    view: View[T],
    *,
    scope: Scope,
    limit: int,
    token: str,
    compressed: bool = False,
    doing: str,
) -> tuple[ListMeta, list[T], tuple[Undecodable, ...], int]:
    query = scope.query()
    if limit:
        query += (("limit", str(limit)),)
    if token:
        query += (("continue", token),)
    request = Request(
        path=resource.path(namespace=scope.namespace),
        query=query,
        headers=client.headers(("Accept", view.accept(many=True))),
        timeout=LIST_TIMEOUT_SECONDS,
        verb="list",
        kind=resource.qualified,
        repeatable=True,
        compressed=compressed,
    )
    response = await client.ask(request, doing=doing)
    meta, items, bad = decode_list(response.body, view, doing=doing)
    return meta, items, bad, len(response.body)


async def everything(
    client: Client,
    resource: Resource,
    view: View[T],
    *,
    scope: Scope = EVERYWHERE,
    page_size: int = PAGE_SIZE,
) -> Page[T]:
    """The whole list as one page, for those who keep it all."""
    items: list[T] = []
    bad: list[Undecodable] = []
    version = ""
    async with aclosing(pages(client, resource, view, scope=scope, page_size=page_size)) as listing:
        async for page in listing:
            if page.first:
                items.clear()
                bad.clear()
            items += page.items
            bad += page.undecodable
            version = page.resource_version
    return Page(first=True, items=items, undecodable=tuple(bad), resource_version=version)


async def count(client: Client, resource: Resource, *, namespace: str = "") -> int:
    """How many there are, for the price of one object; only the server's own count, so no selectors."""
    doing = f"count {describe(resource, namespace=namespace)}"
    scope = Scope(namespace=namespace)
    meta, items, bad, _ = await _page(client, resource, METADATA, scope=scope, limit=1, token="", doing=doing)
    return len(items) + len(bad) + (meta.remaining_item_count or 0)

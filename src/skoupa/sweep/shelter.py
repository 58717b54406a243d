"""Namespaces in which nothing goes, read freshly: protected ones, and those with a keep label.

What would take along something in them asks here: neither the end of a definition nor the garbage collector knows of
such namespaces. What is known by feeds may be a moment old, so nothing of it is taken over. A server that does not answer
is not waited for long: then it is not known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Extraction, Row, Uid
from skoupa.judge.cascade import called
from skoupa.judge.protection import Protection
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.model.reasons import Reason, reason, render
from skoupa.model.verdicts import Hold

_SHELTERS: Final = frozenset({"protected-namespace", "kept"})


class Shelter(msgspec.Struct, frozen=True, kw_only=True):
    """By name of the Namespace: why nothing in it goes, and until when. `uids` has the names of all Namespaces.

    `unknown`: why that could not be read; `denied`: for want of a right.
    """

    places: dict[str, tuple[Reason, float | None]] = {}
    uids: dict[Uid, str] = {}
    unknown: str = ""
    denied: bool = False

    def hold(self, inside: Row) -> Hold | None:
        found = self.places.get(inside.namespace)
        if found is None:
            return None
        why, until = found
        return Hold(reason=reason("protects-inside", object=called(inside), why=render(why)), until=until)


async def sheltered(
    patience: Patience, *, protection: Protection, extraction: Extraction, now: float
) -> Shelter:
    places: dict[str, tuple[Reason, float | None]] = {}
    uids: dict[Uid, str] = {}
    try:
        patience.check(NAMESPACES.qualified)
        with patience.asking(NAMESPACES.qualified):
            async with aclosing(rows_of(patience.client, NAMESPACES, extraction, places=("",))) as rows:
                async for row in rows:
                    uids[row.uid] = row.name
                    for told, until in protection.reasons(row, now):
                        if told.code in _SHELTERS:
                            places.setdefault(row.name, (_of_contents(told), until))
    except SkoupaError as error:
        denied = isinstance(error, Forbidden)
        return Shelter(places=places, uids=uids, unknown=error.message, denied=denied)
    return Shelter(places=places, uids=uids)


def _of_contents(told: Reason) -> Reason:
    return Reason("namespace-kept", told.facts) if told.code == "kept" else told


async def rows_of(
    client: Client, resource: Resource, extraction: Extraction, *, places: Iterable[str], labels: str = ""
) -> AsyncGenerator[Row, None]:
    """All of them in these places; raises where one can't be read or understood."""
    for place in places:
        listing = pages(client, resource, METADATA, scope=Scope(namespace=place, labels=labels))
        async with aclosing(listing):
            async for page in listing:
                if page.undecodable:
                    raise SkoupaError(page.undecodable[0].why)
                for item in page.items:
                    yield extraction.row(resource, item)

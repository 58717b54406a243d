"""What goes along with an object, as far as it can be known: what is in a Namespace, of a definition, or owned.

The server collects dependents by itself and tells nobody. Finding what is owned takes one look at the metadata of all
kinds in the namespace (for an owner in none: in all of them), so it is done only for kinds on which others hang
(`kinds`) and for objects that something known names as its owner, and one look serves all that go there together.
What somebody hung by hand on another object (a ConfigMap, a Service) goes with it and is not kept.
What a controller makes again is passed over. What can't be read is named: it holds nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.bulk import PAGE, Alone
from skoupa.ledger.trash.contents import NotKept
from skoupa.ledger.trash.kinds import may_own
from skoupa.ledger.trash.looking import Look, Looks, Owned, why_unread
from skoupa.ledger.trash.manifests import comes_back
from skoupa.ledger.trash.patience import Patience
from skoupa.ledger.trash.server_fields import MADE_AGAIN
from skoupa.model.verdicts import Claim

# Each reads whole objects, page by page: several large Namespaces at once would take much memory.
_CONTAINERS_AT_A_TIME: Final = 4
# A page of whole objects; what a Namespace has in it is worth a longer wait.
_INSIDE_SECONDS: Final = 15.0
# What was made after a look that is older than this may have been missed, and is told.
_OLD_SECONDS: Final = 2.0


class Along(msgspec.Struct, frozen=True):
    resource: Resource
    found: dict[str, Any]


class Dependents:
    """`named` says whether something that is known anyway names the object as its owner.

    `along` is for objects that go along, `lists` for looks at who owns what.
    """

    def __init__(
        self,
        client: Client,
        *,
        along: Patience,
        lists: Patience,
        discovery: Callable[[], Discovery],
        named: Callable[[Row], bool] = lambda _: False,
    ) -> None:
        self._clock = client.clock
        self._along = along
        self._alone = Alone()
        self._discovery = discovery
        self._named = named
        self._looks = Looks(lists)
        self._inside_patience = Patience(client, seconds=_INSIDE_SECONDS)
        self._containers = asyncio.Semaphore(_CONTAINERS_AT_A_TIME)

    async def of(self, row: Row, claim: Claim) -> AsyncGenerator[Along | NotKept, None]:
        """In no order; each object once."""
        if is_namespace(row):
            async with self._containers:
                async for one in self._inside(self._kinds(namespaced=True), Scope(namespace=row.name)):
                    yield one
            for gap in self._discovery().gaps:
                yield _unheard_of(gap)
        elif is_definition(row):
            kinds = [resource for resource in self._kinds() if resource.qualified == row.name]
            async with self._containers:
                async for one in self._inside(kinds, Scope()):
                    yield one
        elif claim.propagation != "Orphan" and (may_own(row.resource) or self._named(row)):
            async for one in self._owned(row):
                yield one

    def _kinds(self, *, namespaced: bool | None = None) -> list[Resource]:
        # What can't be created can't come back, such as the figures of a metrics server.
        return [
            resource
            for resource in self._discovery().preferred()
            if namespaced in {None, resource.namespaced}
            and resource.qualified not in MADE_AGAIN
            and resource.may("list", "create", "delete")
        ]

    async def _inside(self, kinds: list[Resource], scope: Scope) -> AsyncGenerator[Along | NotKept, None]:
        for resource in kinds:
            seen: set[str] = set()
            whole = pages(self._inside_patience.client, resource, WHOLE, scope=scope, page_size=PAGE)
            try:
                async with aclosing(self._inside_patience.pages(resource.qualified, whole)) as listing:
                    async for page in listing:
                        for bad in page.undecodable:
                            yield NotKept(
                                why=f"{bad.name}: {bad.why}",
                                resource=resource.qualified,
                                namespace=scope.namespace,
                            )
                        for found in page.items:
                            uid = str(found["metadata"].get("uid", ""))
                            # A list that began anew shows some of them again.
                            if uid in seen or comes_back(
                                {"kind": resource.kind, **found}, resource.qualified
                            ):
                                continue
                            seen.add(uid)
                            yield Along(resource, found)
            except NotFound:
                # The kind went a moment ago.
                continue
            except SkoupaError as error:
                yield NotKept(why=why_unread(error), resource=resource.qualified, namespace=scope.namespace)

    async def _owned(self, row: Row) -> AsyncGenerator[Along | NotKept, None]:
        kinds = self._kinds(namespaced=True if row.namespace else None)
        # Creation times are whole seconds.
        look = await self._looks.at(row.namespace, kinds, since=row.created + 1)
        age = self._clock.monotonic() - look.start
        if age > _OLD_SECONDS:
            yield NotKept(
                what=f"what was made in the last {math.ceil(age)} seconds that may go along",
                why="the look around was before that",
            )
        for kind, why in look.unread.items():
            yield NotKept(why=why, resource=kind, namespace=row.namespace)
        for gap in self._discovery().gaps:
            yield _unheard_of(gap)
        for one in _going(uid_text(row.uid), look):
            kind = one.resource.qualified
            try:
                found = await self._alone.read(
                    one.resource, one.name, namespace=one.namespace, patience=self._along
                )
            except NotFound:
                continue
            except SkoupaError as error:
                yield NotKept(
                    what=f"{kind}/{one.name} that may go along",
                    why=why_unread(error),
                    resource=kind,
                    namespace=one.namespace,
                )
                continue
            if found["metadata"]["uid"] == one.uid and not comes_back(
                {"kind": one.resource.kind, **found}, kind
            ):
                yield Along(one.resource, found)


def _unheard_of(gap: Gap) -> NotKept:
    return NotKept(what=f"kinds of {gap.where} that may go along", why=gap.why)


def _going(uid: str, look: Look) -> Iterator[Owned]:
    """What goes down the chain; what is made again too, because something else may hang on it."""
    going = {uid}
    ahead = [uid]
    while ahead:
        for one in look.owned.get(ahead.pop(), ()):
            # With another owner that lives it stays.
            if one.uid in going or not one.owners <= going:
                continue
            going.add(one.uid)
            ahead.append(one.uid)
            if not one.made_again:
                yield one

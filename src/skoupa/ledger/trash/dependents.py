"""What goes along with an object, as far as it can be known: what is in a Namespace, of a definition, or owned.

The server collects dependents by itself and tells nobody. Finding what is owned takes one look at the metadata of all
kinds in the namespace (for an owner in none: in all of them), so it is done only for kinds on which others hang
(`kinds`) and for objects that something known names as its owner, and one look serves all that go there together.
What somebody hung by hand on another object (a ConfigMap, a Service) goes with it and is not kept.
What several own goes with the last of them: it is kept with each whose other owners are gone, or were asked about a
moment ago. What a controller makes again is passed over. What can't be read is named: it holds nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Container, Iterable, Iterator
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
from skoupa.ledger.trash.contents import YOUNG, NotKept
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
# So long an object counts as going after it was asked about; longer, and the server shows that it is gone.
_LATELY_SECONDS: Final = 60.0


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
        # By uid: until when it counts as going.
        self._lately: dict[str, float] = {}

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
        # Before anybody waits: who is asked about next may share something with it.
        self._are_going({uid_text(row.uid)})
        kinds = self._kinds(namespaced=True if row.namespace else None)
        # Creation times are whole seconds.
        look = await self._looks.at(row.namespace, kinds, since=row.created + 1)
        age = self._clock.monotonic() - look.start
        if age > _OLD_SECONDS:
            yield NotKept(
                what=f"{YOUNG}{math.ceil(age)} seconds that may go along",
                why="the look around was before that",
            )
        for kind, why in look.unread.items():
            yield NotKept(why=why, resource=kind, namespace=row.namespace)
        for gap in self._discovery().gaps:
            yield _unheard_of(gap)
        async for one in self._down(uid_text(row.uid), look):
            yield one

    async def _down(self, uid: str, look: Look) -> AsyncGenerator[Along | NotKept, None]:
        chain = _Chain(look, self._lately)
        ahead = [*chain.down(uid)]
        while ahead or chain.shared:
            if ahead:
                one = ahead.pop()
                said = await self._read(one)
            else:
                one = chain.shared.popitem()[1]
                said = await self._read(one, besides=chain.going)
                if isinstance(said, dict):
                    ahead += chain.down(one.uid)
            kind = one.resource.qualified
            if isinstance(said, NotKept):
                yield said
            elif said is not None and not comes_back({"kind": one.resource.kind, **said}, kind):
                yield Along(one.resource, said)
        self._are_going(chain.going)

    def _are_going(self, uids: Iterable[str]) -> None:
        now = self._clock.monotonic()
        for uid in uids:
            self._lately.pop(uid, None)
            self._lately[uid] = now + _LATELY_SECONDS
        # The oldest stand first.
        while (first := next(iter(self._lately))) and self._lately[first] < now:
            del self._lately[first]

    async def _read(
        self, one: Owned, *, besides: Container[str] | None = None
    ) -> dict[str, Any] | NotKept | None:
        """The object as it is now; None: it is gone, or, with `besides`, another owner lives."""
        try:
            found = await self._alone.read(
                one.resource, one.name, namespace=one.namespace, patience=self._along
            )
            held = besides is not None and await self._is_held(found, besides)
        except NotFound:
            return None
        except SkoupaError as error:
            return NotKept(
                what=f"{one.resource.qualified}/{one.name} that may go along",
                why=why_unread(error),
                resource=one.resource.qualified,
                namespace=one.namespace,
            )
        return None if held or found["metadata"]["uid"] != one.uid else found

    async def _is_held(self, found: dict[str, Any], going: Container[str]) -> bool:
        """Whether another owner lives, which is not on its way: with that it stays."""
        metadata = found["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner["uid"] in going or owner["uid"] in self._lately:
                continue
            if await self._lives(owner, str(metadata.get("namespace", ""))):
                return True
        return False

    async def _lives(self, owner: dict[str, Any], namespace: str) -> bool:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        resource = self._discovery().find(group, str(owner.get("kind", "")))
        if resource is None:
            # The server's collector leaves alone what hangs on a kind that it does not know.
            return True
        where = namespace if resource.namespaced else ""
        try:
            there = await self._alone.read(
                resource, str(owner.get("name", "")), namespace=where, patience=self._along
            )
        except NotFound:
            return False
        except SkoupaError as error:
            raise SkoupaError(
                f"its owner {resource.qualified}/{owner.get('name')} can't be read: {why_unread(error)}"
            ) from error
        metadata = there["metadata"]
        return metadata["uid"] == owner["uid"] and not metadata.get("deletionTimestamp")


def _unheard_of(gap: Gap) -> NotKept:
    return NotKept(what=f"kinds of {gap.where} that may go along", why=gap.why)


class _Chain:
    """What goes down from an object. `shared` has other owners, of which it is not known whether they go."""

    def __init__(self, look: Look, lately: Container[str]) -> None:
        self._look = look
        self._lately = lately
        self.going: set[str] = set()
        self.shared: dict[str, Owned] = {}

    def down(self, uid: str) -> Iterator[Owned]:
        """What hangs on this one alone; what is made again too, because something else may hang on it."""
        self.going.add(uid)
        ahead = [uid]
        while ahead:
            for one in self._look.owned.get(ahead.pop(), ()):
                if one.uid in self.going:
                    continue
                if not all(owner in self.going or owner in self._lately for owner in one.owners):
                    self.shared[one.uid] = one
                    continue
                self.shared.pop(one.uid, None)
                self.going.add(one.uid)
                ahead.append(one.uid)
                if not one.made_again:
                    yield one

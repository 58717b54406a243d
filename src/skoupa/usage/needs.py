"""Who needs an object: whom it was found to be used by, or nobody, or that this can't be told.

An object is needed by what points at it or selects it, by an owner that is alive, by who tracks it, or for what it is. It is
needed by nobody only if everything that could point at it was read and understood; else the answer is that nobody knows,
with what was not read. Nothing is concluded from what is missing. This asks no clock and sends no request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Final, Literal

import msgspec

from skoupa.facts.rows import Owner, Row, Uid
from skoupa.usage.bound_claims import is_claim, is_its_volume, using
from skoupa.usage.found import Target
from skoupa.usage.graph import Graph, User, kind_name, target_of
from skoupa.usage.made_for import makers
from skoupa.usage.rules import Means
from skoupa.usage.sight import Sight, Unread

How = Literal["never", "owner", "user", "selector", "tracker", "work"]
Confidence = Literal["proved", "walked"]

# Of the users of an object that everybody uses.
_MOST_LOOKED_AT: Final = 200
_WEIGHT: Final = {Means.USES: 0, Means.PRODUCES: 1, Means.MANAGES: 2, Means.MENTIONS: 3}


class Need(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One proof that an object is needed; `by` is who needs it, `at` the field that says so, `why` a sentence instead."""

    how: How
    by: Target | None = None
    at: str = ""
    means: Means | None = None
    why: str = ""


class Needed(msgspec.Struct, frozen=True, gc=False):
    """The shortest proof first."""

    needs: tuple[Need, ...]


class Unneeded(msgspec.Struct, frozen=True, gc=False):
    """`walked` are kinds that were read by the generic rule: no table says how they point at others."""

    confidence: Confidence
    walked: tuple[str, ...] = ()


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """`unread` could point at it and was not read; `doubts` are about objects that were, and could not be understood."""

    unread: tuple[Unread, ...] = ()
    doubts: tuple[str, ...] = ()


Answer = Needed | Unneeded | Unknown


class Needs:
    """`natures` say of objects why they are never garbage, `trackers` who tracks them though nothing read says so.

    `mentioning` tells who says the name of an object, where that is not among the edges of the graph.

    The graph may change meanwhile; what was looked at is as it is, and another `sight` takes another of these.
    """

    def __init__(
        self,
        graph: Graph,
        sight: Sight,
        *,
        natures: Mapping[Uid, str] | None = None,
        trackers: Mapping[Uid, str] | None = None,
        mentioning: Callable[[Row], Iterable[User]] = lambda _row: (),
    ) -> None:
        self._graph = graph
        self._mentioning = mentioning
        self._sight = sight
        self._natures = natures or {}
        self._trackers = trackers or {}
        self._blind = lru_cache(None)(sight.blind_for)
        self._doubted: dict[str, tuple[str, ...]] = {}
        self._doubted_at = graph.doubts_changed

    def of(self, row: Row, *, most: int = 1, owners: bool = True) -> Answer:
        """At most so many proofs where it is needed; without `owners` it does not matter who owns it."""
        found = self._found(row, most, owners=owners)
        return Needed(tuple(found)) if found else self.of_nobody(row, owners=owners)

    def of_nobody(self, row: Row, *, owners: bool = True) -> Unneeded | Unknown:
        """Whether that nothing more was found to need it says anything."""
        unread = (*self._blind(kind_name(row.resource)), *(self._owners_unread(row) if owners else ()))
        doubts = self._doubts(kind_name(row.resource))
        if unread or doubts:
            return Unknown(tuple(dict.fromkeys(unread)), doubts)
        walked = tuple(sorted(self._sight.walked))
        return Unneeded("walked" if walked else "proved", walked)

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        found = self._graph.get(Target("Namespace", "", namespace))
        return None if found is None else dict(found.labels)

    def is_never_garbage(self, row: Row) -> bool:
        return row.uid in self._natures

    def stays_anyway(self, row: Row) -> Need | None:
        """Whether it stays whatever it is good for: for what it is, for an owner that is alive, for who tracks it."""
        return next(self._first_proofs(row, owners=True), None)

    def everyone(self, row: Row) -> Iterator[Need]:
        """Every proof that is found; who needs it in two ways comes twice."""
        yield from self._first_proofs(row, owners=True)
        yield from self._pointing(row)

    def _found(self, row: Row, most: int, *, owners: bool) -> list[Need]:
        needs = list(islice(self._first_proofs(row, owners=owners), most))
        pointing: list[Need] = []
        plain = 0
        # Those that use it are named first, so that nobody else is looked for once there are enough of them.
        for need in islice(self._pointing(row), _MOST_LOOKED_AT):
            if len(needs) + plain >= most:
                break
            pointing.append(need)
            plain += need.means is Means.USES
        needs += sorted(pointing, key=lambda need: _WEIGHT[need.means or Means.USES])
        return needs[:most]

    def _first_proofs(self, row: Row, *, owners: bool) -> Iterator[Need]:
        if nature := self._natures.get(row.uid):
            yield Need(how="never", why=nature)
        for owner in row.owners if owners else ():
            found = self._graph.by_uid(owner.uid)
            if found is not None:
                yield Need(how="owner", by=target_of(found), at="metadata.ownerReferences")
        if tracker := self._trackers.get(row.uid):
            yield Need(how="tracker", why=tracker)

    def _pointing(self, row: Row) -> Iterator[Need]:
        for user in self._graph.users(target_of(row)):
            if user.means is not Means.CONCERNS and not is_its_volume(self._graph, user, row):
                yield _need("user", user)
        for user in self._graph.choosers(row, self.namespace_labels):
            if user.means is not Means.CONCERNS:
                yield _need("selector", user)
        for user in self._mentioning(row):
            if not is_its_volume(self._graph, user, row):
                yield _need("user", user)
        if is_claim(row):
            yield from (_need("user", user) for user in using(self._graph, row))
        yield from (_need("user", user) for user in makers(self._graph, row, self._sight))

    def _owners_unread(self, row: Row) -> Iterator[Unread]:
        for owner in row.owners:
            kind = owner_kind(owner)
            if kind not in self._sight.read and self._graph.by_uid(owner.uid) is None:
                why = f"{owner.kind} {owner.name} owns it, and objects of that kind were not read"
                yield Unread(kind=kind, what=kind, why=why)

    def _doubts(self, kind: str) -> tuple[str, ...]:
        """Objects that were read and may point at anything of this kind for all that is known."""
        if self._doubted_at != self._graph.doubts_changed:
            self._doubted, self._doubted_at = {}, self._graph.doubts_changed
        known = self._doubted.get(kind)
        if known is None:
            known = self._doubted[kind] = tuple(self._doubts_about(kind))
        return known

    def _doubts_about(self, kind: str) -> Iterator[str]:
        return (
            f"{told(target_of(row))}: {'; '.join(doubts)}"
            for row, doubts in self._graph.doubtful()
            if self._sight.heeds(row.resource) and self._sight.may_point(kind_name(row.resource), kind)
        )


def owner_kind(owner: Owner) -> str:
    group = owner.api_version.rpartition("/")[0]
    return f"{group}/{owner.kind}" if group else owner.kind


def told(target: Target) -> str:
    """An object in words: `Deployment shop/web`."""
    kind = target.kind.rpartition("/")[2]
    return f"{kind} {target.namespace}/{target.name}" if target.namespace else f"{kind} {target.name}"


def _need(how: How, user: User) -> Need:
    return Need(how=how, by=target_of(user.row), at=user.at, means=user.means)

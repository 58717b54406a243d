"""The kept objects and whom they hang on.

Owners of a kept object usually carry no label, so no feed sees them: their chain is read upwards, one object at a time,
when a kept object appears. Until that is done, or where it can't be, the chain counts as unknown and holds.
What was seen kept and can't be seen any more is retained: it goes on holding until somebody sees, or makes sure, that it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from skoupa import names
from skoupa.controller.keeping.climbing import Rounds
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.cascade import Ancestry, Kept, called, is_definition, is_namespace, might_be_above
from skoupa.judge.protection import finite, kept_until
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sweep.parents import patience_of

# The name of a kind, and a namespace; empty: everywhere.
Retained = tuple[str, str]
_NOT_READ_YET: Final = Ancestry(unknown="not read yet", beyond_namespace=True, unread=True)
_NO_OWNERS: Final = Ancestry()


class KeptIndex:
    """By uid, and by what each hangs on: there may be thousands, and every judgement asks."""

    def __init__(self) -> None:
        self._rows: dict[Uid, Row] = {}
        self._ancestry: dict[Uid, Ancestry] = {}
        self._waiting: dict[Uid, None] = {}
        # A Namespace's name, a definition's name or an owner's uid -> the kept objects that it would take along.
        self._hanging_on: dict[str | Uid, set[Uid]] = {}
        self._unknown: set[Uid] = set()
        self._retained: set[Retained] = set()
        self._rounds: Rounds | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Kept]:
        return (self._kept(uid) for uid in self._rows)

    def around(self, row: Row) -> list[Kept]:
        """The kept objects that may hang on this one, those whose chain is not known included."""
        uids = self._hanging_on.get(row.uid, frozenset()) | self._unknown
        if is_namespace(row):
            uids |= self._hanging_on.get(f"namespace/{row.name}", frozenset())
        elif is_definition(row):
            uids |= self._hanging_on.get(row.name, frozenset())
        return [self._kept(uid) for uid in uids]

    def _kept(self, uid: Uid) -> Kept:
        return Kept(row=self._rows[uid], ancestry=self._ancestry[uid])

    def learn(self, deltas: Iterable[Delta]) -> bool:
        """Whether anything about kept objects changed, so that others have to be judged anew."""
        changed = False
        for delta in deltas:
            before, after = delta.before, delta.after
            if after is not None and after.label(names.KEEP_LABEL) is not None:
                known = self._rows.get(after.uid)
                changed = changed or known is None or known.labels != after.labels
                if known is None or known.owners != after.owners:
                    self.forget(after.uid)
                    self._remember(after, _NOT_READ_YET if after.owners else _NO_OWNERS)
                    changed = True
                self._rows[after.uid] = after
            elif before is not None and before.uid in self._rows:
                if after is None and self._is_retained(before):
                    continue
                self.forget(before.uid)
                changed = True
        return changed

    @property
    def retained(self) -> tuple[Retained, ...]:
        return tuple(self._retained)

    def retain(self, place: Retained) -> None:
        """Nobody sees these from now on: that one disappears says nothing."""
        self._retained.add(place)

    def release(self, place: Retained, *, seen: Callable[[Uid], Row | None] = lambda _: None) -> bool:
        """They are seen again, or gone for sure: what is not among the `seen` ends; whether there was any."""
        self._retained.discard(place)
        gone = [row for row in self.of(place) if seen(row.uid) is None]
        for row in gone:
            self.forget(row.uid)
        return bool(gone)

    def of(self, place: Retained) -> list[Row]:
        kind, namespace = place
        return [
            row
            for row in self._rows.values()
            if row.resource.qualified == kind and namespace in {"", row.namespace}
        ]

    def _is_retained(self, row: Row) -> bool:
        kind = row.resource.qualified
        return (kind, "") in self._retained or (kind, row.namespace) in self._retained

    def _remember(self, row: Row, ancestry: Ancestry) -> None:
        self._rows[row.uid] = row
        self._ancestry[row.uid] = ancestry
        for key in _places(row, ancestry):
            self._hanging_on.setdefault(key, set()).add(row.uid)
        if ancestry.unknown:
            self._unknown.add(row.uid)
            self._waiting[row.uid] = None

    def forget(self, uid: Uid) -> None:
        row = self._rows.pop(uid, None)
        if row is None:
            return
        for key in _places(row, self._ancestry.pop(uid)):
            uids = self._hanging_on[key]
            uids.discard(uid)
            if not uids:
                del self._hanging_on[key]
        self._unknown.discard(uid)
        self._waiting.pop(uid, None)

    async def read_chains(self, client: Client, discovery: Discovery) -> bool:
        """Reads the chains that are not known yet; whether any was read. What failed is tried at the next call."""
        waiting = list(self._waiting)
        climber = self._rounds_of(client).climber(discovery)
        climber.expect(row for uid in waiting if (row := self._rows.get(uid)) is not None)
        for uid in waiting:
            row = self._rows.get(uid)
            if row is None:
                continue
            ancestry = await climber.climb(row)
            now = self._rows.get(uid)
            # Whatever changed its owners meanwhile has put it back among the waiting.
            if now is not None and now.owners == row.owners:
                self.forget(uid)
                self._remember(now, ancestry)
        return bool(waiting)

    async def holds_freshly(
        self, row: Row, *, client: Client, discovery: Discovery, now: float
    ) -> Hold | None:
        """Reads the chains that may lead to this object once more: somebody may have adopted its dependents."""
        if not len(self):
            return None

        def near() -> Iterator[Row]:
            return (
                kept
                for kept in self._rows.values()
                if kept.owners
                and kept.uid != row.uid
                and _near(kept, row)
                and kept_until(kept.label(names.KEEP_LABEL), now) is not None
            )

        if next(near(), None) is None:
            return None
        ancestry_of = await self._rounds_of(client).climb(row.namespace, near, discovery=discovery)
        for kept in list(near()):
            ancestry = await ancestry_of(kept)
            if row.uid in ancestry.owners:
                until = kept_until(kept.label(names.KEEP_LABEL), now)
                assert until is not None
                return Hold(reason=reason("keeps-inside", object=called(kept)), until=finite(until))
            if might_be_above(row, Kept(row=kept, ancestry=ancestry)):
                return Hold(reason=reason("owners-unknown", object=called(kept), why=ancestry.unknown))
        return None

    def _rounds_of(self, client: Client) -> Rounds:
        if self._rounds is None:
            self._rounds = Rounds(patience_of(client))
        return self._rounds

    @property
    def unread(self) -> int:
        return len(self._waiting)


def _near(kept: Row, row: Row) -> bool:
    """An owner is in the same namespace as what it owns, or in none."""
    return not row.namespace or row.namespace == kept.namespace


def _places(row: Row, ancestry: Ancestry) -> Iterator[str | Uid]:
    yield f"namespace/{row.namespace}"
    yield row.resource.qualified
    yield from ancestry.kinds - {row.resource.qualified}
    yield from ancestry.owners

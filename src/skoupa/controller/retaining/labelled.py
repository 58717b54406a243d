"""The objects that have the label or that a policy is about, and what is known of each beside its row.

That is whether it has finished, what it is, and who deploys it.

All of it comes with the very feed that brings the row, so that it speaks of the same state. Of a body only the Finish is kept. Found
by what others call it (kind, namespace and name) and by who owns it: whoever changes elsewhere concerns only some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import msgspec

from skoupa import names
from skoupa.facts.feeds import Body
from skoupa.facts.rows import Row, Uid, is_newer
from skoupa.facts.store import Delta
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import Resource
from skoupa.usage import never
from skoupa.usage.finishing import Doubt, Ends, Finish, Finishes
from skoupa.usage.found import Target
from skoupa.usage.graph import kind_name, target_of
from skoupa.usage.made_for import names_meant
from skoupa.usage.needs import owner_kind
from skoupa.usage.objects import marked_part, short_part

BEING_READ: Final = Doubt("its newest state is being read")
SECRET: Final = "Secret"  # noqa: S105 - a kind


class Noted(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was read along with a row: `nature` says why it is never garbage.

    `metadata` is there only where somebody may have to look at it once more: it says who deploys it, or it is a Secret, of which
    the type is not known.
    """

    row: Row
    finish: Finish | Doubt | None = None
    nature: str = ""
    metadata: Metadata | None = None


class Endings(Protocol):
    """Of kinds that somebody taught, whether objects have finished is asked elsewhere."""

    def teaches(self, kind: str) -> bool: ...

    def doubt(self, kind: str) -> Doubt | None:
        """Why that can't be told of any object of the kind."""

    def finish(self, row: Row) -> Finish | Doubt | None: ...


class Labelled:
    """`on_seen` hears of objects whose row was known already when they were read; `by_policy` says that a policy is about one."""

    def __init__(
        self, finishes: Finishes, *, on_seen: Callable[[Uid], None], by_policy: Callable[[Row], bool]
    ) -> None:
        self._by_policy = by_policy
        self._finishes = finishes
        self._on_seen = on_seen
        # Who knows what is taught hands that in.
        self.taught: Endings | None = None
        self._rows: dict[Uid, Row] = {}
        self._noted: dict[Uid, Noted] = {}
        self._by_name: dict[Target, Uid] = {}
        self._by_kind: dict[str, set[Uid]] = {}
        self._by_owner: dict[Uid, set[Uid]] = {}
        # By the names of custom objects that they may be made for.
        self._by_maker: dict[str, set[Uid]] = {}
        # Kinds that own some, by how many.
        self._owning: dict[str, int] = {}
        # Grows when one of another kind may have come, or the last of one gone.
        self.generation = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __contains__(self, uid: Uid) -> bool:
        return uid in self._rows

    def get(self, uid: Uid) -> Row | None:
        return self._rows.get(uid)

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self._by_kind)

    @property
    def owner_kinds(self) -> frozenset[str]:
        return frozenset(self._owning)

    def body(self, resource: Resource) -> Body:
        """How to read objects of this kind that have the label."""
        view = self._finishes.view(kind_name(resource)) or METADATA
        return Body(view, self.seen)

    def seen(self, row: Row, found: Any) -> None:
        """`found` is an object as `body` has it read; a plain manifest will do."""
        known = self._noted.get(row.uid)
        if known is not None and not is_newer(row, known.row):
            return
        kind = kind_name(row.resource)
        if isinstance(found, dict):
            finish = self._finishes.from_manifest(kind, found)
            metadata = msgspec.convert(
                {key: value for key, value in found["metadata"].items() if key != "managedFields"}, Metadata
            )
        else:
            finish = (
                self._finishes.finish(kind, found) if self._finishes.ends(kind) is not Ends.NEVER else None
            )
            metadata = found.metadata
        self._noted[row.uid] = Noted(
            row=row, finish=finish, nature=never.reason(metadata, kind) or "", metadata=_kept(kind, metadata)
        )
        known_row = self._rows.get(row.uid)
        if known_row is not None and known_row.version == row.version:
            # Else the store is told of it next, and so are we.
            self._on_seen(row.uid)

    def ends_of(self, kind: str) -> Ends:
        """As far as anybody knows; also where that is doubted."""
        if self.taught is not None and self.taught.teaches(kind):
            return Ends.BY_RULE
        return self._finishes.ends(kind)

    def ends(self, row: Row) -> Ends:
        """An object that may have an end is at work until that is known."""
        kind = kind_name(row.resource)
        if self.taught is not None and self.taught.doubt(kind) is not None:
            return Ends.BY_RULE
        return self.ends_of(kind)

    def finish(self, row: Row) -> Finish | Doubt | None:
        """Of this very state: another may have ended, or run again."""
        kind, taught = kind_name(row.resource), self.taught
        doubt = taught.doubt(kind) if taught is not None else None
        if doubt is not None:
            return doubt
        if taught is not None and taught.teaches(kind):
            return taught.finish(row)
        noted = self._noted.get(row.uid)
        return noted.finish if noted is not None and noted.row.version == row.version else BEING_READ

    def noted(self, row: Row) -> Noted | None:
        """None: only its row is known so far."""
        return self._noted.get(row.uid)

    def learn(self, deltas: Iterable[Delta]) -> tuple[list[Row], list[Row]]:
        """Those that are new here or changed, and those that are not labelled any more, or gone."""
        here: list[Row] = []
        left: list[Row] = []
        for delta in deltas:
            row, before = delta.after, delta.before
            if row is not None and self.is_followed(row):
                self._drop(row.uid)
                self._add(row)
                here.append(row)
            elif before is not None and before.uid in self._rows:
                self._drop(before.uid)
                self._noted.pop(before.uid, None)
                left.append(before)
            elif before is not None and row is None:
                self._noted.pop(before.uid, None)
        return here, left

    def is_followed(self, row: Row) -> bool:
        return row.label(names.TTL_AFTER_LABEL) is not None or self._by_policy(row)

    def named(self, target: Target) -> Uid | None:
        return self._by_name.get(target)

    def owned_by(self, uid: Uid) -> Iterable[Uid]:
        return self._by_owner.get(uid, ())

    def made_for(self, name: str) -> Iterator[Row]:
        """Those that may be made for a custom object of this name."""
        return (self._rows[uid] for uid in self._by_maker.get(name, ()))

    def of_kind(self, kind: str) -> Iterator[Row]:
        return (self._rows[uid] for uid in self._by_kind.get(kind, ()))

    def _add(self, row: Row) -> None:
        self._rows[row.uid] = row
        self._by_name[target_of(row)] = row.uid
        kind = kind_name(row.resource)
        self.generation += kind not in self._by_kind
        self._by_kind.setdefault(kind, set()).add(row.uid)
        for name in names_meant(row):
            self._by_maker.setdefault(name, set()).add(row.uid)
        for owner in row.owners:
            self._by_owner.setdefault(owner.uid, set()).add(row.uid)
            kind = owner_kind(owner)
            self.generation += kind not in self._owning
            self._owning[kind] = self._owning.get(kind, 0) + 1

    def _drop(self, uid: Uid) -> None:
        row = self._rows.pop(uid, None)
        if row is None:
            return
        if self._by_name.get(target_of(row)) == uid:
            del self._by_name[target_of(row)]
        _take_out(self._by_kind, kind_name(row.resource), uid)
        self.generation += kind_name(row.resource) not in self._by_kind
        for name in set(names_meant(row)):
            _take_out(self._by_maker, name, uid)
        for owner in row.owners:
            if owner.uid in self._by_owner:
                _take_out(self._by_owner, owner.uid, uid)
            kind = owner_kind(owner)
            self._owning[kind] -= 1
            if not self._owning[kind]:
                del self._owning[kind]
                self.generation += 1


def _take_out(index: dict[Any, set[Uid]], key: Any, uid: Uid) -> None:
    index[key].discard(uid)
    if not index[key]:
        del index[key]


def _kept(kind: str, metadata: Metadata) -> Metadata | None:
    return short_part(metadata) if kind == SECRET else marked_part(kind, metadata)

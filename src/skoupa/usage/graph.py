"""Who points at what in a cluster, in numbers: a million edges in memory, and each change costs what it changes.

Whatever is an object or is pointed at has one number, by kind, namespace and name: objects that are not there are pointed at
too. An object's own edges are bytes, pairs of a number and of why (path and meaning); `edges/users` has the way back. The
invariant: whoever points is found from what is pointed at, and what nobody points at and is no object has no number.

The newest resourceVersion of an object wins. This knows nothing of owners, of rights or of what was not read: see `needs`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from skoupa.facts.rows import Row, Uid, is_newer
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage.edges.choosing import Chosen, ChosenIndex, NamespaceLabels, choice_of, chosen_by
from skoupa.usage.edges.numbering import Numbered
from skoupa.usage.edges.packing import count, packed, pairs, reasons, things, whys
from skoupa.usage.edges.patterns import (
    ANYTHING,
    found_by_digits,
    is_pattern,
    kinds_meaning,
    means,
    without_digits,
)
from skoupa.usage.edges.users import PointedAt, weakly
from skoupa.usage.found import Choice, Found, Target, Use
from skoupa.usage.rules import Means

_NOTHING: Final = b""


def kind_name(resource: Resource) -> str:
    """A kind as this room writes it: `Secret`, `apps/Deployment`."""
    return f"{resource.group}/{resource.kind}" if resource.group else resource.kind


def target_of(row: Row) -> Target:
    return Target(kind_name(row.resource), row.namespace, row.name)


def is_partly_known(target: Target) -> bool:
    """Whether more than one object may be meant."""
    return is_pattern(target.name) or target.kind.startswith(ANYTHING) or target.namespace == ANYTHING


class User(msgspec.Struct, frozen=True, gc=False):
    """An object that points at another, and how."""

    row: Row
    at: str
    means: Means


# A path, and what is meant by it. A tuple, for one is made for every edge that is put.
_Why = tuple[str, Means]


class _Known(msgspec.Struct, frozen=True, gc=False):
    """An object and its edges: pairs of the number of a name, or of a selector, and that of the reason."""

    row: Row
    uses: bytes = _NOTHING
    choices: bytes = _NOTHING


class Graph:
    def __init__(self) -> None:
        self._names: Numbered[Target] = Numbered()
        self._whys: Numbered[_Why] = Numbered()
        self._selectors: Numbered[Chosen] = Numbered()
        self._objects: dict[int, _Known] = {}
        self._by_uid: dict[Uid, int] = {}
        self._doubts: dict[int, tuple[str, ...]] = {}
        # Grows with each change of them: whoever remembers what follows from doubts has to know.
        self.doubts_changed = 0
        self._users = PointedAt(weakly(self._uses_it))
        self._choosers = PointedAt(weakly(self._chooses_it))
        self._index = ChosenIndex(self._selectors.value)
        # Names with `*`, and ordinal names that no look at the digits finds: numbers by kind and namespace.
        self._scanned: dict[tuple[str, str], dict[int, None]] = {}
        self.edges = 0

    def __len__(self) -> int:
        """How many objects it knows."""
        return len(self._objects)

    def __iter__(self) -> Iterator[Row]:
        return (known.row for known in self._objects.values())

    def put(self, row: Row, found: Found) -> bool:
        """Whether that was news; an older state than the known one is none."""
        target = target_of(row)
        number = self._names.find(target)
        known = None if number is None else self._objects.get(number)
        if known is not None and not is_newer(row, known.row):
            return False
        elsewhere = self.by_uid(row.uid)
        if elsewhere is not None and target_of(elsewhere) != target:
            # Some servers have one object under two kinds: a Namespace is a Project too.
            if elsewhere.resource.group in BUILT_IN_GROUPS and row.resource.group not in BUILT_IN_GROUPS:
                return False
            self.remove(row.uid)
        number = self._names.number(target)
        if known is None:
            self._names.hold(number)
            known = _Known(row)
        elif known.row.uid != row.uid:
            del self._by_uid[known.row.uid]
        self._by_uid[row.uid] = number
        uses, choices = self._numbered_uses(found.uses), self._numbered_choices(found.choices)
        now = self._objects[number] = _Known(row, uses, choices)
        self._point(number, known, now)
        self._doubt(number, found.doubts)
        return True

    def add(self, uid: Uid, uses: Iterable[Use]) -> None:
        """What an object points at beside what it was put with."""
        if (number := self._by_uid.get(uid)) is not None and (more := self._numbered_uses(tuple(uses))):
            known = self._objects[number]
            all_ = packed((*pairs(known.uses), *pairs(more)))
            self._objects[number] = _Known(known.row, all_, known.choices)
            self._point(number, known, self._objects[number])

    def remove(self, uid: Uid) -> bool:
        """Whether it was known."""
        number = self._by_uid.pop(uid, None)
        if number is None:
            return False
        known = self._objects[number]
        self._objects[number] = _Known(known.row)
        self._point(number, known, self._objects[number])
        del self._objects[number]
        self._doubt(number, ())
        self._release_name(number)
        if not self._objects:  # Dictionaries that were large once never become small again by themselves.
            self._objects, self._by_uid = {}, {}
        return True

    def get(self, target: Target) -> Row | None:
        number = self._names.find(target)
        known = None if number is None else self._objects.get(number)
        return None if known is None else known.row

    def by_uid(self, uid: Uid) -> Row | None:
        number = self._by_uid.get(uid)
        return None if number is None else self._objects[number].row

    def users(self, target: Target) -> Iterator[User]:
        """Who points at it by name; who does so in two ways comes twice. Nobody is a user of itself."""
        own = self._names.find(target)
        for name in self._names_meaning(target):
            for user in self._users.candidates(name):
                known = self._objects.get(user)
                if known is not None and user != own:
                    yield from self._told(known.row, known.uses, name)

    def choosers(self, row: Row, namespace_labels: NamespaceLabels) -> Iterator[User]:
        """Whose selector it fits."""
        own = self._by_uid.get(row.uid)
        for selector in self.selectors_fitting(row, namespace_labels):
            for user in self._choosers.candidates(selector):
                known = self._objects.get(user)
                if known is not None and user != own:
                    yield from self._told(known.row, known.choices, selector)

    def selectors_fitting(self, row: Row, namespace_labels: NamespaceLabels) -> Iterator[int]:
        """The numbers of the selectors that it fits, as `selectors_of` has them; they mean the same until the next change."""
        kind, labels = kind_name(row.resource), dict(row.labels)
        for number in dict.fromkeys(self._index.candidates(kind, row.namespace, labels)):
            if self._selectors.value(number).fits(
                kind=kind, namespace=row.namespace, labels=labels, namespace_labels=namespace_labels
            ):
                yield number

    def selectors_of(self, uid: Uid) -> Iterator[tuple[int, Choice]]:
        """What it points at by labels."""
        number = self._by_uid.get(uid)
        for selector, why in pairs(_NOTHING if number is None else self._objects[number].choices):
            chosen, (at, meant) = self._selectors.value(selector), self._whys.value(why)
            yield selector, choice_of(chosen, at=at, means=meant)

    def uses_of(self, uid: Uid) -> Iterator[Use]:
        """What it points at by name."""
        number = self._by_uid.get(uid)
        for name, why in pairs(_NOTHING if number is None else self._objects[number].uses):
            yield Use(self._names.value(name), *self._whys.value(why))

    def dangling(self, uid: Uid) -> Iterator[Use]:
        """What it points at and is not there; whether it could have been read is not known here."""
        for use in self.uses_of(uid):
            if not is_partly_known(use.target) and self.get(use.target) is None:
                yield use

    def doubtful(self) -> Iterator[tuple[Row, tuple[str, ...]]]:
        """Objects that may point at anything, with what could not be understood."""
        for number, doubts in self._doubts.items():
            yield self._objects[number].row, doubts

    def _doubt(self, number: int, doubts: tuple[str, ...]) -> None:
        if self._doubts.get(number, ()) != doubts:
            self.doubts_changed += 1
            if doubts:
                self._doubts[number] = doubts
            else:
                del self._doubts[number]

    def _uses_it(self, user: int, name: int) -> bool:
        known = self._objects.get(user)
        return known is not None and any(True for _ in whys(known.uses, name))

    def _chooses_it(self, user: int, selector: int) -> bool:
        known = self._objects.get(user)
        return known is not None and any(True for _ in whys(known.choices, selector))

    def _told(self, row: Row, edges: bytes, thing: int) -> Iterator[User]:
        for why in whys(edges, thing):
            yield User(row, *self._whys.value(why))

    def _point(self, number: int, before: _Known, after: _Known) -> None:
        if after.uses != before.uses:
            self._count(before.uses, after.uses)
            old, new = things(before.uses), things(after.uses)
            come = new - old
            self._names.hold_each(come)
            for name in self._users.add(come, number):
                self._begin_scanning(name)
            for name in old - new:
                self._users.drop(name, number)
                self._release_name(name)
        if after.choices != before.choices:
            self._count(before.choices, after.choices)
            old, new = things(before.choices), things(after.choices)
            come = new - old
            for selector in self._choosers.add(come, number):
                self._index.add(selector)
            self._selectors.hold_each(come)
            for selector in old - new:
                self._choosers.drop(selector, number)
                self._release_selector(selector)

    def _count(self, before: bytes, after: bytes) -> None:
        """Reasons are held by each edge; the new ones first, for most are the old ones."""
        self._whys.hold_each(reasons(after))
        for why in reasons(before):
            self._whys.let_go(why)
        self.edges += count(after) - count(before)

    def _numbered_uses(self, uses: Collection[Use]) -> bytes:
        if not uses:
            return _NOTHING
        # Most are known: what is called for each edge is what takes time.
        name, why, find, known = self._names.number, self._whys.number, self._names.find, self._whys.find
        told = ((use.target, (use.at, use.means)) for use in uses)
        return packed([(find(to) or name(to), known(reason) or why(reason)) for to, reason in told])

    def _numbered_choices(self, choices: Collection[Choice]) -> bytes:
        if not choices:
            return _NOTHING
        selector, why = self._selectors.number, self._whys.number
        return packed((selector(chosen_by(one)), why((one.at, one.means))) for one in choices)

    def _begin_scanning(self, name: int) -> None:
        """For a name that somebody begins to point at."""
        target = self._names.value(name)
        if is_pattern(target.name) and not found_by_digits(target.name):
            self._scanned.setdefault((target.kind, target.namespace), {})[name] = None

    def _release_name(self, name: int) -> None:
        target = self._names.value(name)
        if not self._names.let_go(name):
            return
        scanned = self._scanned.get((target.kind, target.namespace))
        if scanned is not None and scanned.pop(name, 0) is None and not scanned:
            del self._scanned[target.kind, target.namespace]

    def _release_selector(self, selector: int) -> None:
        if self._selectors.holders(selector) == 1:
            self._index.drop(selector)
        self._selectors.let_go(selector)

    def _names_meaning(self, target: Target) -> Iterator[int]:
        """The numbers of all names that mean this object, each once."""
        spelled = (target.name, *without_digits(target.name))
        for kind in kinds_meaning(target.kind):
            for place in (target.namespace, ANYTHING):
                for name in spelled:
                    if (number := self._names.find(Target(kind, place, name))) is not None:
                        yield number
                for number in self._scanned.get((kind, place), ()):
                    pattern = self._names.value(number).name
                    if pattern not in spelled and means(pattern, target.name):
                        yield number

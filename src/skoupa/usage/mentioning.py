"""Who says the names of some objects, kept true while others come, change and go.

The words are those of `mentions`, kept as numbers for each object that says any. Only for objects that are followed is it known who
says their names: for one that begins to be followed, those in its namespace, in none, and those that name its namespace are
looked through once; after that each change costs what it changes. The invariant: an object says the name of a followed one exactly if
a look at the words of both would find so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from skoupa.facts.rows import Row, Uid
from skoupa.usage.mentions import MOST_WORDS, Said


class _Sayer:
    __slots__ = ("namespace", "said")

    def __init__(self, namespace: str, said: Said) -> None:
        self.namespace = namespace
        self.said = said

    def __len__(self) -> int:
        return sum(len(words) for _, words in self.said)

    def says(self, word: int) -> str | None:
        """Where it does."""
        return next((at for at, words in self.said if word in words), None)

    def words(self) -> set[int]:
        found: set[int] = set()
        return found.union(*[words for _, words in self.said])


class Mentions:
    """`most` words are kept in all."""

    def __init__(self, most: int = MOST_WORDS) -> None:
        self._left = most
        self._sayers: dict[Uid, _Sayer] = {}
        self._in_place: dict[str, set[Uid]] = {}
        self._followed: dict[Uid, Row] = {}
        # Followed objects by the number of their name.
        self._called: dict[int, set[Uid]] = {}
        # By the number of a namespace, those with followed objects among them: who names it.
        self._naming: dict[int, set[Uid]] = {}
        # How many followed objects are in a namespace.
        self._inside: dict[str, int] = {}
        # Who says the name of a followed object and where, and the way back.
        self._mentioned: dict[Uid, dict[Uid, str]] = {}
        self._mentioning: dict[Uid, set[Uid]] = {}

    def has_room(self, uid: Uid, said: Said) -> bool:
        before = self._sayers.get(uid)
        return sum(len(words) for _, words in said) <= self._left + (len(before) if before else 0)

    def say(self, row: Row, said: Said) -> set[Uid]:
        """It says these words and no others; the followed objects whose name it says now and did not, or the other way round."""
        if not said and row.uid not in self._sayers:
            return set()
        before = set(self._mentioning.get(row.uid, ()))
        self.hush(row.uid)
        if not said:
            return before
        sayer = self._sayers[row.uid] = _Sayer(row.namespace, said)
        self._left -= len(sayer)
        self._in_place.setdefault(row.namespace, set()).add(row.uid)
        words = sayer.words()
        for place in words & self._naming.keys():
            self._naming[place].add(row.uid)
        for name in words & self._called.keys():
            for uid in self._called[name]:
                self._hear(row.uid, sayer, self._followed[uid])
        return before ^ self._mentioning.get(row.uid, set())

    def hush(self, uid: Uid) -> set[Uid]:
        """It is gone, or says nothing; the followed objects whose name it said."""
        sayer = self._sayers.pop(uid, None)
        if sayer is None:
            return set()
        self._left += len(sayer)
        _take_out(self._in_place, sayer.namespace, uid)
        self._tidy(sayer.namespace)
        for place in sayer.words() & self._naming.keys():
            self._naming[place].discard(uid)
        meant = self._mentioning.pop(uid, set())
        for followed in meant:
            self._mentioned[followed].pop(uid, None)
        return meant

    def follow(self, rows: Iterable[Row]) -> None:
        """Whoever may mean one of these is looked through once for all of a namespace."""
        new: dict[str, dict[int, list[Row]]] = {}
        for row in rows:
            if row.uid not in self._followed:
                self._followed[row.uid] = row
                self._mentioned[row.uid] = {}
                self._called.setdefault(hash(row.name), set()).add(row.uid)
                self._enter(row.namespace)
                new.setdefault(row.namespace, {}).setdefault(hash(row.name), []).append(row)
        for namespace, named in new.items():
            for uid in self._may_mean(namespace):
                sayer = self._sayers[uid]
                for _, words in sayer.said:
                    for name in named.keys() & words if len(named) > 1 else named:
                        for row in named[name]:
                            self._hear(uid, sayer, row)

    def leave(self, uid: Uid) -> None:
        row = self._followed.pop(uid, None)
        if row is None:
            return
        _take_out(self._called, hash(row.name), uid)
        for sayer in self._mentioned.pop(uid):
            _take_out(self._mentioning, sayer, uid)
        self._inside[row.namespace] -= 1
        if not self._inside[row.namespace]:
            del self._inside[row.namespace]
            self._tidy(row.namespace)

    def of(self, uid: Uid) -> Iterator[tuple[Uid, str]]:
        """Who says the name of this followed object, and where."""
        return iter(self._mentioned.get(uid, {}).items())

    def _enter(self, namespace: str) -> None:
        self._inside[namespace] = self._inside.get(namespace, 0) + 1
        if not namespace or hash(namespace) in self._naming:
            return
        # Where one namespace gets the label hundreds may: whoever is looked through is asked about all of them.
        places = {hash(one) for one in (*self._in_place, namespace) if one} - self._naming.keys()
        self._naming.update((place, set()) for place in places)
        for uid, sayer in self._sayers.items():
            for _, words in sayer.said:
                for place in places.intersection(words):
                    self._naming[place].add(uid)

    def _tidy(self, namespace: str) -> None:
        if namespace not in self._inside and namespace not in self._in_place:
            self._naming.pop(hash(namespace), None)

    def _may_mean(self, namespace: str) -> Iterable[Uid]:
        if not namespace:
            return tuple(self._sayers)
        here, nowhere = self._in_place.get(namespace, set()), self._in_place.get("", set())
        return here | nowhere | self._naming[hash(namespace)]

    def _hear(self, uid: Uid, sayer: _Sayer, row: Row) -> None:
        """Nobody is meant by what it says of itself."""
        reaches = (
            not sayer.namespace
            or not row.namespace
            or sayer.namespace == row.namespace
            or sayer.says(hash(row.namespace)) is not None
        )
        if uid == row.uid or not reaches:
            return
        at = sayer.says(hash(row.name))
        if at is not None:
            self._mentioned[row.uid][uid] = at
            self._mentioning.setdefault(uid, set()).add(row.uid)


def _take_out(index: dict[Any, set[Uid]], key: Any, uid: Uid) -> None:
    index[key].discard(uid)
    if not index[key]:
        del index[key]

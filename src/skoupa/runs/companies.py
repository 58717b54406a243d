"""Who reads one list together: those who ask for the same, and those whose queries differ in the values of one label only.

The server is asked once for all of those values, and each reader gets what its own query would have brought it. What differs in
more than that, or would make the address of the request too long, is another list. A company that is closed admits nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from skoupa.kube.lists import Scope
from skoupa.kube.resources import Resource
from skoupa.kube.selectors import Requirement, parse_labels
from skoupa.policy.labels import LONGEST_REQUIREMENT, written
from skoupa.policy.queries import Query

R = TypeVar("R")
Items = Sequence[msgspec.Raw]


class _Likeness(msgspec.Struct, frozen=True):
    """What queries have in common that differ in the values of the label `key` alone."""

    resource: Resource
    namespace: str
    fields: str
    others: frozenset[Requirement]
    key: str


class _Labels(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, frozen=True):
    metadata: _Labels


_LABELLED: Final = msgspec.json.Decoder(_Labelled)


class Company(Generic[R]):
    """Of one list. `bodies`: objects are read whole."""

    def __init__(self, query: Query, alike: Mapping[_Likeness, frozenset[str]], *, bodies: bool) -> None:
        self._first = query
        self._alike = alike
        self._readers: dict[Query, list[R]] = {query: []}
        self.bodies = bodies
        # Once there is more than one query: what they have in common, and what each wants beside that.
        self._common: _Likeness | None = None
        self._values: dict[Query, frozenset[str]] = {}
        self._all: frozenset[str] = frozenset()

    @property
    def keys(self) -> tuple[Query | _Likeness, ...]:
        """By what others find it."""
        return (*self._readers, *self._alike)

    @property
    def query(self) -> Query:
        """What the server is asked for."""
        common = self._common
        if common is None:
            return self._first
        labels = sorted(map(written, (*common.others, Requirement(common.key, "in", self._all))))
        scope = Scope(namespace=common.namespace, labels=",".join(labels), fields=common.fields)
        return Query(common.resource, scope)

    def join(self, reader: R, query: Query, *, bodies: bool) -> bool:
        """Whether it may, with a query that is read anyway. What one needs whole the others get whole."""
        if query not in self._readers or (self._common is not None and bodies != self.bodies):
            return False
        self._readers[query].append(reader)
        self.bodies = self.bodies or bodies
        return True

    def widen(self, query: Query, values: frozenset[str], *, by: _Likeness, bodies: bool) -> bool:
        """Whether it may be read along."""
        if bodies != self.bodies or self._common not in (None, by):
            return False
        wanted = (self._all or self._alike[by]) | values
        if len(written(Requirement(by.key, "in", wanted))) > LONGEST_REQUIREMENT:
            return False
        if self._common is None:
            self._common, self._values[self._first] = by, self._alike[by]
        self._all, self._values[query] = wanted, values
        self._readers.setdefault(query, [])
        return True

    def shares(self, items: Items) -> list[tuple[R, Items]]:
        """What of a page is for whom. What can't be read is for all, who will say so."""
        if self._common is None:
            return [(reader, items) for reader in self._readers[self._first]]
        found: dict[str | None, list[msgspec.Raw]] = {}
        for item in items:
            found.setdefault(_value(item, self._common.key), []).append(item)
        return [
            (reader, [item for value in (*self._values[query], None) for item in found.get(value, ())])
            for query, readers in self._readers.items()
            for reader in readers
        ]


class Companies(Generic[R]):
    """Those that others may join still."""

    def __init__(self) -> None:
        self._open: dict[Query | _Likeness, Company[R]] = {}

    def join(self, reader: R, query: Query, *, bodies: bool) -> tuple[Company[R], bool]:
        """The company that it is of now, and whether that is a new one."""
        known = self._open.get(query)
        if known is not None and known.join(reader, query, bodies=bodies):
            return known, False
        alike = _alike(query)
        for likeness, values in alike.items():
            known = self._open.get(likeness)
            if known is not None and known.widen(query, values, by=likeness, bodies=bodies):
                self._open[query] = known
                known.join(reader, query, bodies=bodies)
                return known, False
        company: Company[R] = Company(query, alike, bodies=bodies)
        company.join(reader, query, bodies=bodies)
        self._open[query] = company
        self._open.update(dict.fromkeys(alike, company))
        return company, True

    def close(self, company: Company[R]) -> None:
        """Nobody joins it any more. Others may wait for the same list by now: those are another company."""
        for key in company.keys:
            if self._open.get(key) is company:
                del self._open[key]


def alone(reader: R, query: Query, *, bodies: bool) -> Company[R]:
    """One that nobody else joins."""
    company: Company[R] = Company(query, {}, bodies=bodies)
    company.join(reader, query, bodies=bodies)
    return company


def _alike(query: Query) -> dict[_Likeness, frozenset[str]]:
    """What others may have in common with it, with the values that it wants of the label in which they differ."""
    resource, scope = query.resource, query.scope
    asked = frozenset(parse_labels(scope.labels).requirements)
    return {
        _Likeness(resource, scope.namespace, scope.fields, asked - {one}, one.key): one.values
        for one in asked
        if one.operator == "in"
    }


def _value(item: msgspec.Raw, key: str) -> str | None:
    """None: it can't be read. One without the label would not have come."""
    try:
        return (_LABELLED.decode(item).metadata.labels or {}).get(key)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None

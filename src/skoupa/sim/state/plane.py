"""What the parts of the embedded cluster share: store, catalogue, clock, chance and the hooks that are asked.

A `Plane` has no behaviour of a server; the folders above do, as functions that take it. Chance is seeded: the same
calls in the same order give the same uids, generated names and watch lifetimes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.sim.state.access import Access, User
from skoupa.sim.state.admission import Admission
from skoupa.sim.state.catalogue import Catalogue, Served
from skoupa.sim.state.storage import Shelf, Store

# The server leaves out vowels and look-alikes, so that no generated name is a word.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED = 63

DEFAULT_FEATURES: Mapping[str, bool] = {
    "WatchList": True,
    "AggregatedDiscovery": True,
    "AggregatedDiscoveryV2": True,
}


class OpenWatch(Protocol):
    def cut(self) -> None: ...

    def end(self) -> None: ...


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes, under which field manager, and the warnings collected for the answer."""

    user: User
    manager: str = "unknown"
    dry_run: bool = False
    unknown_fields: str = "Warn"
    warnings: list[str] = msgspec.field(default_factory=list)


class Plane:
    def __init__(
        self, *, clock: Clock, seed: int, features: Mapping[str, bool], bookmark_seconds: float = 60.0
    ) -> None:
        self.clock = clock
        self.bookmark_seconds = bookmark_seconds
        self.store = Store(clock)
        self.catalogue = Catalogue(self.store)
        self.admission = Admission()
        self.access = Access(self.catalogue)
        self.watches: dict[Shelf, list[OpenWatch]] = {}
        self.features = {**DEFAULT_FEATURES, **features}
        self.random = random.Random(seed)  # noqa: S311 - nothing here is a secret

    def now(self) -> str:
        return timestamp(self.clock.now())

    def new_uid(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) % 4]}{digits[17:20]}-{digits[20:]}"

    def generated_name(self, prefix: str) -> str:
        suffix = "".join(self.random.choices(_SUFFIX_LETTERS, k=5))
        return prefix[: _LONGEST_GENERATED - len(suffix)] + suffix

    def served(self, *, group: str, version: str, plural: str) -> Served:
        found = self.catalogue.find(group=group, version=version, plural=plural)
        assert found is not None, f"{plural}.{group} is always served"
        return found


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()

"""What is to become of a ceiling that trips, as a value: the Brake that holds its scope, and the words for it.

The name of such a Brake says what tripped, so that tripping twice makes one Brake; where another Brake has that name by
then, a number is put behind it. Nothing is written here.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.sweep.ceilings import HOUR, MINUTE, Trip

_NO_NAME: Final = re.compile("[^a-z0-9-]+")
_LONGEST_NAME: Final = 200
_SPANS: Final = {MINUTE: "minute", HOUR: "hour"}
_WITHIN: Final = {MINUTE: "a minute", HOUR: "an hour"}
_SETTINGS: Final = {"all": "", "namespace": "namespace", "rule": "rule"}
# What is full where a ceiling trips, in one word: `namespace-minute`.
CEILING_SPANS: Final = tuple(f"{span}-{length}" for span in _SETTINGS for length in _SPANS.values())


class Tripped(msgspec.Struct, frozen=True, kw_only=True):
    """A Brake that Skoupa pulls itself. `span` is what tripped, in one word; `by` says it with its numbers.

    `count` is how many objects it holds from the beginning, where that is known. `claims` is what a run wants that is too
    much, without what became of it. `edition` is that of the rule whose run it stops, and `objects` how many of its objects that
    is about. `supposed`: no Brake is made of it, so there is nothing to release.
    """

    name: str
    spec: BrakeSpec
    span: str
    by: str
    count: int = 1
    claims: str = ""
    edition: str = ""
    objects: int = 0
    supposed: bool = False

    @property
    def of_ceiling(self) -> bool:
        """Whether one more was too many, and not a whole run, or something else than a number."""
        return self.span in CEILING_SPANS and not self.edition


def of_ceiling(trip: Trip) -> Tripped:
    ceiling = trip.ceiling
    length = _SPANS.get(ceiling.seconds, f"{ceiling.seconds} s")
    setting = f"{_SETTINGS[ceiling.span]}Per{length.capitalize()}" if ceiling.seconds in _SPANS else ""
    setting = f"brakes.{setting[0].lower()}{setting[1:]}" if setting else "a ceiling"
    where = {"all": "", "namespace": f" in the namespace {trip.name}", "rule": f" by {trip.name}"}
    more = "one more" if trip.weight == 1 else f"{trip.weight} more at once"
    by = (
        f"{trip.gone} deletions{where[ceiling.span]} within {_WITHIN.get(ceiling.seconds, length)}, and {more} would be over the {ceiling.most} "
        f"of {setting}"
    )
    scope = {
        "all": Scope(all=True),
        "namespace": Scope(namespace=trip.name),
        "rule": Scope(policy=trip.name),
    }[ceiling.span]
    return Tripped(
        name=brake_name("ceiling", ceiling.span, trip.name, f"per-{length}"),
        spec=BrakeSpec(scope=scope, reason=by),
        span=f"{ceiling.span}-{length}",
        by=by,
    )


def brake_name(*parts: str) -> str:
    """A name that an object may have; parts that could not stand in one are told apart by a digest."""
    said = "-".join(part for part in parts if part)
    name = _NO_NAME.sub("-", said.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    if name == said:
        return name
    return f"{name}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def numbered(name: str) -> Iterator[str]:
    """Names to take the first free one of: `stop`, `stop-2`, `stop-3` and so on."""
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def is_numbered(name: str, called: str) -> bool:
    """Whether `called` is that name, or that name with a number."""
    return called == name or (called.startswith(f"{name}-") and called[len(name) + 1 :].isdecimal())

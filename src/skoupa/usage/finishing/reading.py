"""From an object to its `Finish`, by the rule of its kind.

While it runs there is none; where the object is of another shape than the rule expects, or contradicts itself, there is a
`Doubt`. A time that can't be read, that is zero, or that lies before the start or the creation is none: a wrong one would
end something too soon. No clock is asked: an end that lies ahead is for the reader of the `Finish` to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec

from skoupa.expr.golang import go_duration, whole_seconds
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import quoted
from skoupa.kube.objects import Metadata, View
from skoupa.usage.finishing import generic
from skoupa.usage.finishing.found import TEACHES, Doubt, Finish
from skoupa.usage.finishing.rules import (
    Absent,
    Caution,
    Condition,
    Count,
    Field,
    FinishRule,
    Latest,
    Outcome,
    OwnTtl,
    Present,
    Sign,
    Test,
    Time,
    TimeAt,
    TimeOf,
)
from skoupa.usage.finishing.shapes import (
    OtherShape,
    every_record,
    every_value,
    first_text,
    other_shape,
    shape_of,
)
from skoupa.usage.paths import parsed

_CONDITION: Final = "status.conditions[]"
_PARTS: Final = ("type", "status", "reason", "lastTransitionTime", "lastUpdateTime")
_SPELT: Final = {
    Count.SECONDS: "number of seconds",
    Count.GO_DURATION: "duration such as 720h0m0s",
    Count.TIME: "time",
}
_LONGEST_SECONDS: Final = 2**63 // 10**9


class Ends(Enum):
    """What is known of the way in which a kind ends."""

    BY_RULE = "by a rule of its own"
    # Only where it looks like nothing else; while it does not, nobody knows whether it is at work.
    BY_SHAPE = "by its shape"
    NEVER = "never"


class Finishes:
    """The table, ready to be read by. Of two rules for a kind the later one holds, so that what is taught beats what is shipped."""

    def __init__(self, rules: Iterable[FinishRule], fall_back: FinishRule = generic.RULE) -> None:
        self._readers = {rule.kind: _Reader(rule) for rule in rules}
        self._fall_back = _Reader(fall_back)

    def kinds(self) -> frozenset[str]:
        """Those that have a rule of their own."""
        return frozenset(self._readers)

    def ends(self, kind: str) -> Ends:
        if kind in self._readers:
            return Ends.BY_RULE
        return Ends.BY_SHAPE if generic.guessed(kind) else Ends.NEVER

    def rule(self, kind: str) -> FinishRule | None:
        reader = self._reader(kind)
        return reader.rule if reader else None

    def view(self, kind: str) -> View[Any] | None:
        """How to list it; None for a kind that never ends."""
        reader = self._reader(kind)
        return View(type=reader.type) if reader else None

    def finish(self, kind: str, decoded: Any) -> Finish | Doubt | None:
        """`decoded` is a value of the type of `view(kind)`; None while it has not ended."""
        reader = self._reader(kind)
        return reader.finish(decoded) if reader else None

    def from_manifest(self, kind: str, manifest: Mapping[str, Any]) -> Finish | Doubt | None:
        reader = self._reader(kind)
        if reader is None:
            return None
        metadata = manifest.get("metadata")
        if isinstance(metadata, Mapping) and "managedFields" in metadata:
            # These are read as bytes, which a manifest has none of.
            slim = {key: value for key, value in metadata.items() if key != "managedFields"}
            manifest = {**manifest, "metadata": slim}
        try:
            # By way of JSON: who wrote which field is kept as it came.
            decoded = msgspec.json.decode(msgspec.json.encode(manifest), type=reader.type)
        except msgspec.ValidationError as error:
            return Doubt(f"it can't be read: {error}")
        return reader.finish(decoded)

    def _reader(self, kind: str) -> _Reader | None:
        return self._readers.get(kind) or (self._fall_back if generic.guessed(kind) else None)


def paths_of(rule: FinishRule) -> Iterator[str]:
    """Every path that is read for a rule."""
    tests = [*rule.unless, *(test for sign in rule.signs for test in sign.tests)]
    tests += (test for own in rule.own_ttl for test in own.when)
    tests += (test for time in rule.times if isinstance(time, Latest) for test in time.when)
    times = [part for time in rule.times for part in (time.of if isinstance(time, Latest) else (time,))]
    yield from (test.at for test in tests if not isinstance(test, Condition))
    yield from (path for time in times if isinstance(time, TimeAt) for path in (time.at, *time.unless))
    yield from (time.every for time in rule.times if isinstance(time, Latest) and time.every)
    yield from rule.started
    yield from (own.at for own in rule.own_ttl)
    if rule.generation_at:
        yield rule.generation_at
    if any(isinstance(one, Condition | TimeOf) for one in [*tests, *times]):
        yield from (f"{_CONDITION}.{part}" for part in _PARTS)


class _Reader:
    """One rule with the type that is made from it."""

    def __init__(self, rule: FinishRule) -> None:
        self.rule = rule
        self.type = shape_of(rule.kind.rpartition("/")[2].replace("*", "Any"), paths_of(rule))
        self._conditions = any(path.startswith(_CONDITION) for path in paths_of(rule))

    def finish(self, decoded: Any) -> Finish | Doubt | None:
        try:
            return self._finish(_Seen(decoded, conditions=self._conditions))
        except OtherShape as other:
            return Doubt(str(other))

    def _finish(self, seen: _Seen) -> Finish | Doubt | None:
        rule = self.rule
        signs = [sign for sign in rule.signs if seen.all(sign.tests)]
        if not signs or any(seen.is_so(test) for test in rule.unless):
            return None
        outcomes = {sign.outcome for sign in signs} - {Outcome.UNKNOWN}
        if len(outcomes) > 1:
            return Doubt("its status says both that it succeeded and that it failed")
        if seen.of_older(rule.generation_at):
            return Doubt("its status speaks of what was wanted before its last change")
        at, at_from = self._when(seen, signs[0])
        if at is None and rule.certain_time:
            return Doubt(f"its conditions say that it has ended, and nothing says when; {TEACHES}")
        return Finish(
            outcome=outcomes.pop() if outcomes else Outcome.UNKNOWN,
            at=at,
            at_from=at_from,
            cautions=tuple(caution for caution in rule.cautions if _applies(caution, seen.metadata)),
            **seen.own(rule.own_ttl),
        )

    def _when(self, seen: _Seen, sign: Sign) -> tuple[datetime | None, str]:
        begun = seen.begun(self.rule.started)
        for time in self.rule.times:
            found = [one for one in seen.times(time, sign) if begun is None or one[0] >= begun]
            if found:
                return max(found)
        return None, ""


class _Seen:
    """One object while it is being read."""

    def __init__(self, decoded: Any, *, conditions: bool) -> None:
        self._decoded = decoded
        self.metadata: Metadata = decoded.metadata
        self._conditions = dict(self._read_conditions()) if conditions else {}

    def _read_conditions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        met: dict[str, Any] = {}
        for condition in every_record(self._decoded, _CONDITION, _PARTS):
            name = condition["type"]
            if not isinstance(name, str):
                raise other_shape(parsed(f"{_CONDITION}.type"), name, "a text")
            if name in met and met[name] != condition["status"]:
                raise OtherShape(f"status.conditions answers {name} twice, in different ways")
            met[name] = condition["status"]
            yield name, condition

    def all(self, tests: tuple[Test, ...]) -> bool:
        return all(self.is_so(test) for test in tests)

    def is_so(self, test: Test) -> bool:
        match test:
            case Field(at=at, values=values):
                return first_text(self._decoded, at) in values
            case Condition(type=type_, status=status, reasons=reasons):
                found = self._conditions.get(type_)
                if found is None:
                    return False
                if not isinstance(found["status"], str):
                    raise other_shape(parsed(f"{_CONDITION}.status"), found["status"], "a text")
                return found["status"] == status and (not reasons or found["reason"] in reasons)
            case Present(at=at) | Absent(at=at):
                return any(every_value(self._decoded, at)) is isinstance(test, Present)

    def of_older(self, generation_at: str) -> bool:
        spoken = every_value(self._decoded, generation_at) if generation_at else []
        return any(isinstance(number, int) and number < self.metadata.generation for number in spoken)

    def begun(self, started: tuple[str, ...]) -> datetime | None:
        """Nothing that it says can have ended it before."""
        starts = [time_of(value) for path in started for value in self._loosely(path)]
        return max((one for one in (time_of(self.metadata.creation_timestamp), *starts) if one), default=None)

    def times(self, time: Time, sign: Sign) -> Iterator[tuple[datetime, str]]:
        match time:
            case TimeAt(at=at, unless=unless):
                if not any(value for path in unless for value in self._loosely(path)):
                    yield from ((one, at) for value in self._loosely(at) if (one := time_of(value)))
            case TimeOf(type=type_, status=status, field=field):
                decided = next((test.type for test in sign.tests if isinstance(test, Condition)), "")
                found = self._conditions.get(type_ or decided)
                one = time_of(found[field]) if found and status in ("", found["status"]) else None
                if one:
                    yield one, f"status.conditions[{type_ or decided}].{field}"
            case Latest(of=parts, when=when, every=every):
                each = [time_of(value) for value in self._loosely(every)] if every else []
                if all(each) and bool(each) == bool(every) and self.all(when):
                    for part in parts:
                        yield from self.times(part, sign)

    def own(self, fields: tuple[OwnTtl, ...]) -> dict[str, Any]:
        """The kind's own time: the first that counts and is there."""
        for own in fields:
            found = [value for value in every_value(self._decoded, own.at) if value is not None]
            if not found or not self.all(own.when):
                continue
            if own.count is Count.TIME:
                until = time_of(found[0])
                if until is not None:
                    return {"own_until": until, "own_from": own.at}
            else:
                seconds = _seconds(found[0], own.count)
                if seconds is not None:
                    return {"own_ttl": seconds, "own_from": own.at}
            raise OtherShape(f"{own.at} is {quoted(str(found[0]))}, which is no {_SPELT[own.count]}")
        return {}

    def _loosely(self, path: str) -> list[Any]:
        """What is no time is as good as none."""
        try:
            return every_value(self._decoded, path)
        except OtherShape:
            return []


def _applies(caution: Caution, metadata: Metadata) -> bool:
    if caution.label:
        return (metadata.labels or {}).get(caution.label) in caution.values
    if caution.finalizer:
        waits = any(one.startswith(caution.finalizer) for one in metadata.finalizers or ())
        return waits and (
            not caution.until or (metadata.annotations or {}).get(caution.until) not in caution.values
        )
    return True


def time_of(value: Any) -> datetime | None:
    """A time of RFC 3339, or one that YAML has made of it; zero is none."""
    if isinstance(value, datetime):
        return value if value.tzinfo and value.timestamp() > 0 else None
    return _written_time(value) if isinstance(value, str) else None


# Thousands of objects end within the same minute, and each is read more than once.
@lru_cache(maxsize=4096)
def _written_time(text: str) -> datetime | None:
    epoch = parse_rfc3339(text)
    return datetime.fromtimestamp(epoch, UTC) if isinstance(epoch, int) and epoch > 0 else None


def _seconds(value: Any, count: Count) -> int | None:
    if count is Count.GO_DURATION:
        nanoseconds = go_duration(value) if isinstance(value, str) else None
        value = whole_seconds(nanoseconds) if isinstance(nanoseconds, int) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LONGEST_SECONDS:
        return None
    return value

"""Reading a Brake: always possible, and on the side of holding.

What can't be understood of a Brake counts as everything that it could mean: a scope that nobody understands is the whole cluster, an
end that nobody understands never comes, a window that nobody understands is always open. `problems` say what to write
instead. Who is about to write a Brake wants those as an error: `parse_brake`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import UsageError
from skoupa.expr.cron import Cron, parse_cron
from skoupa.expr.readings import Problem
from skoupa.expr.zones import named_zone
from skoupa.kinds.brake import EVERYTHING, BrakeSpec, BrakeStatus, Schedule, Scope
from skoupa.kinds.reading import read, read_field, unknown_fields

_SAY_SCOPE: Final = "write all: true, or at least one of namespace, policy, kind, mechanism"

_LONGEST_NUMBER: Final = 9


class Window(msgspec.Struct, frozen=True, kw_only=True):
    begins: Cron
    ends: Cron
    zone: tzinfo

    @property
    def all_ends(self) -> tuple[Cron, ...]:
        """Of a time that clocks show twice in autumn either may be the end that was meant."""
        return (
            (self.ends, msgspec.structs.replace(self.ends, later=True)) if self.ends.fixed else (self.ends,)
        )


class Brake(msgspec.Struct, frozen=True, kw_only=True):
    """A Brake as it counts. `until` is in seconds since the epoch, None: for good; without a window it always holds.

    `edition` is that of the rule of which it stopped a run, and `asked` how many objects that claimed; empty: not known.
    """

    name: str
    uid: str = ""
    generation: int = 0
    scope: Scope = EVERYTHING
    reason: str = ""
    until: float | None = None
    window: Window | None = None
    problems: tuple[str, ...] = ()
    edition: str = ""
    asked: int = 0


def parse_brake(obj: Mapping[str, Any]) -> Brake:
    """A Brake that somebody is about to write: what is wrong with it is a UsageError."""
    brake = read_brake(obj)
    if brake.problems:
        raise UsageError(f"Brake {brake.name}: {'; '.join(brake.problems)}")
    return brake


def read_brake(obj: Mapping[str, Any]) -> Brake:
    """A Brake that is in the cluster, whatever it looks like; it never fails and errs on the side of holding."""
    found = obj.get("metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    generation = metadata.get("generation")
    reading = _Reading(obj.get("spec"))
    edition, asked = _stopped_run(metadata.get("annotations"))
    return Brake(
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        generation=generation if isinstance(generation, int) else 0,
        scope=reading.scope(),
        reason=reading.reason(),
        until=reading.until(),
        window=reading.window(),
        problems=tuple(reading.problems),
        edition=edition,
        asked=asked,
    )


def read_status(obj: Mapping[str, Any]) -> BrakeStatus:
    """What was said of it last; nothing where that can't be read, for then it is only said anew."""
    try:
        return read(obj.get("status") or {}, BrakeStatus, where="status")
    except UsageError:
        return BrakeStatus()


def _stopped_run(annotations: Any) -> tuple[str, int]:
    """Which edition of a rule, and how many objects; nothing where that can't be read."""
    found = annotations.get(names.STOPPED_RUN_ANNOTATION) if isinstance(annotations, Mapping) else None
    edition, _, number = found.rpartition(":") if isinstance(found, str) else ("", "", "")
    readable = bool(edition) and number.isdecimal() and len(number) <= _LONGEST_NUMBER
    return (edition, int(number)) if readable else ("", 0)


class _Reading:
    """The parts of one spec, each by itself, and what was wrong with them."""

    def __init__(self, spec: Any) -> None:
        self._spec: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
        self.problems: list[str] = []

    def part(self, name: str) -> Any:
        """None where it is absent or can't be read, which is a problem."""
        if self._spec.get(name) is None:
            return None
        try:
            return read_field(self._spec[name], BrakeSpec, name, where=f"spec.{name}")
        except UsageError as error:
            self.problems.append(str(error))
            return None

    def scope(self) -> Scope:
        strangers = [str(error) for error in unknown_fields(self._spec, BrakeSpec, where="spec")]
        self.problems += strangers
        scope: Scope | None = self.part("scope")
        if self._spec.get("scope") is None:
            self.problems.append(f"spec.scope is missing: {_SAY_SCOPE}")
        if scope is None:
            return EVERYTHING
        others = (scope.namespace, scope.policy, scope.kind, scope.mechanism)
        named = any(other is not None for other in others)
        if not scope.all and not named:
            self.problems.append(f"spec.scope names nothing: {_SAY_SCOPE}")
        if scope.all and named:
            self.problems.append(
                "spec.scope names everything and more: leave out all, or leave out the others"
            )
        # A field that we do not know may widen the scope.
        return EVERYTHING if scope.all or not named or strangers else scope

    def reason(self) -> str:
        return self.part("reason") or ""

    def until(self) -> float | None:
        until: datetime | None = self.part("until")
        if until is not None and until.timestamp() < 0:
            # The zero time of Go (0001-01-01) is no end that anybody meant.
            self.problems.append("spec.until lies before 1970: leave it out, or check the year")
            return None
        return None if until is None else until.timestamp()

    def window(self) -> Window | None:
        schedule: Schedule | None = self.part("schedule")
        if schedule is None:
            return None
        begins = self._cron(schedule.begins, "from")
        ends = self._cron(schedule.ends, "to")
        zone = self._zone(schedule.time_zone)
        if begins is None or ends is None or zone is None:
            return None
        if begins.fields == ends.fields:
            self.problems.append("spec.schedule: from and to are the same: such a window has no length")
            return None
        return Window(begins=begins, ends=ends, zone=zone)

    def _cron(self, text: str, field: str) -> Cron | None:
        cron = parse_cron(text)
        if isinstance(cron, Problem):
            self.problems.append(f"spec.schedule.{field}: {cron.what}: {cron.instead}")
            return None
        return cron

    def _zone(self, name: str) -> tzinfo | None:
        try:
            return named_zone(name)
        except UsageError as error:
            self.problems.append(f"spec.schedule.timeZone: {error}")
            return None

"""When objects of a taught kind have finished: what is asked of each in CEL, and what its answers mean.

An answer that is missing, that is neither true nor false, or that contradicts another is a `Doubt`, and the object stays. A time that
can't be read, is zero, or lies before the creation or the start is none: then it counts from when it was first seen so. What the
shipped rule of the kind knows beside that stays: its own time, its cautions. Expressions are evaluated elsewhere: that takes a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa.expr.cel.messages import Named, Result, Source, Told
from skoupa.policy.retention.profiles import Profile
from skoupa.usage import finishing
from skoupa.usage.finishing import Doubt, Finish, Finishes, FinishRule, Outcome
from skoupa.usage.finishing.reading import time_of
from skoupa.usage.finishing.rules import ended
from skoupa.usage.paths import Path, parsed, values_at, written

_TESTS: Final = ("finished", "succeeded", "failed")
_WHEN: Final = "finishedAt"
_CREATED: Final[Path] = ("metadata", "creationTimestamp")


class Beside(msgspec.Struct, frozen=True, gc=False):
    """What an object says beside whether it has ended: `found` is its own time and cautions, `at` the time that a path leads to."""

    found: Finish | Doubt
    begun: datetime | None
    at: datetime | None


class Ending:
    """How objects of one kind end, by its profile."""

    def __init__(self, profile: Profile) -> None:
        assert profile.ends, "it says when they have"
        self._profile = profile
        asked = [Named(name, text) for name in _TESTS if (text := getattr(profile, name))]
        if profile.finished_at:
            asked.append(Named(_WHEN, profile.finished_at))
        self.source = Source(variables=tuple(asked), told=tuple(one.name for one in asked))
        shipped = finishing.shipped()
        rule = shipped.rule(profile.kind) if profile.kind in shipped.kinds() else None
        self._started = (_CREATED, *map(parsed, rule.started if rule is not None else ()))
        beside = FinishRule(
            kind=profile.kind,
            # Whether it has ended is asked; this is what else there is to say then.
            signs=(ended(),),
            own_ttl=rule.own_ttl if rule is not None else (),
            cautions=rule.cautions if rule is not None else (),
        )
        self._beside = Finishes((beside,))

    def beside(self, manifest: Mapping[str, Any]) -> Beside:
        found = self._beside.from_manifest(self._profile.kind, manifest)
        assert found is not None, "it has a sign that always holds"
        starts = (time_of(value) for path in self._started for value in values_at(manifest, path))
        begun = max((moment for moment in starts if moment is not None), default=None)
        path = self._profile.finished_at_path
        ends = (time_of(value) for value in values_at(manifest, path)) if path else ()
        at = max((moment for moment in ends if moment is not None), default=None)
        return Beside(found, begun, at)

    def finish(self, result: Result, beside: Beside) -> Finish | Doubt | None:
        """`result` is what came of `source`; None while it runs."""
        if result.error:
            return self._doubt(result.error)
        told = dict(zip(self.source.told, result.told, strict=True))
        when = told.pop(_WHEN, None)
        outcome = self._outcome(told)
        if not isinstance(outcome, Outcome) or isinstance(beside.found, Doubt):
            return beside.found if isinstance(outcome, Outcome) else outcome
        at, source = beside.at, written(self._profile.finished_at_path)
        if when is not None:
            at = time_of(when.value)
            source = f"finishedAt of {self._profile.called}"
        if at is None or (beside.begun is not None and at < beside.begun):
            # Nothing that it says can have ended it before it began.
            return msgspec.structs.replace(beside.found, outcome=outcome)
        return msgspec.structs.replace(beside.found, outcome=outcome, at=at, at_from=source)

    def _outcome(self, told: Mapping[str, Told]) -> Outcome | Doubt | None:
        for name, one in told.items():
            if one.error or not isinstance(one.value, bool):
                why = one.error or f"answers {one.value!r}, not true or false"
                return self._doubt(f"{name} ({getattr(self._profile, name)}) {why}")
        said = {name for name, one in told.items() if one.value}
        if {"succeeded", "failed"} <= said:
            return self._doubt("it says both that it succeeded and that it failed")
        how = said & {"succeeded", "failed"}
        if how and "finished" in told and "finished" not in said:
            return self._doubt(f"it says that it {how.pop()}, and that it has not finished")
        if not said:
            return None
        return Outcome(how.pop()) if how else Outcome.UNKNOWN

    def _doubt(self, why: str) -> Doubt:
        return Doubt(f"{self._profile.called}: {why}")

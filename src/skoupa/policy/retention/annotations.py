"""The annotations of a retention policy: who wrote one to hold it back is heard, or nothing goes by it.

`skoupa.dev/suspend` counts as `spec.suspend` does. The others are for policies with a schedule: one that would restrain such a policy is
a problem, since its writer believes this one restrained, and the rest are told. So are those that were written as labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.policy.options import OptionsReading, mislaid, place
from skoupa.policy.problems import Problem

_SUSPEND: Final = "write spec.suspend: true"
_INSTEAD: Final = {
    names.OBSERVE_ANNOTATION: f"{_SUSPEND} and look at what would go with `skoupa plan -f`, or take it out",
    names.MAX_DELETIONS_ANNOTATION: "take it out: the settings brakes.maxPerRun and brakes.rulePerHour limit what goes by it, or "
    f"{_SUSPEND}",
    names.SERVICE_ACCOUNT_ANNOTATION: f"take it out, or {_SUSPEND}",
}
_SCHEDULED: Final = (
    names.TIME_ZONE_ANNOTATION,
    names.MISSED_RUNS_ANNOTATION,
    names.NOTICE_BEFORE_ANNOTATION,
    names.NOTIFY_ANNOTATION,
)


class Annotated(msgspec.Struct, frozen=True, kw_only=True):
    suspended: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def read_annotations(metadata: Mapping[str, Any]) -> Annotated:
    found = metadata.get("annotations")
    known = found if isinstance(found, Mapping) else {}
    ours = {key: known[key] for key in (names.SUSPEND_ANNOTATION,) if key in known}
    reading = OptionsReading(ours if isinstance(found, Mapping) else found, namespaced=True)
    suspended = reading.options().suspended
    return Annotated(
        suspended=suspended,
        problems=(*reading.problems, *_restraining(known)),
        warnings=(*_idle(known), *mislaid(metadata.get("labels"))),
    )


def _restraining(known: Mapping[str, Any]) -> Iterator[Problem]:
    for key, instead in _INSTEAD.items():
        if key in known:
            yield Problem(path=place(key), what="it is for policies with a schedule alone", instead=instead)


def _idle(known: Mapping[str, Any]) -> Iterator[Problem]:
    for key in _SCHEDULED:
        if key in known:
            what = "it is for policies with a schedule alone, and does nothing here"
            yield Problem(path=place(key), what=what, instead="leave it out")

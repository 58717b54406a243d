"""Alive as it stands in the cluster, as a value: always readable, and on the side of care.

What can't be understood of its spec counts as the most careful that it could mean: fail at the time-out that is shipped, no finalizer
of anybody is forced, what may be meant to stay stays, and it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.preserving import understood
from skoupa.errors import UsageError
from skoupa.expr.durations import MAXIMUM_SECONDS, parse_duration
from skoupa.expr.readings import Problem, ProblemCode
from skoupa.kinds.alive import SHIPPED_TIMEOUT, AliveSpec, DeletionPolicy, Entry, Preserved
from skoupa.kinds.alive_status import AliveStatus
from skoupa.kinds.reading import read, read_partly

# Of Kubernetes itself: nobody's work, and the garbage collector takes them off.
OF_KUBERNETES: Final = frozenset({names.FOREGROUND_FINALIZER, names.ORPHAN_FINALIZER})


class Alive(msgspec.Struct, frozen=True, kw_only=True):
    """`since` is when the deletion was asked for, in seconds since the epoch; None: it lives."""

    uid: str
    resource_version: str
    generation: int
    created: float
    since: float | None
    confirmed: bool
    finalizers: tuple[str, ...]
    spec: AliveSpec
    status: AliveStatus
    problems: tuple[str, ...] = ()

    @property
    def waited_for(self) -> tuple[str, ...]:
        """The finalizers that stand for work, each once: not Skoupa's own note, nor those of Kubernetes."""
        return tuple(
            one
            for one in dict.fromkeys(self.finalizers)
            if one != names.ALIVE_FINALIZER and one not in OF_KUBERNETES
        )

    @property
    def entries(self) -> dict[str, Entry]:
        return {entry.finalizer: entry for entry in self.spec.participants}


def read_alive(found: Mapping[str, Any]) -> Alive:
    metadata: Mapping[str, Any] = found["metadata"]
    uid = str(metadata.get("uid") or "")
    partly = read_partly(found.get("spec") or {}, AliveSpec, where="spec")
    problems = tuple(str(error) for error in partly.errors)
    spec = partly.value if isinstance(partly.value, AliveSpec) else AliveSpec()
    if problems:
        # A misread word must never be one that is less careful.
        spec = msgspec.structs.replace(
            spec,
            deletion_policy=_deletion_policy(found),
            timeout=SHIPPED_TIMEOUT,
            on_timeout="Fail",
            force_after=None,
            on_unreachable="Fail",
            preserve=_preserve(found),
        )
    annotations = metadata.get("annotations") or {}
    try:
        status = read(found.get("status") or {}, AliveStatus, where="status")
    except UsageError:
        status = AliveStatus()
    return Alive(
        uid=uid,
        resource_version=str(metadata.get("resourceVersion") or ""),
        generation=int(metadata.get("generation") or 0),
        created=moment(metadata.get("creationTimestamp")) or 0.0,
        since=moment(metadata.get("deletionTimestamp")),
        confirmed=bool(uid) and annotations.get(names.CONFIRM_DELETION_ANNOTATION) == uid,
        finalizers=tuple(metadata.get("finalizers") or ()),
        spec=spec,
        status=status,
        problems=problems,
    )


def _preserve(found: Mapping[str, Any]) -> tuple[Preserved, ...]:
    return understood(_written(found, "preserve"))


def _deletion_policy(found: Mapping[str, Any]) -> DeletionPolicy:
    return "Signal" if _written(found, "deletionPolicy") in (None, "Signal") else "Preserve"


def _written(found: Mapping[str, Any], field: str) -> Any:
    spec = found.get("spec")
    return spec.get(field) if isinstance(spec, Mapping) else None


def moment(text: Any) -> float | None:
    """Seconds since the epoch; None where there is no time, or none that can be read."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def seconds(text: str | None) -> float | None:
    """The length of a duration of the spec; None where there is none, or none that can be read.

    The server takes longer ones than can be counted: those are as long as can be, and not as short as what is shipped.
    """
    found = parse_duration(text) if text is not None else None
    if isinstance(found, Problem):
        return float(MAXIMUM_SECONDS) if found.code is ProblemCode.TOO_LONG else None
    return float(found) if found is not None else None

"""When what gives an object its time was written, and whether that alone made an old object due.

That is its TTL label, or another tool's annotation where a setting has it heeded. The server tells when it was written, as
long as nobody took its notes off; a manager that owns the label and writes something else gives it a new time, so what
was seen before counts more. A refresh gives no label a new time: it only moves what follows from the one that is there. How
many were written together is for `late_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.controller.backlogs.late_labels import LABELLING_SECONDS
from skoupa.facts.rows import LIFETIME_ANNOTATIONS, NOBODY_KNOWS, Row

OLD_SECONDS: Final = 3600
# A label that is seen no later than this was just written.
WITNESSED_SECONDS: Final = 60


class LabelTimes:
    """`due` gives an object's due time; `may_go` says that nobody keeps or protects it; `starting` is as in `backlog`."""

    def __init__(
        self,
        *,
        due: Callable[[Row, float], float | None],
        may_go: Callable[[Row, float], bool],
        starting: Callable[[], bool],
    ) -> None:
        self._due = due
        self._may_go = may_go
        self._starting = starting

    def late(self, row: Row, before: Row | None, now: float) -> int:
        """When its label was written, if that made it due; else 0. `before` is as it was last seen."""
        moment = self._written(row, before, now)
        return moment if moment and self.is_retroactive(row, moment, now) else 0

    def told(self, row: Row, now: float) -> int:
        """The same for who did not watch."""
        moment = int(now) if row.labelled_at == NOBODY_KNOWS else row.labelled_at
        return moment if moment and self.is_retroactive(row, moment, now) else 0

    def is_retroactive(self, row: Row, moment: int, now: float) -> bool:
        """Old, and due (almost) as soon as its label was written; a refresh gave it time only if that was to come then."""
        due = self._due(row, now)
        if due is None or moment - row.created < OLD_SECONDS:
            return False
        return due <= max(moment + LABELLING_SECONDS, row.refresh_written)

    def saw_written(self, row: Row, before: Row | None, now: float) -> bool:
        """Whether its label was written just now, given that a watch told of it; what a list brings may be old."""
        if before is not None:
            return True
        # A feed of what is kept brings what has just been kept, whenever its label was written.
        fresh = row.labelled_at >= now - WITNESSED_SECONDS
        return fresh and row.label(names.KEEP_LABEL) is None

    def moved(self, row: Row, before: Row, now: float) -> int:
        """Whether a refresh, which is all that may differ, puts its time off (1) or makes it sooner (-1)."""
        if row.annotations == before.annotations:
            return 0
        due, was = self._due(row, now), self._due(before, now)
        if due is None or was is None:
            return 0
        return (due > was) - (due < was)

    def _written(self, row: Row, before: Row | None, now: float) -> int:
        if row.labelled_at > 0:
            return row.labelled_at
        if before is not None or is_unclear(row):
            return int(now)
        # At a restart all of these are new here: those that stay anyway must not make a mass of the others.
        stays = self._starting() and (row.deleted_at or not self._may_go(row, now))
        return 0 if stays or row.labelled_at != NOBODY_KNOWS else int(now)


def same_times(row: Row, before: Row) -> bool:
    """Whether the same is written on both that gives a time; a refresh gives none, but may move it."""
    if row.label(names.TTL_LABEL) != before.label(names.TTL_LABEL):
        return False
    return row.annotations == before.annotations or all(
        row.annotation(key) == before.annotation(key) for key in LIFETIME_ANNOTATIONS
    )


def is_unclear(row: Row) -> bool:
    """Whether another tool's annotation gives it a time, and the server does not tell when all that was written."""
    return row.labelled_at == NOBODY_KNOWS and any(
        row.annotation(key) is not None for key in LIFETIME_ANNOTATIONS
    )

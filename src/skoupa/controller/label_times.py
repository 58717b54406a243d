"""When what gives an object its time was written, and whether that alone made an old object due.

That is its TTL label, or another tool's annotation where a setting has it heeded. The server tells when it was written, as
long as nobody took its notes off; a manager that owns the label and writes something else gives it a new time, so what
was seen before counts more. How many were written together is for `late_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.controller.late_labels import LABELLING_SECONDS
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
        """Old, and due (almost) as soon as its label was written."""
        due = self._due(row, now)
        return due is not None and due <= moment + LABELLING_SECONDS and moment - row.created >= OLD_SECONDS

    def saw_written(self, row: Row, before: Row | None, now: float) -> bool:
        """Whether its label was written while this process looked."""
        fresh = row.labelled_at >= now - WITNESSED_SECONDS and not self._starting()
        return before is not None or fresh

    def _written(self, row: Row, before: Row | None, now: float) -> int:
        if row.labelled_at > 0:
            return row.labelled_at
        if before is not None or is_unclear(row):
            return int(now)
        # At a restart all of these are new here: those that stay anyway must not make a mass of the others.
        stays = self._starting() and (row.deleted_at or not self._may_go(row, now))
        return 0 if stays or row.labelled_at != NOBODY_KNOWS else int(now)


def same_times(row: Row, before: Row) -> bool:
    """Whether the same is written on both that gives a time."""
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

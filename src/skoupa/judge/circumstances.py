"""Reasons to wait that have nothing to do with anybody's wish: already going, no right, a wrong clock, a mass of them.

What is asked here is known beforehand and handed in as functions: the rights that the server granted, the distance
between the two clocks, the objects that are held back together, the ones that keep coming back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.facts.rows import Row
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold

# The Date header has whole seconds: a difference below this can't be told from none.
SKEW_SECONDS: Final = 2.0


class Circumstances:
    """`extra` gives the holds of whoever keeps a list of its own (backlog, re-creation, rights)."""

    def __init__(
        self,
        *,
        skew: Callable[[], float] = lambda: 0.0,
        extra: tuple[Callable[[Row, float], Hold | None], ...] = (),
    ) -> None:
        self._skew = skew
        self._extra = extra

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:  # noqa: ARG002 - all Claims respect these
        found: list[Hold] = []
        if row.deleted_at:
            waiting = ", ".join(row.finalizers) or "the server"
            told = reason("terminating", since=whole_seconds(row.deleted_at), finalizers=waiting)
            found.append(Hold(reason=told))
        skew = self._skew()
        if abs(skew) >= SKEW_SECONDS:
            found.append(Hold(reason=reason("clock-skew", seconds=f"{skew:+.0f}")))
        for ask in self._extra:
            hold = ask(row, now)
            if hold is not None:
                found.append(hold)
        return found

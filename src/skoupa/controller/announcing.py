"""How long before its time an object is announced: as it wishes itself, else its Namespace, else the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.expr.durations import parse_duration
from skoupa.facts.rows import Row
from skoupa.settings import Settings, seconds

LOOK_SECONDS: Final = 5.0


class Announcing:
    """`replan` hears of objects whose announcement may have another time now."""

    def __init__(
        self,
        clock: Clock,
        *,
        settings: Settings,
        knowledge: Knowledge,
        replan: Callable[[Sequence[Row]], None],
    ) -> None:
        self._clock = clock
        self._knowledge = knowledge
        self._replan = replan
        notice = settings.ttl.notice_before
        self._by_setting = float(seconds(notice)) if notice else 0.0

    def before(self, row: Row) -> float:
        """In seconds; a wish that is not understood counts as none."""
        wishes = (row.annotation(names.NOTICE_BEFORE_ANNOTATION), self._knowledge.notice_in(row.namespace))
        for wish in wishes:
            parsed = parse_duration(wish) if wish is not None else None
            if isinstance(parsed, int):
                return float(parsed)
        return self._by_setting

    async def follow(self) -> None:
        """What a Namespace says about notices counts for all that is in it: they are planned anew, many at a time."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if self._knowledge.renoticed:
                namespaces, self._knowledge.renoticed = self._knowledge.renoticed, set()
                self._replan([row for row in self._knowledge.store if row.namespace in namespaces])

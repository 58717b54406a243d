"""What nobody tells of is looked at again in its time, however often somebody wakes who does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from skoupa.controller.retaining.reviewing import REVIEW_SECONDS, Reviewing
from skoupa.facts.rows import Row
from skoupa.sim.clock import VirtualClock, run
from tests.unit.controller.stage import MINUTE

pytestmark = pytest.mark.unit


class Nothing:
    """Of all objects that are followed, and of what is read for them."""

    kinds: frozenset[str] = frozenset()
    unsettled = expects_kinds = awaited = False

    def __iter__(self) -> Iterator[Row]:
        return iter(())

    async def arrange(self, _: asyncio.TaskGroup) -> None:
        return


def test_what_could_not_be_written_is_tried_again_however_often_something_else_changes() -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[float] = []
        nothing: Any = Nothing()
        reviewing = Reviewing(
            clock,
            nothing,
            nothing,
            look=lambda _: None,
            unsettled=lambda: ("free",),
            again=lambda: tried.append(clock.now()),
        )
        async with asyncio.TaskGroup() as group:
            following = group.create_task(reviewing.follow(group))
            # As a kind does that may not be read, and is asked for again and again.
            for _ in range(60):
                await clock.sleep(10.0)
                reviewing.doubt()
            following.cancel()
        assert len(tried) == pytest.approx(10 * MINUTE / REVIEW_SECONDS, abs=2)

    run(main)

"""A condition tells since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import pytest

from skoupa.kinds.conditions import READY, Condition, updated

pytestmark = pytest.mark.unit

FIRST, SECOND = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)


def condition(
    status: Literal["True", "False", "Unknown"], at: datetime, *, message: str = "", kind: str = READY
) -> Condition:
    return Condition(type=kind, status=status, reason="Because", message=message, last_transition_time=at)


def test_a_status_that_stays_keeps_its_time_and_gets_the_new_message() -> None:
    [found] = updated((condition("True", FIRST),), condition("True", SECOND, message="still"))
    assert (found.last_transition_time, found.message) == (FIRST, "still")


def test_a_status_that_changes_changes_its_time() -> None:
    [found] = updated((condition("True", FIRST),), condition("False", SECOND))
    assert (found.last_transition_time, found.status) == (SECOND, "False")


def test_the_others_stay_where_they_are() -> None:
    before = (condition("True", FIRST), condition("True", FIRST, kind="Other"))
    after = updated(before, condition("False", SECOND))
    assert [found.type for found in after] == [READY, "Other"]
    assert after[1] == before[1]
    assert [found.type for found in updated(after, condition("True", SECOND, kind="Third"))] == [
        READY,
        "Other",
        "Third",
    ]

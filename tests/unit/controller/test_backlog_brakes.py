"""The Brake of a mass labelling says what stays true while more labels arrive."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.backlogs.brakes import BacklogBrakes
from skoupa.controller.backlogs.masses import Mass
from skoupa.sweep.tripping import Tripped
from tests.unit.cli.worlds import Standing

pytestmark = pytest.mark.unit


def brake_of(mass: Mass) -> Tripped:
    backlog = Backlog(due=lambda *_: None, may_go=lambda *_: True, starting=lambda: False)
    backlog.masses = [mass]

    async def put(key: str, value: Any) -> None:
        raise AssertionError(f"nothing is written: {key} {value}")

    [found] = BacklogBrakes(backlog, Standing(), put=put).wanted()
    return found


def test_a_mass_labelling_that_goes_on_makes_no_word_of_its_brake_wrong() -> None:
    early = brake_of(Mass(start=100, end=101, count=55, brake="mass-labels-100"))
    late = brake_of(Mass(start=100, end=102, count=300, brake="mass-labels-100"))
    assert early == late
    assert early.by.startswith("more than 50 objects became overdue together through labels written since")
    assert "55" not in f"{early.by} {early.spec.reason}"
    assert early.count == 1, "a notice would name the first few as all there are"

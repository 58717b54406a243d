"""Backlogs that the controller holds until somebody has looked, in words: how many, and how to let them go.

Which of the objects that are shown are among them is a matter of judgement (`brake_look`); there may be more elsewhere. A
cluster that was never swept, with much overdue, is told too: no controller holds it yet, but the first will.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.controller.backlogs.backlog import FIRST_START_LIMIT, OVERDUE_SECONDS, FirstReading
from skoupa.controller.backlogs.brakes import FIRST_START, stands_for_backlog
from skoupa.controller.backlogs.masses import Mass
from skoupa.controller.braking.look import first_start_held
from skoupa.controller.state import (
    ACCEPTED,
    FIRST_SWEEP,
    MASS_LABELLINGS,
    MASSES_ACCEPTED,
    READINGS_HELD,
    State,
)
from skoupa.controller.survey import Survey
from skoupa.kinds.brake_effect import active
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.verdicts import Verdict

_LET_GO: Final = "{}: the controller holds them until `skoupa run --enforce --accept-backlog`, or until the Brake first-start is released"

# In place of the reason that the controller gives: it may be of a backlog, and the controller knows whether it is.
PERHAPS: Final = "perhaps-retroactive"


def only_perhaps(verdict: Verdict) -> bool:
    """Whether it is held by nothing but what a controller that watched may know better."""
    lasting = [hold for hold in verdict.holds if hold.until is None]
    return bool(lasting) and all(hold.reason.code == PERHAPS for hold in lasting)


def held_backlogs(survey: Survey, now: float) -> list[str]:
    known = survey.knowledge.brakes.brakes
    brakes = [brake for brake in known if stands_for_backlog(brake) and active(brake, now)]
    told = [f"the controller holds a backlog, Brake {brake.name}: {brake.reason}" for brake in brakes]
    state = survey.looked.state
    if state is None:
        return told
    named = {brake.name for brake in brakes}
    told += (_in_words(mass) for mass in _masses(state) if mass.brake not in named)
    never_swept = state.get(FIRST_SWEEP, int) is None and state.get(ACCEPTED, int) is None
    if never_swept and FIRST_START not in named:
        told += _first_start(state, survey, now)
    held = state.get(READINGS_HELD, list[FirstReading]) or []
    if held and FIRST_START not in named:
        kinds = ", ".join(sorted({one.kind for one in held}))
        count = sum(one.count for one in held)
        told.append(_LET_GO.format(f"{count} objects were overdue when Skoupa first looked at {kinds}"))
    return told


def _masses(state: State) -> Iterator[Mass]:
    accepted_at = state.get(ACCEPTED, int) or 0
    accepted = state.get(MASSES_ACCEPTED, list[tuple[int, int]]) or []
    for mass in state.get(MASS_LABELLINGS, list[Mass]) or ():
        if mass.end > accepted_at and not any(start <= mass.start <= end for start, end in accepted):
            yield mass


def _in_words(mass: Mass) -> str:
    return (
        f"the controller holds {mass.count} objects that became overdue together through labels written from "
        f"{whole_seconds(mass.start)} to {whole_seconds(mass.end)}: take the labels off again, or let them go with "
        "`skoupa run --enforce --accept-backlog`"
    )


def _first_start(state: State, survey: Survey, now: float) -> Iterator[str]:
    """As the controller counted at its first start, or will count."""
    held = first_start_held(state)
    if held is not None:
        yield _LET_GO.format(f"{held[1]} objects were overdue when Skoupa first looked at this cluster")
        return
    judge, protection = survey.knowledge.judge, survey.knowledge.protection
    count = sum(
        (due := judge.due(row, now)) is not None
        and due < now - OVERDUE_SECONDS
        and not protection.reasons(row, now)
        for row in survey.knowledge.store
    )
    if count > FIRST_START_LIMIT:
        home = survey.knowledge.settings.lease.namespace
        yield _LET_GO.format(
            f"{count} objects here are overdue by more than an hour, and by its state (namespace {home}) Skoupa never "
            "swept this cluster"
        )

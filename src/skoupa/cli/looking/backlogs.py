"""Backlogs that the controller holds until somebody has looked, as its Brakes and its state tell them.

A command judges what it reads and knows no history, so it can't tell which objects those are: it says how many, and how
to let them go. Who may not read the state learns from the Brakes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.controller.backlog import FIRST_START_LIMIT, OVERDUE_SECONDS, Mass
from skoupa.controller.backlog_brakes import FIRST_START
from skoupa.controller.state import ACCEPTED, FIRST_SWEEP, MASS_LABELLINGS, MASSES_ACCEPTED, State
from skoupa.controller.state import FIRST_START as FIRST_START_HELD
from skoupa.controller.survey import Survey
from skoupa.errors import SkoupaError
from skoupa.kinds.brake_reading import Brake
from skoupa.kube.client import Client
from skoupa.kube.timestamps import whole_seconds

_LET_GO: Final = "{}: the controller holds them until `skoupa run --accept-backlog`, or until the Brake first-start is released"


async def held_backlogs(client: Client, survey: Survey, now: float) -> list[str]:
    brakes = [brake for brake in survey.knowledge.brakes.brakes if _stands_for_backlog(brake)]
    told = [f"the controller holds a backlog, Brake {brake.name}: {brake.reason}" for brake in brakes]
    state = State(client, namespace=survey.knowledge.settings.lease.namespace)
    try:
        await state.read()
    except SkoupaError:
        return told
    named = {brake.name for brake in brakes}
    told += (_in_words(mass) for mass in _masses(state) if mass.brake not in named)
    never_swept = state.get(FIRST_SWEEP, int) is None and state.get(ACCEPTED, int) is None
    if never_swept and FIRST_START not in named:
        told += _first_start(state, survey, now)
    return told


def _stands_for_backlog(brake: Brake) -> bool:
    """Its scope names itself, and so holds nothing: what is held is decided object by object."""
    return brake.scope.policy == brake.name


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
        "`skoupa run --accept-backlog`"
    )


def _first_start(state: State, survey: Survey, now: float) -> Iterator[str]:
    """As the controller counted at its first start, or will count."""
    held = state.get(FIRST_START_HELD, tuple[float, int])
    if held is not None:
        yield _LET_GO.format(f"{held[1]} objects were overdue when Skoupa first looked at this cluster")
        return
    judge, protection = survey.knowledge.judge, survey.knowledge.protection
    count = sum(
        (due := judge.due(row, now)) is not None
        and due < now - OVERDUE_SECONDS
        and next(protection.reasons(row, now), None) is None
        for row in survey.knowledge.store
    )
    if count > FIRST_START_LIMIT:
        home = survey.knowledge.settings.lease.namespace
        yield _LET_GO.format(
            f"{count} objects here are overdue by more than an hour, and by its state (namespace {home}) Skoupa never "
            "swept this cluster"
        )

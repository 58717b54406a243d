"""What a controller holds beyond single objects, read once: Brakes, and the backlogs that some of them stand for.

For who looks at a cluster or acts in it for a moment, and is to judge as the controller does. The Brakes in the cluster
tell most of it, the controller's state the rest: that there were Brakes which can't be read any more, those that went along
with their definition, and which objects a backlog is about. Who may not read the state has the Brakes alone; from the
Brake of a backlog more is held rather than less. Nothing is found here that no controller has found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa import names
from skoupa.controller.backlogs.backlog import OVERDUE_SECONDS, Backlog, FirstReading
from skoupa.controller.backlogs.brakes import FIRST_START, stands_for_backlog
from skoupa.controller.backlogs.masses import Mass
from skoupa.controller.braking.brakes import LOST
from skoupa.controller.braking.feed import GOING, Found, definition_made, made_at
from skoupa.controller.braking.unlisted import read_known
from skoupa.controller.state import (
    ACCEPTED,
    BRAKES_SEEN,
    FIRST_SWEEP,
    MASS_LABELLINGS,
    MASSES_ACCEPTED,
    READINGS_HELD,
    State,
)
from skoupa.controller.state import FIRST_START as FIRST_START_HELD
from skoupa.errors import ApiError, BadReply, Forbidden, SkoupaError, TimedOut
from skoupa.facts.rows import Row
from skoupa.judge.brakes import NO_BRAKES, Pulled
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import read_brake, read_status
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE
from skoupa.model.verdicts import Hold

_MASS: Final = re.compile("mass-labels-([0-9]+)")
NO_RIGHT: Final = "no permission: list brakes.skoupa.dev"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`everybody`: why Brakes are unknown holds the controller too, and is not just a right of who looks."""

    pulled: Pulled = NO_BRAKES
    everybody: bool = False
    # Those in the cluster, whole.
    found: tuple[Found, ...] = ()
    # None: it may not be read, or (then that is a doubt) it can't be.
    state: State | None = None
    doubt: str = ""

    def believed(self, *, acting: bool) -> tuple[Pulled, list[str]]:
        """What to judge by, and what to tell beside: who acts is held by every doubt, who looks is told of it."""
        if acting and self.doubt:
            return Pulled(unknown=self.doubt), []
        told = [self.doubt] if self.doubt else []
        if not self.pulled.unknown or acting or self.everybody:
            return self.pulled, told
        return NO_BRAKES, [*told, f"whether a Brake holds any of it is not known: {self.pulled.unknown}"]


async def look(client: Client, discovery: Discovery, *, home: str) -> Look:
    """`home` is where the controller's state is."""
    try:
        state = await _read_state(client, home)
    except SkoupaError as error:
        doubt = f"what the controller wrote down can't be read: {_short(error)}"
        return msgspec.structs.replace(await _look(client, discovery, None), doubt=doubt)
    return await _look(client, discovery, state)


async def _look(client: Client, discovery: Discovery, state: State | None) -> Look:
    """Where the kind never was there are no Brakes; where they can't be read, everything is to be held."""
    kind = discovery.find(names.SKOUPA_GROUP, names.BRAKE_KIND)
    gap = discovery.unreadable(names.SKOUPA_GROUP)
    seen = state is not None and state.get(BRAKES_SEEN, int) is not None
    if kind is None and gap is not None:
        why = f"the kinds of {gap.where} can't be read ({gap.why})"
        return Look(pulled=Pulled(unknown=why), state=state)
    if kind is None:
        return Look(pulled=Pulled(unknown=LOST) if seen else NO_BRAKES, everybody=seen, state=state)
    if not kind.may("create"):
        # Its Brakes go along, one after the other.
        return Look(pulled=Pulled(unknown=GOING), everybody=True, state=state)
    try:
        found = await everything(client, kind, WHOLE)
        lost, why = await _lost(client, state, found.items) if seen and state is not None else ([], "")
    except Forbidden:
        return Look(pulled=Pulled(unknown=NO_RIGHT), state=state)
    except (ApiError, BadReply, TimedOut) as error:
        return Look(pulled=Pulled(unknown=_short(error)), state=state)
    if found.undecodable:
        return Look(
            pulled=Pulled(unknown=f"{len(found.undecodable)} of them can't be understood"), state=state
        )
    if why:
        return Look(pulled=Pulled(unknown=why), everybody=True, state=state)
    brakes = tuple(map(read_brake, (*found.items, *lost)))
    return Look(pulled=Pulled(brakes=brakes), found=tuple(found.items), state=state)


async def _read_state(client: Client, home: str) -> State | None:
    state = State(client, namespace=home)
    try:
        await state.read()
    except Forbidden:
        return None
    return state


async def _lost(client: Client, state: State, found: Iterable[Found]) -> tuple[list[Found], str]:
    """Those that went along with an earlier definition: nobody has released them. And why these may not be all."""
    there = {str(one["metadata"].get("uid", "")) for one in found}
    known, unlisted = read_known(state)
    gone = [one.found() for one in known if one.uid not in there]
    if not gone and unlisted is None:
        return [], ""
    made = await definition_made(client)
    made = math.inf if made is None else made
    why = unlisted.why() if unlisted is not None and unlisted.may_be_lost(made) else ""
    return [one for one in gone if made_at(one) < made], why


class ToldBacklogs:
    """The backlogs that the last look told of. `due` is by what is written on an object."""

    def __init__(self, due: Callable[[Row, float], float | None]) -> None:
        self._due = due
        self._backlog = self._empty()

    def hold(self, row: Row, now: float) -> Hold | None:
        return self._backlog.hold_as_told(row, now)

    def learn(self, looked: Look, now: float) -> None:
        backlog, state = self._empty(), looked.state
        handles = _handles(looked.found, now)
        if state is not None:
            accepted = state.get(ACCEPTED, int)
            if accepted is not None:
                backlog.accept(accepted)
            backlog.remember(state.get(MASS_LABELLINGS, list[Mass]) or ())
            backlog.hold_first_readings(state.get(READINGS_HELD, list[FirstReading]) or ())
        known = {mass.brake for mass in backlog.masses}
        backlog.remember(_mass(name, found) for name, found in handles.items() if _is_mass(name, known))
        if state is not None:
            backlog.remember_accepted(
                state.get(MASSES_ACCEPTED, list[tuple[int, int]]) or [], first_start=False
            )
        first = first_start_held(state)
        handle = handles.get(FIRST_START)
        if first is not None:
            backlog.remember_first_start(*first)
        elif handle is not None and (state is None or state.get(FIRST_SWEEP, int) is None):
            backlog.remember_first_start(_since(handle) - OVERDUE_SECONDS, _number(handle))
        self._backlog = backlog

    def _empty(self) -> Backlog:
        return Backlog(due=self._due, may_go=lambda _row, _now: True, starting=lambda: False)


def first_start_held(state: State | None) -> tuple[float, int] | None:
    """What was overdue before then is held, so many of them; None: nothing is known to be."""
    if state is None or state.get(FIRST_SWEEP, int) is not None:
        return None
    held: tuple[float, int] | None = state.get(FIRST_START_HELD, tuple[float, int])
    accepted = state.get(ACCEPTED, int)
    # Whoever accepted a backlog has not seen one that was found later.
    return held if held is None or accepted is None or accepted < held[0] + OVERDUE_SECONDS else None


def _handles(brakes: Iterable[Found], now: float) -> dict[str, Found]:
    """The Brakes that stand for backlogs; one that has ended stands for none any more."""
    read = ((read_brake(found), found) for found in brakes)
    return {brake.name: found for brake, found in read if stands_for_backlog(brake) and active(brake, now)}


def _is_mass(name: str, known: set[str]) -> bool:
    return name not in known and _MASS.fullmatch(name) is not None


def _mass(name: str, found: Found) -> Mass:
    """One that the state does not tell of, or not yet."""
    start = int(name.rpartition("-")[2])
    return Mass(start=start, end=start, count=_number(found), brake=name)


def _number(found: Found) -> int:
    return max(1, read_status(found).held or 0)


def _since(found: Found) -> float:
    """When the backlog was found, or a little later."""
    status, made = read_status(found), made_at(found)
    since = status.since.timestamp() if status.since is not None else -math.inf
    return max(since, made)


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message

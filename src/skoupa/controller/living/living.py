"""Looks after Alive: makes it where there is none, tells how far everybody is, forces where that was wished, and lets it go.

It carries a finalizer of Skoupa's own, so that a deletion is written down (`memory`) before it is over; an Alive that vanishes without
one was not asked to go, and is made anew, loudly. Only who leads and enforces does anything. Time is the server's. A watch wakes it,
and so does time: each look is one read of Alive and one list of Leases, however many take part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.course import Course, course, forcing, phase_of
from skoupa.alive.reading import Alive, read_alive
from skoupa.alive.signs import Place, Sign
from skoupa.alive.telling import announced
from skoupa.alive.waiting import signs
from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.living.existence import GARBLED, NO_KIND, Existence
from skoupa.controller.living.forcing import AT_A_TIME, Forcing
from skoupa.controller.living.guarding import Guarding
from skoupa.controller.living.statistics import Statistics, statistics
from skoupa.controller.living.status import abridged, as_patch, said, status_of
from skoupa.controller.state import State
from skoupa.controller.writing.statuses import StatusWriter
from skoupa.errors import ApiError, Conflict, NotFound, SkoupaError, too_large
from skoupa.facts.store import Delta
from skoupa.kinds.alive import ALIVES
from skoupa.kinds.alive_status import Forced
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.settings import Settings
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report

IDLE_SECONDS: Final = 30.0
GOING_SECONDS: Final = 2.0
# Who waits sees by the status which finalizers were forced, and must have had the time to: it looks every two seconds.
SEEN_SECONDS: Final = 6.0
RETRY_SECONDS: Final = 5.0
# So many are named as forced at a time, where there is no room for all.
_FEW: Final = 3 * AT_A_TIME
_CRAMPED: Final = "Alive has no room for what each participant says, so its status leaves that out: `skoupa alive status` shows it"
_ONE: Final = Scope(fields=f"metadata.name={names.ALIVE_NAME}")


class Living:
    """`server_now` is the server's time; `told` hears what is done in a poorer way, `untold` its end."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        state: State,
        record: Record,
        report: Report,
        standing_by: Callable[[], bool],
        server_now: Callable[[], float],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._report = report
        self._standing_by = standing_by
        self._now = server_now
        self._told = told
        self._untold = untold
        self._existence = Existence(
            client, state=state, report=report, server_now=server_now, worse=self._worse
        )
        self._forcing = Forcing(
            client,
            knowledge=knowledge,
            record=record,
            report=report,
            server_now=server_now,
            worse=self._worse,
            better=self._better,
        )
        self._writer = StatusWriter(client, words=_poorer, told=told, untold=untold)
        self._guarding = Guarding(client, settings=settings, report=report, server_now=server_now)
        self._leads = False
        self._woken = asyncio.Event()
        self._poorer: set[str] = set()
        self._said: set[tuple[str, str]] = set()
        self.error: SkoupaError | None = None
        # As it was looked at last by who leads; None: there is none, or nobody here looks.
        self._seen: tuple[Alive, Course] | None = None
        # When it was last told otherwise which finalizers were forced.
        self._corrected = 0.0
        # The uid of one that is full.
        self._cramped = ""

    @property
    def announced(self) -> str:
        """That this cluster is about to die, in a sentence; empty: it is not, or that is not known here."""
        return announced(*self._seen) if self._seen is not None and self._acting() else ""

    def statistics(self) -> Statistics:
        seen = self._seen if self._acting() else None
        return statistics(seen, guarded=self._guarding.stands)

    def open(self, group: asyncio.TaskGroup) -> None:
        """What it watches it begins with its work."""

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow(), self._listen()]

    def arrange(self) -> None:
        self._guarding.again()

    def learn(self, deltas: Sequence[Delta]) -> None:
        """It is no object that a feed tells of."""

    def take_over(self) -> None:
        self._leads = True
        self._writer.doubt()
        self._woken.set()

    def close(self) -> None:
        """Nothing is open."""

    async def _follow(self) -> None:
        """For ever."""
        while True:
            # Who begins to lead is woken.
            pause = IDLE_SECONDS
            if self._acting():
                try:
                    pause = await self._look_after()
                except Conflict:
                    # Somebody wrote it meanwhile.
                    pause = GOING_SECONDS
                except SkoupaError as error:
                    self.error = error
                    pause = RETRY_SECONDS
                else:
                    self.error = None
            await self._nap(pause)

    async def _listen(self) -> None:
        """A change of Alive is looked at at once; what the watch does not tell is found by time."""
        async with aclosing(watch.watch(self._client, ALIVES, METADATA, scope=_ONE)) as events:
            async for event in events:
                if isinstance(event, watched.Listed | watched.Changed):
                    self._woken.set()

    async def _nap(self, seconds: float) -> None:
        try:
            async with self._clock.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    def _acting(self) -> bool:
        return self._settings.mode == "enforce" and self._leads and not self._standing_by()

    async def _look_after(self) -> float:
        """How long nothing has to be looked at."""
        try:
            found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
        except NotFound:
            self._seen = None
            self._forcing.rest()
            self._better(_CRAMPED)
            await self._existence.bring_to_life()
            return IDLE_SECONDS
        for trouble in (NO_KIND, GARBLED):
            self._better(trouble)
        alive = read_alive(found)
        self._forcing.settle(found)
        await self._existence.note(alive)
        await self._guarding.look(alive)
        if alive.since is None:
            if names.ALIVE_FINALIZER not in alive.finalizers:
                found = await self._existence.put_finalizer(alive)
                alive = read_alive(found)
            await self._tell(alive, course(alive, await self._signs(), now=self._now()))
            return min(IDLE_SECONDS, self._guarding.due_in(alive))
        await self._see_through(alive, found)
        return GOING_SECONDS

    async def _signs(self) -> dict[Place, Sign] | None:
        said = "no permission to list Leases: nobody knows which participants of Alive are alive"
        found = await signs(self._client)
        (self._better if found is not None else self._worse)(said)
        return found

    async def _see_through(self, alive: Alive, found: dict[str, Any]) -> None:
        assert alive.since is not None, "its deletion was asked for"
        now = self._now()
        at = course(self._remembering(alive), await self._signs(), now=now)
        self._announce(alive, at)
        decided = forcing(alive, at, now=now)
        if not decided:
            self._forcing.rest()
        elif not self._forcing.stands(found, alive, at, decided):
            decided = ()
        elif self._cramped == alive.uid:
            # Each that is off makes room for the next.
            decided = decided[:_FEW]
        forced = self._forcing.named(alive, decided)
        if not at.drained:
            at = msgspec.structs.replace(at, phase=phase_of(at.timed_out, forced=bool(forced)))
        told = await self._tell(alive, at, forced=forced)
        if told and forced != alive.status.forced:
            self._corrected = now
        if at.drained:
            if now - max((self._corrected, *(one.at.timestamp() for one in forced))) >= SEEN_SECONDS:
                await self._existence.end(alive)
            return
        if decided and told:
            await self._forcing.force(alive, at, decided)

    def _announce(self, alive: Alive, at: Course) -> None:
        """What is told once, also over a restart: by the phase that stands in the status."""
        before = alive.status.phase
        if before in {None, "Active"}:
            confirmed = "it was confirmed" if alive.confirmed else "it was not confirmed"
            who = ", ".join(alive.waited_for) or "nobody"
            note = f"the deletion of this cluster was asked for ({confirmed}); waiting for {who}"
            self._once("SkoupaSignalled", note, alive)
        if at.timed_out is not None and before not in {"TimedOut", "Forced"}:
            left = "; ".join(said(one) for one in at.participants if one.state != "Done")
            then = alive.spec.on_timeout
            self._once("SkoupaTimedOut", f"{at.why} (spec.onTimeout: {then}): {left}", alive)

    def _once(self, what: str, note: str, alive: Alive) -> None:
        """Also where the status may not be written, which would remember it."""
        if (alive.uid, what) not in self._said:
            self._said.add((alive.uid, what))
            self._report.of_alive(what, note, uid=alive.uid, at=self._now())

    async def _tell(self, alive: Alive, at: Course, *, forced: tuple[Forced, ...] | None = None) -> bool:
        """Whether the status says so now."""
        self._seen = (alive, at)
        status = status_of(
            alive,
            at,
            protection=self._guarding.protection,
            forced=alive.status.forced if forced is None else forced,
            now=self._now(),
        )
        cramped = self._cramped == alive.uid
        if cramped:
            status = abridged(status)
        if status == alive.status:
            return True
        self._writer.distrust(alive.uid)
        try:
            written = await self._writer.write(ALIVES, alive.uid, as_patch(status), name=names.ALIVE_NAME)
        except ApiError as error:
            if cramped or not too_large(error):
                raise
            self._cramped = alive.uid
            self._worse(_CRAMPED)
            return await self._tell(alive, at, forced=forced)
        return written is not None

    def _remembering(self, alive: Alive) -> Alive:
        """Where its status has no room for what each was like, that is remembered here: by it progress is told."""
        if self._cramped != alive.uid or self._seen is None or self._seen[0].uid != alive.uid:
            return alive
        status = msgspec.structs.replace(alive.status, participants=self._seen[1].participants)
        return msgspec.structs.replace(alive, status=status)

    def _worse(self, said: str) -> None:
        if said not in self._poorer:
            self._poorer.add(said)
            self._told(said)

    def _better(self, said: str) -> None:
        if said in self._poorer:
            self._poorer.discard(said)
            self._untold(said)


def _poorer(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: how far the deletion of this cluster is is not told there, and nothing is forced"

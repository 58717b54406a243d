"""Keeps the Brakes in the cluster in order: makes those that were pulled here, tells what they hold, and lets go.

Only who leads and enforces writes. Every Brake carries a finalizer, so that a deletion is seen before it counts: what the
Brake holds is counted and written down as an allowance first, then the finalizer goes, and with it the Brake. What could
not be written is tried again for ever; until then the Brake holds. A status is written when it changes, and seldom.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final, Protocol

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.ends import BrakeEnds
from skoupa.controller.braking.feed import Found
from skoupa.controller.braking.held_now import NOTHING, HeldNow
from skoupa.controller.braking.memory import BrakeMemory
from skoupa.controller.braking.of_runs import approved, lasts, stopping, told_of_run
from skoupa.controller.braking.release import Releases
from skoupa.controller.braking.status import in_full, status_of
from skoupa.errors import AlreadyExists, NotFound, SkoupaError
from skoupa.facts.rows import Uid
from skoupa.kinds.brake import BrakeStatus, Scope, manifest
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import Brake, read_status
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.kube.timestamps import whole_seconds
from skoupa.sweep.reporting import Report
from skoupa.sweep.tripping import Tripped
from skoupa.sweep.weighing import stops_a_run

PAUSE_SECONDS: Final = 5.0
# Where there is nothing to look after; whatever changes that is heard of.
IDLE_SECONDS: Final = 60.0


class Handles(Protocol):
    """Brakes that stand for Holds of somebody else, who keeps a list of its own."""

    def wanted(self) -> Iterator[Tripped]: ...

    def code(self, name: str) -> str:
        """The code of the Holds that the Brake of that name stands for; empty: it stands for none."""

    def stands_for(self, name: str, uid: Uid) -> bool:
        """Whether it is that Brake, of those that stand for such Holds, by which this object is let go."""

    def is_over(self, brake: Brake) -> bool:
        """Whether it stood for Holds that there are no more, and has not ended itself yet."""


class BrakeUpkeep:
    """`acting` says that this process leads and enforces.

    `missing` says that a scope names a kind that there is not; `too_soon`, that what Brakes hold can't be told yet.
    """

    def __init__(
        self,
        client: Client,
        brakes: Brakes,
        *,
        known: BrakeMemory,
        held: HeldNow,
        releases: Releases,
        handles: Handles,
        report: Report,
        acting: Callable[[], bool],
        missing: Callable[[Scope], str],
        too_soon: Callable[[], bool],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._brakes = brakes
        self._known = known
        self._held = held
        self._releases = releases
        self._handles = handles
        self._report = report
        self._acting = acting
        self._missing = missing
        self._too_soon = too_soon
        self._tripped_by: dict[str, str] = {}
        self.ends = BrakeEnds(
            client.clock,
            brakes,
            releases=releases,
            report=report,
            held=held,
            too_soon=too_soon,
        )
        self._written: dict[str, tuple[float, BrakeStatus]] = {}
        # Brakes that stand for Holds of somebody else, as far as it was told that they were pulled.
        self._announced: set[str] = set()
        self.error: SkoupaError | None = None

    async def run(self) -> None:
        backoff = Backoff(self._clock, cap=PAUSE_SECONDS)
        while True:
            await self._nap()
            if not self._acting():
                self.ends.forget()
                # Another one writes what they say, and for how many an answer is.
                self._written.clear()
                self._tripped_by.clear()
                self._brakes.runs.forget()
                continue
            try:
                await self._tidy()
            except SkoupaError as error:
                self.error = error
                await self._clock.sleep(backoff.next())
                self._brakes.changed.set()
            else:
                self.error = None
                backoff.reset()

    async def _nap(self) -> None:
        there = any(True for _ in self._brakes.feed) or bool(self._releases.pending)
        pause = PAUSE_SECONDS if there else IDLE_SECONDS
        try:
            async with self._clock.timeout(min(pause, self._brakes.seconds_to_turn())):
                await self._brakes.changed.wait()
        except TimeoutError:
            return
        finally:
            self._brakes.changed.clear()

    async def _tidy(self) -> None:
        """One thing that fails does not keep the others from being done; the first failure is raised at the end."""
        kind = self._brakes.resource
        steps: list[Callable[[], Awaitable[None]]] = []
        if kind is None or not self._brakes.feed.doubt():
            self._announce()
        if kind is not None and self._brakes.feed.definition_going:
            steps += (partial(self._free, kind, found) for found in self._brakes.feed)
        elif kind is not None and not self._brakes.feed.doubt():
            # While it is not certain what there is, nothing can be counted, so nothing is told or let go.
            there = {brake.name: brake for _, brake in self._brakes.objects()}
            steps.append(partial(self._known.bring_back, self._client, kind, report=self._report))
            wanted = (*self._brakes.pending(), *self._handles.wanted())
            steps += (partial(self._make, kind, one, there.get(one.name)) for one in wanted)
            steps += (
                partial(self._look_after, kind, found, brake) for found, brake in self._brakes.objects()
            )
        elif kind is not None and self._brakes.feed.misses_others:
            steps.append(partial(self._known.bring_back, self._client, kind, report=self._report))
        steps += (self._known.write_down, self._releases.write_down)
        first: SkoupaError | None = None
        for step in steps:
            try:
                await step()
            except SkoupaError as error:
                first = first or error
        if first is not None:
            raise first

    def _announce(self) -> None:
        """What a ceiling pulls is told by who pulls it; backlogs are only found. Those of a restart were told before."""
        now = self._clock.now()
        there = {brake.name: brake for _, brake in self._brakes.objects()}
        wanted = {one.name: one for one in self._handles.wanted()}
        for name in wanted.keys() - self._announced:
            ended = there.get(name)
            if ended is not None and active(ended, now):
                continue
            self._report.tripped(wanted[name], at=now)
            if ended is not None:
                # The one of an earlier backlog is about to hold again: nobody makes another, and tells of that.
                self._report.brake_made(name, ended.uid, why=wanted[name].by, at=now)
        self._announced = set(wanted)

    async def _make(self, kind: Resource, tripped: Tripped, there: Brake | None) -> None:
        self._brakes.runs.ask(tripped)
        if there is not None:
            if there.scope == tripped.spec.scope and not lasts(there, tripped, self._clock.now()):
                # An earlier one that has ended, or ends too soon: it holds again, or for longer.
                until = tripped.spec.until
                end = whole_seconds(until.timestamp()) if until is not None else None
                spec = {"until": end, "schedule": None, "reason": tripped.spec.reason}
                patch = {"metadata": stopping(tripped), "spec": spec}
                await self._client.merge_patch(kind, tripped.name, patch)
                self._tripped_by[tripped.name] = tripped.by
            return
        body = manifest(tripped.name, tripped.spec)
        body["metadata"] |= stopping(tripped) | {
            "finalizers": [names.BRAKE_FINALIZER],
            "labels": {names.PART_OF_LABEL: names.COMPONENT},
        }
        self._tripped_by[tripped.name] = tripped.by
        try:
            made = await self._client.create(kind, body)
        except AlreadyExists:
            return
        self._report.brake_made(
            tripped.name, str(made["metadata"]["uid"]), why=tripped.by, at=self._clock.now()
        )

    async def _look_after(self, kind: Resource, found: Found, brake: Brake) -> None:
        metadata = found["metadata"]
        finalizers = list(metadata.get("finalizers") or ())
        ours = names.BRAKE_FINALIZER in finalizers
        if metadata.get("deletionTimestamp"):
            self.ends.is_going(brake)
            if ours:
                await self._let_go(kind, found, brake)
            return
        if not ours:
            await self._put_finalizers(kind, found, [*finalizers, names.BRAKE_FINALIZER])
        elif self._handles.is_over(brake):
            until = whole_seconds(self._clock.now())
            await self._client.merge_patch(kind, brake.name, {"spec": {"until": until}})
        if by := await self._brakes.runs.renew(self._client, kind, found, brake):
            self._tripped_by[brake.name] = by
        now_active = active(brake, self._clock.now())
        if await self.ends.look(found, brake, now_active=now_active):
            await self._tell(kind, found, brake, now_active=now_active)

    async def _let_go(self, kind: Resource, found: Found, brake: Brake) -> None:
        if await self._brakes.feed.definition_stands():
            if self._too_soon():
                return
            code = self._handles.code(brake.name)
            annotations = found["metadata"].get("annotations") or {}
            by = str(annotations.get(names.RELEASED_BY_ANNOTATION, ""))
            most = approved(brake, read_status(found)) if stops_a_run(brake) else None
            going = self._brakes.going()
            held = await self._releases.release(brake, code=code, going=going, most=most)
            if held is not None:
                self._report.brake_released(brake.name, brake.uid, by=by, held=held, at=self._clock.now())
        await self._free(kind, found)

    async def _free(self, kind: Resource, found: Found) -> None:
        """Where the definition goes, everything is held; our finalizer must not keep it from going."""
        finalizers = list(found["metadata"].get("finalizers") or ())
        if names.BRAKE_FINALIZER in finalizers and found["metadata"].get("deletionTimestamp"):
            finalizers.remove(names.BRAKE_FINALIZER)
            await self._put_finalizers(kind, found, finalizers)

    async def _put_finalizers(self, kind: Resource, found: Found, finalizers: list[str]) -> None:
        metadata = found["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}}
        try:
            await self._client.merge_patch(kind, str(metadata["name"]), patch)
        except NotFound:
            return

    async def _tell(self, kind: Resource, found: Found, brake: Brake, *, now_active: bool) -> None:
        now, uid = self._clock.now(), brake.uid
        at, before = self._written.get(uid, (0.0, read_status(found)))
        # What it held is judged anew within moments of its end, one by one.
        holds = now_active or self._handles.code(brake.name)
        held = self._held.told(brake) if holds else NOTHING
        status = status_of(
            brake,
            before,
            now=now,
            active=now_active,
            held=told_of_run(brake, before, held.number, first=uid not in self._written) if holds else 0,
            sample=held.sample,
            tripped_by=self._tripped_by.get(brake.name, ""),
            missing=self._missing(brake.scope),
        )
        urgent = uid not in self._written or status.active != before.active
        generation = status.observed_generation != before.observed_generation
        ready = status.conditions != before.conditions
        numbers = (status.held, status.tripped_by) != (before.held, before.tripped_by)
        if not (urgent or generation or ready or numbers):
            return
        if now - at < PAUSE_SECONDS and not (urgent or generation):
            return
        if status != before:
            said = {"status": in_full(status)}
            try:
                await self._client.merge_patch(kind, brake.name, said, subresource="status")
            except NotFound:
                return
        self._written[uid] = (now, status)

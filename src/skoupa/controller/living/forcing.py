"""Takes off the finalizers of participants whose time is over, where `spec.onTimeout` is ForceFinalizers.

Each is on Alive's status before (its caller has written that), in the ledger, and told as an Event. A Brake on everything, or on Alive,
holds, and then nothing is called forced; so does a ledger that takes no intent. Some go with one patch: with a thousand participants Alive is
half a megabyte, and each write of it costs the server as much as it is large. Whoever made the spec more careful meanwhile is heard: what was
decided by another spec is decided anew, and a patch is for the very state that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.course import Course
from skoupa.alive.reading import Alive, read_alive
from skoupa.controller.knowledge import Knowledge
from skoupa.errors import NotFound
from skoupa.facts.rows import Row
from skoupa.judge.brakes import BrakeGuard
from skoupa.kinds.alive import ALIVES
from skoupa.kinds.alive_status import Forced
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE, Partial
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.finalizers import FinalizerRemoval, Removal
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report

MECHANISM: Final = "alive"
# By the policy that guards Alive: what one request may change of a long list costs it as much as the list is long.
AT_A_TIME: Final = 40


class Forcing:
    """`worse` hears what holds it, `better` its end."""

    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        record: Record,
        report: Report,
        server_now: Callable[[], float],
        worse: Callable[[str], None],
        better: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._knowledge = knowledge
        self._record = record
        self._report = report
        self._now = server_now
        self._worse = worse
        self._better = better
        self._held = ""
        self._told: set[tuple[str, str]] = set()
        # By uid and finalizer, as what was told.
        self._decided: set[tuple[str, str]] = set()
        self._brakes = BrakeGuard(lambda: knowledge.brakes)
        self._removal = FinalizerRemoval(client, record=record, holds=self._holds, marking=True)

    def _hold(self, said: str) -> None:
        if self._held and self._held != said:
            self._better(self._held)
        self._held = said
        if said:
            self._worse(said)

    def rest(self) -> None:
        """There is nothing to be forced."""
        self._hold("")

    def stands(self, found: dict[str, Any], alive: Alive, at: Course, decided: Sequence[Forced]) -> bool:
        """Whether nothing holds what was decided; else that is told."""
        return not self._is_held(self._row(found), [self._asked(alive, at, one) for one in decided])

    def _is_held(self, row: Row, removals: Sequence[Removal]) -> bool:
        held = self._removal.held(row, removals)
        self._hold(_not_forced(held) if held is not None else "")
        return held is not None

    def named(self, alive: Alive, decided: Sequence[Forced]) -> tuple[Forced, ...]:
        """What the status is to call forced: those that are to go, and those that went so, as far as can be known.

        Who was done before its turn came, or is to be left alone after all, was not forced.
        """
        going, before = ({one.finalizer for one in some} for some in (decided, alive.status.forced))
        present = frozenset(alive.finalizers)
        kept = tuple(
            one
            for one in alive.status.forced
            if one.finalizer in going or (one.finalizer not in present and self._went(alive, one))
        )
        news = tuple(one for one in decided if one.finalizer not in before)
        self._decided.update((alive.uid, one.finalizer) for one in news)
        return (*kept, *news)

    def _went(self, alive: Alive, one: Forced) -> bool:
        """What another process decided may have been taken off by that."""
        key = (alive.uid, one.finalizer)
        return key not in self._decided or key in self._removal.taken

    async def force(self, alive: Alive, at: Course, decided: Sequence[Forced]) -> None:
        """Some at a time, each time from the state that those before left."""
        wanted = {one.finalizer: one for one in decided}
        try:
            found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
        except NotFound:
            return
        while True:
            present = read_alive(found)
            if (present.uid, present.generation) != (alive.uid, alive.generation):
                # Another spec, by which they may have more time, or all they want.
                return
            self.settle(found)
            together = _together(present.finalizers, wanted)
            if not together:
                return
            row, removals = self._row(found), [self._asked(present, at, wanted[one]) for one in together]
            if self._is_held(row, removals):
                return
            for one in removals:
                self._announce(alive, one)
            outcome = await self._removal.take_off(
                row,
                present.finalizers,
                removals,
                annotations=found["metadata"].get("annotations"),
            )
            if isinstance(outcome, Hold):
                self._hold(_not_forced(outcome))
                return
            if outcome is None:
                return
            found = outcome

    def _announce(self, alive: Alive, one: Removal) -> None:
        if (alive.uid, one.finalizer) not in self._told:
            self._told.add((alive.uid, one.finalizer))
            self._report.of_alive("SkoupaForced", render(one.claim.reason), uid=alive.uid, at=self._now())

    def settle(self, found: dict[str, Any]) -> None:
        """By Alive as it is now: one that was sent and not answered has an end in history too."""
        metadata = found["metadata"]
        finalizers, annotations = metadata.get("finalizers") or (), metadata.get("annotations") or {}
        self._removal.settle(str(metadata["uid"]), finalizers, annotations)

    def _asked(self, alive: Alive, at: Course, one: Forced) -> Removal:
        return Removal(one.finalizer, self._claim(alive, at, one))

    def _claim(self, alive: Alive, at: Course, one: Forced) -> Claim:
        entry = alive.entries.get(one.finalizer)
        why = reason(
            "finalizer-forced",
            why=at.why,
            finalizer=one.finalizer,
            identity=entry.identity if entry is not None else "nobody known",
            state=one.state or "Unknown",
            remaining="an unknown number" if one.remaining is None else str(one.remaining),
        )
        return Claim(
            mechanism=MECHANISM,
            rule=f"{ALIVES.kind}/{names.ALIVE_NAME}: ForceFinalizers {one.finalizer}",
            due=at.force_at or self._now(),
            reason=why,
        )

    def _row(self, found: dict[str, Any]) -> Row:
        return self._knowledge.extraction.row(
            ALIVES, msgspec.json.decode(msgspec.json.encode(found), type=Partial)
        )

    def _holds(self, row: Row, claim: Claim) -> list[Hold]:
        now = self._clock.now()
        away = self._record.hold(row, now)
        return [*self._brakes.holds(row, claim, now), *([away] if away is not None else ())]


def _together(present: Sequence[str], wanted: Collection[str]) -> Sequence[str]:
    """The next that stand side by side: what is taken out of one place only moves what is behind it, which costs the guard next to nothing."""
    begin = next((place for place, one in enumerate(present) if one in wanted), len(present))
    end = begin
    while end < len(present) and end - begin < AT_A_TIME and present[end] in wanted:
        end += 1
    # One may be there more than once.
    return tuple(dict.fromkeys(present[begin:end]))


def _not_forced(held: Hold) -> str:
    return f"finalizers of Alive are not forced: {render(held.reason)}"

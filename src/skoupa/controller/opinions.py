"""What this engine holds and why, object by object, for those who ask while it runs.

Judged anew when asked, as the sweep would; what only a try could find out is what the last try found. Holds that pass
within moments are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.engine import Engine
from skoupa.controller.policies.standings import standings_of
from skoupa.controller.retaining.policy_standings import standings_of as retention_standings
from skoupa.controller.sight.unread import unread
from skoupa.facts.rows import Row, pack_uid, uid_text
from skoupa.judge.brakes import Pulled
from skoupa.kinds.alive import ALIVES
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import REASONS, Reason, reason, render
from skoupa.model.verdicts import NOTHING, Claim, Hold, Verdict
from skoupa.report.opinions import Acts, Announcement, Opinion, PolicyStanding, Standing, Unread
from skoupa.sweep.memory import FAILING, HANGING

UNSEEN: Final = "unseen"
_DELETE_FAILS: Final = "its delete fails and is tried again"
_LOOK_FAILS: Final = "what would go along with it can't be looked at, which is tried again"
_HANGS: Final = "it waits, because other deletes of its kind or place are not answered"


class EngineOpinions:
    def __init__(self, engine: Engine, *, clock: Clock, observing: bool) -> None:
        self._engine = engine
        self._clock = clock
        self._observing = observing

    def acts(self) -> Acts:
        if not self._engine.ready.is_set():
            return "starts"
        if self._observing:
            return "observes"
        return "acts" if self._engine.acting else "stands-by"

    def of(self, uid: str, *, resource: str, namespace: str) -> Opinion:
        row = self._engine.knowledge.store.get(pack_uid(uid))
        if row is None:
            stays = (
                *self._unclear(uid, resource=resource, namespace=namespace),
                *self._unseen(resource, namespace),
            )
            return Opinion(uid=uid, resource=resource, namespace=namespace, stays=stays)
        return Opinion(
            uid=uid, resource=row.resource.qualified, namespace=row.namespace, stays=tuple(self._stays(row))
        )

    def rows(self) -> list[Row]:
        return list(self._engine.knowledge.store)

    def judged(self, row: Row, now: float) -> Verdict:
        if row.deleted_at:
            return NOTHING
        verdict = self._engine.knowledge.judge.foresee(row, now)
        if not verdict.claims:
            return verdict
        holds = [hold for hold in verdict.holds if not REASONS[hold.reason.code].passing]
        if not holds:
            holds += (Hold(reason=one) for one in self._engine.sweeper.memory.found.get(row.uid, ()))
            # As who asks the controller about single objects is told.
            home = self._engine.knowledge.settings.lease.namespace
            holds += (
                Hold(reason=reason("controller-holds", namespace=home, by=one.code, why=one.text))
                for one in self._stuck(row)
            )
        if verdict.claims[0].observed and not self._observing:
            holds.append(self._only_reported(verdict.claims[0]))
        return msgspec.structs.replace(verdict, holds=tuple(holds))

    def policies(self) -> list[PolicyStanding] | None:
        policies, retention = self._engine.policies, self._engine.retention
        if policies is None and retention is None:
            return None
        found = [] if policies is None else standings_of(policies, now=self._clock.now())
        return found if retention is None else [*found, *retention_standings(retention.rules.book)]

    def unread(self) -> list[Unread]:
        return unread(self._engine, self._clock.now())

    def announced(self) -> list[Announcement]:
        dying, deleted = self._engine.living.announced, self._engine.tenancy.announced
        found = [Announcement(kind=ALIVES.qualified, text=dying)] if dying else []
        return [*found, *(Announcement(kind=TENANTS.qualified, text=one) for one in deleted)]

    def brakes(self) -> Pulled:
        return self._engine.knowledge.brakes

    def _only_reported(self, claim: Claim) -> Hold:
        policies = self._engine.policies
        book = policies.book if policies is not None else ()
        policy = next((one.policy for one in book if one.called == claim.rule), None)
        until = (
            whole_seconds(policies.runs.observed_until(policy))
            if policies is not None and policy is not None
            else "its next run"
        )
        return Hold(reason=reason("policy-observes", policy=claim.rule, until=until))

    def _stays(self, row: Row) -> Iterator[Standing]:
        if row.deleted_at:
            return
        verdict = self._engine.knowledge.verdict(row, self._clock.now())
        memory = self._engine.sweeper.memory
        found = [hold.reason for hold in verdict.holds]
        yield from (_told(one) for one in found if not REASONS[one.code].passing)
        if not verdict.claims:
            # Against what another rule claims this is no hold.
            yield from self._unclear(
                uid_text(row.uid), resource=row.resource.qualified, namespace=row.namespace
            )
        if found or not verdict.claims:
            return
        yield from map(_told, memory.found.get(row.uid, ()))
        yield from self._stuck(row)

    def _stuck(self, row: Row) -> Iterator[Standing]:
        """What keeps it although nothing holds it."""
        memory = self._engine.sweeper.memory
        state = memory.overdue.get(row.uid, (0.0, ""))[1]
        if state == FAILING:
            fails = _LOOK_FAILS if self._observing else _DELETE_FAILS
            yield Standing(code=FAILING, text=f"{fails}: {memory.failures.words(row.uid)}")
        elif state == HANGING:
            yield Standing(code=HANGING, text=_HANGS)

    def _unclear(self, uid: str, *, resource: str, namespace: str) -> Iterator[Standing]:
        """Policies that match it and could not judge it, with the expression and the reason.

        Whoever asks may name a place where they may read and the uid of something elsewhere: that is told nothing.
        """
        if (policies := self._engine.policies) is not None:
            found = policies.runs.unclear.of(uid, resource=resource, namespace=namespace)
            yield from map(_told, found)

    def _unseen(self, resource: str, namespace: str) -> Iterator[Standing]:
        for blind in self._engine.knowledge.blind.values():
            if blind.resource.qualified == resource and blind.namespace in {"", namespace}:
                yield Standing(code=UNSEEN, text=f"{resource} can't be read there: {blind.why}")
                return


def _told(one: Reason) -> Standing:
    return Standing(code=one.code, text=render(one))

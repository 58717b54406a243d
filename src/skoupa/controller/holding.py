"""Everything that can hold an object in a running controller, over one Knowledge.

Beside what feeds tell: rights, backlogs, re-creation, the ledger, Brakes, and how much a rule chooses. All of it is asked
through the Judge of `knowledge`; who looks at what, and when, is for the sweeper.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

from skoupa.controller.agreeing import Agreeing
from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.braking.braking import Braking
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.recreation.loops import Recreations, given_time
from skoupa.controller.recreation.makers import RecreationMakers
from skoupa.controller.recreation.memory import RecreationMemory
from skoupa.controller.sight.rights import Rights
from skoupa.controller.state import State
from skoupa.controller.weighing.weighing import Weighing
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.mechanism import Ruling
from skoupa.judge.policies import PolicyMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.model.verdicts import Hold
from skoupa.settings import Settings
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report


class Holding:
    """`look_again` and `look_at` have what is held judged anew; `told` hears what is done in a poorer way.

    What is not known yet: `starting` says that the first lists are not complete, `uncounted` holds what was not counted,
    `behind` says why a ruling does not see all. `policies` are rules too, and wake by themselves.
    """

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        report: Report,
        record: Record,
        rulings: Sequence[Ruling],
        policies: PolicyMechanism | None,
        standing_by: Callable[[], bool],
        skew: Callable[[], float],
        starting: Callable[[], bool],
        uncounted: Callable[[Row, float], Hold | None],
        behind: Callable[[Ruling], str],
        look_again: Callable[[], None],
        look_at: Callable[[Iterable[Uid]], None],
        told: Callable[[str], None],
    ) -> None:
        self._enforcing = settings.mode == "enforce"
        self._standing_by = standing_by
        self.record = record
        self.state = State(client, namespace=settings.lease.namespace)
        self.agreeing = Agreeing(client.clock, skew=skew, look_again=look_again)
        self.rights = Rights(
            Access(client, clock=client.clock), namespaces=settings.namespaces, clock=client.clock
        )
        self._ttl = TtlMechanism(settings)
        self.recreations = Recreations(self._given)
        self._makers = RecreationMakers(self.recreations, client, look_at=look_at)
        self.recreation_memory = RecreationMemory(
            self.recreations, self.state, clock=client.clock, acting=self.acting
        )
        self.backlog = Backlog(due=self._due, may_go=self._may_go, starting=starting)
        self.knowledge = Knowledge(
            settings,
            rulings=(*rulings, policies) if policies is not None else rulings,
            skew=self.agreeing.judged,
            extra=(self.rights.hold, self.backlog.hold, uncounted, self.recreations.hold, record.hold),
        )
        self.braking = Braking(
            client,
            settings=settings,
            knowledge=self.knowledge,
            rights=self.rights,
            backlog=self.backlog,
            state=self.state,
            report=report,
            acting=self.acting,
            look_again=look_again,
            told=told,
        )
        self.weighing = Weighing(
            client,
            settings=settings,
            knowledge=self.knowledge,
            ceilings=self.braking.ceilings,
            state=self.state,
            trip=self.braking.trip,
            may_go=self._may_go,
            look_at=look_at,
            standing_by=standing_by,
            behind=behind,
            outdate=self.braking.releases.outdate,
            lift=self.braking.brakes.lift,
            note_ends=self.braking.note_ends,
            has_used=self.braking.gate.has_used,
            polls=bool(rulings),
        )
        self.knowledge.judge.join(self.weighing)
        record.weight, record.beside = self.braking.gate.weight, self.braking.gate.beside

    def learn(self, deltas: Sequence[Delta]) -> None:
        self.braking.learn(deltas)
        self._makers.learn(deltas)

    def work(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What goes on while the engine runs; none of it returns."""
        yield self.agreeing.follow()
        yield self.weighing.follow()
        yield self.recreation_memory.follow()
        yield self._makers.follow()

    def acting(self) -> bool:
        """Whether this replica may delete, and write state."""
        return self._enforcing and not self._standing_by()

    def _due(self, row: Row, now: float) -> float | None:
        return self.knowledge.labelled_due(row, now)

    def _given(self, row: Row) -> float:
        """How long it may stay by what is written on it and by retention policies."""
        policies = self.knowledge.retention_rules
        return max(given_time(self._ttl, row), policies.rules.given(row) if policies is not None else 0.0)

    def _may_go(self, row: Row, now: float) -> bool:
        """Neither kept nor protected; a right or a clock that is missing now may be there tomorrow."""
        return not self.knowledge.protection.reasons(row, now)

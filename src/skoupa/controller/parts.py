"""Mechanisms that do something by themselves while the engine runs: policies at their ticks, who uses what for retention, and deleted tenants.

Each is there only where its feature is on. The engine opens, feeds and closes them all alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from skoupa.controller.braking.swept import WayOut
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.living.existence import Existence
from skoupa.controller.living.living import Living
from skoupa.controller.living.released import ReleasedAlive
from skoupa.controller.policies.running import Policies
from skoupa.controller.retaining.retention import Retention
from skoupa.controller.state import State
from skoupa.controller.tenancy.released import ReleasedTenants
from skoupa.controller.tenancy.tenancy import Tenancy
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Uid
from skoupa.facts.store import Delta
from skoupa.judge.policies import PolicyMechanism
from skoupa.kube.client import Client
from skoupa.ledger.store import Store
from skoupa.runs.overhearing import Overhearing
from skoupa.settings import Settings
from skoupa.sweep.memory import Memory
from skoupa.sweep.record import Record


class Parts:
    """`look_in_turn` has much judged, one after the other, `look_at` at once; the rest is as in `Policies`."""

    def __init__(
        self,
        client: Client,
        mechanism: PolicyMechanism | None,
        *,
        settings: Settings,
        knowledge: Knowledge,
        state: State,
        way_out: WayOut,
        overhearing: Overhearing,
        memory: Callable[[], Memory],
        ledger: Callable[[], Store],
        standing_by: Callable[[], bool],
        learn: Callable[[Sequence[Delta]], None],
        look_in_turn: Callable[[Iterable[Uid]], None],
        look_at: Callable[[Iterable[Uid]], None],
        look_again: Callable[[], None],
        begun: Callable[[], None],
        namespaces_known: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
        record: Callable[[], Record],
        server_now: Callable[[], float],
    ) -> None:
        self.policies: Policies | None = None
        self.retention: Retention | None = None
        if mechanism is not None:
            self.policies = Policies(
                client,
                mechanism,
                settings=settings,
                knowledge=knowledge,
                state=state,
                overhearing=overhearing,
                memory=memory,
                standing_by=standing_by,
                learn=learn,
                look_at=look_in_turn,
                look_again=look_again,
                begun=begun,
                namespaces_known=namespaces_known,
                told=told,
                untold=untold,
            )
        if settings.features.retention:
            self.retention = Retention(
                client,
                settings=settings,
                knowledge=knowledge,
                way_out=way_out,
                overhearing=overhearing,
                ledger=ledger,
                standing_by=standing_by,
                learn=learn,
                look_at=look_at,
                look_again=look_again,
                told=told,
                untold=untold,
            )
        self.living: Living | ReleasedAlive = ReleasedAlive(
            client,
            settings=settings,
            existence=Existence(client, state=state, report=overhearing, server_now=server_now),
            standing_by=standing_by,
            told=told,
        )
        if settings.features.alive:
            self.living = Living(
                client,
                settings=settings,
                knowledge=knowledge,
                state=state,
                record=record(),
                report=overhearing,
                standing_by=standing_by,
                server_now=server_now,
                told=told,
                untold=untold,
            )
        self.tenancy: Tenancy | ReleasedTenants = ReleasedTenants(
            client, settings=settings, knowledge=knowledge, standing_by=standing_by, told=told
        )
        if settings.features.tenants:
            self.tenancy = Tenancy(
                client,
                settings=settings,
                knowledge=knowledge,
                overhearing=overhearing,
                memory=memory,
                standing_by=standing_by,
                learn=learn,
                look_at=look_at,
                told=told,
                untold=untold,
            )
        parts = (self.policies, self.retention, self.tenancy, self.living)
        self._all = tuple(part for part in parts if part is not None)

    @property
    def error(self) -> SkoupaError | None:
        return next((part.error for part in self._all if part.error is not None), None)

    def open(self, group: asyncio.TaskGroup) -> None:
        for part in self._all:
            part.open(group)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [task for part in self._all for task in part.work()]

    def arrange(self) -> None:
        """After every look at the kinds."""
        for part in self._all:
            part.arrange()

    def take_over(self) -> None:
        """This process acts from now on."""
        for part in self._all:
            part.take_over()

    def learn(self, deltas: Sequence[Delta]) -> None:
        for part in self._all:
            part.learn(deltas)

    def close(self) -> None:
        for part in self._all:
            part.close()

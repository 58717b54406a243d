"""`skoupa run` as a process: one engine, an election where it enforces, endpoints, and an orderly end.

The way to the server: HTTP, then flow control, then the clock comparison; writes of the engine pass the fence as well,
the election's own writes do not. SIGTERM lets what is under way finish, tells what is still to be told, and hands the
Lease over. An observer takes no Lease: it writes nothing.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import signal
import socket
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from skoupa import __version__
from skoupa.clock import Clock
from skoupa.controller.backlogs.started import Started
from skoupa.controller.engine import Engine
from skoupa.controller.gauges import gauges_of
from skoupa.controller.lanes import Lanes
from skoupa.controller.leading import tell_leads
from skoupa.controller.opinions import EngineOpinions
from skoupa.controller.records.own_ledger import own_ledger
from skoupa.controller.sight.feed_troubles import unreadable
from skoupa.controller.troubles import Troubles
from skoupa.errors import ServerFailure, TimedOut, TooManyRequests, Unreachable
from skoupa.judge.mechanism import Ruling
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.events import EventWriter
from skoupa.kube.fence import Fence
from skoupa.kube.http import HttpTransport
from skoupa.kube.leases import Election
from skoupa.kube.login.connection import Connection
from skoupa.kube.skew import SkewMeter
from skoupa.kube.transport import Transport
from skoupa.ledger.store import Store
from skoupa.report.endpoints import Beside, nothing_beside, serving
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics, Present
from skoupa.report.notices.notifier import notifier_of
from skoupa.report.reporter import Reporter
from skoupa.settings import Settings
from skoupa.sweep.record import Record

LAST_WORDS_SECONDS: Final = 10.0
YOUNG_OBJECTS: Final = 20_000
TRIES_IN_A_LEASE: Final = 5
FORGOTTEN: Final = "who leads next goes by what was written before: what was just released may count again"


class Process:
    """`started` is when the settings were read; None: just now."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        settings: Settings,
        *,
        log: Log,
        store: Store,
        rulings: Sequence[Ruling] = (),
        beside: Beside = nothing_beside,
        started: Started | None = None,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._log = log
        self._stopped = asyncio.Event()
        self._served_beside = beside
        enforcing = settings.mode == "enforce"
        self._lanes = Lanes(transport, clock, in_flight=settings.rate.in_flight)
        self._meter = SkewMeter(self._lanes, clock)
        # Two processes may share a name and even a pid; the Lease must tell them apart.
        identity = f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
        self.election: Election | None = None
        way: Transport = self._meter
        if enforcing:
            self.election = Election(
                Client(self._meter, clock),
                namespace=settings.lease.namespace,
                name=settings.lease.name,
                identity=identity,
                lease_seconds=settings.lease.seconds,
                # A leader that tries less often would lose its lead to one slow answer.
                retry_seconds=min(settings.lease.retry_seconds, settings.lease.seconds / TRIES_IN_A_LEASE),
            )
            way = Fence(self._meter, self.election)
        client = Client(way, clock)
        self.metrics = Metrics(self._present)
        # Events pass no fence: what a replica deleted while it led it still has to tell when it leads no more.
        self._events = EventWriter(Client(self._meter, clock), instance=identity) if enforcing else None
        self._notifier = notifier_of(
            settings.notices,
            clock,
            cluster=settings.cluster_name,
            namespace_notify=self._route_in,
            store=store,
        )
        self.reporter = Reporter(
            clock, log=log, metrics=self.metrics, events=self._events, notices=self._notifier
        )
        self._record = Record(
            store,
            clock,
            on_failure=settings.ledger.on_failure,
            epoch=lambda: self.election.epoch if self.election is not None else 0,
        )
        if self._events is not None:
            self._events.on_told = lambda event: self._record.told(event.uids)
        self.engine = Engine(
            client,
            settings=settings,
            report=self.reporter,
            record=self._record,
            rulings=rulings,
            standing_by=self._standing_by,
            skew=lambda: self._meter.skew,
            started=started,
        )
        self._troubles = Troubles(
            self.engine,
            clock=clock,
            log=log,
            errors=self._errors,
            standing_by=self._standing_by,
            settings=settings,
        )

    def _route_in(self, namespace: str) -> str | None:
        return self.engine.knowledge.route_in(namespace)

    def _standing_by(self) -> bool:
        return self.election is not None and not self.election.leading

    async def run(self) -> None:
        """Until a signal; returns when everything is finished and told."""
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_number, self.stop)
        asking = Client(self._meter, self._clock)
        opinions = EngineOpinions(self.engine, clock=self._clock, observing=self._settings.mode == "observe")
        async with (
            serving(
                self._settings.address, metrics=self.metrics, unready=self._unready, unhealthy=lambda: ""
            ) as address,
            self._served_beside(asking, self._record.store, opinions),
        ):
            self._log("started", version=__version__, mode=self._settings.mode, address=address)
            async with asyncio.TaskGroup() as group:
                beside = [group.create_task(work) for work in self._beside()]
                await self._run_engine()
                if (error := self.engine.unwritten) is not None:
                    self._log(
                        "not everything is written down", level="warning", error=str(error), then=FORGOTTEN
                    )
                await self._last_words()
                if undelivered := await self._notifier.drain():
                    self._log("some notices could not be delivered", level="warning", messages=undelivered)
                if not await self._record.journal.drain(LAST_WORDS_SECONDS):
                    self._log(
                        "some outcomes could not be written down",
                        level="warning",
                        **self._record.journal.statistics(),
                    )
                for task in beside:
                    task.cancel()
        self._log("stopped")

    def stop(self) -> None:
        self._log("stopping")
        self._stopped.set()
        self.engine.stop()

    async def _run_engine(self) -> None:
        """A server that is not there yet is waited for; anything else that stops the first look is told and ends it."""
        backoff = Backoff(self._clock)
        while not self._stopped.is_set():
            try:
                await self.engine.run()
            except* (Unreachable, TimedOut, ServerFailure, TooManyRequests) as group:
                error = group.exceptions[0]
                wait = backoff.next()
                self._log("waiting for the server", level="warning", error=str(error), retry_in=f"{wait:.1f}")
                await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        """Sleeps, but not through a signal."""
        try:
            async with self._clock.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    def _beside(self) -> list[Coroutine[Any, Any, None]]:
        work: list[Coroutine[Any, Any, None]] = [
            self._when_ready(),
            self._troubles.run(),
            self._record.journal.run(),
            self._notifier.run(),
        ]
        if self.election is not None:
            work += [self.election.run(), tell_leads(self.election, self._log)]
        if self._events is not None:
            work.append(self._events.run())
        if self.reporter.bundles is not None:
            work.append(self.reporter.bundles.run())
        return work

    async def _when_ready(self) -> None:
        await self.engine.ready.wait()
        feeds = self.engine.feeds
        self._log(
            "ready",
            objects=len(self.engine.knowledge.store),
            watches=len(feeds) if feeds is not None else 0,
            unreadable=unreadable(feeds, blind=self.engine.knowledge.blind) if feeds is not None else "",
        )
        # What was read at the start mostly stays, and what a delete leaves behind is no circle: the collector need not walk
        # it again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])

    def _errors(self) -> dict[str, object]:
        """Of the parts beside the engine's feeds and deletes."""
        return {
            "cluster": self.engine.last_error,
            "lease": self.election.last_error if self.election is not None else None,
            "events": self._events.last_error if self._events is not None else None,
            "ledger": self._record.journal.error,
            "ledger file": self._record.store.remark or None,
            **{f"route {name}": error for name, error in self._notifier.troubles().items()},
        }

    async def _last_words(self) -> None:
        """Events that are still to be told; a server that does not answer is not waited for long."""
        if self._events is None or self.reporter.bundles is None:
            return
        try:
            async with self._clock.timeout(LAST_WORDS_SECONDS):
                # The writer takes a bounded number at a time.
                while len(self.reporter.bundles):
                    self.reporter.bundles.flush(at_the_end=True)
                    await self._events.drain()
                await self._events.drain()
        except TimeoutError:
            self._log("some Events could not be told", level="warning", **self._events.statistics())

    def _unready(self) -> str:
        return "" if self.engine.ready.is_set() else "the first look at the cluster is not finished"

    def _present(self) -> Present:
        gauges = gauges_of(self.engine, self._clock.now())
        events = self._events.statistics() if self._events is not None else {}
        ledger = self._record.journal.statistics()
        queues = gauges["skoupa_queue"]
        queues["events",], queues["ledger",] = events.pop("queued", 0), ledger.pop("queued")
        return {
            **gauges,
            "skoupa_events_total": {(outcome,): count for outcome, count in events.items()},
            "skoupa_requests_total": {key: float(count) for key, count in self._lanes.requests.items()},
            "skoupa_clock_skew_seconds": {(): self._meter.skew},
            "skoupa_ledger_changes_total": {(what,): count for what, count in ledger.items()},
            **self._notifier.present(),
            "skoupa_leading": {(): float(self.election is not None and self.election.leading)},
            "skoupa_build_info": {(__version__, self._settings.mode): 1.0},
        }


async def run_process(
    connection: Connection,
    clock: Clock,
    settings: Settings,
    *,
    log: Log,
    rulings: Sequence[Ruling] = (),
    beside: Beside = nothing_beside,
    started: Started | None = None,
) -> None:
    async with HttpTransport(connection, clock) as transport:
        asking = Client(transport, clock)
        async with own_ledger(asking, settings, server=connection.server, log=log) as store:
            process = Process(
                transport,
                clock,
                settings,
                log=log,
                store=store,
                rulings=rulings,
                beside=beside,
                started=started,
            )
            await process.run()

"""The entry: `tell` a Notice, `run` beside the rest, `drain` at the end.

`tell` is a few dictionary look-ups and never waits. Without routes nothing is done at all: no task, no session, no
memory. One task closes the batches of all routes, one more for each route hands its messages over.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from skoupa.clock import Clock
from skoupa.ledger.store import Store
from skoupa.report.notices.announced import Announced
from skoupa.report.notices.courier import Courier, Statistics
from skoupa.report.notices.notice import Notice, plain
from skoupa.report.notices.posting import HttpPost, Post
from skoupa.report.notices.repeats import Repeats
from skoupa.report.notices.routes import Route, choose, open_routes
from skoupa.settings import seconds
from skoupa.settings.notices import NoticeSettings

DRAIN_SECONDS: Final = 5.0
EVERY_SECONDS: Final = 60.0
TIMEOUT_SECONDS: Final = 10.0
_SHOWN_NAME: Final = 60


def _nothing_said(_: str) -> str | None:
    return None


class Notifier:
    """`namespace_notify` is what a Namespace's annotation says about the route of all that is in it."""

    def __init__(
        self,
        clock: Clock,
        routes: Iterable[Route] = (),
        *,
        default: str = "",
        every: float = EVERY_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
        cluster: str = "",
        namespace_notify: Callable[[str], str | None] = _nothing_said,
        post: Post | None = None,
        announced: Announced | None = None,
    ) -> None:
        self._clock = clock
        self._default = default
        self._every = every
        self._namespace_notify = namespace_notify
        self._post: Post = post or HttpPost(clock.now)
        self._couriers = {
            route.name: Courier(
                route,
                clock,
                post=self._post,
                timeout=timeout,
                cluster=plain(cluster, limit=_SHOWN_NAME),
                announced=announced,
            )
            for route in routes
        }
        self._repeats = Repeats()
        self._added = asyncio.Event()
        self.unknown_routes = 0

    def __bool__(self) -> bool:
        """Whether anybody is told anything."""
        return bool(self._couriers)

    def tell(self, notice: Notice) -> None:
        if not self._couriers:
            return
        namespace = notice.namespace
        choice = choose(
            own=notice.notify,
            of_namespace=(self._namespace_notify(namespace) or "") if namespace and not notice.notify else "",
            known=self._couriers,
            default=self._default,
        )
        courier = self._couriers.get(choice.route)
        wanted = notice.what in courier.route.events if courier is not None else bool(choice.unknown)
        if not wanted or not self._repeats.is_new(notice):
            return
        remark = ""
        if choice.unknown:
            self.unknown_routes += 1
            remark = _remark(notice, choice.unknown)
        if courier is not None:
            courier.add(notice, remark=remark)
            self._added.set()

    async def run(self) -> None:
        """Until cancelled; without routes it returns at once."""
        if not self._couriers:
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._close_batches())
                for courier in self._couriers.values():
                    group.create_task(courier.run())
        finally:
            await self._post.close()

    async def _close_batches(self) -> None:
        while True:
            await self._added.wait()
            await self._clock.sleep(self._every)
            self._added.clear()
            for courier in self._couriers.values():
                await courier.close_batch()

    async def drain(self, limit: float = DRAIN_SECONDS) -> int:
        """A last flush while `run` still runs; gives the number of messages that nobody took within the limit."""
        couriers = self._couriers.values()
        failed = sum(courier.statistics().failed for courier in couriers)
        async with asyncio.TaskGroup() as group:
            for courier in couriers:
                group.create_task(courier.close_batch())
        for courier in couriers:
            courier.last_call(on=True)
        try:
            async with self._clock.timeout(limit):
                for courier in couriers:
                    await courier.done()
        except TimeoutError:
            pass
        finally:
            for courier in couriers:
                courier.last_call(on=False)
        return sum(courier.statistics().failed + courier.queued for courier in couriers) - failed

    def statistics(self) -> dict[str, Statistics]:
        """By the name of the route."""
        return {name: courier.statistics() for name, courier in self._couriers.items()}

    def troubles(self) -> dict[str, str]:
        """Routes whose last try failed, with why; fit for a log."""
        return {name: found.last_error for name, found in self.statistics().items() if found.last_error}

    def present(self) -> dict[str, dict[tuple[str, ...], float]]:
        """For the metrics: name, label values, value."""
        found = self.statistics()
        outcomes = ("sent", "failed", "dropped", "retried")
        return {
            "skoupa_notice_messages_total": {
                (name, outcome): float(getattr(one, outcome))
                for name, one in found.items()
                for outcome in outcomes
            },
            "skoupa_notice_queue": {(name,): float(one.queued) for name, one in found.items()},
            "skoupa_notice_unknown_routes_total": {(): float(self.unknown_routes)},
        }


def _remark(notice: Notice, unknown: str) -> str:
    named = f"{notice.kind}/{notice.name}" if notice.kind else notice.name
    where = f" in {notice.namespace}" if notice.namespace else ""
    shown = plain(unknown, limit=_SHOWN_NAME)
    return f"there is no route {shown!r}, which skoupa.dev/notify names for {plain(named)}{where}: told here instead"


def notifier_of(
    notices: NoticeSettings,
    clock: Clock,
    *,
    cluster: str = "",
    namespace_notify: Callable[[str], str | None] = _nothing_said,
    store: Store | None = None,
    post: Post | None = None,
    environ: Mapping[str, str] = os.environ,
    source: str = "the settings",
) -> Notifier:
    """From the settings; raises a UsageError, which names the route, where they can't work.

    `store` remembers what was told ahead of its time, for the processes after this one.
    """
    return Notifier(
        clock,
        open_routes(notices, environ=environ, source=source),
        default=notices.default,
        every=float(seconds(notices.every)),
        timeout=float(seconds(notices.timeout)),
        cluster=cluster,
        namespace_notify=namespace_notify,
        post=post,
        announced=Announced(store, clock) if store is not None else None,
    )

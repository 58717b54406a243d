"""Notices, routes and a receiver in memory, as short as what tests say about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from skoupa.clock import Clock
from skoupa.report.notices import Notice, Notifier, Route, open_routes
from skoupa.report.notices.digest import Batch, Digest
from skoupa.report.notices.posting import Outcome, Outgoing
from skoupa.settings.notices import NoticeSettings

AT = 1_767_225_600.0
TAKEN = Outcome()
BUSY = Outcome(said="it answered 503", again=True)
REFUSED = Outcome(said="it refused the message with 404")
EVERYTHING = ["braked", "failed", "stuck", "notice", "held", "deleted", "would-delete"]


def notice(name: str = "web", **facts: Any) -> Notice:
    known = {
        "what": "deleted",
        "kind": "configmaps",
        "namespace": "shop",
        "why": "its time is over",
        "at": AT,
    }
    return Notice(name=name, **{**known, **facts})


def digest(*notices: Notice, cluster: str = "prod", remark: str = "") -> Digest:
    batch = Batch(route="ops", cluster=cluster)
    for one in notices:
        batch.add(one, remark=remark)
    return batch.close()


def settings(*routes: Mapping[str, Any], **more: Any) -> NoticeSettings:
    return msgspec.convert({"routes": list(routes), **more}, NoticeSettings)


def route(name: str = "ops", *, url: str = "http://receiver.test/hook", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "webhook", "url": url, "events": EVERYTHING, **more}


def opened(*routes: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> tuple[Route, ...]:
    return open_routes(settings(*routes), environ=environ or {})


class Inbox:
    """A receiver that answers as it is told to: `outcomes` one after the other, then with success."""

    def __init__(self, clock: Clock, outcomes: Iterable[Outcome] = ()) -> None:
        self._clock = clock
        self._outcomes: Iterator[Outcome] = iter(outcomes)
        self.tries: list[tuple[float, Outgoing]] = []
        self.hang_on: Callable[[Outgoing], bool] = lambda _: False
        self.closed = False

    async def __call__(self, outgoing: Outgoing) -> Outcome:
        self.tries.append((self._clock.now(), outgoing))
        if self.hang_on(outgoing):
            await asyncio.Event().wait()
        return next(self._outcomes, TAKEN)

    async def close(self) -> None:
        self.closed = True

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.tries]

    def bodies(self, url: str = "") -> list[dict[str, Any]]:
        return [
            msgspec.json.decode(outgoing.body)
            for _, outgoing in self.tries
            if not url or outgoing.url.reveal() == url
        ]


def header(outgoing: Outgoing, name: str) -> str:
    return next((value.reveal() for key, value in outgoing.headers if key == name), "")


@asynccontextmanager
async def running(notifier: Notifier) -> AsyncIterator[Notifier]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(notifier.run())
        yield notifier
        task.cancel()

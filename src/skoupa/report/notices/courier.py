"""One route's courier: gathers, queues, and hands over one message at a time until it is taken or refused.

The queue is bounded: of a route that is down for long the oldest messages are dropped, and counted. Couriers share
nothing, so a route that hangs keeps nobody waiting but itself. A refusal (4xx, a redirect) is final, and after an hour
of tries so is any failure.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.kube.backoff import Backoff
from skoupa.kube.login.secret import Secret
from skoupa.report.notices.announced import Announced, is_ahead, key_of
from skoupa.report.notices.digest import Batch
from skoupa.report.notices.notice import Notice
from skoupa.report.notices.posting import Outcome, Outgoing, Post
from skoupa.report.notices.routes import Route
from skoupa.report.notices.slack import slack_body
from skoupa.report.notices.webhook import (
    ID_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    content_type,
    signature,
    webhook_body,
)

QUEUE_SIZE: Final = 30
FIRST_WAIT: Final = 1.0
# A message that makes its receiver fail each time must not keep the ones behind it waiting for ever.
GIVE_UP_SECONDS: Final = 3600.0


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Messages, not objects; `last_error` is "" after one that was taken."""

    sent: int
    failed: int
    dropped: int
    retried: int
    queued: int
    last_error: str


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it will be sent; headers that depend on the moment are added by each try."""

    id: str
    body: bytes
    content_type: str
    # What it tells of ahead of its time, and when that is.
    announces: dict[str, float]


class Courier:
    """`announced` knows what was told ahead of its time before; without it everything is new."""

    def __init__(
        self,
        route: Route,
        clock: Clock,
        *,
        post: Post,
        timeout: float,
        cluster: str,
        announced: Announced | None = None,
    ) -> None:
        self.route = route
        self._clock = clock
        self._post = post
        self._timeout = timeout
        self._cluster = cluster
        self._batch = Batch(route=route.name, cluster=cluster)
        self._announced = announced
        # Not compared yet with what was told before, and what of it is in the batch.
        self._ahead: dict[str, tuple[Notice, str]] = {}
        self._announces: dict[str, float] = {}
        self._closing = asyncio.Lock()
        self._queue: deque[Ready] = deque()
        self._filled = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self._hurry = asyncio.Event()
        self._sent = self._failed = self._dropped = self._retried = 0
        self._under_way = 0
        self._last_error = ""

    def add(self, notice: Notice, *, remark: str = "") -> None:
        if self._announced is not None and is_ahead(notice):
            self._ahead[key_of(notice, route=self.route.name)] = (notice, remark)
        else:
            self._batch.add(notice, remark=remark)

    async def close_batch(self) -> None:
        """What was gathered and is news becomes a message; nothing gathered, no message."""
        # Who ends the process must not pass by what another closing has in its hands.
        async with self._closing:
            await self._sift()
            self._close()

    def _close(self) -> None:
        if not self._batch:
            return
        digest = self._batch.close()
        self._batch = Batch(route=self.route.name, cluster=self._cluster)
        template = self.route.template
        slack = self.route.type == "slack"
        self._queue.append(
            Ready(
                id=digest.id,
                body=slack_body(digest, template=template)
                if slack
                else webhook_body(digest, template=template),
                content_type="application/json" if slack else content_type(template),
                announces=self._announces,
            )
        )
        self._announces = {}
        while len(self._queue) > QUEUE_SIZE:
            self._queue.popleft()
            self._dropped += 1
        self._done.clear()
        self._filled.set()

    async def _sift(self) -> None:
        """What a process before this one announced is no news, though it begins with all that is still to come."""
        ahead, self._ahead = self._ahead, {}
        if not ahead or self._announced is None:
            return
        known = await self._announced.among(ahead)
        for key, (notice, remark) in ahead.items():
            if key not in known and notice.due is not None:
                self._batch.add(notice, remark=remark)
                self._announces[key] = notice.due

    async def run(self) -> None:
        while True:
            await self._filled.wait()
            while self._queue:
                message = self._queue.popleft()
                self._under_way = 1
                await self._hand_over(message)
                self._under_way = 0
            self._filled.clear()
            self._done.set()

    async def _hand_over(self, message: Ready) -> None:
        backoff = Backoff(self._clock, first=FIRST_WAIT)
        give_up_at = self._clock.monotonic() + GIVE_UP_SECONDS
        while True:
            outcome = await self._try(message)
            self._last_error = outcome.said
            if outcome.sent:
                self._sent += 1
                if message.announces and self._announced is not None:
                    await self._announced.remember(message.announces)
                return
            too_late = self._hurry.is_set() or self._clock.monotonic() >= give_up_at
            if not outcome.again or too_late:
                self._failed += 1
                return
            self._retried += 1
            await self._pause(max(backoff.next(), outcome.retry_after))

    async def _try(self, message: Ready) -> Outcome:
        try:
            async with self._clock.timeout(self._timeout):
                return await self._post(self._outgoing(message))
        except TimeoutError:
            return Outcome(said=f"no answer within {self._timeout:g} s", again=True)
        except Exception as error:  # noqa: BLE001 - whatever a library raises must not end the process that deletes
            return Outcome(said=f"sending failed unexpectedly ({type(error).__name__})", again=True)

    def _outgoing(self, message: Ready) -> Outgoing:
        timestamp = str(int(self._clock.now()))
        given = tuple((name, value.now()) for name, value in self.route.headers)
        headers = [(ID_HEADER, Secret(message.id)), (TIMESTAMP_HEADER, Secret(timestamp))]
        if not any(name.lower() == "content-type" for name, _ in given):
            headers.append(("Content-Type", Secret(message.content_type)))
        if self.route.secret is not None:
            signed = signature(message.body, timestamp=timestamp, secret=self.route.secret.now())
            headers.append((SIGNATURE_HEADER, Secret(signed)))
        return Outgoing(
            url=self.route.url.now(),
            headers=(*headers, *given),
            body=message.body,
            tells_why=self.route.type == "slack",
        )

    async def _pause(self, seconds: float) -> None:
        """Waits, but not through the last call."""
        try:
            async with self._clock.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return

    def last_call(self, *, on: bool) -> None:
        """While it is on, each message gets one more try, at once, and no second."""
        if on:
            self._hurry.set()
        else:
            self._hurry.clear()

    async def done(self) -> None:
        await self._done.wait()

    @property
    def queued(self) -> int:
        """Messages that are not handed over yet, the one under way among them."""
        return len(self._queue) + self._under_way

    def statistics(self) -> Statistics:
        return Statistics(
            sent=self._sent,
            failed=self._failed,
            dropped=self._dropped,
            retried=self._retried,
            queued=self.queued,
            last_error=self._last_error,
        )

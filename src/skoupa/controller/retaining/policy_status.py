"""The status of retention policies: whether each is understood, what it is about, what it waits for, and what came of it.

Worked out anew after something happened, not for every change, and where time alone makes it another: when the next object is due, and
now and then while something is held. While observing, and while another leads, nothing is written.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.retaining.policy_book import Entry, RetentionBook
from skoupa.controller.writing.statuses import StatusWriter
from skoupa.errors import SkoupaError
from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.retention.policy import RetentionStatus
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.policy.problems import Problem

# What changes within such a time is written once.
GATHER_SECONDS: Final = 5.0
# What nobody tells of is looked at again no sooner than this, and takes no more than a small part of the time.
REST_SECONDS: Final = 60.0
_PART: Final = 50.0
# What holds objects may end by itself.
HELD_SECONDS: Final = 600.0
_LONGEST: Final = 4000


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy is about at a moment. `sooner` go earlier by a time of their own, by what that is, `limited` may by a limit of their owner.

    `ties` are others that count as much for some of it, `limiting` those of them that have a limit, `unread` what is in the way of seeing
    all. `without_quota`: why there is no limit to take from quotas.
    """

    matched: int = 0
    waiting: int = 0
    held_by_owners: int = 0
    held: int = 0
    overridden: int = 0
    next_time: float | None = None
    sooner: tuple[tuple[str, int], ...] = ()
    limited: tuple[tuple[str, int], ...] = ()
    ties: tuple[str, ...] = ()
    limiting: tuple[str, ...] = ()
    without_quota: str = ""
    unread: tuple[str, ...] = ()


class RetentionStatuses:
    """`counts` works out what is to be said of a policy now."""

    def __init__(
        self,
        client: Client,
        book: RetentionBook,
        *,
        counts: Callable[[Entry], Awaitable[Counts]],
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._book = book
        self._counts = counts
        self._acting = acting
        self._wanted: set[str] = set()
        # By uid and generation: what went, beside what was written when this process began.
        self._deleted: Counter[tuple[str, int]] = Counter()
        self._began: dict[tuple[str, int], int] = {}
        # When each is looked at again although nobody told of anything, by the clock that never jumps.
        self._again: dict[str, float] = {}
        self._writer = StatusWriter(client, words=_poorer, told=told, untold=untold)
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def want(self, uids: Iterable[str] | None = None) -> None:
        """None: all of them."""
        self._wanted.update(entry.uid for entry in self._book) if uids is None else self._wanted.update(uids)
        self._news.set()

    def deleted(self, uid: str, generation: int, number: int = 1) -> None:
        self._deleted[uid, generation] += number
        self.want((uid,))

    def doubt(self) -> None:
        """Another may have written meanwhile."""
        self._writer.doubt()
        self._began.clear()
        self._deleted.clear()
        self.want()

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._nap()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            self._writer.denials.due()
            wanted, self._wanted = self._wanted, set()
            self.error = None
            for uid in sorted(wanted, key=lambda one: (self._writer.denials.was_refused(one), one)):
                entry = self._book.get(uid)
                self._again.pop(uid, None)
                if entry is None:
                    self._writer.forget(uid)
                elif self._acting():
                    self.error = await self._write(entry) or self.error
            if self.error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())

    async def _nap(self) -> None:
        """Until something happened, or time has made something another."""
        first = min(self._again.values(), default=None)
        with suppress(TimeoutError):
            async with self._clock.timeout(
                None if first is None else max(0.0, first - self._clock.monotonic())
            ):
                await self._news.wait()
        # Also where there is always news of others.
        now = self._clock.monotonic()
        self._wanted.update(uid for uid, at in self._again.items() if at <= now)

    def _look_again(self, entry: Entry, counts: Counts, *, began: float) -> None:
        now = self._clock.monotonic()
        waits = [HELD_SECONDS] if counts.held else []
        if counts.next_time is not None:
            waits.append(counts.next_time - self._clock.now())
        if waits:
            rest = max(REST_SECONDS, _PART * (now - began))
            self._again[entry.uid] = now + max(rest, min(waits))

    async def _write(self, entry: Entry) -> SkoupaError | None:
        began = self._clock.monotonic()
        counts = await self._counts(entry)
        self._look_again(entry, counts, began=began)
        status = self._status(entry, counts)
        if not self._acting():
            # That took a while, where there is much: another may lead by now.
            return None
        try:
            await self._writer.write(
                entry.kind, entry.uid, status, name=entry.name, namespace=entry.namespace
            )
        except SkoupaError as error:
            self.want((entry.uid,))
            return error
        return None

    def _status(self, entry: Entry, counts: Counts) -> dict[str, Any]:
        now = self._clock.now()
        before = _read(entry.status)
        status = RetentionStatus(
            conditions=updated(before.conditions, _ready(entry, counts, self._book.doubt(), now)),
            observed_generation=entry.generation,
            matched=counts.matched,
            waiting=counts.waiting,
            held_by_owners=counts.held_by_owners,
            held=counts.held,
            deleted=self._went(entry, before),
            overridden=counts.overridden,
            next_time=None
            if counts.next_time is None
            else datetime.fromtimestamp(int(counts.next_time), UTC),
        )
        # A merge patch leaves what it does not name.
        return {"nextTime": None, **msgspec.to_builtins(status)}

    def _went(self, entry: Entry, before: RetentionStatus) -> int:
        key = (entry.uid, entry.generation)
        if key not in self._began:
            same = before.observed_generation == entry.generation
            self._began[key] = (before.deleted or 0) if same else 0
        return self._began[key] + self._deleted[key]


def _ready(entry: Entry, counts: Counts, doubt: str, now: float) -> Condition:
    if entry.policy is None:
        state, why, said = "False", "Invalid", in_words(entry.reading.problems)
    elif doubt:
        state, why, said = "Unknown", "NotRead", f"what is known of retention policies may be old: {doubt}"
    elif counts.unread:
        state, why, said = (
            "False",
            "Unreadable",
            f"not all that it is about is seen: {'; '.join(counts.unread)}",
        )
    elif entry.policy.suspended:
        state, why, said = "True", "Suspended", "nothing goes by it while it is suspended"
    else:
        state, why, said = "True", "Understood", " ".join(_remarks(entry, counts)) or "it is understood"
    return Condition(
        type=READY,
        status=state,  # type: ignore[arg-type] # one of the three
        reason=why,
        message=said[:_LONGEST],
        last_transition_time=datetime.fromtimestamp(int(now), UTC),
        observed_generation=entry.generation,
    )


def _remarks(entry: Entry, counts: Counts) -> Iterable[str]:
    for one in entry.reading.warnings:
        yield f"{one.path}: {one.what}; {one.instead}."
    if counts.ties:
        yield f"{', '.join(counts.ties)} count as much for some of its objects, which go when all agree."
    if counts.limiting and entry.policy is not None and entry.policy.after:
        yield f"What is over the limit of {', '.join(counts.limiting)} goes at once, before its own times have come."
    if counts.without_quota:
        yield f"{counts.without_quota}."
    if counts.held_by_owners:
        ignores = entry.policy is not None and not entry.policy.owners_hold
        what = "where all policies that count as much have it" if ignores else "lets them go"
        yield f"{counts.held_by_owners} stay while an owner lives (owners: Ignore {what})."
    for path, number in counts.sooner:
        yield f"{number} may go sooner by their own {path}."
    for limit, number in counts.limited:
        yield f"{number} may go sooner by {limit}."


def in_words(problems: Iterable[Problem]) -> str:
    return "; ".join(f"{one.path}: {one.what}; {one.instead}" for one in problems)


def _read(status: Any) -> RetentionStatus:
    try:
        return msgspec.convert(status, RetentionStatus)
    except msgspec.ValidationError:
        return RetentionStatus()


def _poorer(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: what retention policies do stands in the log alone"

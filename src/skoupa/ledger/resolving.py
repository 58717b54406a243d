"""What became of intents that a crash, or a leader that was replaced, left open: decided by a look at the cluster.

To be done before the first new intent. A row that can't be decided because the cluster does not answer stays open for
the next time, and so does one whose object is still terminating. Nobody waits for long: a look has a limit, a kind that
did not answer is not asked again, and all looks together have a limit too. Rows are adopted: they carry our epoch then.
The old leader may still be at work for a moment: its news of a deletion outranks what was decided here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, TimedOut
from skoupa.ledger.rows import DELETIONS, Entry, Result
from skoupa.ledger.store import Resolution, Store

# Times of deletions are whole seconds, and clocks differ a little.
_SLACK_SECONDS: Final = 2.0
# As many as a client sends at once from its first moment: who waits for a turn is not asking yet.
_LOOKING_AT_ONCE: Final = 8
LOOK_SECONDS: Final = 5.0
ALL_LOOKS_SECONDS: Final = 30.0
_WRITTEN_AT_ONCE: Final = 500
# What the server took, or must have taken, as far as anybody can know.
_WENT: Final = (*DELETIONS, "gone-by-unknown")


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What is there under the uid of a row. `since`: when its deletion was asked for, 0 where that is not known.

    `ours`: something beyond the row shows that the deletion was Skoupa's, such as its Event.
    """

    state: Literal["present", "terminating", "absent", "unknown"]
    since: float = 0.0
    ours: bool = False


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows got which outcome, and those that are open still; `silent` are kinds that did not answer.

    `went` are those that were in flight and, as is known now, went or are on their way: nobody was told of them.
    """

    outcomes: dict[Result, int]
    left: tuple[Entry, ...]
    went: tuple[Entry, ...] = ()
    silent: tuple[str, ...] = ()


def outcome_of(entry: Entry, sight: Sight) -> Result | None:
    """None: nothing is known, so nothing is decided."""
    if entry.outcome == "terminating":
        return "deleted" if sight.state == "absent" else None
    match sight.state:
        case "present":
            return "still-there"
        case "terminating":
            # A deletion from before our only intent is somebody else's.
            before = 0 < sight.since < entry.at - _SLACK_SECONDS
            somebody_else = before and entry.attempts <= 1 and not sight.ours
            return "gone" if somebody_else else "terminating"
        case "absent":
            return "deleted" if sight.ours else "gone-by-unknown"
        case "unknown":
            return None


async def resolve(
    store: Store,
    look: Callable[[Entry], Awaitable[Sight]],
    *,
    epoch: int | None,
    clock: Clock,
    among: Sequence[Entry] | None = None,
    within: float = ALL_LOOKS_SECONDS,
) -> Resolved:
    """Closes all open rows of the store's cluster, or those `among` them, as far as `look` finds out `within` that time.

    Without an `epoch` rows are not adopted: whoever has them may be at work. Raises LedgerUnavailable.
    """
    outcomes: Counter[Result] = Counter()
    left: list[Entry] = []
    went: list[Entry] = []
    entries = await store.open_entries() if among is None else among
    looks = _Looks(look, clock, until=clock.monotonic() + within)
    for begin in range(0, len(entries), _WRITTEN_AT_ONCE):
        some = entries[begin : begin + _WRITTEN_AT_ONCE]
        sights = await looks.at_all(some)
        resolutions = []
        for entry, sight in zip(some, sights, strict=True):
            outcome = outcome_of(entry, sight)
            if outcome is None:
                left.append(entry)
                continue
            taken, now = entry.epoch if epoch is None else epoch, clock.now()
            outcomes[outcome] += 1
            resolutions.append(
                Resolution(uid=entry.uid, seen=entry.epoch, epoch=taken, outcome=outcome, at=now)
            )
            resolved = msgspec.structs.replace(entry, outcome=outcome, epoch=taken)
            if outcome == "terminating":
                # Its end is still to come.
                left.append(resolved)
            if entry.outcome == "intended" and outcome in _WENT:
                went.append(msgspec.structs.replace(resolved, finished_at=now))
        if resolutions:
            await store.write(resolutions)
    return Resolved(
        outcomes=dict(outcomes),
        left=tuple(left),
        went=tuple(went),
        silent=tuple(sorted(looks.silent)),
    )


class _Looks:
    """Looks at many, a few at a time; what is not seen by `until` is unknown."""

    def __init__(self, look: Callable[[Entry], Awaitable[Sight]], clock: Clock, *, until: float) -> None:
        self._look = look
        self._clock = clock
        self._until = until
        self.silent: set[str] = set()

    async def at_all(self, entries: Sequence[Entry]) -> list[Sight]:
        sights = [Sight(state="unknown")] * len(entries)

        async def work(places: Iterator[int]) -> None:
            for place in places:
                sights[place] = await self._at(entries[place])

        places = iter(range(len(entries)))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(_LOOKING_AT_ONCE, len(entries))):
                group.create_task(work(places))
        return sights

    async def _at(self, entry: Entry) -> Sight:
        time_left = self._until - self._clock.monotonic()
        if time_left > 0 and entry.resource not in self.silent:
            try:
                async with self._clock.timeout(min(LOOK_SECONDS, time_left)):
                    return await self._look(entry)
            except (TimeoutError, TimedOut):
                self.silent.add(entry.resource)
            except SkoupaError:
                # What can't be read now is unknown; the others need not wait for it.
                pass
        return Sight(state="unknown")

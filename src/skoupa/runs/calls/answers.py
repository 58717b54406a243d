"""What one run of a policy has asked already, and how much more it may ask.

The same question is asked once, also when it failed: all objects of a run are judged by the same answers, and a service that
hangs costs a run a few waits and not one per object. Answers are kept up to a size; beyond it the oldest are asked for anew. Whether
something had no answer that may have one later is remembered: then the run may be worth another try.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, TypeVar, cast

import msgspec

from skoupa.errors import PASSING, BadReply, KindUnreadable, SkoupaError, TimedOut, UsageError

# Bytes as they came; what they are decoded to is several times that.
KEPT_BYTES: Final = 8_000_000
PATIENCE: Final = 3
_UNREAD: Final = object()


class Answer:
    """A body as it came, decoded when somebody looks. Whoever gets the value only reads it: it is shared."""

    __slots__ = ("_value", "body", "status", "where")

    def __init__(self, body: bytes, *, where: str, status: int = 200) -> None:
        self.body = body
        self.where = where
        self.status = status
        self._value: Any = _UNREAD

    @property
    def weight(self) -> int:
        return len(self.body)

    def value(self) -> Any:
        if self._value is _UNREAD:
            self._value = decoded(self.body, where=self.where)
        return self._value


class Known:
    """A value that somebody else keeps, as an Answer; encoded when somebody wants it so."""

    __slots__ = ("_body", "_value")

    weight = 0

    def __init__(self, value: Any) -> None:
        self._value = value
        self._body = b""

    @property
    def body(self) -> bytes:
        self._body = self._body or msgspec.json.encode(self._value)
        return self._body

    def value(self) -> Any:
        return self._value


def decoded(body: bytes, *, where: str) -> Any:
    # An answer is not quoted: it may be anything, also a secret.
    advice = "policies read answers in JSON only"
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadReply(f"{where} answered with something that is no JSON", advice=advice) from None
    except RecursionError:
        raise BadReply(f"{where} answered with JSON that is nested too deeply", advice=advice) from None


_A = TypeVar("_A", Answer, Known)


class Answers:
    """One per run. `place` is who is asked: where it was silent too often, it is asked no more in this run."""

    def __init__(self, *, most: int, kept_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._left = most
        self._kept: dict[Hashable, Answer | Known | SkoupaError] = {}
        self._room = kept_bytes
        self._under_way: dict[Hashable, asyncio.Lock] = {}
        self._silences: Counter[str] = Counter()
        # What had no answer, for a reason that passes, when it was asked last; who does not wait may ask again.
        self._unanswered: set[Hashable] = set()

    @property
    def unanswered(self) -> bool:
        return bool(self._unanswered)

    @property
    def made(self) -> int:
        return self._most - self._left

    async def get(self, key: Hashable, *, place: str, ask: Callable[[], Awaitable[_A]]) -> _A:
        """A key is always asked in the same way."""
        lock = self._under_way.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                known = self._kept.get(key)
                if known is None:
                    self._unanswered.add(key)
                    known = await self._asked(place, ask)
                    if not isinstance(known, SkoupaError) or not passes(known):
                        self._unanswered.discard(key)
                    self._keep(key, known)
        finally:
            self._under_way.pop(key, None)
        if isinstance(known, SkoupaError):
            # Raised again and again: it must not grow by a stack each time.
            raise known.with_traceback(None)
        return cast("_A", known)

    async def _asked(self, place: str, ask: Callable[[], Awaitable[_A]]) -> _A | SkoupaError:
        if self._silences[place] >= PATIENCE:
            return TimedOut(
                f"{place} did not answer {PATIENCE} times in a row and is asked no more in this run",
                advice="check that it is up, or raise policies.callTimeout",
            )
        if not self._left:
            return UsageError(
                f"this run has made {self._most} calls already",
                advice="let the policy ask for less, not for each object, or raise policies.maxCallsPerRun",
            )
        self._left -= 1
        try:
            answer = await ask()
        except asyncio.CancelledError:
            # Whoever asked would wait no longer.
            self._silences[place] += 1
            raise
        except TimedOut as error:
            self._silences[place] += 1
            return error
        except SkoupaError as error:
            return error
        self._silences[place] = 0
        return answer

    def _keep(self, key: Hashable, known: Answer | Known | SkoupaError) -> None:
        before = self._kept.pop(key, None)
        if before is not None:
            self._room += _size(before)
        self._kept[key] = known
        self._room -= _size(known)
        while self._room < 0 and self._kept:
            oldest = next(iter(self._kept))
            self._room += _size(self._kept.pop(oldest))


def passes(error: BaseException | None) -> bool:
    """Whether it, or what it was raised from, may be over when somebody asks again later."""
    while error is not None and not isinstance(error, (*PASSING, KindUnreadable)):
        error = error.__cause__
    return error is not None


def _size(known: Answer | Known | SkoupaError) -> int:
    return 0 if isinstance(known, SkoupaError) else known.weight

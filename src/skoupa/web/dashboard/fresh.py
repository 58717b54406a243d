"""A value that takes long to make, and is made anew in the background for as long as somebody asks for it.

Who asks gets what there is at once. A value that nobody asked for over a while is not made, and is too old then: the next one
who asks waits for a new one. Making takes its share of time only: the longer it takes, the longer the pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.web.refusing import Refused

T = TypeVar("T")

# For who has nothing else to do.
_SHARE: Final = 0.1
_PATIENCE_SECONDS: Final = 20.0
_OLD: Final = 3


class Fresh(Generic[T]):
    """`seconds` lie between two makings at least, and `share` of the time goes into them at most.

    `being` is what is being done to the cluster, and `doing` says how far that is, for who waits for the first one.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[T]],
        *,
        clock: Clock,
        seconds: float,
        share: float = _SHARE,
        being: str = "being read",
        doing: Callable[[], str] = lambda: "",
    ) -> None:
        self._make = make
        self._clock = clock
        self._seconds = seconds
        self._share = share
        self._being = being
        self._doing = doing
        self._wanted = asyncio.Event()
        self._made = asyncio.Event()
        self._value: T | None = None
        self._made_at = 0.0
        self._good_until = 0.0
        self._error: SkoupaError | None = None

    async def follow(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            began = self._clock.monotonic()
            try:
                self._value = await self._make()
                self._made_at = began
                self._error = None
                pause = max(self._seconds, (self._clock.monotonic() - began) / self._share)
            except (SkoupaError, ExceptionGroup) as error:
                self._error = _understood(error)
                # However long it took to fail, who looks wants to see when it works again.
                pause = self._seconds
            self._good_until = self._clock.monotonic() + _OLD * pause
            self._made.set()
            self._made = asyncio.Event()
            await self._clock.sleep(pause)

    async def get(self) -> tuple[T, str]:
        """The value, and why it is older than it should be; empty: it is not. Raises why there is none."""
        self._wanted.set()
        if self._clock.monotonic() >= self._good_until:
            with suppress(TimeoutError):
                async with self._clock.timeout(_PATIENCE_SECONDS):
                    await self._made.wait()
        if self._value is not None:
            return self._value, self._trouble()
        if self._error is not None:
            # Else each who is told would leave their own way to it in there.
            raise self._error.with_traceback(None)
        raise Refused(503, "Reading", f"the cluster is {self._being}{self._told()}")

    def age(self) -> float:
        """How long ago it was begun to make what there is."""
        return self._clock.monotonic() - self._made_at

    def _trouble(self) -> str:
        if self._error is not None:
            return str(self._error)
        if self._clock.monotonic() < self._good_until:
            return ""
        return f"the cluster is still {self._being} anew{self._told()}"

    def _told(self) -> str:
        doing = self._doing()
        return f": {doing}" if doing else ""


def _understood(error: SkoupaError | ExceptionGroup[Exception]) -> SkoupaError:
    """Tasks that fail together are told as their first understood error; what is none of ours is passed on."""
    if isinstance(error, SkoupaError):
        return error
    expected, rest = error.split(SkoupaError)
    if expected is None or rest is not None:
        raise error
    first: Exception = expected
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    assert isinstance(first, SkoupaError)
    return first

"""The requests that the proxy has seen, in the order in which their heads came in.

Entries are values; the entry of a request is replaced once its status is on its way to the client. Waiting
looks at what is already there first, so that no test can come too late. Bodies are not kept.
"""

import asyncio
from collections.abc import Callable

import msgspec

from harness.faultproxy.script import Request


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `status` is None while, or because, no answer went out; `at` is the loop's time."""

    method: str
    path: str
    query: str
    watch: bool
    user_agent: str
    fault: str
    at: float
    status: int | None = None


class Journal:
    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._waiting: set[asyncio.Event] = set()

    def note(self, request: Request, *, user_agent: str, fault: str, at: float) -> int:
        """Adds a request and gives its place, for `answered`."""
        self.requests.append(
            Seen(
                method=request.method,
                path=request.path,
                query=request.query,
                watch=request.watch,
                user_agent=user_agent,
                fault=fault,
                at=at,
            )
        )
        self._wake()
        return len(self.requests) - 1

    def answered(self, place: int, status: int) -> None:
        self.requests[place] = msgspec.structs.replace(self.requests[place], status=status)
        self._wake()

    async def wait_for(self, predicate: Callable[[Seen], bool], *, within: float, count: int) -> Seen:
        """The `count`-th request that fits; looked for anew with every request and every status."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(within):
                while True:
                    fitting = [seen for seen in self.requests if predicate(seen)]
                    if len(fitting) >= count:
                        return fitting[count - 1]
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise TimeoutError(
                f"{len(fitting)} of {count} expected requests within {within} s; seen: {self._summary()}"
            ) from None
        finally:
            self._waiting.discard(changed)

    def _wake(self) -> None:
        for changed in self._waiting:
            changed.set()

    def _summary(self) -> str:
        last = (f"{seen.method} {seen.path}?{seen.query} -> {seen.status}" for seen in self.requests[-20:])
        return "; ".join(last) or "none"

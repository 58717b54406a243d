"""The seam between Skoupa and an API server: a request is a value, a transport answers it.

Two implementations exist: `skoupa.kube.http` (aiohttp, a real server) and `skoupa.sim` (a cluster in memory).
Wrappers such as `skoupa.kube.flow` are transports too. A transport reports the server's refusals as plain responses;
it raises only when there is no answer: `Unreachable`, `Disconnected`, `TimedOut`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

import msgspec

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "discover", "review"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `verb`, `kind` ("pods", "deployments.apps") and `repeatable` are for counting and flow only.

    `repeatable` says that sending it twice does no more than sending it once: reads, and deletes by uid. `still_wanted`
    is asked right before it leaves, each time: it may have waited its turn for long. `compressed` is worth it for an
    answer that is long and is read once.
    """

    method: Method = "GET"
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout: float | None = 30.0
    verb: Verb = "get"
    kind: str = ""
    repeatable: bool = False
    compressed: bool = False
    still_wanted: Callable[[], bool] | None = None


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with its whole body; header names are lower case.

    `after_silence`: the request was sent before, and nobody knows what came of that.
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    after_silence: bool = False


class Stream(Protocol):
    """An answer whose body arrives in pieces, cut anywhere."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Ends when the server ended the answer properly; raises `Disconnected` when it was cut."""


class Transport(Protocol):
    async def send(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """`request.timeout` limits the wait for the answer to begin, not the answer itself."""

    async def close(self) -> None: ...

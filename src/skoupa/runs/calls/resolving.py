"""Names looked up and addresses checked, once, by who connects to them.

What a name resolves to is checked before it is used, and every socket once more as it is made: the address that is connected
to is the address that was checked, whatever a second lookup would say. A name with one forbidden address is refused
whole. Nothing is remembered between connections.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

from skoupa.errors import UsageError
from skoupa.runs.calls.addresses import Network, refusal


class CheckedResolver(AbstractResolver):
    """Around another resolver; `named` says whether a host and port may be in a private network."""

    def __init__(
        self, inner: AbstractResolver, *, named: Callable[[str, int], bool], opened: Sequence[Network]
    ) -> None:
        self._inner = inner
        self._named = named
        self._opened = opened

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        for result in found:
            check(result["host"], host=host, private=self._named(host, port), opened=self._opened)
        return found

    async def close(self) -> None:
        await self._inner.close()


def check(address: str, *, host: str, private: bool, opened: Sequence[Network]) -> None:
    why = refusal(address, private=private, opened=opened)
    if why:
        raise UsageError(
            f"{host} is not called: {why}",
            advice="give the address of a service; policies.allowedNetworks can open a network",
        )


class ForbiddenAddress(OSError):
    """An OSError, because that is what the event loop expects of a socket that can't be had."""


def checked_socket(opened: Sequence[Network]) -> Callable[[AddrInfoType], socket.socket]:
    def make(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = info
        # Private ones were decided about by name.
        why = refusal(str(place[0]), private=True, opened=opened)
        if why:
            raise ForbiddenAddress(why)
        return socket.socket(family=family, type=kind, proto=protocol)

    return make

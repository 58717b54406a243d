"""Connections that notice by themselves that nobody is there any more.

A watch may be silent for minutes, and a machine that vanished does not say so: the kernel asks in its place, which costs no
request. It notices a network or a machine that is gone, not a server that is there and says nothing.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final

from aiohttp import AddrInfoType

# Silence after which the kernel asks, how often, and how many times: within 25 s a dead connection ends.
_OPTIONS: Final = (
    ("TCP_KEEPIDLE", 10),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
    # What was sent and not taken counts too; in milliseconds.
    ("TCP_USER_TIMEOUT", 25_000),
)


def watchful(address: AddrInfoType) -> socket.socket:
    """A socket for that address; systems that lack one of the options do without it."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:
            with suppress(OSError):
                made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made

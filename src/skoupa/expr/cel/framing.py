"""Frames on the line between parent and child: four bytes of length, then that many bytes.

A frame holds one message (JSON made by msgspec) or the bytes of a page or an answer as a server sent them. Beside the
line there is a small file that both sides map: the object and the condition that the child is at. The child waits for
frames here; the parent, which does not block, in `process`.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

LARGEST: Final = 2**30
PROGRESS: Final = struct.Struct("<II")
NOWHERE: Final = 2**32 - 1

LENGTH: Final = struct.Struct(">I")


def header(payload: bytes) -> bytes:
    if len(payload) > LARGEST:
        raise ValueError(f"{len(payload)} bytes are more than the {LARGEST} of a frame")
    return LENGTH.pack(len(payload))


def send_now(line: socket.socket, *payloads: bytes) -> None:
    for payload in payloads:
        line.sendall(header(payload) + payload if len(payload) < 65_536 else header(payload))
        if len(payload) >= 65_536:
            line.sendall(payload)


def receive_now(line: socket.socket) -> bytes:
    """EOFError where the other side is gone."""
    (length,) = LENGTH.unpack(_exactly(line, LENGTH.size))
    return bytes(_exactly(line, length))


def _exactly(line: socket.socket, length: int) -> bytearray:
    found = bytearray(length)
    view = memoryview(found)
    position = 0
    while position < length:
        count = line.recv_into(view[position:])
        if not count:
            raise EOFError
        position += count
    return found

"""Protocol buffers on the wire, as far as a tree of expressions needs them: messages are lists of numbered fields.

A field is its number, its wire type and its value, an int or bytes. What is read and written back is the same bytes.
"""

from __future__ import annotations

from typing import Final

VARINT: Final = 0
BYTES: Final = 2

_FIXED: Final = {1: 8, 5: 4}

Field = tuple[int, int, object]


def fields(data: bytes) -> list[Field]:
    found: list[Field] = []
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if wire == VARINT:
            value, position = _varint(data, position)
        else:
            length = _FIXED.get(wire, 0)
            if wire == BYTES:
                length, position = _varint(data, position)
            value = data[position : position + length]
            position += length
        found.append((number, wire, value))
    return found


def encoded(message: list[Field]) -> bytes:
    parts = []
    for number, wire, value in message:
        parts.append(_number(number << 3 | wire))
        if isinstance(value, int):
            parts.append(_number(value))
        elif isinstance(value, bytes):
            if wire == BYTES:
                parts.append(_number(len(value)))
            parts.append(value)
    return b"".join(parts)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def _number(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)

"""Old objects on a young server: the creation time is changed where the server keeps it, in etcd.

No client may set it. The server then has an object as a cluster has it after two hours: list, watch and get tell the
old time, and what is written to it from now on is written now. For built-in kinds, which are kept as protobuf.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from harness.controlplane import ControlPlane
from skoupa.kube.resources import CONFIG_MAPS, Resource


async def grow_old(
    plane: ControlPlane,
    made: Sequence[Mapping[str, Any]],
    *,
    seconds: int,
    resource: Resource = CONFIG_MAPS,
) -> None:
    """`made` are objects as the server gave them back."""
    for one in made:
        await asyncio.to_thread(_grow_old, plane, one["metadata"], seconds=seconds, plural=resource.plural)


def _grow_old(plane: ControlPlane, metadata: Mapping[str, Any], *, seconds: int, plural: str) -> None:
    probe = plane.access.etcd_probe()
    key = _text(f"/registry/{plural}/{metadata['namespace']}/{metadata['name']}".encode())
    found = probe.ask("POST", "/v3/kv/range", {"key": key})
    assert found.status == 200, found.body
    stored = base64.b64decode(found.json()["kvs"][0]["value"])
    created = int(datetime.fromisoformat(metadata["creationTimestamp"]).timestamp())
    young, old = _creation(created), _creation(created - seconds)
    assert stored.count(young) == 1
    # Each by itself: objects that share a revision are one change to the server's watch cache, which loses the others.
    put = probe.ask("POST", "/v3/kv/put", {"key": key, "value": _text(stored.replace(young, old))})
    assert put.status == 200, put.body


def _creation(moment: int) -> bytes:
    """`creationTimestamp` as it stands in a stored ObjectMeta: field 8, a Time of whole seconds and no nanoseconds."""
    digits = [moment >> shift & 0x7F for shift in range(0, 35, 7)]
    varint = bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])
    # A time between 1978 and 3058 has five digits, so that no length changes.
    assert digits[-1]
    return b"\x42\x08\x08" + varint + b"\x10\x00"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

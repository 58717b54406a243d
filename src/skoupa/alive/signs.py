"""Signs of life: what the Leases of the participants say, each read on its own.

A Lease counts as renewed when the API server wrote it, which `managedFields` tell: the clocks of participants may be wrong, and
`renewTime` is only taken where the server does not tell. What can't be read of a Lease is not known, and never a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.reading import moment
from skoupa.kinds.alive import Entry

_SHIPPED_SECONDS: Final = 60.0
_MOST_PRESERVED: Final = 100
_LONGEST: Final = 1024
_LONGEST_NUMBER: Final = 12
_ROOM_FOR_THE_REST: Final = 16

Place = tuple[str, str]


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """`seen` is its last sign of life, in seconds since the epoch, good for `lasts` seconds."""

    seen: float | None
    lasts: float
    remaining: int | None = None
    failed: bool = False
    message: str = ""
    preserved: tuple[str, ...] = ()


def signs_of(leases: Iterable[Mapping[str, Any]]) -> dict[Place, Sign]:
    found = {}
    for lease in leases:
        metadata = lease["metadata"]
        found[str(metadata.get("namespace", "")), str(metadata["name"])] = _sign(lease)
    return found


def sign_for(entry: Entry | None, signs: Mapping[Place, Sign]) -> Sign | None:
    if entry is None or entry.lease is None:
        return None
    return signs.get((entry.lease.namespace, entry.lease.name))


def abridged(sign: Sign | None, *, room: int) -> Sign | None:
    """With as much of what it says as has room, in bytes: its message before what it preserves, of which the rest is counted."""
    if sign is None or _size(sign.message, *sign.preserved) <= room:
        return sign
    message = sign.message.encode()[: room // 2 if sign.preserved else room].decode(errors="ignore")
    left = room - _size(message) - _ROOM_FOR_THE_REST
    kept: list[str] = []
    for line in sign.preserved:
        left -= _size(line)
        if left < 0:
            break
        kept.append(line)
    if len(kept) < len(sign.preserved):
        kept.append(f"and {len(sign.preserved) - len(kept)} more")
    return msgspec.structs.replace(sign, message=message, preserved=tuple(kept))


def _size(*texts: str) -> int:
    """As they are written, quotes and comma included."""
    return sum(len(text.encode()) + 3 for text in texts)


def _sign(lease: Mapping[str, Any]) -> Sign:
    metadata, spec = lease["metadata"], lease.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    lasts = spec.get("leaseDurationSeconds")
    remaining = str(annotations.get(names.REMAINING_ANNOTATION, ""))
    readable = remaining.isascii() and remaining.isdecimal() and len(remaining) <= _LONGEST_NUMBER
    preserved = str(annotations.get(names.PRESERVED_ANNOTATION, "")).splitlines()
    return Sign(
        seen=_seen(metadata.get("managedFields"), moment(spec.get("renewTime"))),
        lasts=float(lasts) if isinstance(lasts, int) and lasts > 0 else _SHIPPED_SECONDS,
        remaining=int(remaining) if readable else None,
        failed=annotations.get(names.STATE_ANNOTATION) == "failed",
        message=str(annotations.get(names.MESSAGE_ANNOTATION, ""))[:_LONGEST],
        preserved=tuple(line[:_LONGEST] for line in preserved[:_MOST_PRESERVED] if line.strip()),
    )


def _seen(managed: Any, renewed: float | None) -> float | None:
    """When the server wrote it last."""
    times = [moment(one.get("time")) for one in managed or () if isinstance(one, Mapping)]
    return max((time for time in times if time is not None), default=renewed)

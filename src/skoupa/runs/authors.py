"""Who wrote the spec of an object last, and when: as far as the server tells (`metadata.managedFields`); and how large it is. Pure.

A write that only takes fields away is in nobody's entry, and one of the same writer to anything else moves the time of their entry:
so the time is one at which the spec may have been written, and who rests on it has to know an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skoupa.expr.instants import parse_rfc3339


def fields_in(spec: Any) -> int:
    """How many fields and items there are in it, on all levels: fewer once something was only taken out."""
    number, left = 0, [spec]
    while left:
        one = left.pop()
        inner = one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
        number += len(inner)
        left.extend(inner)
    return number


def last_write(metadata: Mapping[str, Any]) -> tuple[str, int]:
    """The manager, and seconds since the epoch; empty and 0 where nobody knows."""
    writes = (
        (str(one.get("time", "")), str(one.get("manager", "")))
        for one in metadata.get("managedFields") or ()
        if "f:spec" in (one.get("fieldsV1") or {}) and not one.get("subresource")
    )
    time, manager = max(writes, default=("", ""))
    moment = parse_rfc3339(time)
    return manager, moment if isinstance(moment, int) else 0

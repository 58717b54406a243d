"""Status conditions as controllers keep them."""

from __future__ import annotations

from typing import Any

from skoupa.sim.state.plane import Plane

Body = dict[str, Any]


def set_condition(plane: Plane, body: Body, *, type_: str, status: str, reason: str, message: str) -> None:
    """Sets a status condition; its transition time moves only when its status does."""
    status_of = body.setdefault("status", {})
    conditions = status_of["conditions"] = status_of.get("conditions") or []
    entry = {
        "type": type_,
        "status": status,
        "lastTransitionTime": plane.now(),
        "reason": reason,
        "message": message,
    }
    for index, found in enumerate(conditions):
        if found["type"] == type_:
            if found["status"] == status:
                entry["lastTransitionTime"] = found["lastTransitionTime"]
            conditions[index] = entry
            return
    conditions.append(entry)

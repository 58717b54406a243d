"""Alives and Leases of the tests, as the server gives them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from skoupa.alive.reading import Alive, read_alive
from skoupa.alive.signs import Place, Sign, signs_of

BEGAN = 1_800_000_000.0


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def alive(
    *finalizers: str,
    since: float | None = BEGAN,
    entries: tuple[str, ...] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Alive:
    """Each finalizer has its entry, unless `entries` names others; its Lease is called as the domain."""
    listed = [
        {
            "finalizer": one,
            "identity": f"user-of-{one}",
            "lease": {"namespace": "work", "name": one.split("/")[0]},
        }
        for one in (finalizers if entries is None else entries)
        if one != "skoupa.dev/alive"
    ]
    metadata: dict[str, Any] = {
        "name": "cluster",
        "uid": "the-uid",
        "resourceVersion": "1",
        "creationTimestamp": stamp(BEGAN - 3600),
        "finalizers": list(finalizers),
    }
    if since is not None:
        metadata["deletionTimestamp"] = stamp(since)
    return read_alive(
        {"metadata": metadata, "spec": {"participants": listed, **spec}, "status": status or {}}
    )


def lease(finalizer: str, *, written: float, **annotations: str) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "work",
            "name": finalizer.split("/", maxsplit=1)[0],
            "annotations": {f"skoupa.dev/{key}": value for key, value in annotations.items()},
            "managedFields": [{"manager": "it", "time": stamp(written)}],
        },
        "spec": {"leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"},
    }


def signs(*leases: dict[str, Any]) -> dict[Place, Sign]:
    return signs_of(leases)

"""The page of Brakes: what each holds, since when and why, and the command that releases it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from skoupa.kinds.brake_telling import told_brake
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds
from skoupa.web.dashboard.look import Typed
from skoupa.web.dashboard.shapes import Brakes, ShownBrake


def brakes(found: Iterable[Mapping[str, Any]], *, now: float, kinds: Discovery, typed: Typed) -> Brakes:
    """Those that hold first, then by name."""
    items = [_shown(one, now=now, kinds=kinds, typed=typed) for one in found]
    items.sort(key=lambda one: (not one.holds, one.name))
    return Brakes(
        now=whole_seconds(now),
        items=tuple(items),
        command=typed(("brakes",)),
        pause=typed(("pause", "--reason", "why nothing may go")),
    )


def none(note: str, *, now: float, typed: Typed) -> Brakes:
    """There can be none: the cluster has no such kind. That is no reason to refuse an answer."""
    told = brakes((), now=now, kinds=Discovery(resources=()), typed=typed)
    return msgspec.structs.replace(told, notes=(note,))


def _shown(found: Mapping[str, Any], *, now: float, kinds: Discovery, typed: Typed) -> ShownBrake:
    told = told_brake(found, now=now, kinds=kinds)
    return ShownBrake(
        name=told.name,
        scope=told.scope,
        state=told.state,
        holds=told.holds,
        held=told.held,
        since=None if told.since is None else whole_seconds(told.since),
        until=None if told.until is None else whole_seconds(told.until),
        reason=told.reason,
        remarks=told.remarks,
        release="" if told.state == "is released" else typed(("brakes", "release", told.name)),
    )

"""The page of Brakes: what each holds, since when and why, and the command that releases it.

That there is no object is not that nothing stands still. A controller that can't read Brakes which it could read once holds everything;
one in a cluster without the kind holds what a ceiling stopped by itself, until it ends. Only the controller knows that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.judge.brakes import Pulled
from skoupa.kinds.brake_reading import Brake
from skoupa.kinds.brake_telling import ToldBrake, told_brake, told_pulled
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds
from skoupa.web.dashboard.look import Typed
from skoupa.web.dashboard.shapes import Brakes, Mode, ShownBrake

_SUPPOSED: Final = "Skoupa only observes and makes no Brake: this is what would hold"
_LOST: Final = "it is no object any more, since its kind is gone, and nobody has released it"
_NO_OBJECT: Final = "it is no object, since the cluster has no such kind: it holds until this controller ends"
_NOT_YET: Final = "it is no object in the cluster yet, or not any more: the controller makes it"
_NOT_LEADING: Final = (
    "this replica does not lead, and what the one that leads stopped by itself is not known here"
)
_NOT_ASKED: Final = (
    "what a controller stopped by itself meanwhile it tells in its log, and on the pages that it serves"
)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """`found` are the objects, and `kinds` those that they may name; `absent` says why there can be no objects.

    `pulled` is what a controller goes by, where that is known.
    """

    found: Sequence[Mapping[str, Any]]
    kinds: Discovery = Discovery(resources=())
    absent: str = ""
    pulled: Pulled | None = None


def brakes(known: Known, *, acts: Mode, now: float, typed: Typed) -> Brakes:
    """Those that hold first, then by name."""
    told = [told_brake(one, now=now, kinds=known.kinds) for one in known.found]
    names = {one.name for one in told}
    unknown, all_held, apart = _apart(known, acts)
    items = [_shown(one, typed=typed) for one in told]
    why = _why_no_object(known, acts)
    items += (
        _shown(told_pulled(one, now=now, kinds=known.kinds, remark=why), typed=None)
        for one in apart
        if one.name not in names
    )
    items.sort(key=lambda one: (not one.holds, one.name))
    return Brakes(
        now=whole_seconds(now),
        items=tuple(items),
        unknown=unknown,
        all_held=all_held,
        notes=(known.absent,) if known.absent and not unknown else (),
        command=typed(("brakes",)),
        # Without the kind it would be refused.
        pause="" if known.absent else typed(("pause", "--reason", "why nothing may go")),
    )


def _why_no_object(known: Known, acts: Mode) -> str:
    if known.absent and known.pulled is not None and known.pulled.unknown:
        return _LOST
    if acts == "observes":
        return _SUPPOSED
    return _NO_OBJECT if known.absent else _NOT_YET


def _apart(known: Known, acts: Mode) -> tuple[str, bool, Sequence[Brake]]:
    """Why not all are known, whether that holds everything, and those that count beside the objects."""
    pulled, silent = known.pulled, _NOT_LEADING if acts == "stands-by" else _NOT_ASKED
    if acts == "files":
        # Nobody acts there.
        return "", False, ()
    if pulled is None or acts == "stands-by":
        return (f"{known.absent}; {silent}" if known.absent else ""), False, ()
    return pulled.unknown, bool(pulled.unknown), pulled.brakes


def _shown(told: ToldBrake, *, typed: Typed | None) -> ShownBrake:
    """Without `typed` there is nothing to release."""
    released = told.state == "is released" or typed is None
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
        release="" if released or typed is None else typed(("brakes", "release", told.name)),
    )

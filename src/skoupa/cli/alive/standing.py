"""Alive for `plan` and `explain`: whether this cluster is about to die, for whom it waits, and what will outlive it.

One read where there is no Alive, and none where its kind is unknown. Nothing is said to who may not read it: most who plan look into one
namespace, and Alive is in none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from skoupa.alive import waiting
from skoupa.alive.course import Course, course
from skoupa.alive.reading import Alive
from skoupa.alive.telling import announced
from skoupa.cli.alive.preserved import preserved_in
from skoupa.cli.alive.report import EVERYTHING_STAYS
from skoupa.cli.terminal.alive_shapes import AliveStanding, WaitedFor
from skoupa.cli.worlds import World
from skoupa.errors import Forbidden
from skoupa.kinds.alive import ALIVES
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds

_MOST_NAMED: Final = 20


async def alive_standing(
    world: World, discovery: Discovery, *, namespace: str = "", kinds: Collection[str] = ()
) -> AliveStanding | None:
    """What is preserved is of one namespace, or of these kinds, where they are named."""
    if not any(one.qualified == ALIVES.qualified for one in discovery.preferred()):
        return None
    try:
        alive = await waiting.read(world.client)
    except Forbidden:
        return None
    if alive is None:
        return None
    at = course(alive, await waiting.signs(world.client), now=world.now())
    kept, unread = await preserved_in(world, alive, namespace=namespace, kinds=kinds)
    return AliveStanding(
        text=announced(alive, at),
        state="lives" if alive.since is None else "dying",
        phase=at.phase,
        since=_time(alive.since),
        deadline=_time(at.deadline),
        deletion_policy=alive.spec.deletion_policy,
        on_timeout=alive.spec.on_timeout,
        remaining=at.remaining,
        waiting_for=tuple(_left(alive, at)),
        preserved=kept,
        unread=unread,
    )


def outliving(told: AliveStanding) -> Iterator[str]:
    """What outlives the cluster; nothing where nothing does."""
    if told.deletion_policy == "Preserve" and told.state == "lives":
        yield f"spec.deletionPolicy of Alive is Preserve: {EVERYTHING_STAYS}"
    if told.unread:
        yield f"Not read, so what of them outlives the cluster is not known: {', '.join(told.unread)}"
    if not told.preserved:
        return
    yield "What these stand for outside of the cluster outlives it (Alive):"
    for one in told.preserved[:_MOST_NAMED]:
        doubt = f" ({one.doubt})" if one.doubt else ""
        yield f"  {one.object}: {one.why}{doubt}"
    if len(told.preserved) > _MOST_NAMED:
        yield f"  and {len(told.preserved) - _MOST_NAMED} more: skoupa alive status"


def _left(alive: Alive, at: Course) -> Iterator[WaitedFor]:
    if alive.since is None:
        return
    for one in at.participants:
        if one.state != "Done":
            yield WaitedFor(
                finalizer=one.finalizer,
                state=one.state,
                remaining=one.remaining,
                message=one.message or "",
            )


def _time(at: float | None) -> str | None:
    return whole_seconds(at) if at is not None else None

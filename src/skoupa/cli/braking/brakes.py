"""`skoupa brakes`: what stands still, why, since when, and how much is held."""

from __future__ import annotations

import sys
from datetime import tzinfo
from typing import Any, Final

from skoupa.cli.braking.pause import shown
from skoupa.cli.options import Connecting
from skoupa.cli.terminal import output
from skoupa.cli.terminal.tables import Line, render, screen_of
from skoupa.cli.terminal.times import distance, short_time, zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.brake_list import every_brake
from skoupa.errors import SkoupaError
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_effect import active, missing_kind, next_change, scope_text
from skoupa.kinds.brake_reading import read_brake, read_status
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery

TITLES: Final = ("NAME", "SCOPE", "STATE", "HELD", "SINCE", "UNTIL", "REASON")


def run(*, connecting: Connecting, form: str, tz: str | None, no_color: bool) -> None:
    zone = zone_of(tz)

    async def work(world: World) -> tuple[float, list[dict[str, Any]], Discovery]:
        found = await every_brake(world.client)
        return world.now(), found, await _kinds(world, found)

    now, found, kinds = in_cluster(work, connecting=connecting)
    if form == "name":
        output.write_lines(f"brake.{BRAKES.group}/{one['metadata']['name']}" for one in found)
    elif form != "table":
        items = [shown({"apiVersion": BRAKES.api_version, "kind": BRAKES.kind, **one}) for one in found]
        output.write({"apiVersion": BRAKES.api_version, "kind": f"{BRAKES.kind}List", "items": items}, form)
    elif not found:
        sys.stdout.write("No Brakes: nothing stands still.\n")
    else:
        lines = [_line(one, now=now, zone=zone, kinds=kinds) for one in found]
        sys.stdout.write(render(TITLES, lines, screen=screen_of(no_color=no_color), texts=1))


async def _kinds(world: World, found: list[dict[str, Any]]) -> Discovery:
    """Those of the server, where some Brake names one; none where it does not tell, which doubts nothing."""
    nothing = Discovery(resources=())
    if not any(read_brake(one).scope.kind is not None for one in found):
        return nothing
    try:
        return await discover(world.client)
    except SkoupaError:
        return nothing


def _line(found: dict[str, Any], *, now: float, zone: tzinfo, kinds: Discovery) -> Line:
    brake, status = read_brake(found), read_status(found)
    holds = active(brake, now)
    over = brake.until is not None and now >= brake.until
    state = "holds" if holds else "over" if over else "waits"
    if found["metadata"].get("deletionTimestamp"):
        state = "is released"
    change = brake.until if over else next_change(brake, now) if holds else None
    until = short_time(change, zone) if change is not None else ""
    since = distance(status.since.timestamp(), now) if holds and status.since is not None else ""
    below = [f"not understood: {problem}" for problem in brake.problems]
    if missing := missing_kind(brake.scope, kinds):
        below.append(f"holds nothing now: {missing}")
    return Line(
        cells=(
            brake.name,
            scope_text(brake.scope),
            state,
            str(status.held) if status.held is not None else "",
            since,
            until,
            brake.reason or status.tripped_by or "",
        ),
        paint="yellow" if holds else "dim",
        below=tuple(below),
    )

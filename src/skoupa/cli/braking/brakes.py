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
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_effect import active, next_change, scope_text
from skoupa.kinds.brake_reading import read_brake, read_status

TITLES: Final = ("NAME", "SCOPE", "STATE", "HELD", "SINCE", "UNTIL", "REASON")


def run(*, connecting: Connecting, form: str, tz: str | None, no_color: bool) -> None:
    zone = zone_of(tz)

    async def work(world: World) -> tuple[float, list[dict[str, Any]]]:
        found = await every_brake(world.client)
        return world.now(), found

    now, found = in_cluster(work, connecting=connecting)
    if form == "name":
        output.write_lines(f"brake.{BRAKES.group}/{one['metadata']['name']}" for one in found)
    elif form != "table":
        items = [shown({"apiVersion": BRAKES.api_version, "kind": BRAKES.kind, **one}) for one in found]
        output.write({"apiVersion": BRAKES.api_version, "kind": f"{BRAKES.kind}List", "items": items}, form)
    elif not found:
        sys.stdout.write("No Brakes: nothing stands still.\n")
    else:
        lines = [_line(one, now=now, zone=zone) for one in found]
        sys.stdout.write(render(TITLES, lines, screen=screen_of(no_color=no_color), texts=1))


def _line(found: dict[str, Any], *, now: float, zone: tzinfo) -> Line:
    brake, status = read_brake(found), read_status(found)
    holds = active(brake, now)
    state = "holds" if holds else "waits"
    if found["metadata"].get("deletionTimestamp"):
        state = "is released"
    change = next_change(brake, now)
    until = short_time(change, zone) if change is not None and holds else ""
    since = distance(status.since.timestamp(), now) if holds and status.since is not None else ""
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
        below=tuple(f"not understood: {problem}" for problem in brake.problems),
    )

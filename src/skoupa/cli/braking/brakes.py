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
from skoupa.controller.braking.listing import every_brake, named_kinds
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_telling import told_brake
from skoupa.kube.kinds import Discovery

TITLES: Final = ("NAME", "SCOPE", "STATE", "HELD", "SINCE", "UNTIL", "REASON")


def run(*, connecting: Connecting, form: str, tz: str | None, no_color: bool) -> None:
    zone = zone_of(tz)

    async def work(world: World) -> tuple[float, list[dict[str, Any]], Discovery]:
        found = await every_brake(world.client)
        return world.now(), found, await named_kinds(world.client, found)

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


def _line(found: dict[str, Any], *, now: float, zone: tzinfo, kinds: Discovery) -> Line:
    told = told_brake(found, now=now, kinds=kinds)
    return Line(
        cells=(
            told.name,
            told.scope,
            told.state,
            str(told.held) if told.held is not None else "",
            distance(told.since, now) if told.since is not None else "",
            short_time(told.until, zone) if told.until is not None else "",
            told.reason,
        ),
        paint="yellow" if told.holds else "dim",
        below=told.remarks,
    )

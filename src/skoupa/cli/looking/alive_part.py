"""Alive in a plan: that this cluster is about to die stands at the top, what outlives it at the end."""

from __future__ import annotations

import msgspec

from skoupa.cli.alive.standing import alive_standing, outliving
from skoupa.cli.looking.planning import Plan
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World
from skoupa.controller.survey import kind_of


async def with_alive(world: World, plan: Plan, *, kinds: tuple[str, ...] = ()) -> Plan:
    """`kinds` as they were asked for. Of policies of files is told what they would take, and nothing else."""
    if plan.supposed:
        return plan
    discovery = plan.survey.knowledge.discovery
    only = {kind_of(discovery, kind).qualified for kind in kinds}
    alive = await alive_standing(world, discovery, namespace=plan.namespace, kinds=only)
    return msgspec.structs.replace(plan, alive=alive)


def first_words(plan: Plan) -> str:
    said = plan.alive.text if plan.alive is not None else ""
    return f"{printable(said)}.\n\n" if said else ""


def last_words(plan: Plan) -> str:
    found = list(outliving(plan.alive)) if plan.alive is not None else []
    return "\n" + "".join(f"{printable(line)}\n" for line in found) if found else ""

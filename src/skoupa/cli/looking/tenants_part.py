"""Tenants in a plan: which are being deleted stands at the top. What goes with one `tenant plan` tells."""

from __future__ import annotations

import msgspec

from skoupa.cli.looking.planning import Plan
from skoupa.cli.tenants.standing import tenants_known
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World
from skoupa.errors import SkoupaError
from skoupa.tenants.tenant import MOST_ANNOUNCED, more_than_announced


async def with_tenants(world: World, plan: Plan) -> Plan:
    """Of policies of files is told what they would take, and nothing else."""
    if plan.supposed:
        return plan

    def untold(error: SkoupaError) -> None:
        # Most who look into one namespace may not know of Tenants, and need not.
        if not plan.namespace:
            plan.warnings.append(f"whether a Tenant is being deleted is not known: {error.brief}")

    knowledge = plan.survey.knowledge
    known = await tenants_known(world.client, knowledge.discovery, knowledge.settings, untold=untold)
    if known is None:
        return plan
    known.learn(knowledge.store)
    return msgspec.structs.replace(plan, tenants=tuple(known.deleted(namespace=plan.namespace)))


def first_words(plan: Plan) -> str:
    told = [
        f"{printable(one.text)}.\nWhat goes with it: skoupa tenant plan {printable(one.name)}\n"
        for one in plan.tenants[:MOST_ANNOUNCED]
    ]
    more = (f"{one}.\n" for one in more_than_announced(len(plan.tenants)))
    return "".join(f"{one}\n" for one in (*told, *more))


def announced(plan: Plan) -> tuple[str, ...]:
    """The same in sentences without their full stops, for who shows them otherwise."""
    told = (one.text for one in plan.tenants[:MOST_ANNOUNCED])
    return (*told, *more_than_announced(len(plan.tenants)))

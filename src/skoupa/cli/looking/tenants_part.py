"""Tenants in a plan, where which are being deleted stands at the top, and in an explanation, which says whose an object is.

What goes with one as a whole `tenant plan` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from skoupa.cli.looking.planning import Plan
from skoupa.cli.tenants.standing import tenants_known
from skoupa.cli.tenants.whose import Whose
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.tenant_shapes import ItemTenant
from skoupa.cli.worlds import World
from skoupa.controller.survey import Survey
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.settings import Settings
from skoupa.tenants.tenant import MOST_ANNOUNCED, more_than_announced

_MOST_GAPS: Final = 5


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


async def whose_of(
    world: World, survey: Survey, settings: Settings, rows: Sequence[Row], *, around: Iterable[Row]
) -> dict[Uid, ItemTenant]:
    """Whose each is; what goes with a Tenant that is being deleted is claimed by that from here on."""

    def untold(error: SkoupaError) -> None:
        # Most who ask about what is in a namespace may not know of Tenants, and need not.
        if not all(row.namespace for row in rows):
            survey.doubts.append(f"whether a Tenant has it is not known: {error.brief}")

    knowledge = survey.knowledge
    known = await tenants_known(world.client, knowledge.discovery, settings, untold=untold)
    if known is None or knowledge.tenants is None:
        return {}
    known.learn(knowledge.store)
    for deleted in await known.claims(around):
        knowledge.tenants.put(deleted)
    whose = Whose(known, settings, now=world.now())
    told = {row.uid: await whose.about(row) for row in rows}
    gaps = known.gaps()
    if gaps:
        more = f"; and {len(gaps) - _MOST_GAPS} more" if len(gaps) > _MOST_GAPS else ""
        unread = f"{'; '.join(gaps[:_MOST_GAPS])}{more}"
        survey.doubts.append(f"not read, so more or less may go with the Tenant: {unread}")
    return {uid: one for uid, one in told.items() if one is not None}

"""Who keeps what goes with a Tenant that is being deleted is told so: no label holds that, and something else does.

Told by the rule of ownership and what is written on the object, without reading what else the tenant has: who asks is in a hurry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from skoupa.cli.installed import Installed
from skoupa.cli.worlds import World
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import called
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.kinds import Discovery
from skoupa.tenants.ownership import NOBODY, Belongs, is_shared

if TYPE_CHECKING:
    from skoupa.cli.tenants.standing import TenantsKnown


async def going_all_the_same(
    world: World, installed: Installed, discovery: Discovery, rows: Iterable[Row]
) -> list[str]:
    """A sentence for each that goes, whatever label it has."""
    rows = [row for row in rows if not is_shared(dict(row.labels))]
    if not rows or not any(one.qualified == TENANTS.qualified for one in discovery.preferred()):
        return []
    # What it takes to ask is needed only where there is somebody to ask about.
    from skoupa.cli.tenants.guarded import Guarded  # noqa: PLC0415
    from skoupa.cli.tenants.standing import settings_of_tenants, tenants_known  # noqa: PLC0415

    said: list[str] = []

    def untold(error: SkoupaError) -> None:
        # Most who keep what is in a namespace may not know of Tenants, and need not.
        if not all(row.namespace for row in rows):
            said.append(
                f"whether a Tenant that is being deleted takes it all the same is not known: {error.brief}"
            )

    settings = settings_of_tenants(installed)
    known = await tenants_known(world.client, discovery, settings, untold=untold)
    if known is None or not any(map(known.takes, known.tenants.values())):
        return said
    guarded = Guarded(settings)
    for row in rows:
        name = "" if guarded.from_tenants(row, world.now()) else await _whose(row, known)
        if name and known.takes(known.tenants[name]):
            said.append(
                f"{called(row)} goes with the Tenant {name}, which is being deleted, whatever label keeps it: "
                f"skoupa pause policy/Tenant/{name} holds all of that"
            )
    return said


async def _whose(row: Row, known: TenantsKnown) -> str:
    if row.namespace:
        await known.learn_place(row.namespace)
        whose = known.ownership.in_namespace(row.namespace)
        return next(iter(whose)) if len(whose) == 1 else NOBODY
    found = known.ownership.of(await known.candidate(row))
    return found.tenant if isinstance(found, Belongs) else NOBODY

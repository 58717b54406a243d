"""Whether the definition of Tenant stands: while that goes, all Tenants are deleted along with it, and nobody has meant any of them.

Who may not read definitions is told by discovery: while one goes nothing of its kind can be created any more.
"""

from __future__ import annotations

from typing import Final

from skoupa.errors import Forbidden, NotFound
from skoupa.kinds.tenant import TENANT
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

GOING: Final = (
    f"the definition {TENANT.name} is being deleted, and all Tenants with it, so that no Tenant was meant: nothing of any goes. To get over "
    "it take the finalizers of all Tenants off, bring the definition back, and make the Tenants again"
)


async def definition_stands(client: Client) -> bool:
    try:
        found = await client.find(CUSTOM_RESOURCE_DEFINITIONS, TENANT.name, view=METADATA)
    except NotFound:
        return False
    except Forbidden:
        kind = (await discover(client)).find(TENANT.group, TENANT.kind)
        return kind is not None and kind.may("create")
    return found.metadata.deletion_timestamp is None

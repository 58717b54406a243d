"""`skoupa tenant status`: how far a deletion is, in the words of the controller that does it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from skoupa.cli.options import Connecting
from skoupa.cli.tenants.register import named, tenant_there
from skoupa.cli.terminal import output
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World, in_cluster
from skoupa.tenants.tenant import Tenant, read_tenant


def run(*, connecting: Connecting, name: str, form: str) -> None:
    named(name)

    async def work(world: World) -> dict[str, Any]:
        return await tenant_there(world.client, name)

    found = in_cluster(work, connecting=connecting)
    if form != "text":
        found["metadata"].pop("managedFields", None)
        output.write(found, form)
        return
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines(read_tenant(found))))


def lines(tenant: Tenant) -> Iterator[str]:
    status = tenant.status if isinstance(tenant.status, dict) else {}
    yield f"Tenant {tenant.name}: {status.get('phase') or ('Deleting' if tenant.is_leaving else 'Active')}"
    if tenant.said:
        yield f"  {tenant.said}"
    elif tenant.is_leaving:
        yield f"  {tenant.unsaid}"
    for title, values in (
        ("left", [f"{one['kind']} {one['count']}" for one in status.get("remaining") or ()]),
        ("in the way", status.get("blockers") or ()),
        ("stays", status.get("kept") or ()),
        ("data that stays", [_volume(one) for one in status.get("volumes") or ()]),
    ):
        if values:
            yield f"{title}:"
            yield from (f"  {value}" for value in values)


def _volume(one: dict[str, Any]) -> str:
    claim = f" (of {one['claim']})" if one.get("claim") else ""
    return f"{one.get('name')}: {one.get('handle')}{claim}"

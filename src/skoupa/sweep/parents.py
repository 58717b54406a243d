"""A last fresh look before a Namespace or a definition goes, because everything in it goes along.

Kept objects are known from their feeds, but a keep label that was written a moment ago may not have arrived. So right
before such a delete every kind that can be inside is asked once more, and a kind that does not answer holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from skoupa import names
from skoupa.errors import ApiError, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_definition, is_namespace, waived, waived_group
from skoupa.judge.protection import finite, kept_until
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold


async def kept_inside(
    row: Row, *, client: Client, discovery: Discovery, ignore: Collection[str], now: float
) -> tuple[Hold, ...]:
    """Holds for what is kept inside, and for what could not be asked; rows that contain nothing give none."""
    if is_namespace(row):
        kinds = [resource for resource in discovery.preferred() if resource.namespaced]
    elif is_definition(row):
        kinds = [resource for resource in discovery.preferred() if resource.qualified == row.name]
    else:
        return ()
    asked = [resource for resource in kinds if resource.may("list") and not waived(resource, ignore)]
    namespace = row.name if is_namespace(row) else ""
    async with asyncio.TaskGroup() as group:
        answers = [group.create_task(_kept(resource, namespace, client, now)) for resource in asked]
    gaps = [
        Hold(reason=reason("keeps-unknown", kinds=f"the group {gap.where}", why=gap.why))
        for gap in discovery.gaps
        if not waived_group(gap.group, ignore) and (is_namespace(row) or row.name.endswith(f".{gap.group}"))
    ]
    return (*(hold for answer in answers if (hold := answer.result()) is not None), *gaps)


async def _kept(resource: Resource, namespace: str, client: Client, now: float) -> Hold | None:
    scope = Scope(namespace=namespace, labels=names.KEEP_LABEL)
    try:
        found = await everything(client, resource, METADATA, scope=scope)
    except SkoupaError as error:
        why = error.status.message if isinstance(error, ApiError) else error.message
        return Hold(reason=reason("keeps-unknown", kinds=resource.qualified, why=why))
    for item in found.items:
        meta = item.metadata
        until = kept_until((meta.labels or {}).get(names.KEEP_LABEL), now)
        if until is not None:
            where = f"{meta.namespace}/" if meta.namespace else ""
            inside = f"{resource.kind} {where}{meta.name}"
            return Hold(reason=reason("keeps-inside", object=inside), until=finite(until))
    return None

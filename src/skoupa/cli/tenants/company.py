"""Definitions that would take along what is not the tenant's: they stay, and a plan says because of what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import aclosing

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import pages
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import Resource
from skoupa.tenants.census import Belonging, Census, Kept
from skoupa.tenants.ownership import is_definition, is_shared


async def in_company(
    client: Client, census: Census, tenant: str, going: Sequence[Belonging]
) -> tuple[dict[str, Kept], list[str]]:
    """By uid, and the definitions of which that could not be read."""
    uids = {one.uid for one in going}
    found: dict[str, Kept] = {}
    gaps: list[str] = []
    for one in going:
        if not is_definition(one.resource):
            continue
        kind = next(
            (kind for kind in census.discovery.preferred() if kind.qualified == one.metadata.name), None
        )
        if kind is None or not kind.may("list"):
            continue
        try:
            why = await _other(client, census, tenant, kind, uids)
        except SkoupaError as error:
            gaps.append(f"{kind.qualified} ({error.brief})")
            continue
        if why:
            found[one.uid] = Kept(called=one.called, tenants=(tenant,), why=why)
    return found, gaps


async def _other(client: Client, census: Census, tenant: str, kind: Resource, uids: Collection[str]) -> str:
    async with aclosing(pages(client, kind, METADATA)) as listing:
        async for page in listing:
            for item in page.items:
                metadata: Metadata = item.metadata
                place = f"{metadata.namespace}/" if metadata.namespace else ""
                called = f"{kind.kind} {place}{metadata.name}"
                if is_shared(metadata.labels):
                    return f"it would take along {called}, which has the label {names.SHARED_LABEL}"
                own = (
                    census.ownership.in_namespace(metadata.namespace) == {tenant}
                    if metadata.namespace
                    else metadata.uid in uids
                )
                if not own:
                    return f"it would take along {called}, which is not the tenant's"
    return ""

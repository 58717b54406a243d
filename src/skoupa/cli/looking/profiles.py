"""What has finished by a profile, for who looks once."""

from __future__ import annotations

from contextlib import aclosing

from skoupa.errors import ApiError, BadReply, TimedOut
from skoupa.expr.cel.pool import Pool
from skoupa.facts.rows import Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.retention.ends import Ending
from skoupa.runs.using.ends import evaluated
from skoupa.usage.finishing import Doubt, Finish

Finishes = dict[Uid, tuple[str, Finish | Doubt | None]]


async def taught_finishes(
    client: Client, resource: Resource, ending: Ending, *, place: str, labels: str
) -> Finishes:
    """Of those with the labels; those that are missing have not finished, as far as anybody knows."""
    found: Finishes = {}
    scope = Scope(namespace=place, labels=labels)
    try:
        async with (
            Pool(clock=client.clock) as pool,
            aclosing(pages(client, resource, WHOLE, scope=scope)) as listing,
        ):
            async for page in listing:
                answers = await evaluated(pool, ending, resource, page.items, now=client.clock.now())
                for one, answer in zip(page.items, answers, strict=True):
                    metadata = one["metadata"]
                    found[pack_uid(metadata["uid"])] = (metadata["resourceVersion"], answer)
    except (ApiError, BadReply, TimedOut):
        return found
    return found

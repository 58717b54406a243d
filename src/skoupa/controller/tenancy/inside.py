"""What Namespaces that do not go are waiting for, in the words of their own conditions: they have no finalizers that tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.tenants.census import Belonging
from skoupa.tenants.ownership import is_namespace

# Most are gone within this time; of those that hang a few tell enough.
SLOW_SECONDS: Final = 10.0
MOST: Final = 5


async def inside_namespaces(client: Client, left: Sequence[Belonging], *, now: float) -> dict[str, str]:
    """By uid; one that can't be read is left out."""
    slow = [one for one in left if is_namespace(one.resource) and _seconds(one, now) >= SLOW_SECONDS]
    found = {}
    for one in slow[:MOST]:
        try:
            # The rights of an installation have no get on Namespaces.
            whole = await client.find(one.resource, one.metadata.name, view=WHOLE)
        except SkoupaError:
            continue
        if said := "; ".join(_messages(whole)):
            found[one.uid] = said
    return found


def _messages(whole: dict[str, Any]) -> list[str]:
    conditions = (whole.get("status") or {}).get("conditions") or ()
    return [str(one["message"]) for one in conditions if one.get("status") == "True" and one.get("message")]


def _seconds(one: Belonging, now: float) -> float:
    moment = one.metadata.deletion_timestamp
    return now - moment.timestamp() if moment is not None else 0.0

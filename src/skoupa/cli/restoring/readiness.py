"""Waiting until what others live in can be lived in: a definition is served, a Namespace has its first account.

Waits for a condition, with an end; when it is not met then, whoever needs it is refused by the server and told so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

SERVED_SECONDS: Final = 30.0
FURNISHED_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.1
_ACCOUNTS: Final = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)


async def served(client: Client, definitions: Iterable[str], before: Discovery) -> Discovery:
    """The kinds as they are when all of these definitions (`widgets.shop.example`) are among them."""
    wanted = set(definitions)
    if not wanted:
        return before
    found = before

    async def are_there() -> bool:
        nonlocal found
        for name in wanted:
            definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
            conditions = (definition.get("status") or {}).get("conditions") or ()
            if not any(
                one.get("type") == "Established" and one.get("status") == "True" for one in conditions
            ):
                return False
        found = await discover(client)
        return wanted <= {resource.qualified for resource in found.resources}

    await _until(client, are_there, seconds=SERVED_SECONDS)
    return found


async def furnished(client: Client, namespaces: Iterable[str]) -> None:
    """Pods are refused in a Namespace whose default account its controller has not made yet."""
    for namespace in namespaces:

        async def has_account(namespace: str = namespace) -> bool:
            try:
                await client.get(_ACCOUNTS, "default", namespace=namespace, view=METADATA)
            except NotFound:
                return False
            return True

        await _until(client, has_account, seconds=FURNISHED_SECONDS)


async def _until(client: Client, condition: Callable[[], Awaitable[bool]], *, seconds: float) -> None:
    """Also returns when it may not be looked at, or the time is over."""
    end = client.clock.monotonic() + seconds
    while client.clock.monotonic() < end:
        try:
            if await condition():
                return
        except SkoupaError:
            return
        await client.clock.sleep(_LOOK_SECONDS)

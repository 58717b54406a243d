"""What one who takes part asks of the server, with patience.

One that is away is waited for, and what says of everything that it was not found is asked again. For `sdk`, so only the wire is needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from skoupa import names
from skoupa.alive.joining import Deletion, asked_since, deletion_of, kind_in
from skoupa.errors import PASSING, BadReply, Forbidden, NotFound, SkoupaError, Unauthorized, too_large
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE

# Between two tries: of a thousand who want to write it at once each has to find a gap.
_LONGEST_WAIT_SECONDS: Final = 15.0
_STRANGE_SECONDS: Final = 60.0

# Something else that answers in its place is none.
_AWAY: Final[tuple[type[SkoupaError], ...]] = (*PASSING, BadReply)

T = TypeVar("T")


async def deletion(client: Client, *, namespace: str = "") -> Deletion | None:
    """What the deletion of the cluster wants now; None: nobody has asked for it, or that Alive is gone by now.

    Whoever asked for it may preserve more while others clean up: ask before each thing that goes. `namespace` as in `register`.
    """
    try:
        found = await alive_now(client, namespace=namespace)
    except NotFound:
        return None
    since = asked_since(found)
    return deletion_of(found, since) if since is not None else None


async def alive_now(client: Client, *, namespace: str) -> dict[str, Any]:
    """That there is none is believed where the server says it of Alive; else when it lasts, and so is a refusal.

    What stands between us and a server that is on its way out may say of everything that it was not found, and one that has just come back
    knows nobody's rights yet.
    """
    began, backoff = client.clock.monotonic(), pauses(client)
    kind = kind_in(namespace)
    while True:
        try:
            return await answered(
                client, lambda: client.get(kind, names.ALIVE_NAME, view=WHOLE, namespace=namespace)
            )
        except (NotFound, Forbidden, Unauthorized) as error:
            sure = isinstance(error, NotFound) and error.status.details
            if sure or client.clock.monotonic() - began >= _STRANGE_SECONDS:
                raise
        await client.clock.sleep(backoff.next())


async def answered(client: Client, ask: Callable[[], Awaitable[T]]) -> T:
    """However long that takes. An object that is full stays so."""
    backoff = pauses(client)
    while True:
        try:
            return await ask()
        except _AWAY as error:
            if too_large(error):
                raise
            await client.clock.sleep(backoff.next())


def pauses(client: Client) -> Backoff:
    return Backoff(client.clock, cap=_LONGEST_WAIT_SECONDS)

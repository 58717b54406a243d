"""The state of a kind and its changes, as one endless stream that survives everything.

Contract (kube-rs' `watcher` is the model). `Begun` voids what the reader knew, `Listed` brings objects, `Synced` makes
them the truth in one swap; from then on `Changed`. A cut connection resumes where it was; a 410 starts over with
`Begun`. Each change arrives once. `Interrupted` says that the feed is behind and why, and the next event of another
type ends that; where nothing changed meanwhile it is `Resumed`. That rests on what the server says, which may itself be
behind: what a reader must not miss (`anew`) is listed once more first. The stream itself never ends and never raises for
the server's sake: a reader that does not want to wait for a 403 to change stops reading.
One task per watch. What a single connection brings, and how long a silent one is believed in, is in `following`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, TypeVar

from skoupa.errors import ApiError, Disconnected, Gone, SkoupaError
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.following import PATIENCE, Following, Patience
from skoupa.kube.lists import EVERYWHERE, PAGE_SIZE, Scope
from skoupa.kube.objects import View
from skoupa.kube.resources import Resource
from skoupa.kube.watched import Begun, Changed, Listed, Progressed, Reread, WatchEvent

T = TypeVar("T")

# A watch that the server ends sooner than this without a word is refused in all but name.
SHORTEST_WATCH_SECONDS: Final = 1.0


async def watch(
    client: Client,
    resource: Resource,
    view: View[T],
    *,
    scope: Scope = EVERYWHERE,
    page_size: int = PAGE_SIZE,
    patience: Patience = PATIENCE,
    anew: Scope | None = None,
) -> AsyncGenerator[WatchEvent[T], None]:
    """`anew` are objects of the scope that are listed again after each interruption; all of them: it starts over."""
    feed = Following(client, resource, view, scope=scope, page_size=page_size, patience=patience, anew=anew)
    backoff = Backoff(client.clock)
    while True:
        try:
            begun, brought = client.clock.monotonic(), False
            async with aclosing(feed.follow()) as events:
                async for event in events:
                    brought = brought or not isinstance(event, Begun | Listed | Reread)
                    # Lists that never complete, or expire as soon as they have, must back off further each time.
                    if isinstance(event, Changed | Progressed):
                        backoff.reset()
                    yield event
            if not brought and (feed.listing or client.clock.monotonic() - begun < SHORTEST_WATCH_SECONDS):
                raise Disconnected(f"{feed.doing}: the server ended the answer before it brought anything")
        except Gone as error:
            feed.forget()
            wait = backoff.next() if backoff.failures else 0.0
            backoff.failures = max(backoff.failures, 1)
            yield feed.interrupted(error, wait)
            await client.clock.sleep(wait)
        except SkoupaError as error:
            if feed.refused_streaming(error):
                continue
            wait = backoff.next()
            if isinstance(error, ApiError) and error.retry_after:
                wait = max(wait, error.retry_after)
            yield feed.interrupted(error, wait)
            await client.clock.sleep(wait)

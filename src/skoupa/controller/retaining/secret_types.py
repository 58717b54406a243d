"""Of what type Secrets are that are followed, without their values: the server sorts them, and a type never changes.

Some types say that a Secret is never garbage. Until the type of one is known it stays. All of such a type are asked for, for one that
a policy is about has no label to ask by, and one may lose its label while it is asked about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Final

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.usage import never

SECRETS: Final = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
# Those that appear together are asked about together.
_GATHER_SECONDS: Final = 0.2
# More are not looked into one by one.
_FEW_NAMESPACES: Final = 4


class SecretTypes:
    """`on_known` hears of those whose types are known by now. `places` are the namespaces to look into, or all ("")."""

    def __init__(
        self, client: Client, *, places: Iterable[str], on_known: Callable[[Iterable[Uid]], None]
    ) -> None:
        self._client = client
        self._places = tuple(places) or ("",)
        self._on_known = on_known
        self._known: dict[Uid, str] = {}
        # With their namespaces.
        self._wanted: dict[Uid, str] = {}
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def of(self, row: Row) -> str | None:
        """Empty: one that says nothing; None: not known yet, and asked for."""
        found = self._known.get(row.uid)
        if found is None and row.uid not in self._wanted:
            self._wanted[row.uid] = row.namespace
            self._news.set()
        return found

    def forget(self, uid: Uid) -> None:
        self._known.pop(uid, None)
        self._wanted.pop(uid, None)

    async def follow(self) -> None:
        backoff = Backoff(self._client.clock)
        while True:
            await self._news.wait()
            await self._client.clock.sleep(_GATHER_SECONDS)
            self._news.clear()
            wanted = dict(self._wanted)
            try:
                found = await self._ask(wanted)
            except SkoupaError as error:
                self.error = error
                self._news.set()
                await self._client.clock.sleep(backoff.next())
                continue
            self.error = None
            backoff.reset()
            known = [uid for uid in wanted if self._wanted.pop(uid, None) is not None]
            self._known.update((uid, found.get(uid, "")) for uid in known)
            self._on_known(known)

    async def _ask(self, wanted: Mapping[Uid, str]) -> dict[Uid, str]:
        found: dict[Uid, str] = {}
        places = sorted(set(wanted.values()))
        for type_ in never.telling_types():
            for place in places if len(places) <= _FEW_NAMESPACES else self._places:
                scope = Scope(namespace=place, fields=f"type={type_}")
                async with aclosing(pages(self._client, SECRETS, METADATA, scope=scope)) as listing:
                    async for page in listing:
                        uids = (pack_uid(one.metadata.uid) for one in page.items)
                        found.update((uid, type_) for uid in uids if uid in wanted)
        return found

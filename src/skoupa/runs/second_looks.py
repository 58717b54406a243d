"""Objects that changed after a policy looked at them: each is read and judged anew before it may go.

The evidence is gathered anew as well: context that was read for the run is old by now. An object that does not meet the policy any
more is not chosen any more; one that is gone is forgotten. What can't be read is tried again and stays meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.facts.store import Store
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.objects import View
from skoupa.runs.choices import Choices
from skoupa.runs.evaluation import Evaluation

_METADATA: Final[View[msgspec.Raw]] = View(type=msgspec.Raw, metadata_only=True)
_WHOLE: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)


class SecondLooks:
    """`evaluation` begins one for a policy by its name; None: it is not there any more. `look_at` has objects judged.

    `may_delete` asks for the rights of the account that the policy acts as.
    """

    def __init__(
        self,
        client: Client,
        *,
        store: Store,
        evaluation: Callable[[str], Awaitable[Evaluation | None]],
        may_delete: Callable[[str, Row], Awaitable[bool]],
        look_at: Callable[[Iterable[Uid]], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._store = store
        self._evaluation = evaluation
        self._may_delete = may_delete
        self._look_at = look_at
        self._wanted: dict[Uid, None] = {}
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def want(self, uid: Uid) -> None:
        self._wanted[uid] = None
        self._news.set()

    async def follow(self, choices: Choices) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            self._news.clear()
            wanted, self._wanted = self._wanted, {}
            self.error = None
            await self._look(wanted, choices)
            if self.error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())

    async def _look(self, wanted: Iterable[Uid], choices: Choices) -> None:
        by_rule: dict[str, list[Row]] = {}
        for uid in wanted:
            row = self._store.get(uid)
            for rule in choices.mechanism.outdated(row) if row is not None else ():
                by_rule.setdefault(rule, []).append(row) if row is not None else None
        for rule, rows in by_rule.items():
            try:
                evaluation = await self._evaluation(rule)
            except SkoupaError as error:
                self._later(rows, error)
                continue
            if evaluation is None:
                continue
            for row in rows:
                try:
                    await self._look_at_one(rule, row, evaluation, choices)
                except SkoupaError as error:
                    self._later([row], error)

    def _later(self, rows: Iterable[Row], error: SkoupaError) -> None:
        self.error = error
        for row in rows:
            self.want(row.uid)

    async def _look_at_one(self, rule: str, row: Row, evaluation: Evaluation, choices: Choices) -> None:
        # By a list on its name: a run needs no other right.
        view = _WHOLE if evaluation.needs_bodies else _METADATA
        try:
            raw = await self._client.find(row.resource, row.name, namespace=row.namespace, view=view)
        except NotFound:
            choices.gone(row.uid)
            return
        found = await evaluation.one(row.resource, raw)
        if found.metadata.uid != uid_text(row.uid):
            choices.gone(row.uid)
            return
        if found.outcome != "claimed" or not await self._may_delete(rule, row):
            choices.leave(row.uid, (rule,))
            return
        fresh = choices.showing.row(row.resource, found.metadata)
        choices.mechanism.looked_anew(rule, row.uid, fresh.version)
        choices.show(fresh)
        self._look_at((row.uid,))

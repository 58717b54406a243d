"""Skoupa's own functions in CEL: what a child asks of one of the objects that it was handed is answered, of others nothing is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.expr.cel.broker import Broker
from skoupa.expr.cel.messages import Question, Usage
from skoupa.expr.usage_functions import USAGE_FUNCTIONS
from skoupa.kube.resources import Resource
from skoupa.runs.opinions import Item
from skoupa.runs.using.asking import UsageCalls

OF_ALL: Final = frozenset(USAGE_FUNCTIONS)


class UsageBroker:
    """For one batch; everything else goes on to `others`, which refuses what is about an object that is not in it."""

    def __init__(
        self, others: Broker, usage: UsageCalls, *, resource: Resource, items: Iterable[Item]
    ) -> None:
        self._others = others
        self._usage = usage
        self._resource = resource
        self._items = {item.metadata.uid: item for item in items}

    async def answer(self, question: Question) -> bytes:
        item = self._items.get(question.uid) if isinstance(question, Usage) else None
        if item is None or not isinstance(question, Usage):
            return await self._others.answer(question)
        found = self._usage.answer(question.function, self._resource, item.metadata, item.raw)
        return msgspec.json.encode(found)

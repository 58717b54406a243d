"""What is inside Namespaces, kind by kind: few are looked into one by one, many that are asked about at the same time by one list of all.

Whoever asks while a kind is being read waits for the next reading of it, which answers all who wait: nothing counts that was read before
the question. One list of all is taken only where it is short beside so many looks, and nothing that stands in its way is an answer: then
each is looked into by itself. What is found in a Namespace is judged by whoever asked about that one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Final

from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Extraction, Row
from skoupa.kube.lists import EVERYWHERE, PAGE_SIZE, Scope, pages
from skoupa.kube.objects import METADATA, Partial
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.model.verdicts import Hold

# For fewer Namespaces a list of all is not tried.
MANY: Final = 4
# So many objects of a list cost about as much as a look into one Namespace.
WORTH: Final = 20
# How long a list of all is tells its first page; of most kinds that is all there is.
GLANCE: Final = 50
# Where the same kind was read so shortly before, others are about to ask as well.
_AGAIN_SECONDS: Final = 1.0
# So long they are waited for.
_GATHER_SECONDS: Final = 0.2
# Rights change seldom.
_REFUSED_SECONDS: Final = 60.0


class _Question:
    def __init__(self, namespace: str, judge: Callable[[Row], Hold | None], *, lenient: bool) -> None:
        self.namespace = namespace
        self._judge = judge
        self._lenient = lenient
        self.hold: Hold | None = None
        self.error: SkoupaError | None = None
        self.is_answered = False

    @property
    def is_open(self) -> bool:
        return self.hold is None and self.error is None

    def take(self, row: Row) -> None:
        if self.is_open:
            self.hold = self._judge(row)

    def unread(self, why: SkoupaError) -> None:
        if self.is_open:
            self.error = why

    def not_understood(self, why: str) -> None:
        if not self._lenient:
            self.unread(SkoupaError(why))


_Places = dict[str, list[_Question]]


class Insides:
    def __init__(self, patience: Patience, *, extraction: Extraction) -> None:
        self._patience = patience
        self._clock = patience.client.clock
        self._extraction = extraction
        self._waiting: dict[Resource, list[_Question]] = {}
        self._reading: dict[Resource, asyncio.Lock] = {}
        self._read_at: dict[Resource, float] = {}
        # Until when no list of all is asked for again.
        self._refused: dict[Resource, float] = {}

    async def first(
        self,
        resource: Resource,
        namespace: str,
        judge: Callable[[Row], Hold | None],
        *,
        lenient: bool,
        of_many: bool,
    ) -> Hold | None:
        """The first Hold that `judge` gives on what is in there; raises what kept it from being read.

        `lenient`: what can't be understood is passed over. `of_many`: others are asked about at the same time, as a rule.
        """
        question = _Question(namespace, judge, lenient=lenient)
        self._waiting.setdefault(resource, []).append(question)
        try:
            async with self._reading.setdefault(resource, asyncio.Lock()):
                if not question.is_answered:
                    if of_many or self._was_read_just_now(resource):
                        await self._clock.sleep(_GATHER_SECONDS)
                    await self._answer(resource)
        finally:
            if not question.is_answered and question in self._waiting.get(resource, ()):
                # Nobody wants to know any more.
                self._waiting[resource].remove(question)
        if question.error is not None:
            raise question.error
        return question.hold

    def _was_read_just_now(self, resource: Resource) -> bool:
        return self._clock.monotonic() - self._read_at.get(resource, -math.inf) < _AGAIN_SECONDS

    async def _answer(self, resource: Resource) -> None:
        asked = self._waiting.pop(resource)
        try:
            await self._read(resource, asked)
        except BaseException:
            # Whoever read for all of them was told to stop: the next goes on.
            self._waiting.setdefault(resource, []).extend(asked)
            raise
        self._read_at[resource] = self._clock.monotonic()
        for question in asked:
            question.is_answered = True

    async def _read(self, resource: Resource, asked: Iterable[_Question]) -> None:
        places: _Places = {}
        for question in asked:
            places.setdefault(question.namespace, []).append(question)
        if len(places) >= MANY and await self._all_of_it(resource, places):
            return
        async with asyncio.TaskGroup() as group:
            for place, questions in places.items():
                group.create_task(self._one(resource, place, questions))

    async def _one(self, resource: Resource, place: str, questions: list[_Question]) -> None:
        asked = pages(self._patience.client, resource, METADATA, scope=Scope(namespace=place))
        try:
            async with aclosing(self._patience.pages(resource.qualified, asked)) as listing:
                async for page in listing:
                    for question in questions:
                        if page.undecodable:
                            question.not_understood(page.undecodable[0].why)
                        for item in page.items if question.is_open else ():
                            question.take(self._extraction.row(resource, item))
                    if not any(question.is_open for question in questions):
                        return
        except SkoupaError as error:
            for question in questions:
                question.unread(error)

    async def _all_of_it(self, resource: Resource, places: _Places) -> bool:
        """Whether all of them were answered by a list of all; what it found on the way counts in any case."""
        if self._clock.monotonic() < self._refused.get(resource, -math.inf):
            return False
        try:
            short = await self._glance(resource, places)
            return short if short is not None else await self._list(resource, places)
        except Forbidden:
            self._refused[resource] = self._clock.monotonic() + _REFUSED_SECONDS
            return False
        except SkoupaError:
            return False

    async def _glance(self, resource: Resource, places: _Places) -> bool | None:
        """Whether the first page is all of it, or too much follows; None: what follows is worth reading."""
        asked = pages(self._patience.client, resource, METADATA, scope=EVERYWHERE, page_size=GLANCE)
        async with aclosing(self._patience.pages(resource.qualified, asked)) as listing:
            async for page in listing:
                # Some servers do not count what follows.
                if not page.first or page.undecodable or not self._judge(resource, page.items, places):
                    return False
                if page.remaining:
                    return None if len(page.items) + page.remaining <= WORTH * len(places) else False
        return True

    async def _list(self, resource: Resource, places: _Places) -> bool:
        asked = pages(self._patience.client, resource, METADATA, scope=EVERYWHERE, page_size=PAGE_SIZE)
        async with aclosing(self._patience.pages(resource.qualified, asked)) as listing:
            async for page in listing:
                if page.undecodable or not self._judge(resource, page.items, places):
                    return False
        return True

    def _judge(self, resource: Resource, items: Iterable[Partial], places: _Places) -> bool:
        """False where one does not say in which Namespace it is."""
        for item in items:
            if not item.metadata.namespace:
                return False
            for question in places.get(item.metadata.namespace, ()):
                question.take(self._extraction.row(resource, item))
        return True

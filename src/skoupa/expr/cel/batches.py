"""How far a page has come: what is judged, what is lost with a dead child, and what is still to do."""

from __future__ import annotations

import msgspec

from skoupa.errors import BadReply
from skoupa.expr.cel.broker import Broker
from skoupa.expr.cel.messages import Circumstances, Judge, Judged, Result, Source


class Batch:
    def __init__(self, source: Source, page: bytes, *, circumstances: Circumstances, broker: Broker) -> None:
        self.source = source
        self.page = page
        self.circumstances = circumstances
        self.broker = broker
        self.finished = False
        self.problem = ""
        self.idle_deaths = 0
        self.results: list[Result] = []
        self._lost: dict[int, Result] = {}

    def message(self, *, seconds: float) -> Judge:
        return Judge(
            source=self.source,
            circumstances=self.circumstances,
            start=len(self.results),
            skip=tuple(index for index in self._lost if index >= len(self.results)),
            seconds=seconds,
        )

    def take(self, judged: Judged) -> None:
        for index, result in enumerate(judged.results, judged.start):
            self.results.append(self._lost.get(index, result))

    def lose(self, index: int, error: str) -> None:
        self._lost[index] = Result(False, error)

    def give_up(self, error: str) -> None:
        """What has no answer yet gets none. A BadReply where the page is no list of objects."""
        self.results += [
            self._lost.get(index, Result(False, error))
            for index in range(len(self.results), _count(self.page))
        ]
        self.finished = True

    def name_of(self, condition: int) -> str:
        known = (*(one.name for one in self.source.conditions), *self.source.told)
        return known[condition] if condition < len(known) else str(condition)


class _Items(msgspec.Struct):
    items: list[msgspec.Raw]


def _count(page: bytes) -> int:
    """Only when a batch is given up: otherwise the child counts."""
    try:
        return len(msgspec.json.decode(page, type=_Items).items)
    except msgspec.DecodeError as error:
        raise BadReply(f"the page can't be read: {error}") from error

"""Kinds that are on their way: something tells of them, and nobody has read yet what of them is kept.

A definition that comes, or comes again under its old name, holds; so does one that is changed or found while nobody serves
its kind, and an API service that comes. Each holds until a discovery that was asked for after the news shows the kind, and it
has a feed or a reason why not. What discovery does not show within a few seconds is not served; a group whose kinds the
server can't tell holds by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.kind_news import News
from skoupa.controller.sight.watchable import NOT_READ_YET
from skoupa.judge.cascade import Blind
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource

# Discovery shows a new definition a moment after it is established, and an API service once it answers.
NOT_SERVED_SECONDS: Final = 5.0
_EVERY: Final = "*"


class Coming:
    """`look` hears that the kinds have to be looked at anew; `more` is set where something tells of new ones."""

    def __init__(self, knowledge: Knowledge, clock: Clock, *, look: Callable[[], None]) -> None:
        self._knowledge = knowledge
        self._clock = clock
        self._look = look
        self._since: dict[str, float] = {}
        self.more = asyncio.Event()

    def definitions(self, news: News) -> None:
        served = {one.qualified for one in self._knowledge.discovery.resources}
        names = {*news.came, *(name for name in news.others if name not in served)}
        self._tell(news, {name: _defined(name) for name in names})

    def api_services(self, news: News) -> None:
        discovery = self._knowledge.discovery
        told = {(one.group, one.version) for one in discovery.resources}
        told |= {(gap.group, gap.version) for gap in discovery.gaps}
        names = {*news.came, *(name for name in news.others if _version(name) not in told)}
        self._tell(news, {f"{_EVERY} of {name}": _announced(name) for name in names})

    def found(self, kinds: Iterable[Resource]) -> None:
        """Discovery shows them; until their feeds are open nobody else knows that they are not read."""
        self._add({kind.qualified: kind for kind in kinds})

    def _tell(self, news: News, kinds: dict[str, Resource]) -> None:
        self._since |= dict.fromkeys(kinds, self._clock.monotonic())
        self._add(kinds)
        if kinds:
            self.more.set()
        if kinds or not news.first:
            self._look()

    def _add(self, kinds: dict[str, Resource]) -> None:
        if kinds:
            self._knowledge.coming |= {
                name: Blind(resource=kind, why=NOT_READ_YET, behind=True) for name, kind in kinds.items()
            }
            # A delete that was judged a moment ago is judged again.
            self._knowledge.keep_changes += 1

    def let_go(self, found: Discovery, *, asked: float) -> bool:
        """After a look, by what it found and when it asked: whether some hold no longer."""
        coming, some = self._knowledge.coming, False
        shown: set[str | tuple[str, str]] = {one.qualified for one in found.resources}
        shown |= {(one.group, one.version) for one in found.resources}
        for name, blind in list(coming.items()):
            since, kind = self._since.get(name, float("-inf")), blind.resource
            there = kind.qualified if kind.plural != _EVERY else (kind.group, kind.version)
            if since < asked and (there in shown or asked - since >= NOT_SERVED_SECONDS):
                del coming[name]
                self._since.pop(name, None)
                some = True
        return some


def _defined(name: str) -> Resource:
    plural, _, group = name.partition(".")
    return Resource(group=group, version="", plural=plural, kind="", namespaced=True)


def _announced(name: str) -> Resource:
    group, version = _version(name)
    return Resource(group=group, version=version, plural=_EVERY, kind="", namespaced=True)


def _version(api_service: str) -> tuple[str, str]:
    version, _, group = api_service.partition(".")
    return group, version

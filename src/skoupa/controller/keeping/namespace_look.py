"""The last look at a Namespace before something in it goes: what is written on it may be two seconds old, no more.

A watch that is cut says so; one that is frozen is believed in for minutes. So the Namespace is read, once for all that
goes in it together, unless the watch of Namespaces has just shown that it is alive. Nothing is read while nothing goes. A
server that does not answer is not waited for long: then what is in the Namespace is held, and asked about again later.
Namespaces that could never be read are not asked for: that was told at the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.sight.namespaces import FRESH_SECONDS
from skoupa.errors import ApiError, NotFound, SkoupaError, TimedOut
from skoupa.facts.rows import Row
from skoupa.facts.store import Delta
from skoupa.judge.protection import finite, kept_until
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sweep.parents import patience_of

# So many answers are remembered before the old ones among them are thrown away.
_MANY: Final = 500


class _Answer:
    """Of one Namespace: `row` is None where there is none; `why` says that it could not be read."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.read_at = float("-inf")
        self.row: Row | None = None
        self.why = ""


class NamespaceLook:
    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        feeds: Callable[[], Feeds | None],
        on_change: Callable[[Sequence[Delta]], None],
    ) -> None:
        self._patience = patience_of(client)
        self._clock: Clock = client.clock
        self._knowledge = knowledge
        self._feeds = feeds
        self._on_change = on_change
        self._answers: dict[str, _Answer] = {}

    async def freshen(self, name: str) -> Hold | None:
        """Afterwards what is known of it is fresh, or there is a Hold."""
        answer = self._answers.get(name)
        if answer is not None and self._is_fresh(answer.read_at):
            return self._hold(answer)
        feeds = self._feeds()
        # Without the right: told and nothing else where it was never there, and a Hold already where it is lost.
        if feeds is None or feeds.denied(NAMESPACES) or self._is_fresh(feeds.namespaces_heard_at()):
            return None
        try:
            # Before the lock: whoever has it may be finding out.
            self._patience.check(NAMESPACES.qualified)
        except TimedOut as error:
            return _unread(error.message)
        answer = answer or self._answers.setdefault(name, _Answer())
        async with answer.lock:
            if not self._is_fresh(answer.read_at):
                await self._read(name, answer)
        self._throw_away()
        return self._hold(answer)

    def _is_fresh(self, moment: float) -> bool:
        return self._clock.monotonic() - moment <= FRESH_SECONDS

    async def _read(self, name: str, answer: _Answer) -> None:
        asked_at = self._clock.monotonic()
        answer.row, answer.why = None, ""
        resource = self._knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES
        try:
            # By a list, which is the right that a watch needs too; more is not granted.
            self._patience.check(NAMESPACES.qualified)
            with self._patience.asking(NAMESPACES.qualified):
                found = await self._patience.client.find(resource, name, view=METADATA)
        except NotFound:
            # What was in it is gone, or goes.
            pass
        except SkoupaError as error:
            answer.why = error.status.message if isinstance(error, ApiError) else error.message
        else:
            answer.row = self._knowledge.extraction.row(resource, found)
            delta = self._knowledge.store.refresh(answer.row)
            if delta is not None:
                self._on_change([delta])
        answer.read_at = asked_at

    def _hold(self, answer: _Answer) -> Hold | None:
        if answer.why:
            return _unread(answer.why)
        row = answer.row
        if row is None or self._knowledge.store.get(row.uid) is not None:
            return None
        # The feed has not brought it yet, so no judgement knows of its label.
        value = row.label(names.KEEP_LABEL)
        until = kept_until(value, self._clock.now())
        if until is None:
            return None
        return Hold(reason=reason("namespace-kept", value=value or '""'), until=finite(until))

    def _throw_away(self) -> None:
        if len(self._answers) > _MANY:
            self._answers = {
                name: answer
                for name, answer in self._answers.items()
                if answer.lock.locked() or self._is_fresh(answer.read_at)
            }


def _unread(why: str) -> Hold:
    return Hold(reason=reason("namespace-unread", kind=NAMESPACES.qualified, why=why))

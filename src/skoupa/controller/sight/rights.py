"""Which kinds may be read and deleted, and where: asked once a minute, and at once after a 403.

The answer for a kind is the widest scope that is granted: everywhere, or the configured namespaces one by one. What may
not be deleted is a Hold with the right that is missing, not an error. What is not known is tried: the server's own
answer is the best one. Namespaces in which something waits for a right come first, so that it goes soon after the grant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_namespace
from skoupa.kube.access import FRESH_SECONDS, Access, Rules
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

_EVERYWHERE: Final = ""
# A namespace with a Role of its own is asked about by itself; so many of them in one round.
NAMESPACES_A_ROUND: Final = 10
# Where something is overdue and held for lack of a right: so many in a minute, whatever else asks for a round.
WAITING_A_MINUTE: Final = 100
_MINUTE: Final = 59.0
# A webhook says 403 too, again and again: what was asked just now is still true.
BELIEF_SECONDS: Final = 5.0


class Rights:
    def __init__(self, access: Access, *, namespaces: Sequence[str], clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._namespaces = tuple(namespaces)
        # The oldest first. None: something there is due, and nobody has asked yet.
        self._rules: dict[str, Rules | None] = {}
        # When a 403 was last the cause to ask.
        self._doubted_at: dict[str, float] = {}
        # Where the server does not tell its rules: what it said of one kind, or one object, and when.
        self._answers: dict[tuple[Resource, str, str], tuple[bool, float]] = {}
        self._asking = asyncio.Lock()
        # When the minute began in which namespaces that wait are asked about, and how many more may be.
        self._minute = float("-inf")
        self._left = 0

    async def scopes(self, resource: Resource, *, verbs: Sequence[str]) -> tuple[str, ...]:
        """Where all the verbs are granted: ("",) is everywhere, () nowhere."""
        if not self._namespaces or not resource.namespaced:
            if await self._all(resource, verbs, _EVERYWHERE):
                return (_EVERYWHERE,)
            return ()
        return tuple([name for name in self._namespaces if await self._all(resource, verbs, name)])

    async def _all(self, resource: Resource, verbs: Sequence[str], namespace: str) -> bool:
        for verb in verbs:
            if not await self._access.may(verb, resource, namespace=namespace):
                return False
        return True

    async def may_list(self, resource: Resource, *, name: str) -> bool:
        """Objects of that name, in the whole cluster."""
        return await self._access.may("list", resource, namespace=_EVERYWHERE, name=name)

    async def may_get_namespace(self, name: str) -> bool:
        """A Role in the namespace is enough."""
        return await self._access.may("get", NAMESPACES, namespace=name, name=name)

    async def refresh(self, resources: Iterable[Resource], *, waiting: Collection[str] = ()) -> bool:
        """Learns what may be done now; whether anything changed. `waiting` are namespaces where a right is wanted."""
        before = dict(self._rules)
        for namespace in (_EVERYWHERE, *self._namespaces, *self._next(waiting)):
            await self._ask(namespace)
        old = self._clock.monotonic() - FRESH_SECONDS
        known = len(self._answers)
        changed = before != self._rules
        self._answers = {} if changed else {key: said for key, said in self._answers.items() if said[1] > old}
        changed = changed or len(self._answers) != known
        await self._answer((resource, _EVERYWHERE) for resource in resources)
        return changed

    def _next(self, waiting: Collection[str]) -> list[str]:
        """Namespaces to ask about by themselves, those whose answer is the oldest."""
        now = self._clock.monotonic()
        if now - self._minute >= _MINUTE:
            self._minute, self._left = now, WAITING_A_MINUTE
        roles = [name for name in self._rules if name not in {_EVERYWHERE, *self._namespaces}]
        first = [name for name in roles if name in waiting][: self._left]
        self._left -= len(first)
        return first + [name for name in roles if name not in waiting][:NAMESPACES_A_ROUND]

    async def learn(self, places: Iterable[tuple[Resource, str]]) -> None:
        """Learns what may be deleted in these places alone: one review for each namespace at most."""
        wanted = dict.fromkeys(places)
        if wanted:
            await self._ask(_EVERYWHERE)
        for resource, namespace in wanted:
            if self._rules.get(namespace) is None and self._granted(_EVERYWHERE, resource, "") is not True:
                await self._ask(namespace)
        await self._answer(wanted)

    async def _ask(self, namespace: str) -> None:
        rules = await self._access.renew(namespace)
        self._rules.pop(namespace, None)
        self._rules[namespace] = rules

    async def _answer(self, places: Iterable[tuple[Resource, str]]) -> None:
        """Where the rules are incomplete one review for each kind decides; the answers are kept for a while."""
        for resource, namespace in places:
            rules = self._rules.get(namespace)
            if rules is not None and rules.grants("delete", resource) is None:
                allowed = await self._access.may("delete", resource, namespace=namespace)
                self._answers.setdefault((resource, namespace, ""), (allowed, self._clock.monotonic()))

    async def refused(self, row: Row) -> bool:
        """A delete came back with 403: whether it is a missing right (a webhook says 403 too)."""
        place = place_of(row)
        async with self._asking:
            for namespace in dict.fromkeys((_EVERYWHERE, place)):
                doubted = self._doubted_at.get(namespace, float("-inf"))
                if self._clock.monotonic() - doubted >= BELIEF_SECONDS:
                    await self._ask(namespace)
                    self._doubted_at[namespace] = self._clock.monotonic()
            if self._may_delete(row) is None:
                self._access.forget()
                allowed = await self._access.may("delete", row.resource, namespace=place, name=row.name)
                self._answers[row.resource, place, row.name] = (allowed, self._clock.monotonic())
        return self._may_delete(row) is False

    def forget_places(self, *, but: Collection[str]) -> None:
        """Namespaces in which nothing is left to judge need not be asked about any more."""
        for place in [place for place in self._rules if place != _EVERYWHERE and place not in but]:
            del self._rules[place]
            self._doubted_at.pop(place, None)
        self._answers = {key: said for key, said in self._answers.items() if key[1] in but or not key[1]}

    def hold(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - rights do not end by themselves
        if self._may_delete(row) is not False:
            return None
        where = f"in {row.namespace}" if row.namespace else "in the cluster"
        told = reason("no-permission", verb="delete", kind=row.resource.qualified, where=where)
        return Hold(reason=told)

    def _may_delete(self, row: Row) -> bool | None:
        """None: not known."""
        everywhere = self._granted(_EVERYWHERE, row.resource, row.name)
        place = place_of(row)
        if everywhere or not place:
            return everywhere
        if place not in self._rules:
            # The next round asks.
            self._rules[place] = None
        return self._granted(place, row.resource, row.name)

    def _granted(self, namespace: str, resource: Resource, name: str) -> bool | None:
        rules = self._rules.get(namespace)
        granted = rules.grants("delete", resource, name) if rules is not None else None
        if granted is not None:
            return granted
        said = self._answers.get((resource, namespace, name)) or self._answers.get((resource, namespace, ""))
        return said[0] if said is not None else None


def place_of(row: Row) -> str:
    """A Namespace lies within itself to an authorizer."""
    return row.name if is_namespace(row) else row.namespace

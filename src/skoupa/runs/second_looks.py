"""Objects that a policy is asked about again before they may go: they changed, or they did not go within moments of its run.

The evidence is gathered anew: context, labels of namespaces and the time are those of now. A few objects are read by name; for
many the policy's own lists are read once more. After these, and after a look at who uses what, there is a pause, so that no number of objects costs more than that. What
does not meet the policy any more is not chosen any more; what can't be read or judged stays, says why and is asked about again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid, uid_text
from skoupa.facts.store import Store
from skoupa.judge.policies import Chosen, LateGuard, PolicyMechanism
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.objects import View
from skoupa.model.reasons import render
from skoupa.runs.choices import Choices
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.runs.run import Findings
from skoupa.sweep.reporting import Report

# The end of one Hold sets many free, one after the other: they are asked about together.
GATHER_SECONDS: Final = 0.2
# More than these are not read one by one.
FEW: Final = 50
# Between two readings of the lists of one policy, or of who uses what: so many times as long as one takes, but no longer than that.
_PAUSE: Final = 10
_LONGEST_PAUSE_SECONDS: Final = 30.0
_RULES_AT_ONCE: Final = 8

_METADATA: Final[View[msgspec.Raw]] = View(type=msgspec.Raw, metadata_only=True)
_WHOLE: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)


class _Asking:
    """What is to be asked of one policy, and when."""

    __slots__ = ("backoff", "busy", "doubted", "not_before", "troubles", "wanted")

    def __init__(self, clock: Clock) -> None:
        self.wanted: dict[Uid, None] = {}
        # What a look that is under way must not answer for: it began too early.
        self.doubted: set[Uid] = set()
        self.not_before = 0.0
        self.busy = False
        self.backoff = Backoff(clock)
        # Why the last try told nothing of it.
        self.troubles: dict[Uid, str] = {}


class Again(Protocol):
    """Runs of policies, by their names. None: that one is not there any more."""

    async def evaluation_of(self, rule: str) -> Evaluation | None: ...

    async def findings_of(self, rule: str) -> Findings | None: ...

    async def may_delete(self, rule: str, row: Row) -> bool:
        """Whether the account may that the policy acts as."""

    def left(self, rule: str, uid: Uid) -> None:
        """It does not mean that any more."""


class SecondLooks:
    """`look_at` has objects judged; `report` hears of what policies do not choose any more, and of what is gone."""

    def __init__(
        self,
        client: Client,
        *,
        store: Store,
        again: Callable[[], Again],
        report: Report,
        look_at: Callable[[Iterable[Uid]], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._store = store
        self._again = again
        self._report = report
        self._look_at = look_at
        self._asked: dict[str, _Asking] = {}
        self._turns = asyncio.Semaphore(_RULES_AT_ONCE)
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def guard(self, mechanism: PolicyMechanism, *, observing: bool) -> LateGuard:
        """Holds what has to be asked about."""
        return LateGuard(mechanism, trouble=self.trouble, observing=observing)

    def want(self, rule: str, uid: Uid) -> None:
        asking = self._asked.get(rule)
        if asking is None:
            asking = self._asked[rule] = _Asking(self._clock)
        if uid in asking.wanted:
            return
        if not asking.wanted:
            asking.not_before = max(asking.not_before, self._clock.monotonic() + GATHER_SECONDS)
            self._news.set()
        asking.wanted[uid] = None

    def doubt(self, rule: str, uid: Uid) -> None:
        """The same where something changed that policies look at beside the object: who asks right now has seen the old."""
        self.want(rule, uid)
        self._asked[rule].doubted.add(uid)

    def trouble(self, rule: str, uid: Uid) -> str:
        """Why it is not known what the policy says of it now; empty: nobody has failed to ask."""
        asking = self._asked.get(rule)
        return asking.troubles.get(uid, "") if asking is not None else ""

    async def follow(self, choices: Choices) -> None:
        """For ever; one task for each policy that is asked."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._news.clear()
                wait = self._begin(group, choices)
                try:
                    async with self._clock.timeout(None if wait == math.inf else wait):
                        await self._news.wait()
                except TimeoutError:
                    continue

    def _begin(self, group: asyncio.TaskGroup, choices: Choices) -> float:
        """Begins with those that may be asked now; how long until another may."""
        now, wait = self._clock.monotonic(), math.inf
        for rule, asking in list(self._asked.items()):
            if asking.busy:
                continue
            if asking.not_before > now:
                wait = min(wait, asking.not_before - now)
            elif asking.wanted:
                asking.busy = True
                group.create_task(self._ask(rule, asking, choices))
            else:
                del self._asked[rule]
        return wait

    async def _ask(self, rule: str, asking: _Asking, choices: Choices) -> None:
        pause, error = 0.0, None
        async with self._turns:
            wanted, asking.wanted = asking.wanted, {}
            asking.doubted = set()
            rows = [row for uid in wanted if (row := self._store.get(uid)) is not None and not row.deleted_at]
            asking.troubles = {}
            began = self._clock.monotonic()
            try:
                if await self._look_at_rows(rule, rows, choices):
                    pause = min(_LONGEST_PAUSE_SECONDS, _PAUSE * (self._clock.monotonic() - began))
            except SkoupaError as raised:
                error = raised
                for row in rows:
                    self._failed(rule, row.uid, raised.message, choices)
        self.error, asking.busy = error, False
        if asking.troubles:
            pause = max(pause, asking.backoff.next())
        else:
            asking.backoff.reset()
        asking.not_before = self._clock.monotonic() + pause
        self._news.set()
        # They go, or are not claimed any more, or say why they stay; also where a run that came in between looked at them.
        self._look_at(row.uid for row in rows)

    def _failed(self, rule: str, uid: Uid, why: str, choices: Choices) -> None:
        """It is not known what the policy says of it: it stays, and is asked about again."""
        asking = self._asked[rule]
        asking.troubles[uid] = why
        asking.wanted[uid] = None
        choices.mechanism.distrust(rule, uid)

    async def _look_at_rows(self, rule: str, rows: Collection[Row], choices: Choices) -> bool:
        """Whether more was read for that than single objects."""
        if len(rows) > FEW:
            await self._look_at_all(rule, rows, choices)
            return True
        # A run that comes in between looks for itself.
        before = choices.mechanism.of(rule)
        evaluation = await self._again().evaluation_of(rule) if before is not None else None
        if before is None or evaluation is None:
            return False
        try:
            await self._look_at_few(rule, rows, choices, before=before, evaluation=evaluation)
        finally:
            evaluation.done()
        return evaluation.looked_around

    async def _look_at_few(
        self, rule: str, rows: Iterable[Row], choices: Choices, *, before: Chosen, evaluation: Evaluation
    ) -> None:
        asking = self._asked[rule]
        for row in rows:
            if choices.mechanism.of(rule) is not before:
                return
            if row.uid in asking.doubted:
                continue
            try:
                found = await self._read(row, evaluation)
                permitted = await self._again().may_delete(rule, row)
            except SkoupaError as error:
                self._failed(rule, row.uid, error.message, choices)
                continue
            if choices.mechanism.of(rule) is not before:
                return
            if found is None:
                self._gone(rule, row, choices)
            elif row.uid in asking.doubted:
                continue
            elif permitted:
                self._heed(rule, row, found, choices)
            else:
                self._leave(rule, row, choices, why=f"the account that {rule} acts as may not delete it")

    async def _read(self, row: Row, evaluation: Evaluation) -> Found | None:
        """As the policy finds it now; None: it is gone. By a list on its name: a run needs no other right."""
        view = _WHOLE if evaluation.needs_bodies else _METADATA
        try:
            raw = await self._client.find(row.resource, row.name, namespace=row.namespace, view=view)
        except NotFound:
            return None
        found = await evaluation.one(row.resource, raw)
        return found if found.metadata.uid == uid_text(row.uid) else None

    def _heed(self, rule: str, row: Row, found: Found, choices: Choices) -> None:
        if found.outcome == "unclear":
            why = render(found.why) if found.why is not None else "it could not be judged"
            self._failed(rule, row.uid, why, choices)
        elif found.outcome != "claimed":
            self._leave(rule, row, choices, why=render(found.why) if found.why is not None else "")
        else:
            fresh = choices.showing.row(row.resource, found.metadata)
            choices.mechanism.looked_anew(rule, row.uid, fresh.version, at=self._clock.now())
            choices.show((fresh,))

    def _gone(self, rule: str, row: Row, choices: Choices) -> None:
        """Somebody else deleted it; one that had changed before claimed nothing, so that nobody waits to hear of it."""
        now = self._clock.now()
        claims = choices.mechanism.answer(row, now).claims
        claim = next((one for one in claims if one.rule == rule), None)
        if claim is not None:
            self._report.gone_already(row, claim, at=now)
        choices.gone(row.uid)

    def _leave(self, rule: str, row: Row, choices: Choices, *, why: str = "") -> None:
        choices.leave(row.uid, (rule,))
        self._report.policy_left(
            row, rule, why=why or f"it does not match {rule} any more", at=self._clock.now()
        )
        self._again().left(rule, row.uid)

    async def _look_at_all(self, rule: str, rows: Collection[Row], choices: Choices) -> None:
        before, began = choices.mechanism.of(rule), self._clock.now()
        findings = await self._again().findings_of(rule) if before is not None else None
        if before is None or findings is None or choices.mechanism.of(rule) is not before:
            return
        chosen = set(choices.mechanism.chosen(before.run))
        fresh = [
            choices.showing.row(found.resource, found.metadata)
            for found in findings.claimed
            if pack_uid(found.metadata.uid) in chosen
        ]
        unclear = {pack_uid(found.metadata.uid): found for found in findings.unclear if found.metadata.uid}
        now = self._clock.now()
        anew = msgspec.structs.replace(
            before, versions={row.uid: row.version for row in fresh}, looked=now, took=abs(now - began)
        )
        doubted = self._asked[rule].doubted
        choices.mechanism.looked_over(anew, {row.uid for row in rows} - doubted)
        choices.show(fresh)
        spared = {pack_uid(found.metadata.uid): found for found in findings.spared if found.metadata.uid}
        unread = {gap.query.resource.qualified: gap for gap in findings.gaps}
        for row in rows:
            if row.uid in anew.versions or row.uid in doubted:
                continue
            if row.uid in unclear:
                self._heed(rule, row, unclear[row.uid], choices)
            elif row.resource.qualified in unread:
                self._failed(rule, row.uid, str(unread[row.resource.qualified]), choices)
            elif row.uid in spared:
                self._heed(rule, row, spared[row.uid], choices)
            else:
                # Nobody reads it by itself: it may be gone as well.
                self._leave(rule, row, choices, why=f"{rule} does not find it any more")

"""The label `skoupa.dev/ttl-after`, kept true: what has ended, who uses what, since when nobody does, and one last look.

Nothing is read beyond the labelled objects while there are none. Only who leads writes, and only when enforcing; every replica follows
along, so that who takes over knows all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.swept import WayOut
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.evidence import FollowedEvidence
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.last_looks import LastLooks
from skoupa.controller.retaining.left_marks import LeftMarks
from skoupa.controller.retaining.marks import Marks
from skoupa.controller.retaining.observed import ObservedMoments
from skoupa.controller.retaining.reviewing import Reviewing
from skoupa.controller.retaining.rules import FollowedRules
from skoupa.controller.retaining.secret_types import SecretTypes
from skoupa.controller.retaining.standings import Standings
from skoupa.controller.retaining.teaching import Teaching
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.controller.retaining.usage_graph import UsageGraph
from skoupa.controller.retaining.wishes import Wishes
from skoupa.controller.retaining.worth import Worth
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.retention import NAME
from skoupa.judge.retention_rules import Wish
from skoupa.kube.client import Client
from skoupa.ledger.store import Store
from skoupa.model.verdicts import Claim, Question
from skoupa.runs.overhearing import Overhearing
from skoupa.settings import Settings
from skoupa.usage import finishing, reading
from skoupa.usage.objects import Objects

# How rules begin that are asked about here; others are those of policies on a schedule.
_OURS: Final = (
    f"{names.TTL_AFTER_LABEL}=",
    f"{names.RETENTION_POLICY_KIND}/",
    f"{names.CLUSTER_RETENTION_POLICY_KIND}/",
)


class Retention:
    """`look_at` has objects judged anew; `told` hears what is done in a poorer way for lack of rights, `untold` its end."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        way_out: WayOut,
        overhearing: Overhearing,
        ledger: Callable[[], Store],
        standing_by: Callable[[], bool],
        learn: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        look_again: Callable[[], None],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        assert knowledge.retention is not None, "features.retention has its mechanism"
        self._clock: Clock = client.clock
        self._settings = settings
        self._standing_by = standing_by
        self._leads = False
        enforcing = settings.mode == "enforce"
        self._wishes = Wishes(self._by_policy)
        self.labelled = Labelled(
            finishing.shipped(),
            on_seen=lambda uid: self._look((uid,)),
            by_policy=lambda row: self.rules.matched.terms(row.uid) is not None,
        )
        objects = Objects(reading.shipped())
        self.graph = UsageGraph(objects, self.labelled, on_concerned=self._look, on_doubt=self._doubt)
        self.feeds = UsageFeeds(
            client,
            objects,
            self.graph,
            labelled=self.labelled,
            knowledge=knowledge,
            on_sight=self._doubt,
        )
        self.teaching = Teaching(
            client,
            objects,
            self.feeds,
            labelled=self.labelled,
            knowledge=knowledge,
            acting=self._acting,
            on_known=self._look,
            on_reread=lambda: self._reviewing.rearrange(),  # noqa: PLW0108 - it comes later
            on_taught=lambda: self.rules.match_anew(),  # noqa: PLW0108 - they come later
            told=told,
            untold=untold,
        )
        self._types = SecretTypes(client, places=settings.namespaces, on_known=self._look)
        self._worth = Worth(client.clock, self.graph, knowledge=knowledge)
        self.evidence = FollowedEvidence(
            self.labelled,
            graph=self.graph,
            feeds=self.feeds,
            types=self._types,
            worth=self._worth,
            since_of=self._since,
            owners_hold=self._wishes.owners_hold,
        )
        self.marks: Marks | ObservedMoments = (
            Marks(client, store=knowledge.store, acting=self._acting, told=told, untold=untold)
            if enforcing
            else ObservedMoments(client.clock, ledger, on_read=self._doubt)
        )
        self.standings = Standings(
            client.clock,
            self.labelled,
            evidence=lambda: self.evidence,
            marking=self.marks,
            wished=self._wishes.of,
            timeless=self._wishes.is_timeless,
            on_news=self._news,
        )
        self._reviewing = Reviewing(
            client.clock,
            self.labelled,
            self.feeds,
            look=self._look,
            unsettled=lambda: self.standings.unsettled,
            again=self.marks.heed_time,
        )
        self._left_marks = LeftMarks(
            client,
            knowledge.extraction,
            free=self._unmark,
            ends=knowledge.is_ending,
            acting=self._acting,
        )
        self._last_looks = LastLooks(
            client,
            self.graph,
            feeds=self.feeds,
            store=knowledge.store,
            look_at=look_at,
            on_asked=self._asked,
            observing=not enforcing,
        )
        assert knowledge.retention_rules is not None, "the same"
        knowledge.retention.evidence = knowledge.retention_rules.evidence = self.evidence
        self.rules = FollowedRules(
            client,
            knowledge.retention_rules,
            knowledge=knowledge,
            labelled=self.labelled,
            evidence=lambda: self.evidence,
            learn=learn,
            rematched=self._rematched,
            look_at=look_at,
            look_again=look_again,
            acting=self._acting,
            way_out=way_out,
            report=overhearing,
            told=told,
            untold=untold,
        )
        self._others_hear, overhearing.on_deleted = overhearing.on_deleted, self._deleted
        self._look_at = look_at
        knowledge.bodies[names.TTL_AFTER_LABEL] = self.labelled.body
        knowledge.judge.join_last(self._last_looks)
        self._others_heed, knowledge.on_questions = knowledge.on_questions, self._heed
        self._group: asyncio.TaskGroup | None = None

    @property
    def error(self) -> SkoupaError | None:
        parts = (self.marks, self._left_marks, self._types, self._last_looks, self.rules, self.teaching)
        return next((part.error for part in parts if part.error is not None), None)

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self.rules.open(group)
        self.teaching.open(group)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        assert self._group is not None, "it was opened"
        own = [self._reviewing.follow(self._group), self.marks.follow(), self._left_marks.follow()]
        looks = [self._types.follow(), self._last_looks.follow()]
        return [*own, *looks, *self.rules.work(), self.teaching.follow()]

    def arrange(self) -> None:
        """After every look at the kinds."""
        self.rules.arrange()
        self.teaching.arrange()
        self.feeds.review()
        self._reviewing.rearrange()

    def close(self) -> None:
        self.feeds.close()
        self.rules.close()
        self.teaching.close()

    def take_over(self) -> None:
        """This process acts from now on."""
        self._leads = True
        self.rules.take_over()
        self.teaching.take_over()
        self.marks.doubt()
        self._doubt()

    def learn(self, deltas: Sequence[Delta]) -> None:
        self.rules.learn(deltas)
        self._follow_rows(deltas)

    def _rematched(self, deltas: Sequence[Delta]) -> None:
        """Policies are about these now, or not any more, or wish something else."""
        self._follow_rows(deltas)
        self._look_at([delta.after.uid for delta in deltas if delta.after is not None])

    def _follow_rows(self, deltas: Sequence[Delta]) -> None:
        after = [delta.after for delta in deltas if delta.after is not None]
        known = {row.uid for row in after if row.uid in self.labelled}
        watched = {delta.after.uid for delta in deltas if delta.watched and delta.after is not None}
        here, left = self.labelled.learn(deltas)
        self.graph.mentions.follow(here)
        for row in here:
            self._left_marks.back(row.uid)
            if row.uid in watched and row.uid not in known:
                # Whoever marked it before did so for another wish.
                self.standings.begin(row.uid)
        still = {row.uid for row in after}
        unfollowed = {delta.before.uid for delta in deltas if delta.unfollowed and delta.before is not None}
        for row in left:
            marked = self.marks.is_marked(row) or row.uid in self.standings.unsettled
            self.graph.mentions.leave(row.uid)
            self.standings.forget(row.uid)
            self._last_looks.forget(row.uid)
            self._types.forget(row.uid)
            self.teaching.ends.forget(row.uid)
            if row.uid in still:
                self.marks.leave(row)
            elif marked and row.uid not in unfollowed:
                self._left_marks.left(row)
        if self.feeds.outdated:
            self._reviewing.rearrange()
        if here:
            self._look(row.uid for row in here)

    def _acting(self) -> bool:
        return self._settings.mode == "enforce" and self._leads and not self._standing_by()

    def _by_policy(self, row: Row) -> Wish | None:
        return self.rules.wish(row)

    def _news(self, uids: Iterable[Uid]) -> None:
        uids = tuple(uids)
        self.rules.doubt(uids)
        self._look_at(uids)

    async def _asked(self) -> None:
        """The graph is up to date: what follows from all of it is worked out anew."""
        self._worth.doubt()
        await self.rules.decide()

    def _deleted(self, row: Row, claim: Claim, at: float) -> None:
        self._others_hear(row, claim, at)
        self._left_marks.deleted(row.uid)
        if claim.mechanism == NAME and claim.run:
            self.rules.deleted(row, claim)

    def _unmark(self, row: Row) -> None:
        """It is there, and only its label is gone."""
        if not self.labelled.is_followed(row):
            self.marks.leave(row)

    def _since(self, row: Row, now: float) -> float | None:
        return self.standings.since(row, now)

    def _look(self, uids: Iterable[Uid]) -> None:
        self.standings.look(uids)

    def _doubt(self) -> None:
        """What can be seen is another now: that may concern all."""
        self.evidence.doubt()
        self._reviewing.doubt()

    def _heed(self, row: Row, questions: Sequence[Question]) -> None:
        ours = [one for one in questions if one.rule.startswith(_OURS)]
        if any(question.now for question in ours):
            self._last_looks.want(row.uid)
        others = [one for one in questions if one not in ours]
        if others:
            self._others_heed(row, others)

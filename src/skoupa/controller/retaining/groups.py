"""What objects decide together, kept up to date: which of a policy's objects stay as the newest, and which are too many.

Decided for each policy and kind at once on all that is known of them. While it is not known of one whether somebody needs it, or one
that was to stay has gone since, nothing of that policy and kind is decided, which holds: a decision that rests on an old count takes
too much. What goes by the decision itself changes nothing of it. Quotas are read before, and none that can't be read is a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.controller.retaining.gathered import Gathered
from skoupa.controller.retaining.matched import Matched
from skoupa.facts.rows import Row, Uid
from skoupa.judge.grouping import Member, newest, room_below, too_many
from skoupa.judge.retention_rules import Surplus
from skoupa.policy.retention.policies import Retention

# Changes of a moment are decided upon together.
GATHER_SECONDS: Final = 1.0
Key = tuple[str, str]


class Standing(Protocol):
    """What is known of one object; None where it is not known."""

    def member(self, row: Row, now: float) -> Member | None: ...


class Quotas(Protocol):
    def of(self, name: str) -> Mapping[str, int] | None:
        """How many each namespace may have; None: not known."""

    @property
    def unread(self) -> str:
        """Why they could not be read, as far as somebody tried."""


class _Decision:
    __slots__ = ("kept", "members", "surplus", "undecided")

    def __init__(self) -> None:
        self.members: frozenset[Uid] = frozenset()
        self.kept: frozenset[Uid] = frozenset()
        self.surplus: dict[Uid, Surplus] = {}
        # Why nothing is decided; empty: it is.
        self.undecided = ""


class _New:
    """One that is being decided: the objects of one kind that a policy is about, and what is known of each."""

    __slots__ = ("members", "policy", "rows")

    def __init__(self, policy: Retention, rows: list[Row]) -> None:
        self.policy = policy
        self.rows = rows
        self.members: list[Member] = []


class Groups:
    """`others` are the objects of a kind in a namespace that count for its quota.

    `on_news` hears of objects that have to be judged anew.
    """

    def __init__(
        self,
        clock: Clock,
        matched: Matched,
        *,
        standing: Standing,
        complete: Callable[[Row], str],
        quotas: Quotas,
        others: Callable[[Row, str], Iterable[Row]],
        on_news: Callable[[Iterable[Uid]], None],
    ) -> None:
        self._clock = clock
        self._matched = matched
        self._gathered = Gathered(clock, standing.member)
        self._complete = complete
        self._quotas = quotas
        self._others = others
        self._on_news = on_news
        self._decisions: dict[Key, _Decision] = {}

    def deciding(self) -> Iterator[Retention]:
        return (one for one in self._matched.policies() if one.newest is not None or one.limit is not None)

    def removed(self, row: Row) -> None:
        """One that went, or goes: if that was not by the decision, it counts no more."""
        for (_, kind), decision in self._decisions.items():
            if kind != row.resource.qualified or row.uid not in decision.members:
                continue
            if row.uid not in decision.surplus and (decision.surplus or row.uid in decision.kept):
                decision.undecided = "one that was to stay has gone"
            decision.surplus.pop(row.uid, None)

    def newest_by(self, row: Row) -> str:
        return next((rule for rule, one in self._of(row) if row.uid in one.kept), "")

    def undecided(self, row: Row) -> str:
        return next((one.undecided or _NOT_YET for _, one in self._of(row) if self._is_open(one, row)), "")

    def surplus(self, row: Row) -> Surplus | None:
        """Of several policies with a limit all have to say so."""
        found = self._matched.terms(row.uid)
        if found is None:
            return None
        limits = [one for one in found.by if one.limit is not None]
        said = [
            decision.surplus.get(row.uid) if (decision := self._get(one, row)) is not None else None
            for one in limits
        ]
        return said[0] if said and all(one is not None for one in said) else None

    def doubt(self, uid: Uid) -> None:
        """What is known of it may be another now."""
        self._gathered.doubt(uid)

    def doubt_all(self) -> None:
        self._gathered.doubt_all()

    async def gather(self, touched: Collection[str]) -> None:
        """What the decisions on these policies need, without keeping others waiting."""
        deciding = {policy.uid for policy in self.deciding()}
        for _, rows in tuple(self._rows_of(deciding.intersection(touched))):
            await self._gathered.gather(rows)

    def open_policies(self) -> set[str]:
        """Those of which something is not decided, since not all is known of their objects."""
        return {uid for (uid, _), decision in self._decisions.items() if decision.undecided}

    def decide(self, touched: Collection[str] | None = None) -> None:
        """Anew, for these policies by their uids (None: all); who is chosen or kept now and was not is judged again."""
        now = self._clock.now()
        deciding = {one.uid: one for one in self.deciding()}
        chosen = deciding.keys() if touched is None else deciding.keys() & set(touched)
        before = self._decisions
        known = {key: one for key, one in before.items() if key[0] in deciding and key[0] not in chosen}
        fresh = {key: _New(deciding[key[0]], rows) for key, rows in self._rows_of(chosen)}
        for key, one in fresh.items():
            known[key] = self._kept(one, now)
        # Whom another policy keeps, a limit has to pass over: who keeps others than before concerns all limits that are about those.
        concerned = self._concerned(before, known) - chosen
        for key, rows in self._rows_of(concerned):
            fresh[key] = _New(deciding[key[0]], rows)
            known[key] = self._kept(fresh[key], now)
        self._decisions = known
        for key, one in fresh.items():
            limit = one.policy.limit
            if limit is not None and not known[key].undecided and _limits(limit.quota, one.rows[0]):
                known[key].surplus = self._too_many(one, known[key], before.get(key), now)
        news: set[Uid] = set()
        for key in before.keys() | known.keys():
            news |= _differing(before.get(key), known.get(key))
        if news:
            self._on_news(news)

    def _rows_of(self, uids: Iterable[str]) -> Iterator[tuple[Key, list[Row]]]:
        for uid in uids:
            by_kind: dict[str, list[Row]] = {}
            for row in self._matched.of_policy(uid).values():
                if not row.deleted_at:
                    by_kind.setdefault(row.resource.qualified, []).append(row)
            yield from (((uid, kind), rows) for kind, rows in by_kind.items())

    def _kept(self, new: _New, now: float) -> _Decision:
        """Who is in it and which of them stay as the newest."""
        decision = _Decision()
        decision.members = frozenset(row.uid for row in new.rows)
        decision.undecided = self._complete(new.rows[0])
        for row in new.rows:
            if decision.undecided:
                return decision
            member = self._gathered.of(row, now)
            if member is None:
                decision.undecided = f"it is not known yet whether somebody needs {row.name}"
            else:
                new.members.append(member)
        if new.policy.newest is not None and not decision.undecided:
            decision.kept = frozenset(newest(new.members, new.policy.newest))
        return decision

    def _concerned(self, before: Mapping[Key, _Decision], after: Mapping[Key, _Decision]) -> set[str]:
        """Policies with a limit that are about objects which others keep now and did not, or did and do not."""
        changed: set[Uid] = set()
        for key in before.keys() | after.keys():
            was, now = before.get(key, _UNDECIDED), after.get(key, _UNDECIDED)
            changed |= was.kept ^ now.kept
        return {
            one.uid
            for uid in changed
            if (found := self._matched.terms(uid)) is not None
            for one in found.by
            if one.limit is not None
        }

    def _too_many(
        self, new: _New, decision: _Decision, before: _Decision | None, now: float
    ) -> dict[Uid, Surplus]:
        policy, row, members = new.policy, new.rows[0], new.members
        limit = policy.limit
        assert limit is not None, "it was asked for"
        quotas: Mapping[str, int] = {}
        if limit.quota:
            found = self._quotas.of(limit.quota)
            if found is None:
                why = self._quotas.unread
                decision.undecided = (
                    f"the ResourceQuotas could not be read ({why})"
                    if why
                    else "the ResourceQuotas are being read"
                )
                return {}
            quotas = found
            known = {member.uid for member in members}
            # A quota counts them all, whoever is about them.
            members = members + [
                Member(uid=one.uid, namespace=one.namespace, name=one.name, since=0.0, free=False)
                for place in quotas
                for one in self._others(row, place)
                if one.uid not in known and not one.deleted_at
            ]
        old = before.surplus if before is not None else {}
        kept = self._kept_with(new.rows)
        taken = too_many([_held(one) if one.uid in kept else one for one in members], limit, quotas)
        by_uid = {one.uid: one for one in members}
        return {
            uid: Surplus(
                rule=policy.called,
                limit=room_below(quotas[by_uid[uid].namespace]) if limit.quota else limit.at_most,
                place=_place(limit.quota, limit.divide),
                at=old[uid].at if uid in old else now,
            )
            for uid in taken
        }

    def _kept_with(self, rows: Iterable[Row]) -> frozenset[Uid]:
        """What any policy keeps that counts for some of these."""
        # Very many objects have the same terms.
        shared = {
            (id(found), row.resource.qualified): found
            for row in rows
            if (found := self._matched.terms(row.uid)) is not None
        }
        keeping = {
            (one.uid, kind)
            for (_, kind), found in shared.items()
            for one in found.by
            if one.newest is not None
        }
        return frozenset().union(*(known.kept for key in keeping if (known := self._decisions.get(key))))

    def _of(self, row: Row) -> Iterator[tuple[str, _Decision]]:
        found = self._matched.terms(row.uid)
        for policy in found.by if found is not None else ():
            decision = self._get(policy, row)
            if decision is not None:
                yield policy.called, decision
            elif policy.newest is not None or policy.limit is not None:
                yield policy.called, _UNDECIDED

    def _is_open(self, decision: _Decision, row: Row) -> bool:
        return bool(decision.undecided) or row.uid not in decision.members

    def _get(self, policy: Retention, row: Row) -> _Decision | None:
        return self._decisions.get((policy.uid, row.resource.qualified))


_UNDECIDED: Final = _Decision()
_NOT_YET: Final = "it has come since that was decided"


def _held(member: Member) -> Member:
    return msgspec.structs.replace(member, held=True)


def _limits(quota: str, row: Row) -> bool:
    """A quota is about the one kind that it names: `pods`, `count/jobs.batch`."""
    return not quota or quota.removeprefix("count/") == row.resource.qualified


def _place(quota: str, divide: str) -> str:
    if quota:
        return f"below the quota {quota} of its namespace, of which a tenth stays free"
    return {"PerNamespace": "shared by namespaces", "PerOwner": "shared by owners"}.get(divide, "in all")


def _differing(before: _Decision | None, after: _Decision | None) -> set[Uid]:
    was, now = before or _UNDECIDED, after or _UNDECIDED
    if was.undecided != now.undecided:
        return {*was.members, *now.members}
    return {*(was.kept ^ now.kept), *(was.surplus.keys() ^ now.surplus.keys()), *(was.members ^ now.members)}

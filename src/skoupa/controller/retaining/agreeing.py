"""What retention policies say together of an object that they are about: their terms, and the wish that comes of these.

Remembered for all objects that the same policies are about. One that is not understood any more rests as it was last understood, and
hands its objects to nobody; while one that was never understood may mean anything of a place, nothing goes there by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa.controller.retaining.policy_book import Entry
from skoupa.expr.ttl_after import TtlAfter
from skoupa.judge.retention_rules import FRESH_SECONDS, Wish
from skoupa.model.reasons import Reason, reason
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.precedence import Terms
from skoupa.policy.retention.precedence import terms as agreed_terms
from skoupa.usage.finishing import Ends

_ON_FINISH: Final = ("finished", "succeeded", "failed")


class Agreeing:
    def __init__(self) -> None:
        self._entries: tuple[Entry, ...] = ()
        # By the policies that are about an object: many are about the same.
        self._shared: dict[tuple[str, ...], Terms | None] = {}
        # By the terms themselves, for policies change and keep their names.
        self._wishes: dict[int, tuple[Terms, dict[Ends, Wish | None]]] = {}
        # As each was last understood.
        self._understood: dict[str, Retention] = {}
        # Namespaces (an empty name is the cluster) of policies that were never understood, with their names.
        self._unknown: dict[str, str] = {}
        self.policies: tuple[Retention, ...] = ()
        # Those that are not understood any more.
        self.resting: tuple[Retention, ...] = ()

    def put(self, entries: Iterable[Entry]) -> None:
        """What was said of any object before does not count any more."""
        every = tuple(entries)
        self._entries = tuple(one for one in every if one.policy is not None)
        self.policies = tuple(one.policy for one in self._entries if one.policy is not None)
        known = {one.uid: one.policy for one in self._entries if one.policy is not None}
        broken = [one for one in every if one.policy is None]
        self._understood = {
            one.uid: known.get(one.uid) or self._understood[one.uid]
            for one in every
            if one.uid in known or one.uid in self._understood
        }
        self.resting = tuple(
            msgspec.structs.replace(self._understood[one.uid], suspended=True)
            for one in broken
            if one.uid in self._understood
        )
        self._unknown = {one.namespace: one.called for one in broken if one.uid not in self._understood}
        self._wishes.clear()
        self._shared.clear()

    def wish(self, found: Terms, ends: Ends) -> Wish | None:
        """What these terms wish for an object whose kind ends so."""
        terms_of_it, made = self._wishes.get(id(found), (None, {}))
        if terms_of_it is not found:
            made = {}
            self._wishes[id(found)] = (found, made)
        if ends not in made:
            made[ends] = self.made(found, ends)
        return made[ends]

    def made(self, found: Terms, ends: Ends) -> Wish | None:
        """Moments that never come for a kind say nothing of it; with no time, only a limit may let it go."""
        said: dict[str, Any] = {
            moment: seconds
            for moment, seconds in found.after.items()
            if ends is not Ends.NEVER or moment not in _ON_FINISH
        }
        at_once = not found.after and any(one.newest is not None for one in found.by)
        if at_once and ends is not Ends.BY_RULE:
            said["created"] = FRESH_SECONDS
        limited = any(one.limit is not None for one in found.by)
        if not (said or at_once or limited):
            return None
        first = found.by[0]
        author = next((one.author for one in self._entries if one.uid == first.uid), "")
        uids = {one.uid for one in found.by}
        created = max((one.created for one in self._entries if one.uid in uids), default=0.0)
        return Wish(
            rule=found.rule,
            by=tuple(one.called for one in found.by),
            uid=first.uid,
            generation=first.generation,
            after=TtlAfter(**said) if said or at_once else None,
            owners_hold=found.owners_hold,
            propagation=found.propagation,
            rests=tuple(self._rests(found)),
            author=author,
            floor=created,
        )

    def terms(self, policies: tuple[Retention, ...], namespace: str) -> Terms | None:
        """A policy that nobody understands may mean any of what lies where it counts: nothing goes there by others."""
        key = (*(f"{one.uid} {one.suspended}" for one in policies), "", namespace if self._unknown else "")
        if key not in self._shared:
            found = agreed_terms(policies)
            # A policy of the cluster never counts where one of the namespace does.
            places = {namespace, ""} if found is not None and found.by[0].of_the_cluster else {namespace}
            unknown = [self._unknown[place] for place in sorted(places) if place in self._unknown]
            if found is not None and unknown:
                found = msgspec.structs.replace(found, suspended=(*found.suspended, *unknown))
            self._shared[key] = found
        return self._shared[key]

    def _rests(self, found: Terms) -> Iterator[Reason]:
        """Why nothing goes by these, in words that say what to do."""
        suspended = [one.called for one in self.policies if one.suspended and one.called in found.suspended]
        broken = {*self._unknown.values(), *(one.called for one in self.resting)}
        for code, names in (
            ("retention-broken", [one for one in found.suspended if one in broken]),
            ("retention-suspended", suspended),
            (
                "retention-reading",
                [one for one in found.suspended if one not in broken and one not in suspended],
            ),
        ):
            if names:
                yield reason(code, rule=", ".join(dict.fromkeys(names)))

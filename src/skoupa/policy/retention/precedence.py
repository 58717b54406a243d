"""Which of several retention policies counts for an object: more specific wins, and of equals all together.

A policy of the object's namespace beats every policy of the cluster; a label on the object replaces the times of either, but not
`keepNewest`. Policies of one rank that are about the same object can't be told apart by what their writers meant, so an object goes
only when all of them agree: the longest time of each moment, and a living owner holds unless all ignore it. A policy that is suspended
keeps its rank: suspending it must not hand its objects to one that is less careful.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from skoupa.kinds.policies.scheduling import Propagation
from skoupa.policy.retention.policies import Moment, Retention

_OUTCOMES: Final = ("succeeded", "failed")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the policies `by` say of an object together; `beaten` are about it too and do not count.

    `suspended` names those of `by` that rest: while there is one, nothing goes by any of them.
    """

    by: tuple[Retention, ...]
    beaten: tuple[Retention, ...] = ()
    after: Mapping[Moment, int] = {}
    owners_hold: bool = True
    propagation: Propagation = "Background"
    suspended: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """The one that speaks for all: the first by name."""
        return self.by[0].called

    @property
    def ties(self) -> tuple[str, ...]:
        """The others that count as much."""
        return tuple(one.called for one in self.by[1:])


def terms(policies: Iterable[Retention]) -> Terms | None:
    """Of all policies that are about one object; None where there is none."""
    ranked = sorted(policies, key=lambda one: (one.of_the_cluster, one.namespace, one.name))
    if not ranked:
        return None
    counting = tuple(one for one in ranked if one.of_the_cluster == ranked[0].of_the_cluster)
    return Terms(
        by=counting,
        beaten=tuple(ranked[len(counting) :]),
        after=_longest(counting),
        owners_hold=any(one.owners_hold for one in counting),
        propagation=_agreed(counting),
        suspended=tuple(one.called for one in counting if one.suspended),
    )


def _longest(policies: tuple[Retention, ...]) -> dict[Moment, int]:
    """The longest time of each moment; what one says of every end holds for the outcomes that another speaks of, too."""
    moments = dict.fromkeys(moment for policy in policies for moment in policy.after)
    return {
        moment: max(seconds for policy in policies if (seconds := _said_of(policy, moment)) is not None)
        for moment in moments
    }


def _said_of(policy: Retention, moment: Moment) -> int | None:
    by_every_end = policy.after.get("finished") if moment in _OUTCOMES else None
    return policy.after.get(moment, by_every_end)


def _agreed(policies: tuple[Retention, ...]) -> Propagation:
    """What leaves most behind is the safest where they differ: an orphan can be deleted later, what is gone is gone."""
    wishes = {one.propagation for one in policies}
    if "Orphan" in wishes:
        return "Orphan"
    return "Foreground" if "Foreground" in wishes else "Background"

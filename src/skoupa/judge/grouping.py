"""What many objects decide together: which of a group stay as the newest, and which are too many (seed 003, capacity).

Pure functions over one consistent list: what is being deleted is not in it. Newest is by last use, names decide between equals, so
that two leaders say the same of one list. Nothing that is not `free` is ever chosen: in use, owned, held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from skoupa.facts.rows import Uid
from skoupa.policy.retention.families import family
from skoupa.policy.retention.policies import Limit, Newest

# What is first seen within such a time is seen by one look.
_LOOK_SECONDS: Final = 60.0


class Member(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`since` is when it was needed last, in seconds; `free`: nothing needs or protects it. `owner` is empty where it has none.

    Where `since` is not `exact` it may only be when somebody first looked, and those of one look are told apart by their age.
    `never`: it is never garbage, so it takes the place of none; `at_work`: it is of a kind that finishes, and has not. `held`: something
    else would hold it, so that another has to go in its stead; that makes it no newer than it is.
    """

    uid: Uid
    namespace: str
    name: str
    since: float
    free: bool
    owner: Uid = ""
    created: float = 0.0
    exact: bool = True
    never: bool = False
    at_work: bool = False
    held: bool = False


def newest(members: Iterable[Member], wish: Newest) -> set[Uid]:
    """Those that stay for being among the newest of their group. What is needed now counts as newest of all.

    What has no group (no owner, a name that the expression of the family does not fit) stays.
    """
    groups: dict[tuple[str, Uid], list[Member]] = defaultdict(list)
    kept: set[Uid] = set()
    for member in members:
        if member.never:
            continue
        group = _group(member, wish)
        if group is None:
            kept.add(member.uid)
        else:
            groups[member.namespace, group].append(member)
    for group_members in groups.values():
        ordered = _by_age(group_members)
        kept.update(member.uid for member in ordered[max(0, len(ordered) - wish.count) :])
    return kept


def too_many(members: Sequence[Member], limit: Limit, quotas: Mapping[str, int]) -> list[Uid]:
    """Those that go because there are more than there may be, the oldest first.

    `quotas` has how many a namespace may hold by its ResourceQuota; one that has none has no limit.
    """
    if not limit.quota:
        # How many run is not for a limit of what is left to say.
        members = [member for member in members if not member.never and not member.at_work]
    if limit.quota:
        return _chosen(members, _namespace, {place: room_below(hard) for place, hard in quotas.items()})
    if limit.divide == "Cluster":
        return _chosen(members, _everywhere, {"": limit.at_most})
    by = _owner if limit.divide == "PerOwner" else _namespace
    counts: dict[Uid, int] = defaultdict(int)
    for member in members:
        counts[by(member)] += 1
    return _chosen(members, by, shares(counts, limit.at_most))


def shares(counts: Mapping[Uid, int], total: int) -> dict[Uid, int]:
    """`total` shared equally; what one does not need is lent to those that need more.

    What can't be divided goes to the first by name: the sum is never more than `total`.
    """
    found: dict[Uid, int] = {}
    left = total
    waiting = sorted(counts, key=lambda who: (counts[who], _text(who)))
    for index, who in enumerate(waiting):
        equal = left // (len(waiting) - index)
        found[who] = min(counts[who], equal)
        left -= found[who]
    for who in sorted(counts, key=_text):
        more = min(left, 1) if found[who] < counts[who] else 0
        found[who] += more
        left -= more
    return found


def _chosen(members: Iterable[Member], by: Callable[[Member], Uid], most: Mapping[Uid, int]) -> list[Uid]:
    groups: dict[Uid, list[Member]] = defaultdict(list)
    for member in members:
        groups[by(member)].append(member)
    going: list[Member] = []
    for who, found in groups.items():
        over = len(found) - most.get(who, len(found))
        if over > 0:
            going += _by_age(one for one in found if one.free and not one.held)[:over]
    return [member.uid for member in _by_age(going)]


def room_below(hard: int) -> int:
    """A quota that is used up refuses the next one: a tenth stays free, one at least."""
    return max(hard - max(1, hard // 10), 0)


def _group(member: Member, wish: Newest) -> Uid | None:
    if wish.per == "Namespace":
        return ""
    if wish.per == "Owner":
        return member.owner or None
    return family(member.name, wish.family)


def _by_age(members: Iterable[Member]) -> list[Member]:
    """Oldest first; what is needed now is the newest of all."""
    ordered = sorted(members, key=lambda one: (not one.free, one.since))
    looks: dict[Uid, float] = {}
    before: Member | None = None
    for one in ordered:
        same = (
            before is not None
            and not (one.exact and before.exact)
            and one.since - before.since <= _LOOK_SECONDS
        )
        looks[one.uid] = looks[before.uid] if same and before is not None else one.since
        before = one
    return sorted(
        ordered, key=lambda one: (not one.free, looks[one.uid], one.created, one.namespace, one.name)
    )


def _namespace(member: Member) -> Uid:
    return member.namespace


def _owner(member: Member) -> Uid:
    return member.owner


def _everywhere(member: Member) -> Uid:  # noqa: ARG001 - all are one group
    return ""


def _text(who: Uid) -> str:
    return who if isinstance(who, str) else who.hex()

"""What is told in one message: a Batch gathers Notices for a route, and closes into a Digest.

However much happens, a message stays small: counts are exact, the first few objects of each namespace are named, and
beyond a number of namespaces only counts remain. So a Batch is bounded while it grows, not when it is sent.
A Digest's id follows from its content: every try carries the same id, and so does every replica that announces the same
ahead of its time, whenever it does. What has happened is told with when it did.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Final

import msgspec

from skoupa.report.notices.notice import NAME_LIMIT, Notice, plain
from skoupa.settings.notices import EVENTS, What

# Objects that are named, of each namespace and each thing that happened.
NAMES: Final = 10
# Namespaces with names; a Slack message has 50 blocks, and each of these takes one.
NAMESPACES: Final = 40
REMARKS: Final = 5

Counts = tuple[tuple[What, int], ...]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One namespace; "" is the cluster itself. `items` are the first of each thing, the most pressing first."""

    namespace: str
    counts: Counts
    items: tuple[Notice, ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def more(self) -> int:
        """How many are counted and not named."""
        return self.total - sum(item.count for item in self.items)


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """`elsewhere` counts what happened in namespaces that are not named, `elsewhere_namespaces` of them."""

    route: str
    cluster: str
    first: float
    last: float
    groups: tuple[Group, ...]
    elsewhere: Counts = ()
    elsewhere_namespaces: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def counts(self) -> Counts:
        total: Counter[What] = Counter(dict(self.elsewhere))
        for group in self.groups:
            total.update(dict(group.counts))
        return ordered(total)

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def id(self) -> str:
        groups = tuple(
            msgspec.structs.replace(group, items=tuple(sorted(map(_timeless, group.items), key=_place)))
            for group in self.groups
        )
        content = msgspec.structs.replace(self, groups=groups, first=0.0, last=0.0)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]


class Batch:
    def __init__(self, *, route: str, cluster: str) -> None:
        self._route = route
        self._cluster = cluster
        self._counts: dict[str, Counter[What]] = {}
        self._items: dict[tuple[str, What], list[Notice]] = {}
        self._elsewhere: Counter[What] = Counter()
        self._elsewhere_namespaces: set[str] = set()
        self._remarks: dict[str, None] = {}
        self._first = 0.0
        self._last = 0.0

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, notice: Notice, *, remark: str = "") -> None:
        self._first = min(self._first, notice.at) if self else notice.at
        self._last = max(self._last, notice.at)
        if remark and len(self._remarks) < REMARKS:
            self._remarks[remark] = None
        namespace = notice.namespace
        if namespace not in self._counts:
            if len(self._counts) >= NAMESPACES:
                self._elsewhere[notice.what] += notice.count
                self._elsewhere_namespaces.add(namespace)
                return
            self._counts[namespace] = Counter()
        self._counts[namespace][notice.what] += notice.count
        named = self._items.setdefault((namespace, notice.what), [])
        if len(named) < NAMES:
            named.append(_presentable(notice))

    def close(self) -> Digest:
        """What was gathered; the batch is to be thrown away."""
        groups = (
            Group(
                namespace=namespace,
                counts=ordered(counts),
                items=tuple(item for what in EVENTS for item in self._items.get((namespace, what), ())),
            )
            for namespace, counts in sorted(self._counts.items())
        )
        return Digest(
            route=self._route,
            cluster=self._cluster,
            first=self._first,
            last=self._last,
            groups=tuple(groups),
            elsewhere=ordered(self._elsewhere),
            elsewhere_namespaces=len(self._elsewhere_namespaces),
            remarks=tuple(self._remarks),
        )


def ordered(counts: Counter[What]) -> Counts:
    return tuple((what, counts[what]) for what in EVENTS if counts[what])


def _timeless(notice: Notice) -> Notice:
    """What is to come is the same whenever it is told."""
    ahead = notice.what == "notice" and notice.due is not None
    return msgspec.structs.replace(notice, at=0.0) if ahead else notice


def _place(notice: Notice) -> tuple[str, str, str, str]:
    """Nobody knows in which order another replica comes by them."""
    return (notice.what, notice.kind, notice.name, notice.uid)


def _presentable(notice: Notice) -> Notice:
    return msgspec.structs.replace(
        notice,
        name=plain(notice.name, limit=NAME_LIMIT),
        why=plain(notice.why),
        keep=plain(notice.keep, limit=2 * NAME_LIMIT),
        release=plain(notice.release, limit=2 * NAME_LIMIT),
    )

"""Which rows of the history a person means: ids, kinds, objects, spans of time and the other filters.

Kinds are understood without asking a server, which need not know them any more: built-in ones by all their names,
others as `Widget` or `widgets.shop.example`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import tzinfo
from typing import Final, get_args

import msgspec

from skoupa import names
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import HistorySource
from skoupa.cli.terminal.targets import Target, read_targets
from skoupa.errors import UnknownKind, UsageError
from skoupa.expr.typed_times import past_time
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.ledger.rows import Entry, Result
from skoupa.ledger.rule_ends import is_end_of
from skoupa.ledger.store import Place, Wish

_ID: Final = re.compile("[0-9a-hjkmnp-tv-z]{15}")
_PAGE: Final = 1000

# A rule is called by one of these, its namespace and its name: `CleanupPolicy/shop/old-pods`.
_POLICY_KINDS: Final = frozenset(
    {
        "CleanupPolicy",
        "ClusterCleanupPolicy",
        "DeletingPolicy",
        "NamespacedDeletingPolicy",
        "RetentionPolicy",
        "ClusterRetentionPolicy",
        "Tenant",
    }
)
# In a rule its value stands behind the key; with the mechanism by which it goes then.
LIFETIME_KEYS: Final = {
    names.TTL_LABEL: "ttl",
    names.JANITOR_TTL_ANNOTATION: "ttl",
    names.JANITOR_EXPIRES_ANNOTATION: "ttl",
    names.TTL_CONTROLLER_TTL_ANNOTATION: "ttl",
    names.TTL_AFTER_LABEL: "retention",
}


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """As the options say them. `namespace` empty: all; None: none was named. `given` are the options that narrow it down.

    `ends`: only what is about objects themselves, and not about a finalizer that was taken off one.
    """

    words: tuple[str, ...] = ()
    namespace: str | None = None
    since: str | None = None
    until: str | None = None
    by_policy: str | None = None
    run: str | None = None
    outcomes: tuple[Result, ...] | None = None
    limit: int = 100
    given: tuple[str, ...] = ()
    ends: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if is_id(word))

    @property
    def key(self) -> str:
        """The label or annotation that `by_policy` names without a value, which means all its values."""
        return self.by_policy if self.by_policy in LIFETIME_KEYS else ""

    @property
    def policy(self) -> str:
        """The end of a policy's name that `by_policy` is, as a Brake takes it too; empty: it is a whole one, or a label."""
        wanted = self.by_policy or ""
        whole = "=" in wanted or self.key or wanted.partition("/")[0] in _POLICY_KINDS
        return "" if whole else wanted.lower()

    def is_by(self, rule: str) -> bool:
        """Whether `by_policy` may mean this rule; anything, where none is named."""
        if self.key:
            return rule.startswith(f"{self.key}=")
        return not self.policy or is_end_of(self.policy, rule)

    def by(self) -> tuple[dict[str, str | None], ...]:
        """What to ask the ledger for: a label is found there by its whole name and value."""
        if self.key:
            return ({"mechanism": LIFETIME_KEYS[self.key]},)
        found: list[dict[str, str | None]] = [{"rule": self.by_policy}]
        if self.policy:
            found.append({"rule_end": self.policy})
        return tuple(found)


def refuse_filters(filters: Filters) -> None:
    """Beside an id, which means one row: a filter that would not count must not look as if it did."""
    if filters.given:
        raise UsageError(f"ids and {filters.given[0]} can't go together", advice="give ids, or filters")


def is_id(word: str) -> bool:
    return _ID.fullmatch(word) is not None


def namespace_of(connecting: Connecting, *, all_namespaces: bool) -> str:
    """As `plan` looks: one namespace, that of -n or of the context, unless all are asked for."""
    if all_namespaces:
        return ""
    if connecting.namespace:
        return connecting.namespace
    # Reading a kubeconfig is not needed by who says where to look.
    from skoupa.kube.login import kubeconfig  # noqa: PLC0415

    return kubeconfig.load(kubeconfig=connecting.kubeconfig, context=connecting.context).namespace


def wishes_of(filters: Filters, *, now: float, zone: tzinfo) -> list[Wish]:
    """For each kind or object that is named; what they find is still to be asked with `is_by`."""
    for option, value in (("--by-policy", filters.by_policy), ("--run", filters.run)):
        # Often a variable of a shell that nobody has set: without a run is what went by labels.
        if value is not None and not value.strip():
            raise UsageError(f"{option} is empty", advice="name one, or leave it out")
    since = past_time(filters.since, option="--since", now=now, zone=zone)
    until = past_time(filters.until, option="--until", now=now, zone=zone, later=True)
    if since is not None and since > now:
        raise UsageError(f"--since {filters.since} is still to come", advice="give a time that is past")
    if since is not None and until is not None and until <= since:
        raise UsageError("--until is not after --since", advice="give the later one as --until")
    unknown = set(filters.outcomes or ()) - set(get_args(Result))
    if unknown:
        raise UsageError(
            f"there is no outcome {min(unknown)}", advice=f"there are {', '.join(get_args(Result))}"
        )
    plain = [
        Wish(since=since, until=until, run=filters.run, outcomes=filters.outcomes, **by)
        for by in filters.by()
    ]
    named: list[tuple[str | None, str | None, str | None]] = [*_named(filters)]
    named = named or [(None, None, filters.namespace or None)]
    return [
        msgspec.structs.replace(one, kind=kind, name=name, namespace=namespace)
        for kind, name, namespace in named
        for one in plain
    ]


async def recall(
    source: HistorySource, filters: Filters, *, now: float, zone: tzinfo
) -> tuple[list[Entry], bool]:
    """The newest first, and whether there are more than `limit`; a limit of 0 is none."""
    if filters.ids:
        if len(filters.ids) < len(filters.words):
            other = next(word for word in filters.words if not is_id(word))
            raise UsageError(f'ids and "{other}" can\'t go together', advice="give ids, or kinds and objects")
        return [await existing(source, entry_id) for entry_id in dict.fromkeys(filters.ids)], False
    found: dict[str, Entry] = {}
    for wish in wishes_of(filters, now=now, zone=zone):
        most = filters.limit + 1 if filters.limit else 0
        async for entry in _pages(source, wish, most=most, filters=filters):
            found[entry.id] = entry
    entries = sorted(found.values(), key=lambda entry: (entry.at, entry.id), reverse=True)
    more = bool(filters.limit) and len(entries) > filters.limit
    return entries[: filters.limit] if more else entries, more


async def existing(source: HistorySource, entry_id: str) -> Entry:
    if not entry_id.strip():
        raise UsageError(f"{entry_id!r} is no id", advice="`skoupa history` shows the ids")
    entry = await source.get(entry_id)
    if entry is None:
        raise UsageError(f"there is no {entry_id} in {source.where}", advice="`skoupa history` shows the ids")
    return entry


async def _pages(source: HistorySource, wish: Wish, *, most: int, filters: Filters) -> AsyncIterator[Entry]:
    """Those by the rule that is named; a most of 0 is none."""
    before: Place | None = None
    left = most
    some = bool(filters.key)
    while True:
        size = _PAGE if some or not most else min(_PAGE, left)
        page = await source.find(wish, limit=size, before=before)
        for entry in page:
            if not filters.is_by(entry.rule) or (filters.ends and entry.finalizer):
                continue
            yield entry
            left -= 1
            if most and left <= 0:
                return
        if len(page) < size:
            return
        before = Place(at=page[-1].at, id=page[-1].id)


def _named(filters: Filters) -> Iterator[tuple[str, str | None, str | None]]:
    if not filters.words:
        return
    inside = filters.namespace or None
    if not any("/" in word for word in filters.words):
        for word in filters.words:
            kind, namespaced = _kind(word, instead=", or an id that `skoupa history` shows")
            yield kind, None, inside if namespaced else None
        return
    targets: Sequence[Target] = read_targets([word for word in filters.words if "/" in word])
    if len(targets) < len(filters.words):
        raise UsageError("kinds and objects can't go together", advice="give kinds, or KIND/NAME")
    for target in targets:
        kind, namespaced = _kind(target.kind)
        yield kind, target.name, (target.namespace or inside) if namespaced else None


def is_full_kind(word: str) -> bool:
    """Whether it is written as a kind can be that no server knows any more: `Widget`, `widgets.shop.example`."""
    last = word.rpartition("/")[2]
    return last[:1].isupper() or "." in last


def _kind(word: str, *, instead: str = "") -> tuple[str, bool]:
    """As the ledger has it, and whether its objects may be in a namespace; `instead` is what else could be written."""
    # What the cluster in memory knows is what every server knows; nobody else here needs it.
    from skoupa.sim.state.kinds import BUILT_IN  # noqa: PLC0415

    try:
        found: Resource = Discovery(resources=BUILT_IN).resolve(word)
    except UnknownKind as unknown:
        if is_full_kind(word):
            return word.rpartition("/")[2], True
        raise UsageError(
            f'"{word}" is no built-in kind',
            advice=f"write others as Widget or widgets.shop.example{instead}; {unknown.advice}",
        ) from unknown
    return found.qualified, found.namespaced

"""From the kinds that a policy writes to the kinds that the server has.

Wildcards expand to every kind that can be listed and deleted, each once in one version; a kind without a group is the first
of that name, the core group before others, as kubectl takes it. Nothing is left out silently: what the server has not is
told; with the nearest that it has, as long as these are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product

import msgspec

from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.constraints import ALL, Rule, pair
from skoupa.policy.extent import MOST_NEAR
from skoupa.policy.filters import Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject
from skoupa.policy.missing import (
    Missing,
    idle_kind,
    idle_plural,
    missing_kind,
    missing_plural,
    partly,
    undeletable,
)
from skoupa.policy.reach import out_of_reach


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    """`unreached` tells of wildcards that mean less than fits them: no mistake, but its writer may think otherwise.

    `empty` is what means no kind that is there, as it is written; of a rule each `pair`. `unread` is what may mean one that could
    not be read, and means no other.
    """

    resources: tuple[Resource, ...]
    missing: tuple[Missing, ...] = ()
    unreached: tuple[Missing, ...] = ()
    empty: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """One thing written, the kinds that it means and, where it means none, what to say.

    `beyond` are those that fit a wildcard and that it does not reach; `idle` is what to say of a wildcard that means nothing.
    """

    text: str
    key: str
    resources: list[Resource]
    missing: Missing | None
    beyond: list[Resource]
    idle: Callable[..., Missing] | None


def expand(subject: Subject, discovery: Discovery) -> Expansion:
    """The kinds to list; for a namespaced policy only those that are in namespaces."""
    found: dict[Resource, None] = {}
    missing: list[Missing] = []
    unreached: list[Missing] = []
    empty: set[str] = set()
    unread: set[str] = set()
    for part in _parts(subject, discovery):
        usable = [resource for resource in part.resources if resource.may("list", "delete")]
        here = [resource for resource in usable if resource.namespaced or not subject.namespace]
        if part.missing is not None:
            missing.append(part.missing)
        elif part.resources and not usable:
            missing.append(undeletable(part.text))
        elif not here and part.idle is not None:
            missing.append(part.idle(near=len(missing) < MOST_NEAR))
        elif here and part.beyond:
            unreached.append(partly(part.text, part.beyond))
        if not here:
            empty.add(part.key)
            if part.missing is not None and part.missing.unreadable:
                unread.add(part.key)
        found |= dict.fromkeys(here)
    return Expansion(
        resources=tuple(found),
        missing=tuple(dict.fromkeys(missing)),
        unreached=tuple(dict.fromkeys(unreached)),
        empty=frozenset(empty),
        unread=frozenset(unread),
    )


def in_order(discovery: Discovery) -> list[Resource]:
    """Those of the core group before others."""
    return sorted(discovery.resources, key=lambda row: row.group != "")


def meant(
    pattern: KindPattern, discovery: Discovery, *, rows: Sequence[Resource] | None = None
) -> list[Resource]:
    """The kinds that one pattern of a CleanupPolicy means; who asks for many puts the `rows` in order once."""
    fitting: dict[tuple[str, str], Resource] = {}
    for row in rows if rows is not None else in_order(discovery):
        if pattern.fits(row):
            fitting.setdefault((row.group, row.plural), row)
    if pattern.wild:
        return [row for row in fitting.values() if not out_of_reach(row)]
    return list(fitting.values()) if pattern.grouped else list(fitting.values())[:1]


def also_called(
    pattern: KindPattern, discovery: Discovery, *, rows: Sequence[Resource] | None = None
) -> list[Resource]:
    """Kinds of other groups that have the name which a pattern without a group writes, and that it does not mean."""
    if pattern.grouped or pattern.wild:
        return []
    chosen = {row.group for row in meant(pattern, discovery, rows=rows)}
    return [
        row
        for row in discovery.preferred()
        # Events are one kind in two groups.
        if pattern.fits(row) and row.group not in chosen and row.may("list", "delete") and row.kind != "Event"
    ]


def _parts(subject: Subject, discovery: Discovery) -> Iterator[_Part]:
    match, inside, strange = subject.match, bool(subject.namespace), 0
    if isinstance(match, Filters):
        rows = in_order(discovery)
        for pattern in match.patterns:
            resources = meant(pattern, discovery, rows=rows)
            part = _of_pattern(
                pattern, match, discovery, resources=resources, inside=inside, near=strange < MOST_NEAR
            )
            strange += part.missing is not None
            yield part
        return
    for rule in match.rules:
        rows = _in_order_of(rule, discovery)
        for group, plural in product(sorted(rule.groups), sorted(rule.plurals)):
            resources = list(_of_rule(rule, group, plural, rows=rows))
            part = _of_pair(
                group,
                plural,
                rule=rule,
                discovery=discovery,
                resources=resources,
                inside=inside,
                near=strange < MOST_NEAR,
            )
            strange += part.missing is not None
            yield part


def _of_pattern(
    pattern: KindPattern,
    match: Filters,
    discovery: Discovery,
    *,
    resources: list[Resource],
    inside: bool,
    near: bool,
) -> _Part:
    settled = resources and not pattern.wild
    kept = _out_of_reach(filter(pattern.fits, discovery.resources), inside=inside) if pattern.wild else []
    beyond = [row for row in kept if not _named_beside(pattern, match, row)]
    idle = partial(idle_kind, pattern, beyond, inside=inside, discovery=discovery)
    return _Part(
        text=pattern.text,
        key=pattern.text,
        resources=resources,
        missing=None if settled else missing_kind(pattern, discovery, near=near),
        # Who writes `*` alone knows that it is not everything, and is told so where nothing narrows it.
        beyond=[] if pattern.kind == ALL == pattern.group else beyond,
        # A wildcard whose kinds are all named beside it does no harm.
        idle=idle if pattern.wild and (beyond or not kept) else None,
    )


def _of_pair(
    group: str,
    plural: str,
    *,
    rule: Rule,
    discovery: Discovery,
    resources: list[Resource],
    inside: bool,
    near: bool,
) -> _Part:
    settled = resources and plural != ALL
    rows = (row for row in discovery.resources if group in {ALL, row.group} and rule.fits_kind(row))
    kept = _out_of_reach(rows, inside=inside) if plural == ALL else []
    beyond = [row for row in kept if not rule.names_kind(row)]
    idle = partial(idle_plural, group, beyond, rule=rule, inside=inside, discovery=discovery)
    return _Part(
        text=plural if plural != ALL or group == ALL else f"{plural}.{group or 'core'}",
        key=pair(group, plural),
        resources=resources,
        missing=None if settled else missing_plural(group, plural, rule=rule, discovery=discovery, near=near),
        beyond=[] if group == ALL else beyond,
        idle=idle if plural == ALL and (beyond or not kept) else None,
    )


def _out_of_reach(rows: Iterable[Resource], *, inside: bool) -> list[Resource]:
    """Those that could be named instead."""
    return [
        row
        for row in rows
        if out_of_reach(row) and row.may("list", "delete") and (row.namespaced or not inside)
    ]


def _named_beside(pattern: KindPattern, match: Filters, resource: Resource) -> bool:
    """Whether a kind that a wildcard does not reach is named where that counts for the wildcard's filter."""
    if match.mode == "all":
        return match.names_kind(resource)
    return all(one.names_kind(resource) for one in match.filters if pattern in one.kinds)


def _of_rule(rule: Rule, group: str, plural: str, *, rows: Iterable[Resource]) -> Iterator[Resource]:
    """`rows` are in the order of the rule's versions."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row.group, row.plural)
        if key in seen or group not in {ALL, row.group} or plural not in {ALL, row.plural}:
            continue
        if rule.fits_kind(row) and not (plural == ALL and out_of_reach(row)):
            seen.add(key)
            yield row


def _in_order_of(rule: Rule, discovery: Discovery) -> list[Resource]:
    return sorted(discovery.resources, key=lambda row: _rank(row.version, rule.versions))


def _rank(version: str, wanted: tuple[str, ...]) -> int:
    """Versions in the order in which a rule names them; those of a wildcard in the server's."""
    return wanted.index(version) if version in wanted else len(wanted)

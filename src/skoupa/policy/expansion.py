"""From the kinds that a policy writes to the kinds that the server has.

Wildcards expand to every kind that can be listed and deleted, each once in one version; a kind without a group is the first
of that name, the core group before others, as kubectl takes it. Nothing is left out silently: what the server has not is
told.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import msgspec

from skoupa.expr.readings import quoted
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.constraints import ALL, Constraints, Rule
from skoupa.policy.filters import Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject
from skoupa.policy.missing import Missing, missing_kind, missing_plural
from skoupa.policy.reach import out_of_reach


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[Resource, ...]
    missing: tuple[Missing, ...] = ()


def expand(subject: Subject, discovery: Discovery) -> Expansion:
    """The kinds to list; for a namespaced policy only those that are in namespaces."""
    found: dict[Resource, None] = {}
    missing: list[Missing] = []
    for text, resources, problem in _parts(subject.match, discovery):
        usable = [resource for resource in resources if resource.may("list", "delete")]
        if problem is not None:
            missing.append(problem)
        elif resources and not usable:
            what = f"{quoted(text)} can't be listed and deleted"
            missing.append(Missing(text=text, what=what, instead="leave it out"))
        found |= dict.fromkeys(usable)
    return Expansion(
        resources=tuple(one for one in found if one.namespaced or not subject.namespace),
        missing=tuple(dict.fromkeys(missing)),
    )


def meant(pattern: KindPattern, discovery: Discovery) -> list[Resource]:
    """The kinds that one pattern of a CleanupPolicy means."""
    fitting: dict[tuple[str, str], Resource] = {}
    for row in sorted(discovery.resources, key=lambda row: row.group != ""):
        if pattern.fits(row):
            fitting.setdefault((row.group, row.plural), row)
    if pattern.wild:
        return [row for row in fitting.values() if not out_of_reach(row)]
    return list(fitting.values()) if pattern.grouped else list(fitting.values())[:1]


def also_called(pattern: KindPattern, discovery: Discovery) -> list[Resource]:
    """Kinds of other groups that have the name which a pattern without a group writes, and that it does not mean."""
    if pattern.grouped or pattern.wild:
        return []
    chosen = {row.group for row in meant(pattern, discovery)}
    return [
        row
        for row in discovery.preferred()
        # Events are one kind in two groups.
        if pattern.fits(row) and row.group not in chosen and row.may("list", "delete") and row.kind != "Event"
    ]


def _parts(
    match: Filters | Constraints, discovery: Discovery
) -> Iterator[tuple[str, list[Resource], Missing | None]]:
    """Each thing written, the kinds that it means and, where it means none, what to say."""
    if isinstance(match, Filters):
        for pattern in match.patterns:
            resources = meant(pattern, discovery)
            settled = resources and not pattern.wild
            yield pattern.text, resources, None if settled else missing_kind(pattern, discovery)
        return
    for rule in match.rules:
        for group, plural in product(sorted(rule.groups), sorted(rule.plurals)):
            resources = list(_of_rule(rule, group, plural, discovery=discovery))
            settled = resources and plural != ALL
            missing = None if settled else missing_plural(group, plural, rule=rule, discovery=discovery)
            yield plural, resources, missing


def _of_rule(rule: Rule, group: str, plural: str, *, discovery: Discovery) -> Iterator[Resource]:
    seen: set[tuple[str, str]] = set()
    for row in sorted(discovery.resources, key=lambda row: _rank(row.version, rule.versions)):
        key = (row.group, row.plural)
        if key in seen or group not in {ALL, row.group} or plural not in {ALL, row.plural}:
            continue
        if rule.fits_kind(row) and not (plural == ALL and out_of_reach(row)):
            seen.add(key)
            yield row


def _rank(version: str, wanted: tuple[str, ...]) -> int:
    """Versions in the order in which a rule names them; those of a wildcard in the server's."""
    return wanted.index(version) if version in wanted else len(wanted)

"""What a policy that can run may yet not mean: told to its writer, never refused (seed 004, open question 1 among them)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import PODS
from skoupa.policy.constant_cautions import constant_cautions, sifts
from skoupa.policy.constraints import ALL, Constraints
from skoupa.policy.context_cautions import context_cautions
from skoupa.policy.exclusion_cautions import exclusion_cautions, spares
from skoupa.policy.expansion import Expansion, also_called, expand, in_order
from skoupa.policy.filters import Filters
from skoupa.policy.match import Subject, names_kind
from skoupa.policy.narrowing import whole_kinds
from skoupa.policy.phase_cautions import phase_cautions
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.selector_cautions import selector_cautions

_MATCH: Final = "spec.match"
_CONSTRAINTS: Final = "spec.matchConstraints"
_NARROW: Final = "if this is not meant, narrow it by names, a selector or conditions"


def cautions(subject: Subject, clauses: Clauses, discovery: Discovery | None) -> Iterator[Problem]:
    path = _MATCH if isinstance(subject.match, Filters) else _CONSTRAINTS
    expansion = expand(subject, discovery) if discovery is not None else Expansion(resources=())
    if subject.exclude is not None and not subject.exclude.filters:
        what = "it is empty, which excludes everything, so that nothing goes"
        yield Problem(path="spec.exclude", what=what, instead="leave it out")
    if not sifts(clauses) and not spares(subject.exclude):
        whole = whole_kinds(subject, empty=expansion.empty)
        if whole:
            yield Problem(path=path, what=f"nothing narrows it, so that {whole}", instead=_NARROW)
    yield from constant_cautions(clauses)
    yield from phase_cautions(subject, clauses, expansion)
    yield from exclusion_cautions(subject, expansion, discovery)
    yield from selector_cautions(subject, expansion)
    if names_kind(subject.match, PODS) and not _looks_at_owners(clauses):
        what = "Pods match whether something owns them or not, and their owners make them again"
        instead = "delete the owners, or let a condition look at metadata.ownerReferences"
        yield Problem(path=path, what=what, instead=instead)
    if isinstance(subject.match, Constraints):
        yield from _wild_texts(subject.match)
    for one in (*expansion.missing, *expansion.unreached):
        yield Problem(path=path, what=one.what, instead=one.instead)
    yield from context_cautions(clauses, discovery)
    if discovery is not None and isinstance(subject.match, Filters):
        yield from _of_the_same_name(subject.match, discovery, path)
        yield from _nothing_in_common(subject.match, expansion)


def _wild_texts(match: Constraints) -> Iterator[Problem]:
    """Names of a rule are exact, so that one with a wildcard chooses, or spares, nothing.

    What `expand` tells of the kinds of other rules, this tells of those that exclude.
    """
    for field, rules in (("resourceRules", match.rules), ("excludeResourceRules", match.excluded)):
        for index, rule in enumerate(rules):
            for name in sorted(filter(has_wildcard, rule.names)):
                yield Problem(
                    path=f"{_CONSTRAINTS}.{field}[{index}].resourceNames",
                    what=f"names are exact here, and no object is called {quoted(name)}",
                    instead="let a condition look at object.metadata.name (startsWith, endsWith, matches)",
                )
    for index, rule in enumerate(match.excluded):
        for text in sorted(filter(has_wildcard, (rule.groups | rule.plurals) - {ALL})):
            yield Problem(
                path=f"{_CONSTRAINTS}.excludeResourceRules[{index}]",
                what=f'only "*" alone is a wildcard here, so that {quoted(text)} excludes nothing',
                instead="name each that is meant",
            )


def _nothing_in_common(match: Filters, expansion: Expansion) -> Iterator[Problem]:
    """Of kinds that are not there, or that can't be read, is told elsewhere."""
    rows = expansion.resources
    if match.mode == "any" or not rows or any(one.unreadable for one in expansion.missing):
        return
    if not any(all(one.fits_kind(row) for one in match.filters) for row in rows):
        what = "no kind that is there fits all of these filters, so that nothing goes"
        yield Problem(path=f"{_MATCH}.all", what=what, instead="write any, or kinds that all of them have")


def _of_the_same_name(match: Filters, discovery: Discovery, path: str) -> Iterator[Problem]:
    rows = in_order(discovery)
    for pattern in match.patterns:
        others = also_called(pattern, discovery, rows=rows)
        if others:
            names = ", ".join(f"{row.api_version}/{row.kind}" for row in others)
            what = f"{quoted(pattern.text)} means one kind, and there are others of that name"
            yield Problem(path=path, what=what, instead=f"write {names} as well if those are meant")


def _looks_at_owners(clauses: Clauses) -> bool:
    return b"ownerReferences" in msgspec.json.encode(clauses)

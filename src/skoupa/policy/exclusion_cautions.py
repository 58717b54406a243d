"""What an exclusion does not spare though its writer may think so: kinds that are not there, or that match does not mean.

An exclusion by a kind that is misspelt, or in another version than the one that is read, excludes nothing, and what was to
stay goes. Of kinds that could not be read nothing is said: they may be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard, matches
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.constraints import ALL, Constraints, Rule
from skoupa.policy.expansion import Expansion
from skoupa.policy.extent import MOST_NEAR
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject
from skoupa.policy.missing import Missing, idle_kind, missing_kind, missing_plural
from skoupa.policy.narrowing import listed
from skoupa.policy.problems import Problem

_NOTHING: Final = "so that it excludes nothing"
_OTHERWISE: Final = "write kinds that match means, or leave it out"


def exclusion_cautions(
    subject: Subject, expansion: Expansion, discovery: Discovery | None
) -> Iterator[Problem]:
    """`expansion` is of what is matched."""
    match = subject.match
    if isinstance(match, Constraints):
        if discovery is not None:
            for index, rule in enumerate(match.excluded):
                yield from _of_rule(index, rule, match, expansion, discovery)
        return
    block = subject.exclude
    for index, one in enumerate(block.filters if block is not None else ()):
        assert block is not None
        path = f"spec.exclude.{block.mode}[{index}]"
        if one.empty:
            what = f"the filter is empty, {_NOTHING}"
            yield Problem(path=path, what=what, instead="write what has to stay, or leave it out")
        elif discovery is not None:
            yield from _of_filter(index, one, path, expansion, discovery)


def spares(exclude: Filters | None) -> bool:
    """Whether it may exclude something, as far as can be seen without kinds; an empty block excludes everything."""
    if exclude is None:
        return False
    empty = [one.empty for one in exclude.filters]
    return not empty or not (any(empty) if exclude.mode == "all" else all(empty))


def _of_filter(
    nth: int, one: Filter, path: str, expansion: Expansion, discovery: Discovery
) -> Iterator[Problem]:
    told = False
    for index, pattern in enumerate(one.kinds):
        place = f"{path}.resources.kinds[{index}]"
        problem = _of_kind(pattern, place, expansion, discovery, near=nth + index < MOST_NEAR)
        if problem is not None:
            told = True
            yield problem
    rows = expansion.resources
    if one.kinds and not told and _all_known(expansion, discovery) and not any(map(one.fits_kind, rows)):
        kinds = listed(quoted(pattern.text) for pattern in one.kinds)
        yield Problem(path=path, what=f"match means no {kinds}, {_NOTHING}", instead=_OTHERWISE)


def _of_kind(
    pattern: KindPattern, path: str, expansion: Expansion, discovery: Discovery, *, near: bool
) -> Problem | None:
    if any(map(pattern.fits, discovery.resources)):
        if any(map(pattern.fits, expansion.resources)):
            return None
        other = next((row for row in expansion.resources if matches(pattern.kind, row.kind)), None)
        if other is None or pattern.wild:
            return None
        meant = f"{other.api_version}/{other.kind}"
        what = f"match means {meant} and not {quoted(pattern.text)}, {_NOTHING}"
        return Problem(path=path, what=what, instead=f"write {meant}")
    missing = missing_kind(pattern, discovery, near=near) or idle_kind(
        pattern, [], inside=False, discovery=discovery, near=near
    )
    return _told(missing, path)


def _of_rule(
    nth: int, rule: Rule, match: Constraints, expansion: Expansion, discovery: Discovery
) -> Iterator[Problem]:
    path = f"spec.matchConstraints.excludeResourceRules[{nth}]"

    def fits(row: Resource) -> bool:
        return rule.fits_kind(row, version=match.exact)

    told = False
    for number, (group, plural) in enumerate(product(sorted(rule.groups), sorted(rule.plurals)), nth):
        if any(has_wildcard(text) and text != ALL for text in (group, plural)):
            # That it is no wildcard is told elsewhere.
            told = True
            continue
        here = (
            row for row in discovery.resources if group in {ALL, row.group} and plural in {ALL, row.plural}
        )
        if not any(map(fits, here)):
            near = number < MOST_NEAR
            missing = missing_plural(group, plural, rule=rule, discovery=discovery, near=near)
            problem = _told(missing, path) if missing is not None else None
            told = told or missing is not None
            if problem is not None:
                yield problem
    if not told and _all_known(expansion, discovery) and not any(map(fits, expansion.resources)):
        kinds = listed(quoted(plural) for plural in sorted(rule.plurals))
        yield Problem(path=path, what=f"the rules mean no {kinds}, {_NOTHING}", instead=_OTHERWISE)


def _all_known(expansion: Expansion, discovery: Discovery) -> bool:
    return bool(expansion.resources) and not expansion.missing and not discovery.gaps


def _told(missing: Missing, path: str) -> Problem | None:
    if missing.unreadable:
        return None
    return Problem(path=path, what=f"{missing.what}, {_NOTHING}", instead=missing.instead)

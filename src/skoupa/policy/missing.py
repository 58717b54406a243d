"""Kinds that a policy writes and the server has not: what to say of them, with the nearest that it has.

Of a wildcard that means less than fits it only its writer is told: it is no mistake. A
kind whose group could not be read is not called unknown: it may exist there. Where not `near` the nearest is not looked for, which
takes a millisecond and more.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard, matches
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.constraints import ALL, Rule
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.narrowing import listed

_LIST: Final = "`kubectl api-resources` lists the kinds"
_NAME: Final = "name those that are meant"
_CORE: Final = "core"


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Something written that means no kind, or not all that fit; `unreadable`: it may exist, in a group that could not be read."""

    text: str
    what: str
    instead: str
    unreadable: bool = False


def missing_kind(pattern: KindPattern, discovery: Discovery, *, near: bool = True) -> Missing | None:
    """Of a pattern that means no kind; of a wildcard, where what it means is not known."""
    gap = next((gap for gap in discovery.gaps if matches(pattern.group, gap.group)), None)
    if gap is not None:
        return _unreadable(pattern.text, gap.where, gap.why)
    if pattern.wild:
        return None
    same = next((row for row in discovery.resources if row.kind == pattern.kind), None)
    if same is not None:
        what = f"there is no {quoted(pattern.text)}"
        return Missing(text=pattern.text, what=what, instead=f"write {same.api_version}/{same.kind}")
    nearest = _nearest(pattern.kind, discovery.resources, answer=lambda row: row.kind) if near else ""
    return _unknown(pattern.text, nearest)


def missing_plural(
    group: str, plural: str, *, rule: Rule, discovery: Discovery, near: bool = True
) -> Missing | None:
    """Of a group and a plural of a rule that mean no kind."""
    text = f"{plural}.{group}" if group not in {"", ALL} else plural
    gap = next((gap for gap in discovery.gaps if group in {ALL, gap.group}), None)
    if gap is not None:
        return _unreadable(text, gap.where, gap.why)
    if plural == ALL:
        return None
    same = [row for row in discovery.resources if row.plural == plural]
    here = [row for row in same if group in {ALL, row.group}]
    if here:
        return _elsewhere(text, rule, here)
    if same:
        instead = f'write apiGroups: ["{same[0].group}"]'
        return Missing(text=text, what=f"there is no {quoted(text)}", instead=instead)
    if has_wildcard(plural):
        instead = 'only "*" alone is a wildcard here'
        return Missing(text=text, what=f"there is no {quoted(text)}", instead=instead)
    return _unknown(
        text, _nearest(plural, discovery.resources, answer=lambda row: row.plural) if near else ""
    )


def idle_kind(
    pattern: KindPattern, beyond: list[Resource], *, inside: bool, discovery: Discovery, near: bool = True
) -> Missing:
    """Of a wildcard that means no kind, with those `beyond` its reach; `inside`: only those in namespaces count."""
    if beyond:
        return _beyond_all(pattern.text, beyond)
    rows = [row for row in discovery.resources if row.namespaced or not inside]
    if any(map(pattern.fits, rows)):
        return undeletable(pattern.text)
    what = f"no kind{' that lies in a namespace' if inside else ''} fits {quoted(pattern.text)}"
    if inside and any(map(pattern.fits, discovery.resources)):
        return Missing(text=pattern.text, what=what, instead="leave it out, or write a ClusterCleanupPolicy")
    same = next((row for row in rows if matches(pattern.kind, row.kind) and not pattern.fits(row)), None)
    if same is not None:
        return Missing(text=pattern.text, what=what, instead=f"write {same.api_version}/{pattern.kind}")
    bare = re.sub(r"[*?]", "", pattern.kind)
    nearest = _nearest(bare, rows, answer=lambda row: row.kind) if near else ""
    return Missing(text=pattern.text, what=what, instead=f"did you mean {nearest}?" if nearest else _LIST)


def idle_plural(
    group: str, beyond: list[Resource], *, rule: Rule, inside: bool, discovery: Discovery, near: bool = True
) -> Missing:
    """Of a `*` in a rule that means no kind of a group."""
    text = f"{ALL}.{group or _CORE}"
    if beyond:
        return _beyond_all(text, beyond)
    rows = [row for row in discovery.resources if group in {ALL, row.group}]
    if not rows:
        groups = {row.group for row in discovery.resources} if near else set()
        found = difflib.get_close_matches(group, groups, n=1)
        instead = f'did you mean "{found[0]}"?' if found else _LIST
        return Missing(text=text, what=f"there is no kind of the group {quoted(group)}", instead=instead)
    if inside and not any(row.namespaced for row in rows):
        what = f"no kind of {group or _CORE} lies in a namespace"
        return Missing(text=text, what=what, instead="leave it out, or write a DeletingPolicy")
    if any(map(rule.fits_kind, rows)):
        return undeletable(text)
    scope = {"Namespaced": True, "Cluster": False}.get(rule.scope)
    return _elsewhere(text, rule, [row for row in rows if row.namespaced is scope] or rows)


def undeletable(text: str) -> Missing:
    return Missing(text=text, what=f"{quoted(text)} can't be listed and deleted", instead="leave it out")


def partly(text: str, beyond: list[Resource]) -> Missing:
    """Of a wildcard that means some kinds and not others, which fit it too."""
    what = f"{quoted(text)} is a wildcard, which does not reach {_kinds(beyond)}"
    return Missing(text=text, what=what, instead=_NAME)


def _beyond_all(text: str, beyond: list[Resource]) -> Missing:
    what = f"a wildcard does not reach {_kinds(beyond)}, and nothing else fits {quoted(text)}"
    return Missing(text=text, what=what, instead=_NAME)


def _kinds(rows: list[Resource]) -> str:
    return listed(row.kind for row in rows)


def _elsewhere(text: str, rule: Rule, here: list[Resource]) -> Missing:
    """It exists, but not as the rule wants it."""
    scope = "Namespaced" if here[0].namespaced else "Cluster"
    if rule.scope not in {ALL, scope}:
        what = f"{text} are not of scope {rule.scope}"
        return Missing(text=text, what=what, instead=f"write scope: {scope}, or leave it out")
    versions = ", ".join(dict.fromkeys(f'"{row.version}"' for row in here))
    what = f"there is no {text} in version {', '.join(rule.versions) or 'none'}"
    return Missing(text=text, what=what, instead=f"write apiVersions: [{versions}]")


def _unknown(text: str, near: str) -> Missing:
    instead = f"did you mean {near}?" if near else _LIST
    return Missing(text=text, what=f"there is no kind {quoted(text)}", instead=instead)


def _unreadable(text: str, where: str, why: str) -> Missing:
    unknown = (
        f"all that {quoted(text)} means" if has_wildcard(text) else f"whether there is a kind {quoted(text)}"
    )
    what = f"{unknown} is not known, for the kinds of {where} could not be read"
    return Missing(text=text, what=what, instead=f"mend the API service first ({why})", unreadable=True)


def _nearest(wanted: str, rows: Iterable[Resource], *, answer: Callable[[Resource], str]) -> str:
    """By any of its names, in any case: `pod`, `po` and `pods` all mean Pod."""
    known: dict[str, str] = {}
    for row in rows:
        for alias in (row.kind.lower(), row.plural, row.singular, *row.short_names):
            known.setdefault(alias, answer(row))
    near = difflib.get_close_matches(wanted.lower(), known, n=1)
    return known.get(wanted.lower()) or (known[near[0]] if near else "")

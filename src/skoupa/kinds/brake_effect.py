"""What a Brake holds, and when: pure functions of what was read and of the time.

`covers` asks about one object and the rule that would delete it. A Namespace is covered with its namespace and a definition with
its kind, for they would take along what stands still; what else goes in a cascade is for the caller to ask about,
object by object. Nothing here knows who pulled the Brake or how much it holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from skoupa.errors import UnknownKind
from skoupa.expr.cron import following, latest
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_reading import Brake
from skoupa.kinds.naming import defines, means
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource

# A window whose begin and end fall together stays open; this many of them in a row, and nobody knows when it ends.
_MOST_STEPS: Final = 400


def covers(scope: Scope, *, resource: Resource, namespace: str, name: str, mechanism: str, rule: str) -> bool:
    """Whether this object stands still when `mechanism` would delete it because of `rule`."""
    if scope.all:
        return True
    if scope.namespace is not None and not _in_namespace(scope.namespace, resource, namespace, name):
        return False
    if scope.kind is not None and not _of_kind(scope.kind, resource, name):
        return False
    if scope.mechanism is not None and scope.mechanism != mechanism:
        return False
    return scope.policy is None or _by_policy(scope.policy, rule)


def active(brake: Brake, now: float) -> bool:
    """Whether it holds at this time."""
    if brake.until is not None and now >= brake.until:
        return False
    if brake.window is None:
        return True
    began = latest(brake.window.begins, now, zone=brake.window.zone)
    # Where both fall on one moment, holding wins, and so it does where one of two ends has not come yet.
    return any(
        ended is None or (began is not None and began >= ended)
        for ended in (latest(ends, now, zone=brake.window.zone) for ends in brake.window.all_ends)
    )


def next_change(brake: Brake, now: float) -> float | None:
    """When it will hold although it does not now, or not although it does; None: time alone changes nothing."""
    if brake.until is not None and now >= brake.until:
        return None
    moment = None if brake.window is None else _next_turn(brake, now)
    if brake.until is None:
        return moment
    if moment is not None and moment < brake.until:
        return moment
    # Outside its window it just stays open.
    return brake.until if active(brake, now) else None


def next_change_of(brakes: Iterable[Brake], now: float) -> float:
    """When the first of them changes by time alone; infinity: none does."""
    turns = (next_change(brake, now) for brake in brakes)
    return min((turn for turn in turns if turn is not None), default=math.inf)


def missing_kind(scope: Scope, discovery: Discovery, *, defined: Iterable[str] = ()) -> str:
    """Says that there is no such kind, with the nearest; empty: there is, it names none, or nobody can tell.

    `defined` are names of definitions of which perhaps no version is served: those stand still with their kind.
    """
    wanted = scope.kind
    if wanted is None or discovery.gaps or not discovery.resources:
        return ""
    if any(means(wanted, one) for one in discovery.resources):
        return ""
    if any(defines(wanted, name) for name in (*(one.qualified for one in discovery.resources), *defined)):
        return ""
    try:
        advice = f"did you mean {discovery.resolve(wanted).qualified}?"
    except UnknownKind as error:
        advice = error.advice
    return f"there is no kind {wanted} in this cluster: {advice}"


def scope_text(scope: Scope) -> str:
    """In the words of `skoupa pause`: `all`, or `ns/shop kind/pods`."""
    if scope.all:
        return "all"
    parts = (
        ("ns", scope.namespace),
        ("policy", scope.policy),
        ("kind", scope.kind),
        ("mechanism", scope.mechanism),
    )
    return " ".join(f"{word}/{value}" for word, value in parts if value is not None)


def _next_turn(brake: Brake, now: float) -> float | None:
    window = brake.window
    assert window is not None
    holds = active(brake, now)
    turning = window.all_ends if holds else (window.begins,)
    at = now
    for _ in range(_MOST_STEPS):
        turns = [turn for one in turning if (turn := following(one, at, zone=window.zone)) is not None]
        moment = min(turns, default=None)
        if moment is None or (brake.until is not None and moment >= brake.until):
            return None
        at = moment
        if active(brake, moment) != holds:
            return moment
    return None


def _in_namespace(wanted: str, resource: Resource, namespace: str, name: str) -> bool:
    return wanted == (name if _is(resource, NAMESPACES) else namespace)


def _of_kind(wanted: str, resource: Resource, name: str) -> bool:
    return means(wanted, resource) or (_is(resource, CUSTOM_RESOURCE_DEFINITIONS) and defines(wanted, name))


def _is(resource: Resource, other: Resource) -> bool:
    return (resource.group, resource.plural) == (other.group, other.plural)


def _by_policy(wanted: str, rule: str) -> bool:
    """`old-pods` means every rule whose last part it is: `CleanupPolicy/shop/old-pods`."""
    return f"/{rule}".lower().endswith(f"/{wanted}".lower())

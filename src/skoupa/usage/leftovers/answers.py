"""Plain questions about one object of a cluster that was read: is it unused, mounted, behind a Service, who uses it, has it ended.

For the functions of policies (`expr/usage_functions`). An answer is true, false or a list; what would have to be read or understood
to give one is an Unknown, and never taken for a no. Which kinds a question can be asked of is said here too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Final

import msgspec

from skoupa.expr.usage_functions import BEHIND_SERVICE, UNMOUNTED, UNUSED
from skoupa.facts.rows import Row
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage import finishing
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.graph import kind_name, target_of
from skoupa.usage.leftovers.judging import Leftover, NotJudged, judge
from skoupa.usage.leftovers.looked import MAKE_PODS, Looked
from skoupa.usage.leftovers.questions import ENDPOINTS, NO_VOLUME, ON_REQUEST, QUESTIONS, SLICE
from skoupa.usage.needs import Need, Unknown, told
from skoupa.usage.reading import Readings, shipped

VOLUME: Final = "PersistentVolume"
CLAIM: Final = "PersistentVolumeClaim"
POD: Final = "Pod"
MOST_USERS: Final = 1000
MORE: Final = "and more"
ELSEWHERE: Final = "something outside of the namespace"

_NOT_QUOTED: Final = "what it says of its end can't be understood (its values are not shown)"
_HOLDS_VOLUMES: Final = (CLAIM, "storage.k8s.io/VolumeAttachment")
_LEADS_TO_PODS: Final = ("Service", ENDPOINTS, SLICE)


def is_used_by_others(resource: Resource, readings: Readings | None = None) -> bool:
    """Whether it says something of this kind that nothing uses an object; others are there for themselves."""
    kind, reach = kind_name(resource), (readings or shipped()).reach
    return kind in QUESTIONS or (resource.group not in BUILT_IN_GROUPS and kind in reach.used_kinds)


def no_question(
    function: str, resource: Resource, readings: Readings | None = None
) -> tuple[str, str] | None:
    """Why the function can't be asked of this kind, and what to do; None: it can."""
    kind = kind_name(resource)
    if function == UNMOUNTED and kind not in {VOLUME, CLAIM}:
        return f"{resource.qualified} are not mounted", "match PersistentVolume or PersistentVolumeClaim"
    if function == BEHIND_SERVICE and kind != POD:
        return f"{resource.qualified} are behind no Service, Pods are", "match Pod"
    if function != UNUSED:
        return None
    if kind in ON_REQUEST:
        return "Pods work by themselves: that nothing uses one says nothing", "ask skoupa_behind_service"
    if not is_used_by_others(resource, readings):
        what = f"{resource.qualified} are there for themselves: that nothing uses one says nothing"
        return what, "match kinds that others use, such as ConfigMap, Secret or PersistentVolumeClaim"
    return None


def unused(looked: Looked, row: Row) -> bool | Unknown:
    """As `skoupa unused` tells it."""
    found = judge(looked, row)
    return found.why if isinstance(found, NotJudged) else isinstance(found, Leftover)


def unmounted(looked: Looked, row: Row) -> bool | Unknown:
    """Of a volume: no claim holds it or is to have it, and no node has it attached; of a claim: no Pod that lives mounts it."""
    if kind_name(row.resource) == CLAIM:
        return _none_points(looked, row, (POD,))
    seen = looked.seen(row)
    if seen.unclear or not seen.phase:
        return Unknown(doubts=("its own phase",))
    awaited = tuple(looked.claims_awaited(row))
    if seen.phase not in NO_VOLUME or any(map(looked.is_wanted, awaited)):
        return False
    # Who would have the claim made is among these.
    return _none_points(looked, row, (*_HOLDS_VOLUMES, *MAKE_PODS) if awaited else _HOLDS_VOLUMES)


def behind_service(looked: Looked, row: Row) -> bool | Unknown:
    """Whether a Service selects it, or somebody has written it among the addresses of one."""
    nobody = _none_points(looked, row, _LEADS_TO_PODS)
    return nobody if isinstance(nobody, Unknown) else not nobody


def used_by(looked: Looked, row: Row, *, inside: str) -> tuple[str, ...] | Unknown:
    """Everybody who needs it. Where `inside` is a namespace, who is not in it is told without a name, all of them as one."""
    rest = looked.needs.of_nobody(row)
    if isinstance(rest, Unknown):
        return rest
    users = tuple(islice(dict.fromkeys(_named(looked.needs.everyone(row), inside)), MOST_USERS + 1))
    return (*users[:MOST_USERS], MORE) if len(users) > MOST_USERS else users


def finished(resource: Resource, body: bytes | msgspec.Raw, *, quoting: bool = True) -> bool | str:
    """Whether it has ended, by its JSON; else why that can't be told."""
    kind, table = kind_name(resource), finishing.shipped()
    ends, view = table.ends(kind), table.view(kind)
    if view is None:
        return f"{resource.qualified} do not end"
    try:
        found = table.finish(kind, msgspec.json.decode(body, type=view.type))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "it can't be read"
    return has_ended(found, ends=ends, quoting=quoting)


def has_ended(found: Finish | Doubt | None, *, ends: Ends, quoting: bool = True) -> bool | str:
    """What is known of the end of an object of a kind that `ends` so, as plain as `finished`. Not `quoting`: no value of it is told."""
    if isinstance(found, Doubt):
        return found.why if quoting else _NOT_QUOTED
    if found is None:
        unknown = "nothing says whether it is at work: no rule is known for its kind"
        return unknown if ends is Ends.BY_SHAPE else False
    return f"it has ended, and has to stay: {found.held_by[0]}" if found.held_by else True


def _none_points(looked: Looked, row: Row, kinds: Collection[str]) -> bool | Unknown:
    """Whether nothing of these kinds points at it or selects it."""
    pointing = chain(
        looked.graph.users(target_of(row)), looked.graph.choosers(row, looked.needs.namespace_labels)
    )
    if any(kind_name(user.row.resource) in kinds for user in pointing):
        return False
    gaps = [gap for kind in kinds if (gap := looked.sight.gap(kind, namespace=row.namespace)) is not None]
    # Also where all but one of a kind could be read.
    gaps += (one for one in looked.sight.unread if one.kind in kinds)
    doubts = tuple(
        told(target_of(one))
        for one, _ in looked.graph.doubtful()
        if kind_name(one.resource) in kinds
        and row.namespace in ("", one.namespace)
        and looked.sight.heeds(one.resource)
    )
    return Unknown(tuple(dict.fromkeys(gaps)), doubts) if gaps or doubts else True


def _named(needs: Iterator[Need], inside: str) -> Iterator[str]:
    for need in needs:
        if inside and (need.by is None or need.by.namespace != inside):
            yield need.why if need.how == "never" else ELSEWHERE
        else:
            yield told(need.by) if need.by is not None else need.why

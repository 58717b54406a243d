"""What a retention policy that can be read may yet not mean: told to its writer, never refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from skoupa import names
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.exclusion_cautions import exclusion_cautions
from skoupa.policy.expansion import Expansion, expand
from skoupa.policy.filters import Filters
from skoupa.policy.problems import Problem
from skoupa.policy.retention.policies import NEVER_UNNAMED, Retention
from skoupa.policy.selector_cautions import selector_cautions
from skoupa.usage.finishing import Ends, shipped
from skoupa.usage.graph import kind_name

_MATCH: Final = "spec.match"
_OF_AN_END: Final = ("finished", "succeeded", "failed")
# As kube-apiserver is shipped.
_SERVERS_SECONDS: Final = 3600
_LIVING_PODS: Final = "pods"


def cautions(policy: Retention, discovery: Discovery | None) -> Iterator[Problem]:
    if policy.newest is not None and not policy.after and policy.limit is None:
        what = f"all but the newest {policy.newest.count} go as soon as nothing needs them"
        yield Problem(path="spec.keepNewest", what=what, instead="write after too to give them time")
    if not policy.owners_hold:
        what = "what a controller counts on (Pods of a Job, ReplicaSets of a Deployment) goes under a living owner too"
        instead = "name the kinds in match, and leave those out that are only made again"
        yield Problem(path="spec.owners", what=what, instead=instead)
    if takes_unnamed(policy):
        never = ", ".join(sorted(name.partition(".")[0] for name in NEVER_UNNAMED))
        what = f"it names no kinds, so that it takes all that have rules of finish or usage, but no {never}"
        yield Problem(path=_MATCH, what=what, instead="name kinds if only some, or one of those, are meant")
    if policy.of_events and policy.after.get("created", 0) >= _SERVERS_SECONDS:
        what = "the API server takes Events by itself after its --event-ttl (1h where nobody changed it), whatever is written here"
        yield Problem(path="spec.after.created", what=what, instead="write a shorter time, such as 20m")
    subject = policy.subject
    if subject is None:
        return
    if subject.exclude is not None and not subject.exclude.filters:
        what = "it is empty, which excludes everything, so that nothing goes"
        yield Problem(path="spec.exclude", what=what, instead="leave it out")
    expansion = expand(subject, discovery) if discovery is not None else Expansion(resources=())
    yield from exclusion_cautions(subject, expansion, discovery)
    yield from selector_cautions(subject, expansion)
    if discovery is not None:
        yield from _of_kinds(policy, expansion)


def takes_unnamed(policy: Retention) -> bool:
    """Whether it takes kinds that it does not name: of several filters one that names none is enough, of all none must."""
    if policy.subject is None:
        return True
    match = policy.subject.match
    assert isinstance(match, Filters), "retention policies have filters"
    unnamed = [not one.kinds for one in match.filters]
    return all(unnamed) if match.mode == "all" else any(unnamed)


def meant(policy: Retention, discovery: Discovery) -> tuple[Resource, ...]:
    """The kinds of the server that it names."""
    return () if policy.subject is None else expand(policy.subject, discovery).resources


def _of_kinds(policy: Retention, expansion: Expansion) -> Iterator[Problem]:
    for one in (*expansion.missing, *expansion.unreached):
        yield Problem(path=_MATCH, what=one.what, instead=one.instead)
    never = tuple(_for_themselves(row for row in expansion.resources if policy.names_kind(row)))
    for kind in never:
        what = f"{kind} are there for themselves, so that nothing of that kind goes by a retention policy"
        instead = f"leave them out; the label {names.TTL_LABEL} and cleanup policies may take them"
        yield Problem(path=_MATCH, what=what, instead=instead)
    yield from _at_work(policy, (row for row in expansion.resources if row.qualified not in never))
    quota = policy.limit.quota if policy.limit is not None else ""
    named = [row.qualified for row in expansion.resources]
    if quota and named and quota.removeprefix("count/") not in named:
        what = f"it says how many {quota} there may be, and the policy is about none of these, so that nothing is too many"
        yield Problem(path="spec.capacity.fromQuota", what=what, instead=f"write count/{named[0]}")
    if quota == _LIVING_PODS and (not named or _LIVING_PODS in named):
        what = "the quota pods counts Pods that have not ended, and what goes by this has ended"
        yield Problem(
            path="spec.capacity.fromQuota", what=what, instead="write count/pods, which counts both"
        )
    written = [moment for moment in _OF_AN_END if moment in policy.after]
    endless = [
        row.kind
        for row in expansion.resources
        if policy.names_kind(row)
        and row.qualified not in never
        and shipped().ends(kind_name(row)) is Ends.NEVER
    ]
    for kind in dict.fromkeys(endless if written else ()):
        what = f"as far as is known no {kind} ever finishes, so that this never counts for it"
        path = f"spec.after.{written[0]}"
        yield Problem(path=path, what=what, instead="write unused or created for it, in a policy of its own")


def _at_work(policy: Retention, resources: Iterable[Resource]) -> Iterator[Problem]:
    """Of a custom kind that no table knows it can't be told whether an object is at work, unless its end is waited for."""
    waits = policy.limit is None and not policy.after.keys().isdisjoint(_OF_AN_END)
    if waits:
        return
    from skoupa.usage.reading import shipped as tables  # noqa: PLC0415 - see below

    known = tables().kinds() | tables().reach.used_kinds
    for row in resources:
        kind = kind_name(row)
        if policy.names_kind(row) and shipped().ends(kind) is Ends.BY_SHAPE and kind not in known:
            what = f"unless a KindProfile says when a {row.kind} has finished, one that is at work goes by this too"
            instead = "write one, or after with finished and no capacity"
            yield Problem(path=_MATCH, what=what, instead=instead)


def _for_themselves(resources: Iterable[Resource]) -> Iterator[str]:
    """Kinds that no use keeps and no end frees, as people call them; Events go by their age."""
    # The tables are much, and most who read a policy have no need of them.
    from skoupa.usage.leftovers.worth import is_for_itself  # noqa: PLC0415
    from skoupa.usage.reading import shipped as tables  # noqa: PLC0415

    for row in resources:
        ends = shipped().ends(kind_name(row))
        if ends is not Ends.BY_RULE and row.kind != "Event" and is_for_itself(row, tables()):
            yield row.qualified

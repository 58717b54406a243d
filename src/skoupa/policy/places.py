"""What a policy of a namespace names and can't have: kinds that are in no namespace, as a server tells them or a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.expr.readings import quoted
from skoupa.kinds.policies import constraints, filters
from skoupa.kube.kinds import Discovery
from skoupa.policy.expansion import meant
from skoupa.policy.kind_patterns import kind_pattern
from skoupa.policy.problems import Problem

_OF_CLUSTER: Final = "ClusterCleanupPolicy"


def cluster_wide(
    match: filters.Filters | constraints.Constraints,
    discovery: Discovery,
    *,
    path: str,
    cluster_kind: str = _OF_CLUSTER,
) -> Iterator[Problem]:
    """A wildcard only means those that are in namespaces, and is no mistake. `cluster_kind` is what could have it, for filters."""
    if isinstance(match, filters.Filters):
        yield from _of_filters(match, discovery, path, cluster_kind)
        return
    for index, rule in enumerate(match.resource_rules):
        for at, plural in enumerate(rule.resources):
            rows = [
                row
                for row in discovery.preferred()
                if row.plural == plural and (row.group in rule.api_groups or "*" in rule.api_groups)
            ]
            if rows and not any(row.namespaced for row in rows):
                place = f"{path}.resourceRules[{index}].resources[{at}]"
                yield outside(plural, place, kind="DeletingPolicy")


def _of_filters(
    match: filters.Filters, discovery: Discovery, path: str, cluster_kind: str
) -> Iterator[Problem]:
    for mode, many in (("any", match.any), ("all", match.all)):
        for index, one in enumerate(many):
            for at, kind in enumerate(one.resources.kinds if one.resources else ()):
                pattern = kind_pattern(kind)
                rows = [] if pattern.wild else meant(pattern, discovery)
                if rows and not any(row.namespaced for row in rows):
                    place = f"{path}.{mode}[{index}].resources.kinds[{at}]"
                    yield outside(kind, place, kind=cluster_kind)


def outside(written: str, path: str, *, kind: str) -> Problem:
    """`kind` is that of a policy that could have it."""
    what = f"{quoted(written)} is in no namespace, and a policy of a namespace is about nothing outside of it"
    return Problem(path=path, what=what, instead=f"leave it out, or write a {kind}")

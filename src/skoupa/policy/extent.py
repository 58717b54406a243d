"""How many kinds a policy may name: each is looked for among those of the server, and whoever looks does nothing else meanwhile.

No cluster has so many that somebody names them one by one. A rule names each of its plurals in each of its groups, so that a few lines
can stand for a million. What is beyond is told at once, and of such a policy nothing more is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.kinds.policies.constraints import Constraints, ResourceRule
from skoupa.kinds.policies.filters import Filters
from skoupa.policy.problems import Problem

MOST_KINDS: Final = 1000
# Of so many kinds that are not there, and no more, the nearest that is there is looked for.
MOST_NEAR: Final = 20
_INSTEAD: Final = "use wildcards, or write several policies"


def kinds_of_filters(match: Filters | None, exclude: Filters | None) -> Iterator[Problem]:
    for field, found in (("match", match), ("exclude", exclude)):
        filters = (*found.any, *found.all) if found is not None else ()
        kinds = {kind for one in filters if one.resources for kind in one.resources.kinds}
        yield from _told(len(kinds), f"spec.{field}")


def kinds_of_rules(found: Constraints, *, path: str) -> Iterator[Problem]:
    for field, rules in (
        ("resourceRules", found.resource_rules),
        ("excludeResourceRules", found.exclude_resource_rules),
    ):
        yield from _told(sum(map(_pairs, rules)), f"{path}.{field}")


def _pairs(rule: ResourceRule) -> int:
    return len(set(rule.api_groups)) * len(set(rule.resources))


def _told(number: int, path: str) -> Iterator[Problem]:
    if number > MOST_KINDS:
        yield Problem(
            path=path,
            what=f"it names {number:,} kinds, and at most {MOST_KINDS:,} may be named",
            instead=_INSTEAD,
        )

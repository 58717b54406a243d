"""What the API server says of kinds that a policy of a namespace names, for who has no API server to ask.

By the table and the pattern of the policies in `confinement`, so that both refuse the same; also what stands in `exclude`. Custom kinds
are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.admission.built_in import CLUSTER_WIDE
from skoupa.admission.confinement import kinds_pattern
from skoupa.policy.places import outside
from skoupa.policy.problems import Problem

_KINDS: Final = re.compile(kinds_pattern())
_PLURALS: Final = frozenset((group, plural) for group, plural, _ in CLUSTER_WIDE)


def refused_kinds(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """Of a policy as it was written; what is not of its shape is told elsewhere."""
    spec = _mapping(obj.get("spec"))
    if obj.get("kind") == "CleanupPolicy":
        for block in ("match", "exclude"):
            for mode in ("any", "all"):
                many = _list(_mapping(spec.get(block)).get(mode))
                for index, one in enumerate(many):
                    kinds = _list(_mapping(_mapping(one).get("resources")).get("kinds"))
                    yield from _of_filter(kinds, f"spec.{block}.{mode}[{index}].resources.kinds")
    elif obj.get("kind") == "NamespacedDeletingPolicy":
        rules = _list(_mapping(spec.get("matchConstraints")).get("resourceRules"))
        for index, rule in enumerate(rules):
            yield from _of_rule(_mapping(rule), f"spec.matchConstraints.resourceRules[{index}].resources")


def _of_filter(kinds: list[Any], path: str) -> Iterator[Problem]:
    for at, written in enumerate(kinds):
        if isinstance(written, str) and _KINDS.match(written):
            yield outside(written, f"{path}[{at}]", kind="ClusterCleanupPolicy")


def _of_rule(rule: Mapping[str, Any], path: str) -> Iterator[Problem]:
    groups = [one for one in _list(rule.get("apiGroups")) if isinstance(one, str)]
    for at, plural in enumerate(_list(rule.get("resources"))):
        if isinstance(plural, str) and any((group, plural) in _PLURALS for group in groups):
            yield outside(plural, f"{path}[{at}]", kind="DeletingPolicy")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

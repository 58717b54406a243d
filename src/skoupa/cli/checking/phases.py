"""Phases that a condition waits for and that no object of its kinds ever has, such as a PersistentVolumeClaim that is `Unbound`.

Such a policy is valid and never deletes anything: the writer is told what there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard
from skoupa.kube.resources import Resource
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem

PHASES: Final = {
    "namespaces": ("Active", "Terminating"),
    "persistentvolumeclaims": ("Pending", "Bound", "Lost"),
    "persistentvolumes": ("Pending", "Available", "Bound", "Released", "Failed"),
    "pods": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
}
_PHASE: Final = re.compile(r"\{\{\s*target\.status\.phase\s*(\|\|\s*('[^']*'|`[^`]*`)\s*)?\}\}")
_ASKING: Final = frozenset({"equals", "anyin", "allin"})


def unknown_phases(clauses: Clauses, resources: Iterable[Resource]) -> Iterator[Problem]:
    """Only where all kinds that are meant have known phases."""
    kinds = list(resources)
    if not kinds or any(kind.qualified not in PHASES for kind in kinds):
        return
    known = {phase for kind in kinds for phase in PHASES[kind.qualified]}
    names = " or ".join(kind.kind for kind in kinds)
    for mode in ("any", "all"):
        for index, comparison in enumerate(clauses.comparisons.get(mode) or ()):
            key, operator = comparison.get("key"), str(comparison.get("operator", "")).lower()
            if not isinstance(key, str) or not _PHASE.fullmatch(key.strip()) or operator not in _ASKING:
                continue
            for phase in _texts(comparison.get("value")):
                if phase not in known:
                    yield Problem(
                        path=f"spec.conditions.{mode}[{index}].value",
                        what=f"no {names} is ever {quoted(phase)}",
                        instead=f"there are {', '.join(sorted(known))}",
                    )


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and not has_wildcard(text) and "{{" not in text]

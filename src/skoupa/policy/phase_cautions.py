"""Phases that a condition waits for and that no object of its kinds ever has, such as a PersistentVolumeClaim that is `Unbound`.

Such a policy is valid and never deletes anything: the writer is told what there is. Kinds are those that the server has; of those it
has not, or where nobody asked it, what is written, also in the plural.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard
from skoupa.policy.expansion import Expansion
from skoupa.policy.filters import Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem

PHASES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "namespaces": ("Namespace", ("Active", "Terminating")),
    "persistentvolumeclaims": ("PersistentVolumeClaim", ("Pending", "Bound", "Lost")),
    "persistentvolumes": ("PersistentVolume", ("Pending", "Available", "Bound", "Released", "Failed")),
    "pods": ("Pod", ("Pending", "Running", "Succeeded", "Failed", "Unknown")),
}
_PHASE: Final = re.compile(r"\{\{\s*target\.status\.phase\s*(\|\|\s*('[^']*'|`[^`]*`)\s*)?\}\}")
_ASKING: Final = frozenset({"equals", "anyin", "allin"})


def phase_cautions(subject: Subject, clauses: Clauses, expansion: Expansion) -> Iterator[Problem]:
    """Only where all kinds that are meant have known phases."""
    plurals = _plurals(subject.match, expansion) if isinstance(subject.match, Filters) else []
    if not plurals or any(plural not in PHASES for plural in plurals):
        return
    known = {phase for plural in plurals for phase in PHASES[plural][1]}
    names = " or ".join(PHASES[plural][0] for plural in plurals)
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


def _plurals(match: Filters, expansion: Expansion) -> list[str]:
    """With an empty one for what is not known."""
    rows = expansion.resources
    written = (pattern for pattern in match.patterns if not any(map(pattern.fits, rows)))
    return list(dict.fromkeys([*(row.qualified for row in rows), *map(_plural, written)]))


def _plural(pattern: KindPattern) -> str:
    kind = pattern.kind.lower()
    known = (plural for plural, (name, _) in PHASES.items() if kind in {plural, name.lower()})
    return next(known, "") if pattern.group in {"", "*"} else ""


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and not has_wildcard(text) and "{{" not in text]

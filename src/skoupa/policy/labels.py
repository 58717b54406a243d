"""Label selectors of policies: whether labels fit, and what of it the server can be asked for.

In `matchLabels` of a CleanupPolicy keys and values have wildcards: an entry holds when some label fits both. `matchExpressions`, and
everything in a DeletingPolicy, is read as the server reads it. What the server is asked for is never narrower than what
fits: what can't be said to it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from skoupa.expr.wildcards import has_wildcard, matches
from skoupa.kinds.policies.selectors import Selector, WildSelector
from skoupa.kube.selectors import Operator, Requirement, label_key_faults, label_value_faults
from skoupa.policy.problems import Problem

_OPERATORS: Final[dict[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "absent",
}
_NEGATED: Final[dict[str, Operator]] = {"in": "notin", "notin": "in", "exists": "absent", "absent": "exists"}
_ANY_VALUE: Final = "*"
# Longer ones do not fit into the address of a request everywhere.
LONGEST_REQUIREMENT: Final = 1000


class Labels(msgspec.Struct, frozen=True):
    """All of the requirements and, for each pair of patterns, one label that fits it."""

    requirements: tuple[Requirement, ...] = ()
    wild: tuple[tuple[str, str], ...] = ()

    def fit(self, labels: Mapping[str, str]) -> bool:
        for requirement in self.requirements:
            if not requirement.holds(labels.get(requirement.key)):
                return False
        return all(fits_one(key, value, labels) for key, value in self.wild)

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.wild


def fits_one(key: str, value: str, found: Mapping[str, str]) -> bool:
    """Whether some entry fits the patterns of key and value; for annotations just as for labels."""
    if not has_wildcard(key):
        return key in found and matches(value, found[key])
    return any(matches(key, name) and matches(value, text) for name, text in found.items())


def compiled(selector: Selector | WildSelector) -> Labels:
    wildcards = isinstance(selector, WildSelector)
    requirements: list[Requirement] = []
    wild: list[tuple[str, str]] = []
    for key, value in selector.match_labels.items():
        if wildcards and not has_wildcard(key) and value == _ANY_VALUE:
            requirements.append(Requirement(key, "exists"))
        elif wildcards and (has_wildcard(key) or has_wildcard(value)):
            wild.append((key, value))
        else:
            requirements.append(Requirement(key, "in", frozenset((value,))))
    requirements += (
        Requirement(expression.key, _OPERATORS[expression.operator], frozenset(expression.values))
        for expression in selector.match_expressions
    )
    return Labels(tuple(requirements), tuple(wild))


def problems(selector: Selector | WildSelector, *, path: str) -> Iterator[Problem]:
    """What no label could ever fit, which the server would refuse."""
    wildcards = isinstance(selector, WildSelector)
    for key, value in selector.match_labels.items():
        place = f"{path}.matchLabels"
        if not (wildcards and has_wildcard(key)):
            yield from _told(f"{place}", f'"{key}" is no key of a label', label_key_faults(key))
        if not (wildcards and has_wildcard(value)):
            faults = label_value_faults(value)
            if faults and has_wildcard(value):
                what = f'{key}: "{value}" has wildcards, which are not known here'
                yield Problem(path=place, what=what, instead="use matchExpressions with Exists or In")
            else:
                yield from _told(place, f'{key}: "{value}" is no value of a label', faults)
    for index, expression in enumerate(selector.match_expressions):
        place = f"{path}.matchExpressions[{index}]"
        yield from _told(place, f'"{expression.key}" is no key of a label', label_key_faults(expression.key))
        needs = expression.operator in {"In", "NotIn"}
        if needs and not expression.values:
            what = f"{expression.operator} has no values"
            yield Problem(path=place, what=what, instead="write at least one value")
        if not needs and expression.values:
            what = f"{expression.operator} takes no values"
            yield Problem(path=place, what=what, instead="leave them out")
        for value in expression.values if needs else ():
            yield from _told(place, f'"{value}" is no value of a label', label_value_faults(value))


def requests(labels: Labels) -> frozenset[Requirement]:
    """What the server may be asked for: whatever fits the labels meets all of these."""
    plain = {requirement for requirement in labels.requirements if _can_be_asked(requirement)}
    keys = (Requirement(key, "exists") for key, _ in labels.wild if not has_wildcard(key))
    return frozenset(plain | {requirement for requirement in keys if _can_be_asked(requirement)})


def negation(labels: Labels) -> Requirement | None:
    """The one requirement that all labels meet which do not fit, where there is one."""
    if labels.wild or len(labels.requirements) != 1:
        return None
    (only,) = labels.requirements
    opposite = Requirement(only.key, _NEGATED[only.operator], only.values)
    return opposite if _can_be_asked(opposite) else None


def written(requirement: Requirement) -> str:
    """As it stands in the address of a request."""
    values = ",".join(sorted(requirement.values))
    match requirement.operator:
        case "exists":
            return requirement.key
        case "absent":
            return f"!{requirement.key}"
        case "in" | "notin" if len(requirement.values) == 1:
            return f"{requirement.key}{'=' if requirement.operator == 'in' else '!='}{values}"
        case _:
            return f"{requirement.key} {requirement.operator} ({values})"


def _can_be_asked(requirement: Requirement) -> bool:
    if label_key_faults(requirement.key) or any(map(label_value_faults, requirement.values)):
        return False
    if requirement.operator in {"in", "notin"} and not requirement.values:
        return False
    return len(written(requirement)) <= LONGEST_REQUIREMENT


def _told(path: str, what: str, faults: list[str]) -> Iterator[Problem]:
    if faults:
        yield Problem(path=path, what=what, instead=faults[0])

"""Whether something narrows what a policy takes of a kind: names, namespaces, labels or annotations.

Conditions and exclude are for who asks. A wildcard that everything fits narrows nothing, nor does `operations`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import matches
from skoupa.policy.constraints import ALL, Constraints, pair
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject
from skoupa.policy.texts import Texts

_MOST_NAMED: Final = 5


def whole_kinds(subject: Subject, *, empty: Container[str] = ()) -> str:
    """Of which kinds all goes, in words: "every Secret and ConfigMap in shop goes"; empty where something narrows each.

    `empty` is what means no kind that is there, as it is written; of a rule each `pair`.
    """
    where = f"in {subject.namespace}" if subject.namespace else "in the cluster"
    if isinstance(subject.match, Constraints):
        return _of_rules(subject.match, where, empty)
    patterns = [pattern for pattern in _of_filters(subject.match) if pattern.text not in empty]
    if any(pattern.kind == ALL and pattern.group == ALL for pattern in patterns):
        return _everything(where)
    kinds = [quoted(pattern.text) if pattern.wild else pattern.text for pattern in patterns]
    return f"every {listed(kinds)} {where} goes" if kinds else ""


def listed(words: Iterable[str]) -> str:
    known = list(dict.fromkeys(words))
    if len(known) > _MOST_NAMED:
        known = [*known[:_MOST_NAMED], f"{len(known) - _MOST_NAMED} more"]
    *before, last = known
    return f"{', '.join(before)} and {last}" if before else last


def _everything(where: str) -> str:
    return f"everything {where} goes which a wildcard reaches"


def _of_rules(match: Constraints, where: str, empty: Container[str]) -> str:
    if not match.labels.empty or not match.namespace_labels.empty or match.excluded:
        return ""
    whole = [rule for rule in match.rules if not rule.names]
    kinds: list[str] = []
    for rule in whole:
        for plural in sorted(rule.plurals):
            groups = [group for group in rule.groups if pair(group, plural) not in empty]
            if plural == ALL and ALL in groups:
                return _everything(where)
            if groups:
                every = f"kinds of {listed(sorted(group or 'core' for group in groups))}"
                kinds.append(every if plural == ALL else plural)
    return f"all {listed(kinds)} {where} go" if kinds else ""


def _of_filters(match: Filters) -> list[KindPattern]:
    whole = [one for one in match.filters if not _narrows(one)]
    if match.mode == "any":
        # A filter without kinds is about those that the others name.
        return [pattern for one in whole for pattern in one.kinds or match.patterns]
    if len(whole) != len(match.filters):
        return []
    return [
        pattern
        for pattern in match.patterns
        if all(any(matches(other.kind, pattern.kind) for other in one.kinds) for one in whole if one.kinds)
    ]


def _narrows(one: Filter) -> bool:
    """An empty one fits nothing."""
    return (
        one.empty
        or _names_some(one.names)
        or _names_some(one.namespaces)
        or bool(one.annotations)
        or one.labels is not None
        or (one.namespace_labels is not None and not one.namespace_labels.empty)
    )


def _names_some(texts: Texts | None) -> bool:
    return texts is not None and all(pattern.strip(ALL) for pattern in texts.wild)

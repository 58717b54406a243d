"""The kinds of a CleanupPolicy as rules of a DeletingPolicy, and as questions about an object's own kind.

Rules know groups and plurals where the original has kinds. A kind that is not known gets the usual plural where its group is written, with
a remark and a question about the kind beside it; without a group it could be several, where the original means one: that is
Unsaid. A wildcard within a word is a rule for everything and the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from skoupa.expr.wildcards import has_wildcard, matches
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.converting.wording import Unsaid, every, fits, literal, some
from skoupa.policy.expansion import meant
from skoupa.policy.kind_patterns import KindPattern

_ALL = "*"
_CLUSTER_WIDE_NAMESPACE = "Namespace"


class KindRule(msgspec.Struct, frozen=True, kw_only=True):
    """`exact`: the rule alone means what the pattern means; `question` asks an object for it, where others are listed too.

    `namespaced` None: some are, some not, or nobody knows.
    """

    group: str
    version: str
    plural: str
    question: str
    exact: bool = True
    namespaced: bool | None = None
    remark: str = ""


def kind_rules(pattern: KindPattern, discovery: Discovery) -> list[KindRule]:
    if pattern.wild:
        group, group_exact = _or_all(pattern.group)
        version, version_exact = _or_all(pattern.version)
        exact = group_exact and version_exact and not pattern.kind.strip(_ALL)
        question = kind_question(pattern)
        return [KindRule(group=group, version=version, plural=_ALL, question=question, exact=exact)]
    found = meant(pattern, discovery)
    if found:
        return [_known(resource) for resource in found]
    return [_guessed(pattern)]


def kind_question(pattern: KindPattern) -> str:
    """Whether an object is of such a kind, asked of the object."""
    return every([fits("object.kind", pattern.kind), _version_question(pattern)])


def kinds_question(patterns: Iterable[KindPattern]) -> str:
    return some(kind_question(pattern) for pattern in patterns)


def may_be_a_namespace(patterns: Iterable[KindPattern]) -> bool:
    """Objects of this name are asked for their own name where others are asked for their namespace."""
    return any(matches(pattern.kind, _CLUSTER_WIDE_NAMESPACE) for pattern in patterns)


def written_rules(rules: Iterable[KindRule], *, names: list[str] | None, scope: str) -> list[dict[str, Any]]:
    """As they stand in a manifest: kinds of one group and version in one rule."""
    grouped: dict[tuple[str, str], dict[str, None]] = {}
    for rule in rules:
        grouped.setdefault((rule.group, rule.version), {})[rule.plural] = None
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "resources": list(plurals),
            **({"resourceNames": names} if names else {}),
            **({"scope": scope} if scope else {}),
        }
        for (group, version), plurals in grouped.items()
    ]


def _known(resource: Resource) -> KindRule:
    return KindRule(
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        # Of several kinds of that name a pattern without a group means one.
        question=every([fits("object.kind", resource.kind), fits("object.apiVersion", resource.api_version)]),
        namespaced=resource.namespaced,
    )


def _guessed(pattern: KindPattern) -> KindRule:
    if not pattern.grouped or has_wildcard(pattern.group):
        raise Unsaid(
            f'nobody here knows the kind "{pattern.text}": give its definition with --from, or write group/version/Kind'
        )
    group = pattern.group
    version, _ = _or_all(pattern.version)
    plural = _plural(pattern.kind)
    remark = (
        f'nobody here knows the kind "{pattern.text}": {plural} is a guess at its plural; '
        "`kubectl api-resources` tells it"
    )
    return KindRule(
        group=group,
        version=version,
        plural=plural,
        question=kind_question(pattern),
        exact=False,
        remark=remark,
    )


def listed_question(rules: Iterable[KindRule]) -> str:
    """Whether the original would list such an object; true where the rules list nothing else."""
    kept = list(rules)
    return "true" if all(rule.exact for rule in kept) else some(rule.question for rule in kept)


def _plural(kind: str) -> str:
    name = kind.lower()
    if re.search("[^aeiou]y$", name):
        return f"{name[:-1]}ies"
    return f"{name}es" if re.search("(s|x|z|ch|sh)$", name) else f"{name}s"


def _or_all(part: str) -> tuple[str, bool]:
    """A part of a pattern as a rule takes it, and whether that is all it says."""
    if not has_wildcard(part):
        return part, True
    return _ALL, not part.strip(_ALL)


def _version_question(pattern: KindPattern) -> str:
    any_group = not pattern.group.strip(_ALL) and bool(pattern.group)
    any_version = not pattern.version.strip(_ALL)
    if any_group and any_version:
        return "true"
    if not has_wildcard(pattern.group + pattern.version):
        whole = f"{pattern.group}/{pattern.version}" if pattern.group else pattern.version
        return f"object.apiVersion == {literal(whole)}"
    if not pattern.group:
        return f"object.apiVersion.matches({literal(f'^{_inner(pattern.version)}$')})"
    group, version = _inner(pattern.group), _inner(pattern.version)
    before = f"(?:{group}/)?" if any_group else f"{group}/"
    return f"object.apiVersion.matches({literal(f'^{before}{version}$')})"


def _inner(pattern: str) -> str:
    """A regular expression for a group or a version: neither has a slash in it."""
    parts = {"*": "[^/]*", "?": "[^/]"}
    return "".join(parts.get(character) or re.escape(character) for character in pattern)

"""What is wrong with `matchConstraints` of a DeletingPolicy, in words."""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.expr.readings import quoted
from skoupa.kinds.policies.constraints import Constraints, ResourceRule
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.policy.labels import problems as label_problems
from skoupa.policy.problems import Problem


def constraint_problems(found: Constraints, *, path: str, namespace: str) -> Iterator[Problem]:
    """`namespace` is that of a namespaced policy."""
    if not found.resource_rules:
        instead = "write resourceRules with at least one rule"
        yield Problem(path=path, what="it matches nothing", instead=instead)
    for index, rule in enumerate(found.resource_rules):
        place = f"{path}.resourceRules[{index}]"
        yield from _rule_problems(rule, place)
        if namespace and rule.scope == "Cluster":
            what = "a policy of a namespace is about nothing outside of it"
            yield Problem(path=f"{place}.scope", what=what, instead="write Namespaced, or a DeletingPolicy")
    for index, rule in enumerate(found.exclude_resource_rules):
        yield from _rule_problems(rule, f"{path}.excludeResourceRules[{index}]")
    if found.object_selector is not None:
        yield from label_problems(found.object_selector, path=f"{path}.objectSelector")
    if found.namespace_selector is not None:
        yield from label_problems(found.namespace_selector, path=f"{path}.namespaceSelector")


def expression_problems(expressions: tuple[NamedExpression, ...], *, path: str) -> Iterator[Problem]:
    """Besides what they say: that each has a name of its own."""
    seen: set[str] = set()
    for index, one in enumerate(expressions):
        if one.name in seen:
            what = f"the name {quoted(one.name)} stands here twice"
            yield Problem(path=f"{path}[{index}].name", what=what, instead="choose another name")
        seen.add(one.name)


def _rule_problems(rule: ResourceRule, path: str) -> Iterator[Problem]:
    fields = (
        ("apiGroups", rule.api_groups, '[""] is the core group'),
        ("apiVersions", rule.api_versions, 'for instance ["v1"]'),
        ("resources", rule.resources, 'for instance ["pods"]'),
    )
    for field, values, example in fields:
        if not values:
            yield Problem(path=f"{path}.{field}", what="it names nothing", instead=f"write it; {example}")
    for index, plural in enumerate(rule.resources):
        name, slash, below = plural.partition("/")
        if slash:
            what = f"{quoted(plural)} names the subresource {quoted(below)}, which can't be deleted"
            yield Problem(path=f"{path}.resources[{index}]", what=what, instead=f'write "{name}"')

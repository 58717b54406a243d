"""What is wrong with `match` and `exclude` of a CleanupPolicy, in words: what Kyverno's webhook refuses, and a little more.

The definition says most of it too, but objects come from files and from other versions as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.expr.readings import quoted
from skoupa.kinds.policies.filters import Filter, Filters, Resources
from skoupa.policy.kind_patterns import kind_pattern
from skoupa.policy.labels import problems as label_problems
from skoupa.policy.problems import Problem

_NO_USER: Final = "an object that lies in the cluster has no user who asks for it"
_USER_FIELDS: Final = (("subjects", "subjects"), ("roles", "roles"), ("cluster_roles", "clusterRoles"))


def filters_problems(
    filters: Filters, *, raw: Any, path: str, namespace: str, cluster_kind: str
) -> Iterator[Problem]:
    """`raw` is the same as it was written, where absent and empty differ; `namespace` that of a namespaced policy.

    `cluster_kind` is what such a policy is called that is in none.
    """
    if isinstance(raw, Mapping) and "any" in raw and "all" in raw:
        instead = "write all filters under one of them"
        yield Problem(path=path, what="any and all can't stand together", instead=instead)
    for mode, many in (("any", filters.any), ("all", filters.all)):
        for index, one in enumerate(many):
            place = f"{path}.{mode}[{index}]"
            yield from _user_problems(one, place)
            if one.resources is not None:
                yield from _resource_problems(
                    one.resources, f"{place}.resources", namespace=namespace, cluster_kind=cluster_kind
                )


def match_problems(match: Filters, *, path: str) -> Iterator[Problem]:
    """What `match` alone must have."""
    if not any(one.resources and one.resources.kinds for one in (*match.any, *match.all)):
        instead = "write any or all with at least one filter that names kinds"
        yield Problem(path=path, what="it matches nothing", instead=instead)
    for index, one in enumerate(match.all):
        if one == Filter() or one.resources == Resources():
            what = "the filter is empty, which fits nothing"
            yield Problem(path=f"{path}.all[{index}]", what=what, instead="leave it out")


def conflicts(match: Filters, exclude: Filters) -> Iterator[Problem]:
    """What is matched only to be excluded."""
    for index, one in enumerate(exclude.any):
        if one in match.any:
            what = "it is the same as a filter of spec.match, so that nothing of that goes"
            instead = "leave out one of them, or say in which they differ"
            yield Problem(path=f"spec.exclude.any[{index}]", what=what, instead=instead)
    if match.all and all(one in match.all for one in exclude.all) and exclude.all:
        what = "all of it stands in spec.match too, so that nothing goes"
        yield Problem(path="spec.exclude.all", what=what, instead="leave it out, or say in which they differ")


def _user_problems(one: Filter, path: str) -> Iterator[Problem]:
    for attribute, field in _USER_FIELDS:
        if getattr(one, attribute):
            yield Problem(
                path=f"{path}.{field}", what=f"it can't be used here: {_NO_USER}", instead="leave it out"
            )


def _resource_problems(
    found: Resources, path: str, *, namespace: str, cluster_kind: str
) -> Iterator[Problem]:
    if found.name is not None and found.names:
        yield Problem(path=path, what="name and names can't stand together", instead="write names alone")
    for index, kind in enumerate(found.kinds):
        yield from _kind_problems(kind, f"{path}.kinds[{index}]")
    if found.namespaces and namespace:
        what = "a policy of a namespace is about that namespace only"
        instead = f"leave it out, or write a {cluster_kind}"
        yield Problem(path=f"{path}.namespaces", what=what, instead=instead)
    if found.selector is not None:
        place = f"{path}.selector"
        if not found.selector.match_labels and not found.selector.match_expressions:
            instead = "write matchLabels or matchExpressions, or leave it out"
            yield Problem(path=place, what="it is empty", instead=instead)
        yield from label_problems(found.selector, path=place)
    if found.namespace_selector is not None:
        yield from label_problems(found.namespace_selector, path=f"{path}.namespaceSelector")


def _kind_problems(text: str, path: str) -> Iterator[Problem]:
    pattern = kind_pattern(text)
    if not pattern.kind:
        instead = "write a kind such as Pod, v1/Pod or apps/v1/Deployment"
        yield Problem(path=path, what=f"{quoted(text)} is no kind", instead=instead)
    elif pattern.subresource:
        what = f"{quoted(text)} names the subresource {quoted(pattern.subresource)}, which can't be deleted"
        before = [pattern.group, pattern.version] if pattern.grouped else [pattern.version]
        place = [part for part in before if pattern.grouped or part != "*"]
        whole = "/".join([*place, pattern.kind])
        if not pattern.grouped and pattern.kind.islower() and pattern.subresource[:1].isupper():
            # A group without a version was meant, which Kyverno takes for a kind.
            what, whole = f"{quoted(text)} has no version", f"{pattern.kind}/*/{pattern.subresource}"
        yield Problem(path=path, what=what, instead=f'write "{whole}"')

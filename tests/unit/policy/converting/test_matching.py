"""A converted policy is about the same objects as the original, whatever stands in match and exclude."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from skoupa.kube.objects import Metadata
from skoupa.policy.reading import read_policy
from tests.unit.policy.converting.asking_both import Asked, Labels, body_of, form_of, with_names
from tests.unit.policy.world import ALL, cleanup, excluding, kind
from tests.unit.policy.writing_policies import EVERYTHING, namespaces, resources

pytestmark = pytest.mark.unit

# Names, wildcards, and two kinds of one name.
KINDS = ("Pod", "Service", "Node", "Namespace", "*", "W*", "S*", "serving.knative.dev/*/Service", "*/v1/*")
OBJECTS = (*EVERYTHING, *((kind("Service"), Metadata(name=name, namespace="a")) for name in "ab"))
_MODES = st.sampled_from(["any", "all"])


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    match = draw(st.lists(resources, min_size=1, max_size=3))
    exclude = draw(st.none() | st.lists(resources, max_size=2))
    spec = {} if exclude is None else excluding(*exclude, mode=draw(_MODES))
    return cleanup(*match, mode=draw(_MODES), **spec)


def claimed(asked: Asked, around: Labels) -> list[tuple[str, str, str, Any]]:
    found = []
    for resource, metadata in OBJECTS:
        body = body_of(metadata)
        if asked.claims(resource, body, around):
            found.append((resource.qualified, metadata.namespace, metadata.name, metadata.labels))
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(policies(), namespaces)
def test_a_converted_policy_claims_what_the_original_claims(body: dict[str, Any], around: Labels) -> None:
    assume(read_policy(body, discovery=ALL).policy is not None)
    made = form_of(body)
    if not made.changed:
        assert made.body == body
        assert "two policies" in made.remarks[0]
        return
    assert made.body is not None
    labels = with_names(around)
    before, after = Asked(body), Asked(made.body)
    assert claimed(after, labels) == claimed(before, labels)
    for resource, metadata in EVERYTHING:
        if after.claims(resource, body_of(metadata), labels) and before.by_wildcard(
            resource, metadata, labels
        ):
            assert after.by_wildcard(resource, metadata, labels), (
                "a wildcard that became a name takes more along"
            )


@pytest.mark.parametrize("kinds", [*combinations(KINDS, 1), *combinations(KINDS, 2)], ids=", ".join)
def test_kinds_are_listed_as_the_original_lists_them(kinds: tuple[str, ...]) -> None:
    """Also beside a filter that names no kind: it is about those that the other lists."""
    around = with_names({"a": {}, "ab": {"x": "1"}})
    named = {"kinds": list(kinds)}
    selected = {
        **named,
        "namespaceSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]},
    }
    for body in (
        cleanup(named),
        cleanup(named, {"names": ["a"]}),
        cleanup(named, {"names": ["a"]}, mode="all"),
        cleanup({**named, "namespaces": ["a"]}),
        cleanup(selected),
    ):
        made = form_of(body)
        assert made.changed, made.remarks
        assert made.body is not None
        assert claimed(Asked(made.body), around) == claimed(Asked(body), around), made.body["spec"]

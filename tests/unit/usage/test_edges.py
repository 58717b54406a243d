"""Names of which part is known, and who can point into other namespaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.usage.edges.numbering import Numbered
from skoupa.usage.edges.patterns import found_by_digits, means, without_digits
from skoupa.usage.reading import shipped

pytestmark = pytest.mark.unit

NAMES = st.text("ab-0129", min_size=1, max_size=8)


@given(NAMES, NAMES, NAMES)
def test_an_ordinal_name_is_found_by_the_digits_of_the_names_it_means(
    before: str, after: str, name: str
) -> None:
    pattern = f"{before}#{after}"
    for one in (name, f"{before}7{after}", f"{before}12{after}"):
        if found_by_digits(pattern):
            assert means(pattern, one) == (pattern in set(without_digits(one)))


@given(st.text("ab*#.", max_size=8))
def test_every_pattern_means_itself(pattern: str) -> None:
    assert means(pattern, pattern)


def test_a_number_is_given_to_another_value_when_nobody_holds_the_first() -> None:
    numbers: Numbered[str] = Numbered()
    first, second = numbers.number("a"), numbers.number("b")
    for number in (first, second):
        numbers.hold(number)
    assert numbers.let_go(first)
    assert numbers.find("a") is None
    assert numbers.number("c") == first
    assert numbers.value(second) == "b"


@pytest.mark.parametrize(
    ("kind", "target", "across"),
    [
        ("Pod", "ConfigMap", False),
        ("Pod", "Secret", True),  # by an annotation that any object may have
        ("batch/CronJob", "PersistentVolumeClaim", True),  # the source of a volume may be elsewhere
        ("rbac.authorization.k8s.io/RoleBinding", "ServiceAccount", True),
        ("rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/Role", False),
        ("gateway.networking.k8s.io/Gateway", "Secret", True),
        ("gateway.networking.k8s.io/HTTPRoute", "Service", True),
        ("x.example/Unknown", "ConfigMap", True),
    ],
)
def test_who_can_point_into_other_namespaces(kind: str, target: str, across: bool) -> None:  # noqa: FBT001
    assert shipped().reach.across(kind, target) is across

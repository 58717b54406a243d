"""PolicyExceptions: for whom they count, until when, and that a slip of the pen lets more stay, not less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.policy.exemptions import Exemption, read_exemption
from tests.unit.policy.world import cleanup, deleting, read

pytestmark = pytest.mark.unit

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
OLD = read(deleting(RULE))
INSIDE = read(deleting(RULE, scope="NamespacedDeletingPolicy"))
CLEANUP = read(cleanup({"kinds": ["Pod"]}))


def exception(**spec: Any) -> Exemption:
    refs = [{"kind": "DeletingPolicy", "name": "old"}]
    metadata = {"name": "mine", "namespace": "shop"}
    return read_exemption({"metadata": metadata, "spec": {"policyRefs": refs, **spec}})


def test_it_counts_for_the_policies_that_it_names() -> None:
    found = exception()
    assert found.problems == ()
    assert [found.concerns(each, now=0) for each in (OLD, INSIDE, CLEANUP)] == [True, False, False]
    other = exception(policyRefs=[{"kind": "NamespacedDeletingPolicy", "name": "old"}])
    assert [other.concerns(each, now=0) for each in (OLD, INSIDE, CLEANUP)] == [False, True, False]


def test_it_counts_until_its_end() -> None:
    found = exception(expiresAt="1970-01-01T01:00:00Z")
    assert [found.concerns(OLD, now=now) for now in (0, 3599, 3600)] == [True, True, False]


def test_its_conditions_are_read() -> None:
    found = exception(
        matchConditions=[{"name": "a", "expression": "true"}], reportResult="pass", images=["x"]
    )
    assert [one.expression for one in found.expressions] == ["true"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"policyRefs": None}, "spec.policyRefs is missing"),
        ({"policyRefs": []}, "spec.policyRefs"),
        ({"policyRefs": [{"kind": "DeletingPolicy"}]}, r"spec.policyRefs[0].name is missing"),
        ({"expiresAt": "tomorrow"}, "spec.expiresAt"),
        ({"matchConditions": [{"name": "a"}]}, "expression is missing"),
    ],
)
def test_what_can_not_be_read_lets_more_stay(spec: dict[str, Any], says: str) -> None:
    found = exception(**spec)
    assert says in found.problems[0]
    assert found.concerns(OLD, now=1e12)
    assert found.expressions == ()


@given(
    st.recursive(st.none() | st.text(max_size=3), lambda inner: st.dictionaries(st.text(max_size=3), inner))
)
def test_no_object_makes_reading_fail(value: Any) -> None:
    assert read_exemption({"metadata": value, "spec": value}).problems

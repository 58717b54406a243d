"""Which of several retention policies counts: more specific wins, equals have to agree."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.precedence import terms

pytestmark = pytest.mark.unit


def here(name: str, **more: Any) -> Retention:
    return Retention(kind="RetentionPolicy", namespace="shop", name=name, **more)


def everywhere(name: str, **more: Any) -> Retention:
    return Retention(kind="ClusterRetentionPolicy", namespace="", name=name, **more)


def test_no_policy_has_no_terms() -> None:
    assert terms([]) is None


def test_a_policy_of_the_namespace_beats_all_of_the_cluster_even_a_stricter_one() -> None:
    found = terms([everywhere("a", after={"finished": 7200}), here("z", after={"finished": 60})])
    assert found is not None
    assert (found.rule, found.after, [one.name for one in found.beaten]) == (
        "RetentionPolicy/shop/z",
        {"finished": 60},
        ["a"],
    )


def test_equals_have_to_agree_so_that_the_longest_time_of_each_moment_counts() -> None:
    found = terms(
        [
            here("b", after={"finished": 60, "unused": 10}, owners_hold=False),
            here("a", after={"finished": 5}, propagation="Foreground"),
            here("c", after={"failed": 9}, propagation="Orphan"),
        ]
    )
    assert found is not None
    assert found.after == {"finished": 60, "unused": 10, "failed": 60}
    assert found.owners_hold, "one that respects owners is enough"
    assert found.propagation == "Orphan"
    assert (found.rule, found.ties) == (
        "RetentionPolicy/shop/a",
        ("RetentionPolicy/shop/b", "RetentionPolicy/shop/c"),
    )


@pytest.mark.parametrize(
    ("one", "other", "agreed"),
    [
        ({"succeeded": 60}, {"finished": 900}, {"succeeded": 900, "finished": 900}),
        ({"failed": 60}, {"finished": 900}, {"failed": 900, "finished": 900}),
        ({"failed": 900}, {"finished": 60}, {"failed": 900, "finished": 60}),
        ({"finished": 900, "failed": 60}, {"failed": 5}, {"finished": 900, "failed": 60}),
        ({"succeeded": 60}, {"failed": 900}, {"succeeded": 60, "failed": 900}),
    ],
    ids=str,
)
def test_what_one_says_of_every_end_holds_for_the_outcome_that_another_speaks_of(
    one: dict[Any, int], other: dict[Any, int], agreed: dict[str, int]
) -> None:
    for first, second in ((one, other), (other, one)):
        found = terms([here("a", after=first), here("b", after=second)])
        assert found is not None
        assert found.after == agreed


def test_a_suspended_policy_hands_its_objects_to_nobody() -> None:
    found = terms([here("rests", suspended=True), everywhere("eager", after={"created": 0})])
    assert found is not None
    assert found.suspended == ("RetentionPolicy/shop/rests",)
    assert "created" not in found.after


def test_owners_are_ignored_only_where_all_ignore_them() -> None:
    found = terms([here("a", owners_hold=False), here("b", owners_hold=False)])
    assert found is not None
    assert not found.owners_hold

"""Groups decide together: which stay as the newest, which are too many; nothing in use is ever chosen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.facts.rows import Uid
from skoupa.judge.grouping import Member, newest, shares, too_many
from skoupa.policy.retention.policies import Limit, Newest

pytestmark = pytest.mark.unit


def member(name: str, since: float = 0, **more: Any) -> Member:
    where = more.pop("namespace", "shop")
    settings: dict[str, Any] = {"free": True, **more}
    return Member(uid=f"{where}/{name}", namespace=where, name=name, since=since, **settings)


def names(uids: Any) -> list[str]:
    return [uid.rpartition("/")[2] for uid in uids]


MEMBERS = st.lists(
    st.builds(
        member,
        st.builds("{}-{}".format, st.sampled_from(["web", "db"]), st.integers(0, 99)),
        st.integers(0, 50).map(float),
        namespace=st.sampled_from("abc"),
        free=st.booleans(),
        owner=st.sampled_from(["", "x", "y"]),
    ),
    unique_by=lambda one: one.uid,
    max_size=40,
)


def test_the_newest_of_each_family_stay_by_last_use_and_not_by_name() -> None:
    members = [member("web-1", 30), member("web-2", 10), member("web-3", 20), member("db-1", 1)]
    assert set(names(newest(members, Newest(count=1, per="Family")))) == {"web-1", "db-1"}
    assert set(names(newest(members, Newest(count=2, per="Family")))) == {"web-1", "web-3", "db-1"}


def test_what_is_in_use_is_the_newest_of_all() -> None:
    members = [member("web-1", 0, free=False), member("web-2", 10), member("web-3", 20)]
    assert set(names(newest(members, Newest(count=2, per="Family")))) == {"web-1", "web-3"}


def test_families_of_two_namespaces_are_two() -> None:
    members = [member("web-1", 1), member("web-2", 2, namespace="other")]
    assert len(newest(members, Newest(count=1, per="Family"))) == 2


def test_what_has_no_group_stays() -> None:
    members = [member("web-1"), member("odd")]
    assert "odd" in names(newest(members, Newest(count=0, per="Family", family="^(web)-")))
    assert "web-1" not in names(newest(members, Newest(count=0, per="Family", family="^(web)-")))
    assert len(newest(members, Newest(count=0, per="Owner"))) == 2


def test_beyond_the_limit_the_oldest_go_first() -> None:
    members = [member(f"web-{index}", 100 - index) for index in range(5)]
    assert names(too_many(members, Limit(at_most=3, divide="Cluster"), {})) == ["web-4", "web-3"]
    assert too_many(members, Limit(at_most=5, divide="Cluster"), {}) == []


def test_one_namespace_does_not_push_another_out_and_unused_room_is_lent() -> None:
    noisy = [member(f"n-{index}", index, namespace="noisy") for index in range(90)]
    quiet = [member(f"q-{index}", 0, namespace="quiet") for index in range(10)]
    gone = too_many([*noisy, *quiet], Limit(at_most=50), {})
    assert len(gone) == 50
    assert all(uid.startswith("noisy/") for uid in map(str, gone)), "the quiet one has less than its share"
    assert names(gone)[:2] == ["n-0", "n-1"]


def test_a_quota_leaves_room_for_the_next_and_no_quota_is_no_limit() -> None:
    members = [member(f"a-{index}", index, namespace="a") for index in range(20)]
    members += [member(f"b-{index}", index, namespace="b") for index in range(99)]
    gone = too_many(members, Limit(quota="count/jobs.batch"), {"a": 20})
    assert names(gone) == ["a-0", "a-1"]


@given(MEMBERS, st.integers(1, 30), st.sampled_from(["Cluster", "PerNamespace", "PerOwner"]))
def test_nothing_needed_goes_the_rest_fits_and_one_round_is_enough(
    members: list[Member], at_most: int, divide: Any
) -> None:
    limit = Limit(at_most=at_most, divide=divide)
    gone = too_many(members, limit, {})
    assert len(set(gone)) == len(gone)
    left = [one for one in members if one.uid not in set(gone)]
    assert all(one.free for one in members if one.uid in set(gone))
    assert len(left) >= min(at_most, len(members)), "never fewer are left than there may be"
    if len(left) > at_most and divide == "Cluster":
        assert not any(one.free for one in left)


@given(st.dictionaries(st.sampled_from([*"abcdefgh"]), st.integers(0, 50), max_size=8), st.integers(0, 100))
def test_shares_are_fair_and_use_all_that_there_is(counts: dict[Uid, int], total: int) -> None:
    found = shares(counts, total)
    assert sum(found.values()) == min(total, sum(counts.values()))
    assert all(found[who] <= counts[who] for who in counts)
    unhappy = [found[who] for who in counts if found[who] < counts[who]]
    assert not unhappy or max(unhappy) - min(unhappy) <= 1
    assert not unhappy or all(found[who] >= min(counts[who], *unhappy) for who in counts)


@given(MEMBERS, st.integers(0, 5), st.sampled_from(["Owner", "Namespace", "Family"]))
def test_never_more_than_the_newest_of_a_group_stay_and_all_in_use_count_first(
    members: list[Member], count: int, per: Any
) -> None:
    kept = newest(members, Newest(count=count, per=per))
    if per == "Namespace":
        for where, many in Counter(one.namespace for one in members).items():
            here = [one for one in members if one.namespace == where and one.uid in kept]
            assert len(here) == min(count, many)
            out = [one for one in members if one.namespace == where and one.uid not in kept]
            assert not (any(one.free for one in here) and any(not one.free for one in out))

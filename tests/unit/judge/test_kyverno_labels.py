"""Both readings of a TTL label: what differs is told with its reason, and what is not told does not differ."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.judge.circumstances import Circumstances
from skoupa.judge.judge import Judge
from skoupa.judge.kyverno_labels import GIVEN_UP_SECONDS, Beside, differences, kyverno_view, our_words
from skoupa.judge.mechanism import Guard
from skoupa.judge.protection import Protection
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import Resource
from skoupa.model.differences import Difference
from skoupa.model.verdicts import Verdict
from skoupa.settings import Settings, decode
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit

HOUR = 3600
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
POLICIES = Resource(
    group="kyverno.io", version="v2", plural="cleanuppolicies", kind="CleanupPolicy", namespaced=True
)


@lru_cache
def judge(written: str) -> tuple[Settings, Judge]:
    told = decode(json.loads(written), source="the test")
    guards: list[Guard] = [Protection(told.protect, namespace_label=lambda _: None), Circumstances()]
    return told, Judge([TtlMechanism(told)], guards)


def judged(one: Row, *, now: float = CREATED, **settings: Any) -> tuple[Settings, Verdict]:
    told, asked = judge(json.dumps(settings))
    return told, asked.verdict(one, now)


def found(
    one: Row, *, now: float = CREATED, beside: Beside | None = None, **settings: Any
) -> list[Difference]:
    told, verdict = judged(one, now=now, **settings)
    compat = told.compat.kyverno_ttl
    return list(differences(one, verdict, now=now, compat=compat, beside=beside or Beside()))


def codes(one: Row, **rest: Any) -> list[str]:
    return [each.code for each in found(one, **rest)]


@pytest.mark.parametrize(
    "value", ["1h", "2w", "1d12h", "0", "90s", "2026-09-30", "2026-08-04T003000Z", "soon", "30"]
)
def test_what_both_read_alike_is_no_difference(value: str) -> None:
    assert codes(row(ttl=value)) == []


@pytest.mark.parametrize(
    ("value", "reading", "instead"),
    [
        ("1.5d", "5d after its creation", "write 1d12h"),
        ("2days", "2d after its creation", "write 2d"),
        ("2026-07-19T12h", "12h after its creation", "write 2026-07-19T120000Z"),
        ("1M", "1m after its creation", "write 1m"),
    ],
)
def test_a_value_that_only_kyverno_understands_is_told_with_its_reading_and_what_to_write(
    value: str, reading: str, instead: str
) -> None:
    (one,) = found(row(ttl=value))
    assert (one.code, one.meaning.effect) == ("odd-value", "less")
    assert reading in one.kyverno
    assert instead in one.skoupa


def test_with_the_compat_setting_odd_values_are_read_alike() -> None:
    assert codes(row(ttl="1.5d"), compat={"kyvernoTtl": True}) == []


def test_the_ends_of_the_scale_differ_as_the_docs_say() -> None:
    assert codes(row(ttl="106752d")) == ["too-long"]
    assert codes(row(ttl="106752d"), compat={"kyvernoTtl": True}) == ["too-long"]
    assert codes(row(ttl="1969-12-31")) == ["before-1970"]
    assert codes(row(ttl="1969-12-31"), compat={"kyvernoTtl": True}) == []


def test_a_refresh_counts_for_skoupa_alone() -> None:
    fresh = row(ttl="1h", annotations={names.REFRESHED_AT_ANNOTATION: "2026-01-01T00:30:00Z"})
    assert codes(fresh) == ["refreshed"]
    stale = row(ttl="1h", annotations={names.REFRESHED_AT_ANNOTATION: "2025-01-01T00:30:00Z"})
    assert codes(stale) == []


def test_a_longest_life_and_times_of_other_tools_are_told() -> None:
    assert codes(row(ttl="2h"), ttl={"maximumLifetime": "1h"}) == ["longest-life"]
    both = row(ttl="1h", annotations={names.JANITOR_TTL_ANNOTATION: "2h"})
    assert codes(both, compat={"janitor": True}) == ["other-times"]
    alone = row(annotations={names.JANITOR_TTL_ANNOTATION: "2h"})
    assert codes(alone, compat={"janitor": True}) == ["other-tool"]
    assert codes(alone) == []


def test_what_skoupa_holds_and_kyverno_deletes_is_told() -> None:
    assert codes(row(ttl="1h", namespace="kube-system")) == ["protected-namespace"]
    (kept,) = found(row(ttl="1h", keep="true"))
    assert (kept.code, "skoupa.dev/keep=true" in kept.skoupa) == ("held", True)
    assert codes(row(ttl="1h", resource=POLICIES)) == ["own"]
    odd = row(ttl="1h", annotations={names.PROPAGATION_POLICY_ANNOTATION: "foreground"})
    assert codes(odd) == ["bad-propagation"]


def test_dependents_of_a_job_go_with_skoupa_unless_somebody_said_otherwise() -> None:
    assert codes(row(ttl="1h", resource=JOBS)) == ["propagation"]
    said = {names.PROPAGATION_POLICY_ANNOTATION: "Orphan"}
    assert codes(row(ttl="1h", resource=JOBS, annotations=said)) == []


def test_what_a_living_kyverno_has_not_deleted_would_go_at_once() -> None:
    overdue = row(ttl="1h")
    late = CREATED + HOUR + GIVEN_UP_SECONDS + 1
    assert codes(overdue, now=late, beside=Beside(lives=True)) == ["given-up"]
    assert codes(overdue, now=late) == []
    assert codes(overdue, now=CREATED + HOUR + 5, beside=Beside(lives=True)) == []


def test_a_label_that_was_only_just_written_is_not_given_up() -> None:
    late = CREATED + 10 * HOUR
    labelled = row(ttl="1h", labelled=(late - 10, "kubectl"))
    assert codes(labelled, now=late, beside=Beside(lives=True)) == []


def test_what_kyverno_may_not_delete_differs_only_where_skoupa_would() -> None:
    beside = Beside(lives=True, lacks=("watch", "delete"))
    (one,) = found(row(ttl="1h"), beside=beside)
    assert (one.code, one.meaning.effect) == ("kyverno-may-not", "more")
    assert "watch and delete" in one.kyverno
    assert codes(row(ttl="1.5d"), beside=beside) == []
    assert codes(row(ttl="1h", keep="true"), beside=beside) == []
    assert kyverno_view(row(ttl="1h"), beside).due is None


def test_what_is_being_deleted_already_differs_in_nothing() -> None:
    assert codes(row(ttl="1.5d", deleted_at=CREATED + 5)) == []


def test_both_readings_are_told_in_words() -> None:
    assert kyverno_view(row(ttl="1.5d"), Beside()).words == "5d after its creation"
    assert kyverno_view(row(ttl="soon"), Beside()).words == "not understood, so it stays"
    assert kyverno_view(row(), Beside()).words == "no label of Kyverno's"
    for value, words in (("1h", "cleanup.kyverno.io/ttl=1h"), ("1.5d", "not understood")):
        one = row(ttl=value)
        assert words in our_words(one, judged(one)[1])
    policy = row(ttl="1h", resource=POLICIES)
    assert our_words(policy, judged(policy)[1]) == "stays: a CleanupPolicy"


_values = st.one_of(
    st.from_regex(r"[0-9]{1,7}(ns|ms|s|m|h|d|w|hr|days|mins|y|M|D)?([0-9]{1,3}[smhdwx])?", fullmatch=True),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{6}Z|T[0-9]{1,2}h)?", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?", fullmatch=True),
)


@given(
    value=_values,
    compat=st.booleans(),
    keep=st.sampled_from([None, "true", "false"]),
    namespace=st.sampled_from(["shop", "kube-system"]),
)
def test_where_no_difference_is_told_both_let_it_go_at_the_same_time(
    value: str,
    compat: bool,  # noqa: FBT001 - hypothesis names it
    keep: str | None,
    namespace: str,
) -> None:
    one = row(ttl=value, keep=keep, namespace=namespace)
    _, verdict = judged(one, compat={"kyvernoTtl": compat})
    if not found(one, compat={"kyvernoTtl": compat}):
        assert verdict.goes == kyverno_view(one, Beside()).due


@given(value=_values)
def test_what_kyverno_does_not_understand_never_differs(value: str) -> None:
    one = row(ttl=value)
    if kyverno_view(one, Beside()).words == "not understood, so it stays":
        assert found(one) == []
        assert judged(one)[1].goes is None

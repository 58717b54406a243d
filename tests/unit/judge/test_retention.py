"""Retention by the label: what claims, what holds, what is only told; and that not knowing keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.judge.judge import Judge
from skoupa.judge.retention import NeedGuard, RetentionMechanism, unneeded_since
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import problems, render
from skoupa.model.verdicts import Verdict
from skoupa.usage.finishing import Doubt, Ends, Finish, Outcome
from skoupa.usage.found import Target
from skoupa.usage.leftovers.worth import FOR_ITSELF
from skoupa.usage.needs import Answer, Need, Needed, Unknown, Unneeded
from skoupa.usage.sight import Unread
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit

HOUR = 3600
FREE = Unneeded("proved")
USED = Needed(
    (Need(how="user", by=Target("apps/Deployment", "shop", "web"), at="spec.template.spec.volumes[]"),)
)
OWNED = Needed((Need(how="owner", by=Target("batch/CronJob", "shop", "nightly")),))
FOR_ITS_SAKE = Needed((Need(how="work", why=FOR_ITSELF),))
UNREAD = Unknown((Unread(kind="example.com/Widget", what="widgets.example.com", why="no permission"),))


class Known:
    """Evidence as it is handed in."""

    def __init__(
        self,
        *,
        finish: Finish | Doubt | None = None,
        ends: Ends = Ends.BY_RULE,
        needs: Answer | None = FREE,
    ) -> None:
        self._finish, self._ends, self._needs = finish, ends, needs

    def finish(self, row: Row) -> Finish | Doubt | None:
        return self._finish

    def ends(self, row: Row) -> Ends:
        return self._ends

    def needs(self, row: Row) -> Answer | None:
        return self._needs

    def since(self, row: Row, now: float) -> float | None:
        return unneeded_since(row, now)


def finished(after: int, outcome: Outcome = Outcome.SUCCEEDED, **more: Any) -> Finish:
    return Finish(outcome=outcome, at=datetime.fromtimestamp(CREATED + after, UTC), at_from="status", **more)


def verdict(value: str, known: Known, *, at: int, mark: int | str | None = None) -> Verdict:
    annotations = {}
    if mark is not None:
        text = mark if isinstance(mark, str) else whole_seconds(CREATED + mark)
        annotations[names.UNNEEDED_SINCE_ANNOTATION] = text
    labelled = row(labels={names.TTL_AFTER_LABEL: value}, annotations=annotations)
    mechanism = RetentionMechanism(known)
    return Judge([mechanism], [NeedGuard(mechanism)]).verdict(labelled, CREATED + at)


def told(found: Verdict) -> list[str]:
    return [render(hold.reason) for hold in found.holds] or [render(note) for note in found.notes]


def test_a_finished_object_goes_its_time_after_its_end() -> None:
    known = Known(finish=finished(100))
    assert verdict("finished-1h", known, at=200, mark=100).goes == CREATED + 100 + HOUR
    found = verdict("finished-1h", known, at=100 + HOUR, mark=60)
    claim = found.claim(CREATED + 100 + HOUR)
    assert claim is not None
    assert (claim.mechanism, claim.rule) == ("retention", "skoupa.dev/ttl-after=finished-1h")
    assert render(claim.reason).startswith("skoupa.dev/ttl-after=finished-1h: 1h counted from ")


def test_without_a_mark_nothing_goes_however_long_ago_it_has_finished() -> None:
    found = verdict("finished-1h", Known(finish=finished(100)), at=1000 * HOUR)
    assert not found.claims
    assert "it is not marked yet as needed by nobody" in told(found)[0]
    assert not verdict("finished-0", Known(finish=finished(100)), at=1000 * HOUR, mark="junk").claims


def test_what_runs_has_no_claim_and_says_why() -> None:
    found = verdict("finished-1h", Known(), at=9 * HOUR)
    assert not found.claims
    assert told(found) == ["skoupa.dev/ttl-after=finished-1h: it has not finished"]


def test_who_waits_for_the_end_of_one_whose_status_nobody_knows_is_told_what_to_write() -> None:
    found = verdict("finished-1h", Known(ends=Ends.BY_SHAPE), at=9 * HOUR)
    assert not found.claims
    (said,) = told(found)
    assert said.endswith(
        "it has not finished as far as its status is understood: a KindProfile says when one of its kind has"
    )


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (USED, "Deployment shop/web uses it (spec.template.spec.volumes[])"),
        (OWNED, "its owner CronJob shop/nightly is alive"),
        (UNREAD, "widgets.example.com can't be read (no permission); usage.ignoreKinds waives that"),
        (Unknown(doubts=("Widget shop/odd: a list where a text is meant",)), "a list where a text is meant"),
        (Needed((Need(how="never", why="a Helm release is state"),)), "a Helm release is state"),
        (None, "who uses it is being read"),
    ],
)
def test_what_needs_it_or_may_need_it_holds_however_long_it_has_finished(
    needs: Answer | None, said: str
) -> None:
    found = verdict("finished-1h", Known(finish=finished(0), needs=needs), at=1000 * HOUR, mark=0)
    assert found.claim(CREATED + 1000 * HOUR) is None
    assert found.goes is None
    assert any(said in text for text in told(found))


def test_a_mark_that_is_later_than_the_end_counts() -> None:
    known = Known(finish=finished(100))
    assert verdict("finished-1h", known, at=2 * HOUR, mark=HOUR).goes == CREATED + 2 * HOUR


def test_unused_counts_from_the_mark_and_never_from_creation() -> None:
    config = Known(ends=Ends.NEVER)
    assert not verdict("unused-30m", config, at=1000 * HOUR).claims
    assert verdict("unused-30m", config, at=HOUR, mark=HOUR).goes == CREATED + HOUR + 1800


def test_what_is_in_use_says_by_whom_before_it_was_ever_marked() -> None:
    found = verdict("unused-30m", Known(ends=Ends.NEVER, needs=USED), at=HOUR)
    assert not found.claims
    assert told(found) == ["Deployment shop/web uses it (spec.template.spec.volumes[])"]


@pytest.mark.parametrize("mark", ["soon", "", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_mark_that_can_not_be_meant_is_none(mark: str) -> None:
    assert not verdict("unused-0", Known(ends=Ends.NEVER), at=HOUR, mark=mark).claims


def test_a_mark_a_little_ahead_is_now() -> None:
    marked = row(annotations={names.UNNEEDED_SINCE_ANNOTATION: whole_seconds(CREATED + 60)})
    assert unneeded_since(marked, CREATED + 1) == CREATED + 60
    assert verdict("unused-1h", Known(ends=Ends.NEVER), at=1, mark=60).goes == CREATED + 1 + HOUR


def test_an_end_without_a_time_counts_from_when_it_was_first_seen() -> None:
    ended = Known(finish=Finish(outcome=Outcome.FAILED))
    assert not verdict("failed-1h", ended, at=9 * HOUR).claims
    assert verdict("failed-1h", ended, at=9 * HOUR, mark=HOUR).goes == CREATED + 2 * HOUR


def test_a_longer_time_of_the_kind_itself_wins_and_a_shorter_one_is_told() -> None:
    longer = verdict(
        "finished-1h", Known(finish=finished(0, own_ttl=9 * HOUR, own_from="spec.ttl")), at=1, mark=0
    )
    assert longer.goes == CREATED + 9 * HOUR
    assert "spec.ttl of the object itself gives it longer" in render(longer.claims[0].reason)
    shorter = verdict("finished-1h", Known(finish=finished(0, own_ttl=60, own_from="spec.ttl")), at=1, mark=0)
    assert shorter.goes == CREATED + HOUR
    assert any("its own controller deletes it" in render(note) for note in shorter.notes)


def test_a_value_that_is_not_understood_claims_nothing_and_says_what_to_write() -> None:
    found = verdict("completed-1h", Known(finish=finished(0)), at=1000 * HOUR)
    assert not found.claims
    assert "finished-1h" in told(found)[0]


@given(
    st.sampled_from(
        ["finished-1h", "succeeded-0", "failed-1h.succeeded-2h", "unused-0", "finished-0.unused-1h"]
    ),
    st.sampled_from([None, FREE, USED, OWNED, UNREAD]),
    st.sampled_from([None, Doubt("odd"), finished(50), finished(50, Outcome.FAILED)]),
    st.sampled_from([None, 10, 4000, "junk"]),
    st.integers(0, 100_000),
)
def test_nothing_goes_that_is_needed_runs_or_is_not_known(
    value: str, needs: Answer | None, finish: Finish | Doubt | None, mark: int | str | None, at: int
) -> None:
    found = verdict(value, Known(finish=finish, needs=needs), at=at, mark=mark)
    if found.claim(CREATED + at) is not None:
        assert needs == FREE
        assert isinstance(finish, Finish)
        assert finish.at is not None
        assert CREATED + at >= finish.at.timestamp()
        assert isinstance(mark, int)


@pytest.mark.parametrize(
    ("value", "known", "why"),
    [
        ("finished-1h", Known(ends=Ends.NEVER), "objects of its kind do not finish; write unused-… alone"),
        ("unused-1h", Known(ends=Ends.NEVER, needs=FOR_ITS_SAKE), "there for themselves"),
        ("finished-1h", Known(ends=Ends.NEVER, needs=FOR_ITS_SAKE), "there for themselves"),
    ],
)
def test_a_label_that_never_comes_is_told_to_its_writer_with_what_to_write(
    value: str, known: Known, why: str
) -> None:
    found = verdict(value, known, at=HOUR)
    assert not found.claims
    (told_of_it,) = problems(found.notes)
    assert told_of_it.code == "ttl-after-never"
    assert why in render(told_of_it)
    assert "give it a time by the label cleanup.kyverno.io/ttl" in render(told_of_it)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("failed-7d", Known(finish=finished(100))),
        ("finished-1h", Known()),
        ("unused-1h", Known(ends=Ends.NEVER, needs=USED)),
    ],
)
def test_one_that_may_come_or_has_another_outcome_in_mind_is_no_mistake(value: str, known: Known) -> None:
    assert not problems(verdict(value, known, at=HOUR).notes)

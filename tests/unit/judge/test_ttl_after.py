"""When something goes after it finished or was last used: all have to agree, and the clock starts with the last of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.instants import LAST_SECOND
from skoupa.expr.ttl_after import Moment, TtlAfter, parse_ttl_after
from skoupa.judge.ttl_after import Cause, Goes, OwnTime, Since, Standing, Waits, going
from skoupa.usage.finishing import Doubt, Ends, Finish, Outcome
from skoupa.usage.finishing.rules import Caution

pytestmark = pytest.mark.unit

MINUTE, HOUR, DAY = 60, 3_600, 86_400
NOW = 1_785_844_800.0
ENDED = NOW - DAY
STILL, NEVER = Standing.STILL, Standing.NEVER


def after(text: str) -> TtlAfter:
    read = parse_ttl_after(text)
    assert isinstance(read, TtlAfter)
    return read


def finish(outcome: Outcome = Outcome.SUCCEEDED, at: float | None = ENDED, **more: Any) -> Finish:
    when = None if at is None else datetime.fromtimestamp(at, UTC)
    return Finish(outcome=outcome, at=when, at_from="status.finishedAt" if when else "", **more)


def ask(
    text: str,
    ended: Finish | Doubt | None = None,
    *,
    ends: Ends = Ends.BY_RULE,
    unused: Since = NEVER,
    owners_gone: Since = NEVER,
    now: float = NOW,
    first_seen: float | None = None,
) -> Goes | Waits:
    return going(
        after(text),
        finish=ended,
        ends=ends,
        unused=unused,
        owners_gone=owners_gone,
        now=now,
        first_seen_finished=first_seen,
    )


def goes(answer: Goes | Waits) -> Goes:
    assert isinstance(answer, Goes), answer
    return answer


def causes(answer: Goes | Waits) -> list[Cause]:
    assert isinstance(answer, Waits), answer
    assert all(wait.text for wait in answer.waits)
    return [wait.cause for wait in answer.waits]


@pytest.mark.parametrize(
    ("text", "outcome", "seconds", "moment"),
    [
        ("finished-1h", Outcome.SUCCEEDED, HOUR, Moment.FINISHED),
        ("finished-1h", Outcome.FAILED, HOUR, Moment.FINISHED),
        ("finished-1h", Outcome.UNKNOWN, HOUR, Moment.FINISHED),
        ("succeeded-1h", Outcome.SUCCEEDED, HOUR, Moment.SUCCEEDED),
        ("succeeded-1h", Outcome.FAILED, None, None),
        ("succeeded-1h", Outcome.UNKNOWN, None, None),
        ("failed-7d", Outcome.FAILED, 7 * DAY, Moment.FAILED),
        ("failed-7d", Outcome.SUCCEEDED, None, None),
        ("succeeded-1h.failed-7d", Outcome.SUCCEEDED, HOUR, Moment.SUCCEEDED),
        ("succeeded-1h.failed-7d", Outcome.FAILED, 7 * DAY, Moment.FAILED),
        # Whichever it was, its time is over then.
        ("succeeded-1h.failed-7d", Outcome.UNKNOWN, 7 * DAY, Moment.FAILED),
        # What says how it ended beats what does not, be it shorter or longer.
        ("finished-1h.failed-7d", Outcome.FAILED, 7 * DAY, Moment.FAILED),
        ("finished-1h.failed-7d", Outcome.SUCCEEDED, HOUR, Moment.FINISHED),
        ("finished-1h.failed-7d", Outcome.UNKNOWN, 7 * DAY, Moment.FAILED),
        ("finished-7d.succeeded-1h", Outcome.SUCCEEDED, HOUR, Moment.SUCCEEDED),
        ("finished-7d.succeeded-1h", Outcome.UNKNOWN, 7 * DAY, Moment.FINISHED),
    ],
)
def test_how_it_ended_decides_which_time_counts(
    text: str, outcome: Outcome, seconds: int | None, moment: Moment | None
) -> None:
    answer = ask(text, finish(outcome))
    if seconds is None:
        assert causes(answer) == [Cause.OTHER_OUTCOME]
        return
    found = goes(answer)
    assert (found.at, found.since, found.last) == (ENDED + seconds, ENDED, "finished")
    assert (found.seconds, found.moment) == (seconds, moment)


@pytest.mark.parametrize(
    ("unused", "owners_gone", "since", "last"),
    [
        (NEVER, NEVER, ENDED, "finished"),
        (ENDED - DAY, ENDED - HOUR, ENDED, "finished"),
        (ENDED + HOUR, NEVER, ENDED + HOUR, "unused"),
        (ENDED + HOUR, ENDED + 2 * HOUR, ENDED + 2 * HOUR, "owners gone"),
        (NEVER, ENDED + 2 * HOUR, ENDED + 2 * HOUR, "owners gone"),
    ],
)
def test_the_time_counts_from_the_latest_moment(
    unused: Since, owners_gone: Since, since: float, last: str
) -> None:
    found = goes(ask("finished-1h", finish(), unused=unused, owners_gone=owners_gone))
    assert (found.since, found.last, found.at) == (since, last, since + HOUR)


def test_a_living_owner_a_use_and_work_each_hold_and_all_are_told() -> None:
    answer = ask("finished-1h", None, unused=STILL, owners_gone=STILL)
    assert causes(answer) == [Cause.RUNNING, Cause.OWNED, Cause.IN_USE]
    assert causes(ask("finished-1h", finish(), owners_gone=STILL)) == [Cause.OWNED]
    assert causes(ask("finished-1h", finish(), unused=STILL)) == [Cause.IN_USE]


def test_a_config_map_goes_some_time_after_its_last_use() -> None:
    found = goes(ask("unused-30m", ends=Ends.NEVER, unused=ENDED, owners_gone=ENDED - HOUR))
    assert (found.at, found.last, found.moment) == (ENDED + 30 * MINUTE, "unused", Moment.UNUSED)


def test_what_was_never_seen_unused_waits_for_that_to_be_written_down() -> None:
    assert causes(ask("unused-30m", ends=Ends.NEVER, unused=NEVER)) == [Cause.UNUSED_UNMARKED]


def test_an_unused_job_that_runs_stays() -> None:
    assert causes(ask("unused-30m", None, unused=ENDED)) == [Cause.RUNNING]
    found = goes(ask("unused-30m", finish(at=ENDED + HOUR), unused=ENDED))
    assert (found.since, found.last) == (ENDED + HOUR, "finished")


def test_a_custom_object_of_which_nobody_knows_whether_it_ends_goes_once_it_is_unused() -> None:
    assert goes(ask("unused-30m", None, ends=Ends.BY_SHAPE, unused=ENDED)).at == ENDED + 30 * MINUTE
    doubtful = Doubt("nothing says when")
    assert goes(ask("unused-30m", doubtful, ends=Ends.BY_SHAPE, unused=ENDED)).at == ENDED + 30 * MINUTE
    assert causes(ask("finished-30m", None, ends=Ends.BY_SHAPE)) == [Cause.RUNNING]
    assert causes(ask("finished-30m", doubtful, ends=Ends.BY_SHAPE)) == [Cause.UNCLEAR]


def test_a_kind_that_does_not_finish_never_goes_by_its_end() -> None:
    assert causes(ask("finished-1h", ends=Ends.NEVER)) == [Cause.NEVER_FINISHES]
    assert causes(ask("finished-1h.unused-1h", ends=Ends.NEVER, unused=ENDED)) == [Cause.NEVER_FINISHES]


def test_a_doubt_about_the_end_holds_and_says_why() -> None:
    answer = ask("unused-1h", Doubt("status is a text, not an object"), unused=ENDED)
    assert isinstance(answer, Waits)
    assert causes(answer) == [Cause.UNCLEAR]
    assert "status is a text" in answer.waits[0].text


def test_all_that_is_written_counts() -> None:
    found = goes(ask("finished-1h.unused-2h", finish(), unused=ENDED + MINUTE))
    assert (found.at, found.moment) == (ENDED + MINUTE + 2 * HOUR, Moment.UNUSED)
    found = goes(ask("finished-3h.unused-2h", finish(), unused=ENDED + MINUTE))
    assert (found.at, found.moment) == (ENDED + MINUTE + 3 * HOUR, Moment.FINISHED)


@pytest.mark.parametrize("own_ttl", [0, 59 * MINUTE, HOUR])
def test_a_kinds_own_time_that_is_not_later_is_told_and_changes_nothing(own_ttl: int) -> None:
    found = goes(ask("finished-1h", finish(own_ttl=own_ttl, own_from="spec.ttlSecondsAfterFinished")))
    assert found.at == ENDED + HOUR
    assert found.own == OwnTime("spec.ttlSecondsAfterFinished", ENDED + own_ttl, later=False)


def test_a_kinds_own_time_that_is_later_counts() -> None:
    found = goes(ask("finished-1h", finish(own_ttl=DAY, own_from="spec.ttlSecondsAfterFinished")))
    assert found.at == ENDED + DAY
    assert found.own == OwnTime("spec.ttlSecondsAfterFinished", ENDED + DAY, later=True)
    until = datetime.fromtimestamp(NOW + 30 * DAY, UTC)
    found = goes(ask("finished-1h", finish(own_until=until, own_from="status.expiration")))
    assert found.at == NOW + 30 * DAY
    assert found.own == OwnTime("status.expiration", NOW + 30 * DAY, later=True)


def test_a_kind_without_a_time_of_its_own_has_none() -> None:
    assert goes(ask("finished-1h", finish())).own is None


def test_a_caution_that_holds_is_waited_for_and_one_that_informs_is_not() -> None:
    held = (Caution(why="its Job has not counted it yet"), Caution(why="may be earlier", holds=False))
    answer = ask("finished-0", finish(cautions=held))
    assert isinstance(answer, Waits)
    assert [(wait.cause, wait.text) for wait in answer.waits] == [
        (Cause.CAUTION, "its Job has not counted it yet")
    ]
    assert goes(ask("finished-0", finish(cautions=held[1:])))


@pytest.mark.parametrize("at", [None, NOW + 400 * DAY])
def test_an_end_without_a_time_counts_from_when_it_was_first_seen(at: float | None) -> None:
    assert causes(ask("finished-1h", finish(at=at))) == [Cause.FINISH_UNMARKED]
    found = goes(ask("finished-1h", finish(at=at), first_seen=NOW - MINUTE))
    assert (found.since, found.at) == (NOW - MINUTE, NOW - MINUTE + HOUR)


def test_a_mark_that_is_left_from_an_earlier_end_is_not_counted_from() -> None:
    assert goes(ask("finished-1h", finish(), first_seen=ENDED - 7 * DAY)).since == ENDED


@pytest.mark.parametrize("which", ["unused", "owners_gone"])
def test_a_mark_in_the_future_holds_until_it_has_come(which: str) -> None:
    moments: dict[str, Any] = {"unused": ENDED, "owners_gone": ENDED, which: NOW + DAY}
    answer = ask("finished-1h", finish(), **moments)
    assert causes(answer) == [Cause.MARK_AHEAD]
    assert isinstance(answer, Waits)
    assert answer.waits[0].until == NOW + DAY


def test_a_time_beyond_what_a_clock_can_write_is_the_last_one() -> None:
    endless = TtlAfter(unused=LAST_SECOND)
    found = going(endless, finish=None, ends=Ends.NEVER, unused=NOW, owners_gone=NEVER, now=NOW)
    assert goes(found).at == LAST_SECOND


SPANS = st.none() | st.integers(0, 400 * DAY)
MOMENTS = st.sampled_from([STILL, NEVER]) | st.floats(NOW - 400 * DAY, NOW + DAY)
FINISHES = st.none() | st.builds(
    finish,
    st.sampled_from(Outcome),
    st.none() | st.integers(int(NOW) - 400 * DAY, int(NOW)).map(float),
    own_ttl=SPANS,
    own_from=st.just("spec.ttl"),
)


@settings(deadline=None)
@given(
    st.builds(TtlAfter, finished=SPANS, succeeded=SPANS, failed=SPANS, unused=SPANS).filter(
        lambda one: one.on_finish or one.unused is not None
    ),
    FINISHES,
    st.sampled_from(Ends),
    MOMENTS,
    MOMENTS,
)
def test_nothing_goes_before_everything_agreed_and_its_time_was_over(
    times: TtlAfter, ended: Finish | None, ends: Ends, unused: Since, owners_gone: Since
) -> None:
    known = msgspec.structs.replace(ended) if ended and ends is not Ends.NEVER else None
    answer = going(times, finish=known, ends=ends, unused=unused, owners_gone=owners_gone, now=NOW)
    if isinstance(answer, Waits):
        assert answer.waits
        return
    assert STILL not in (unused, owners_gone)
    spans = [getattr(times, moment.value) for moment in Moment]
    assert answer.seconds in spans
    for since in (unused, owners_gone):
        assert isinstance(since, Standing) or answer.since >= since
    if times.on_finish or ends is Ends.BY_RULE:
        assert known is not None
        assert known.at is not None
        assert answer.since >= known.at.timestamp()
        assert known.own_ttl is None or answer.at >= known.at.timestamp() + known.own_ttl
    assert answer.at >= answer.since + answer.seconds
    assert times.unused is None or answer.at >= answer.since + times.unused

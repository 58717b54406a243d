"""The TTL mechanism: what each value claims, what it is told for, and that a bad value claims nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.expr.readings import Problem
from skoupa.expr.ttl import kyverno_ttl, parse_ttl
from skoupa.facts.rows import REFRESH_WRITTEN
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import problems, render
from skoupa.settings import decode, every_setting, load
from tests.unit.judge.rows import CREATED, owner_of, row

pytestmark = pytest.mark.unit

MINUTE, HOUR, DAY = 60, 3600, 86400


def mechanism(**compat: Any) -> TtlMechanism:
    return TtlMechanism(decode({"compat": compat}, source="the test"))


STRICT = mechanism()
KYVERNO = mechanism(kyvernoTtl=True)

# The table of facts/kyverno.md: value, seconds from creation as Skoupa reads it (None: refused), as Kyverno does.
GOLDEN: list[tuple[str, int | None, int | None]] = [
    ("10s", 10, 10),
    ("5m", 5 * MINUTE, 5 * MINUTE),
    ("1h30m", 90 * MINUTE, 90 * MINUTE),
    ("1.5h", None, 90 * MINUTE),
    ("1d", DAY, DAY),
    ("2w", 14 * DAY, 14 * DAY),
    ("1d12h", 36 * HOUR, 36 * HOUR),
    ("2days", None, 2 * DAY),
    ("3weeks", None, 21 * DAY),
    ("5hr", None, 5 * HOUR),
    ("7mins", None, 7 * MINUTE),
    ("0", 0, 0),
    ("30", None, None),
    ("1.5d", None, 5 * DAY),
    ("1M", None, MINUTE),
    ("1D", None, DAY),
    ("5hrs", None, None),
    ("2wks", None, None),
    ("1mo", None, None),
    ("1month", None, None),
    ("1y", None, None),
    ("10ay", None, None),
    ("1d5x", None, DAY),
    ("abc10d", None, 10 * DAY),
    ("10m-5d", None, 5 * DAY + 10 * MINUTE),
    ("2023-07-19T12h", None, 12 * HOUR),
    ("2023-07-19", 1_689_724_800 - CREATED, 1_689_724_800 - CREATED),
    ("2023-07-19T120000Z", 1_689_768_000 - CREATED, 1_689_768_000 - CREATED),
    ("", None, None),
    ("forever", None, None),
    ("never", None, None),
    ("2026-13-40", None, None),
    ("tomorrow", None, None),
]


@pytest.mark.parametrize(("value", "strict", "kyverno"), GOLDEN)
def test_the_golden_table(value: str, strict: int | None, kyverno: int | None) -> None:
    for asked, expected in ((STRICT, strict), (KYVERNO, kyverno)):
        found = row(ttl=value)
        answer = asked.answer(found, CREATED)
        if expected is None:
            assert not answer.claims
            assert asked.due(found, CREATED) is None
            (note,) = answer.notes
            assert note.code == "ttl-invalid"
            assert any(word in render(note) for word in ("write", "remove the label", "check the date"))
        else:
            (claim,) = answer.claims
            assert claim.due == CREATED + expected == asked.due(found, CREATED)
            assert claim.rule == f"{names.TTL_LABEL}={value}"
            assert claim.on_labels_alone


ALPHABET = st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"], include_characters="-_.")
VALUES = st.one_of(
    st.text(ALPHABET, max_size=63),
    st.from_regex(r"[0-9]{1,12}[a-zA-Z]{1,5}([0-9]{1,3}[smhdwSMHDW])?", fullmatch=True),
    st.from_regex(r"[0-9]{1,5}-[0-9]{1,3}-[0-9]{1,3}(T[0-9]{1,7}Z?)?", fullmatch=True),
)


@given(VALUES)
def test_a_value_that_is_not_understood_never_claims_and_one_that_is_always_does(value: str) -> None:
    for asked, read in ((STRICT, parse_ttl), (KYVERNO, kyverno_ttl)):
        found = row(ttl=value)
        bad = isinstance(read(value), Problem)
        answer = asked.answer(found, CREATED)
        assert bool(answer.claims) is not bad
        assert (asked.due(found, CREATED) is None) is bad
        assert any(note.code == "ttl-invalid" for note in answer.notes) is bad


@given(VALUES)
def test_what_is_understood_strictly_kyverno_reads_the_same(value: str) -> None:
    strict = STRICT.due(row(ttl=value), CREATED)
    if strict is not None:
        assert KYVERNO.due(row(ttl=value), CREATED) == strict


@given(VALUES, st.integers(-(10**9), 10**10))
def test_the_due_time_does_not_move_with_the_clock(value: str, later: int) -> None:
    refreshed = {names.REFRESHED_AT_ANNOTATION: "2030-01-01T00:00:00Z"}
    for found in (row(ttl=value), row(ttl=value, annotations=refreshed)):
        assert STRICT.due(found, CREATED) == STRICT.due(found, CREATED + later)


@pytest.mark.parametrize("value", ["2days", "2026-1-3"])
def test_advice_that_would_let_the_object_go_at_once_says_so(value: str) -> None:
    (early,) = STRICT.answer(row(ttl=value), CREATED).notes
    (late,) = STRICT.answer(row(ttl=value), CREATED + 2 * DAY).notes
    over = " (that time is over: the object then goes at once)"
    assert over not in render(early)
    assert render(late) == render(early) + over


def test_zero_and_seconds_are_taken_with_a_note() -> None:
    for value in ("0", "90s"):
        answer = STRICT.answer(row(ttl=value), CREATED)
        assert answer.claims
        assert {note.code for note in answer.notes} == {"ttl-short"}


def test_odd_spellings_that_kyverno_takes_are_noted() -> None:
    answer = KYVERNO.answer(row(ttl="1.5d"), CREATED)
    (note,) = answer.notes
    assert "is read as Kyverno reads it, as 5d; write 5d, or 1d12h if that is meant" in render(note)


@pytest.mark.parametrize(
    ("refreshed", "written", "since"),
    [
        ("2026-01-01T05:00:00Z", 0, CREATED + 5 * HOUR),
        ("2026-01-01T05:00:00+02:00", 0, CREATED + 3 * HOUR),
        ("2025-12-31T22:00:00Z", 0, CREATED),
        ("2020-01-01T00:00:00Z", CREATED + 6 * HOUR, CREATED),
        ("2026-01-01T05:00:00Z", CREATED + 6 * HOUR, CREATED + 5 * HOUR),
        ("2099-01-01T00:00:00Z", CREATED + 6 * HOUR, CREATED + 6 * HOUR),
        ("yesterday", CREATED + 6 * HOUR, CREATED),
        ("", 0, CREATED),
    ],
)
def test_a_refresh_counts_as_creation_but_not_beyond_its_writing(
    refreshed: str, written: int, since: int
) -> None:
    annotations = {names.REFRESHED_AT_ANNOTATION: refreshed}
    if written:
        annotations[REFRESH_WRITTEN] = str(written)
    assert STRICT.due(row(ttl="1h", annotations=annotations), CREATED) == since + HOUR


@given(
    st.integers(0, 2 * CREATED),
    st.integers(0, 2 * CREATED),
    st.sampled_from(["1s", "1h", "30d", "2026-03-01"]),
)
def test_nothing_ever_goes_sooner_for_a_refresh(refreshed: int, written: int, ttl: str) -> None:
    plain = STRICT.due(row(ttl=ttl), CREATED)
    annotations = {names.REFRESHED_AT_ANNOTATION: whole_seconds(refreshed), REFRESH_WRITTEN: str(written)}
    found = STRICT.due(row(ttl=ttl, annotations=annotations), CREATED)
    assert plain is not None
    assert found is not None
    assert found >= plain


@pytest.mark.parametrize(
    ("mechanism", "ttl_key", "key"),
    [
        (STRICT, "", names.REFRESHED_AT_ANNOTATION),
        (
            mechanism(ttlController=True),
            names.TTL_CONTROLLER_TTL_ANNOTATION,
            names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION,
        ),
    ],
    ids=["ours", "another tool's"],
)
def test_a_refresh_of_another_life_is_a_problem_that_says_what_counts(
    mechanism: TtlMechanism, ttl_key: str, key: str
) -> None:
    wish = {ttl_key: "1h"} if ttl_key else {}
    found = row(ttl=None if ttl_key else "1h", annotations={**wish, key: "2025-06-01T00:00:00Z"})
    answer = mechanism.answer(found, CREATED)
    assert [claim.due for claim in answer.claims] == [CREATED + HOUR]
    (note,) = problems(answer.notes)
    assert note.code == "refreshed-before"
    assert render(note).startswith(f"{key}=2025-06-01T00:00:00Z is before its creation and does nothing")
    assert "counted from creation" in render(note)


def test_a_refresh_that_came_with_the_manifest_is_not_spoken_of() -> None:
    found = row(ttl="1h", annotations={names.REFRESHED_AT_ANNOTATION: "2025-12-31T23:58:00Z"})
    assert STRICT.answer(found, CREATED).notes == ()


EVERY_COMPAT = mechanism(janitor=True, ttlController=True)


@pytest.mark.parametrize(
    ("mechanism", "ttl", "annotations", "alone"),
    [
        (STRICT, "1h", {}, True),
        (STRICT, "2026-03-01", {}, True),
        (STRICT, "1h", {names.NOTICE_BEFORE_ANNOTATION: "5m"}, True),
        (STRICT, "1h", {names.REFRESHED_AT_ANNOTATION: "2026-01-01T05:00:00Z"}, False),
        (STRICT, "1h", {names.REFRESHED_AT_ANNOTATION: "soon"}, False),
        (STRICT, "1h", {names.PROPAGATION_POLICY_ANNOTATION: "Orphan"}, False),
        (STRICT, "1h", {names.JANITOR_TTL_ANNOTATION: "3h"}, True),
        (EVERY_COMPAT, "1h", {}, True),
        (EVERY_COMPAT, "1h", {names.JANITOR_TTL_ANNOTATION: "1m"}, False),
        (EVERY_COMPAT, None, {names.JANITOR_EXPIRES_ANNOTATION: "2026-01-03"}, False),
        (EVERY_COMPAT, None, {names.TTL_CONTROLLER_TTL_ANNOTATION: "1h"}, False),
    ],
)
def test_a_time_rests_on_labels_alone_only_where_no_annotation_has_a_say(
    mechanism: TtlMechanism,
    ttl: str | None,
    annotations: dict[str, str],
    alone: bool,  # noqa: FBT001 - a parameter
) -> None:
    (claim,) = mechanism.answer(row(ttl=ttl, annotations=annotations), CREATED).claims
    assert claim.on_labels_alone is alone


def test_a_refresh_says_nothing_where_no_ttl_is() -> None:
    found = row(annotations={names.REFRESHED_AT_ANNOTATION: "2026-01-01T05:00:00Z"})
    assert STRICT.due(found, CREATED) is None
    assert STRICT.answer(found, CREATED).claims == ()


JANITOR = mechanism(janitor=True)
TTL_CONTROLLER = mechanism(ttlController=True)


@pytest.mark.parametrize(
    ("key", "value", "due"),
    [
        (names.JANITOR_TTL_ANNOTATION, "2h", CREATED + 2 * HOUR),
        (names.JANITOR_TTL_ANNOTATION, "1w", CREATED + 7 * DAY),
        (names.JANITOR_TTL_ANNOTATION, "forever", None),
        (names.JANITOR_TTL_ANNOTATION, "1h30m", None),
        (names.JANITOR_EXPIRES_ANNOTATION, "2026-01-03", CREATED + 2 * DAY),
        (names.JANITOR_EXPIRES_ANNOTATION, "2026-01-01T10:00", CREATED + 10 * HOUR),
        (names.JANITOR_EXPIRES_ANNOTATION, "2026-01-01T10:00:00Z", CREATED + 10 * HOUR),
        (names.JANITOR_EXPIRES_ANNOTATION, "soon", None),
    ],
)
def test_janitor_annotations_are_read_only_where_switched_on(key: str, value: str, due: int | None) -> None:
    found = row(annotations={key: value})
    assert JANITOR.due(found, CREATED) == due
    for other in (STRICT, TTL_CONTROLLER, KYVERNO):
        assert other.due(found, CREATED) is None
        assert not other.answer(found, CREATED).claims


def test_ttl_controller_annotations_are_read_only_where_switched_on() -> None:
    found = row(annotations={names.TTL_CONTROLLER_TTL_ANNOTATION: "1d12h"})
    assert TTL_CONTROLLER.due(found, CREATED) == CREATED + 36 * HOUR
    assert STRICT.due(found, CREATED) is None
    refreshed = row(
        annotations={
            names.TTL_CONTROLLER_TTL_ANNOTATION: "1h",
            names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: "2026-01-01T05:00:00Z",
            names.REFRESHED_AT_ANNOTATION: "2026-01-01T09:00:00Z",
        }
    )
    assert TTL_CONTROLLER.due(refreshed, CREATED) == CREATED + 6 * HOUR


def test_a_bad_refresh_of_another_tool_is_told_with_its_own_key() -> None:
    found = row(
        annotations={
            names.TTL_CONTROLLER_TTL_ANNOTATION: "1h",
            names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: "noon",
        }
    )
    (note,) = TTL_CONTROLLER.answer(found, CREATED).notes
    assert render(note).startswith("k8s-ttl-controller.twin.sh/refreshed-at=noon")


def test_of_several_times_all_must_be_due() -> None:
    every = mechanism(janitor=True, ttlController=True)
    found = row(
        ttl="1h",
        annotations={
            names.JANITOR_TTL_ANNOTATION: "3h",
            names.TTL_CONTROLLER_TTL_ANNOTATION: "2h",
        },
    )
    (claim,) = every.answer(found, CREATED).claims
    assert claim.due == CREATED + 3 * HOUR
    assert claim.rule == "janitor/ttl=3h"


@pytest.mark.parametrize("second", ["forever", "whenever"])
def test_one_time_that_never_comes_or_is_not_understood_holds_all(second: str) -> None:
    found = row(ttl="1h", annotations={names.JANITOR_TTL_ANNOTATION: second})
    assert JANITOR.due(found, CREATED) is None
    assert not JANITOR.answer(found, CREATED).claims


def test_switching_a_compat_on_costs_a_watch_of_everything_and_nothing_else_does() -> None:
    assert [interest.labels for interest in STRICT.interests()] == [names.TTL_LABEL]
    assert [interest.labels for interest in KYVERNO.interests()] == [names.TTL_LABEL]
    assert [interest.labels for interest in JANITOR.interests()] == [""]
    assert [interest.labels for interest in TTL_CONTROLLER.interests()] == [""]


def test_a_time_beyond_all_calendars_is_the_end_of_the_last_one() -> None:
    far = row(ttl="1d", annotations={names.REFRESHED_AT_ANNOTATION: "9999-12-31T23:59:59Z"})
    (claim,) = STRICT.answer(far, CREATED).claims
    assert whole_seconds(claim.due) == "9999-12-31T23:59:59Z"
    assert STRICT.due(far, CREATED) == claim.due


SWITCHES = [setting.key for setting in every_setting() if setting.default is False]


@pytest.mark.parametrize("switch", SWITCHES)
def test_no_switch_takes_another_label_for_the_ttl_or_leaves_the_key_unheard(switch: str) -> None:
    """For all other settings see `test_no_setting_changes_the_key_of_the_label`."""
    switched = TtlMechanism(load(environ={}, flags={switch: True}))
    assert switched.due(row(ttl="1h"), CREATED) == CREATED + HOUR
    assert {interest.labels for interest in switched.interests()} <= {names.TTL_LABEL, ""}
    for key in ("ttl", "skoupa.dev/ttl", "janitor/ttl", "k8s-ttl-controller.twin.sh/ttl"):
        assert switched.due(row(labels={key: "1h"}), CREATED) is None


def test_what_a_kind_needs_is_list_watch_and_delete() -> None:
    assert {interest.verbs for interest in STRICT.interests()} == {("list", "watch", "delete")}


@pytest.mark.parametrize("due_after", ["date", "refresh", "duration"])
def test_the_maximum_lifetime_counts_from_creation(due_after: str) -> None:
    limited = TtlMechanism(decode({"ttl": {"maximumLifetime": "90d"}}, source="the test"))
    annotations = {names.REFRESHED_AT_ANNOTATION: "2026-03-30T00:00:00Z"} if due_after == "refresh" else {}
    value = {"date": "2027-01-01", "refresh": "30d", "duration": "100d"}[due_after]
    (claim,) = limited.answer(row(ttl=value, annotations=annotations), CREATED).claims
    assert claim.due == CREATED + 90 * DAY
    assert claim.reason.code == "lifetime-over"
    (claim,) = limited.answer(row(ttl="10d"), CREATED).claims
    assert claim.due == CREATED + 10 * DAY
    assert limited.answer(row(), CREATED).claims == ()


def test_who_will_be_made_again_is_noted() -> None:
    parent = row("web-1")
    child = row("web-1-a", "1h", owners=(owner_of(parent),))
    assert [note.code for note in STRICT.answer(child, CREATED).notes] == ["will-return"]
    adopted = row("web-1-b", "1h", owners=(owner_of(parent, controller=False),))
    assert STRICT.answer(adopted, CREATED).notes == ()


UNCLEAR = ("2026-11-15 16:04:03", "1763222643", "noon", "2026-11-15", "")


@pytest.mark.parametrize("value", UNCLEAR)
def test_a_refresh_that_is_not_understood_holds_and_says_what_to_write(value: str) -> None:
    found = row(ttl="1h", annotations={names.REFRESHED_AT_ANNOTATION: value})
    answer = STRICT.answer(found, CREATED + 2 * HOUR)
    assert [claim.due for claim in answer.claims] == [CREATED + HOUR]
    (hold,) = answer.holds
    assert (hold.reason.code, hold.until) == ("refresh-unclear", None)
    assert f"skoupa.dev/refreshed-at={value} is not an RFC 3339 time: write " in render(hold.reason)
    (note,) = answer.notes
    assert note.code == "refreshed-invalid"


def test_a_bad_refresh_of_another_tool_holds_too() -> None:
    annotations = {
        names.TTL_CONTROLLER_TTL_ANNOTATION: "1h",
        names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: "noon",
    }
    (hold,) = TTL_CONTROLLER.answer(row(annotations=annotations), CREATED + 2 * HOUR).holds
    assert "k8s-ttl-controller.twin.sh/refreshed-at=noon is not an RFC 3339 time" in render(hold.reason)


def test_a_refresh_that_nothing_counts_from_holds_nothing_however_it_is_written() -> None:
    annotations = {names.REFRESHED_AT_ANNOTATION: "noon"}
    dated = STRICT.answer(row(ttl="2026-01-02", annotations=annotations), CREATED + 3 * DAY)
    assert dated.claims
    assert (dated.holds, dated.notes) == ((), ())
    assert not STRICT.answer(row(annotations=annotations), CREATED + 3 * DAY).holds
    of_another_tool = {names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: "noon"}
    assert not STRICT.answer(row(ttl="1h", annotations=of_another_tool), CREATED + 3 * DAY).holds


def test_what_no_refresh_could_put_off_is_not_held_by_one_that_is_not_understood() -> None:
    limited = TtlMechanism(decode({"ttl": {"maximumLifetime": "10h"}}, source="the test"))
    found = row(ttl="1h", annotations={names.REFRESHED_AT_ANNOTATION: "noon"})
    (hold,) = limited.answer(found, CREATED + 2 * HOUR).holds
    assert hold.until == CREATED + 10 * HOUR
    assert not limited.answer(found, CREATED + 10 * HOUR).holds


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1h", "10s", "0", "30", "1d5x", "2026-07-01", "2026-07-01T10:00:00Z"]),
            st.sampled_from([CREATED, CREATED + 1]),
            st.sampled_from(["kubectl", "helm"]),
            st.sampled_from([None, "true", "2026-06-01"]),
            st.sampled_from([{}, {names.REFRESHED_AT_ANNOTATION: whole_seconds(CREATED + HOUR)}]),
            st.booleans(),
            st.booleans(),
            st.sampled_from([CREATED, CREATED + DAY]),
        ),
        max_size=12,
    )
)
def test_what_was_answered_about_others_changes_no_answer(asked: list[Any]) -> None:
    shared = mechanism()
    for ttl, created, author, keep, annotated, owned, ours, now in asked:
        one = row(
            ttl=ttl,
            keep=keep,
            annotations=annotated,
            labels={names.PART_OF_LABEL: names.COMPONENT} if ours else {},
            created=created,
            labelled=(0, author),
            owners=(owner_of(row("its-owner")),) if owned else (),
        )
        assert shared.answer(one, now) == mechanism().answer(one, now)

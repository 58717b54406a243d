"""How far a deletion is: states of participants, progress, time-outs, and what is forced."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.alive.course import Course, course, forcing
from skoupa.alive.reading import Alive, read_alive
from tests.unit.alive.making import BEGAN, alive, lease, signs

pytestmark = pytest.mark.unit

DNS, DISKS = "dns.example.com/cleanup", "disks.example.com/cleanup"


def states(found: Course) -> dict[str, str]:
    return {one.finalizer: one.state for one in found.participants}


def after(before: Alive, found: Course) -> Alive:
    """With the status that the controller would have written."""
    status = msgspec.structs.replace(before.status, participants=found.participants)
    return msgspec.structs.replace(before, status=status)


def test_before_the_deletion_nobody_is_waited_for() -> None:
    found = course(alive(DNS, since=None), signs(lease(DNS, written=BEGAN)), now=BEGAN + 1)
    assert (found.phase, found.waiting, states(found)) == ("Active", 0, {DNS: "Ready"})
    assert found.deadline is None


def test_each_is_in_the_state_that_its_signs_show() -> None:
    mute = "mute.example.com/cleanup"
    one = alive(DNS, DISKS, mute, "stranger.example.com/x", entries=(DNS, DISKS, mute, "gone.example.com/x"))
    found = course(
        one,
        signs(
            lease(DNS, written=BEGAN + 95, remaining="3"),
            lease(DISKS, written=BEGAN + 50, remaining="9"),
        ),
        now=BEGAN + 100,
    )
    assert states(found) == {
        DNS: "Working",
        DISKS: "Silent",
        mute: "Unknown",
        "gone.example.com/x": "Done",
        "stranger.example.com/x": "Unknown",
    }
    assert (found.waiting, found.remaining) == (4, 12)


def test_who_says_that_it_failed_has_failed_and_is_waited_for() -> None:
    found = course(
        alive(DNS), signs(lease(DNS, written=BEGAN, state="failed", message="no token")), now=BEGAN + 1
    )
    assert states(found) == {DNS: "Failed"}
    assert found.participants[0].message == "no token"
    assert found.phase == "Terminating"


def test_a_wrong_clock_of_a_participant_changes_nothing() -> None:
    """Its renewTime is years old; the server wrote the Lease a moment ago."""
    assert states(course(alive(DNS), signs(lease(DNS, written=BEGAN + 10)), now=BEGAN + 12)) == {
        DNS: "Working"
    }


def test_a_number_that_is_none_is_not_known() -> None:
    found = course(alive(DNS), signs(lease(DNS, written=BEGAN, remaining="-3")), now=BEGAN + 1)
    assert found.participants[0].remaining is None
    assert found.remaining is None


def test_it_is_drained_when_only_skoupas_own_note_is_left() -> None:
    found = course(alive("skoupa.dev/alive", "foregroundDeletion", entries=(DNS,)), {}, now=BEGAN + 5)
    assert found.drained
    assert states(found) == {DNS: "Done"}


def test_time_counts_from_the_deletion() -> None:
    one = alive(DNS, timeout="10m")
    assert course(one, {}, now=BEGAN + 599).phase == "Terminating"
    late = course(one, {}, now=BEGAN + 600)
    assert (late.phase, late.timed_out) == ("TimedOut", BEGAN + 600)
    assert "10m" in late.why


def test_without_progress_it_is_over_sooner_and_progress_puts_that_off() -> None:
    one = alive(DNS, timeout="1h", progressTimeout="5m")
    assert course(one, {}, now=BEGAN + 301).phase == "TimedOut"
    assert "no progress for 5m" in course(one, {}, now=BEGAN + 301).why
    first = course(one, signs(lease(DNS, written=BEGAN + 200, remaining="5")), now=BEGAN + 200)
    fewer = course(after(one, first), signs(lease(DNS, written=BEGAN + 280, remaining="4")), now=BEGAN + 280)
    assert fewer.last_progress == BEGAN + 280
    assert fewer.deadline == BEGAN + 580
    same = course(after(one, fewer), signs(lease(DNS, written=BEGAN + 500, remaining="4")), now=BEGAN + 500)
    assert same.last_progress == BEGAN + 280
    more = course(after(one, same), signs(lease(DNS, written=BEGAN + 550, remaining="9")), now=BEGAN + 550)
    assert more.last_progress == BEGAN + 280, "more things to do are no progress"


def test_what_is_forced_is_nobodys_progress_and_puts_the_time_out_off_for_nobody() -> None:
    one = alive(DNS, DISKS, timeout="1h", progressTimeout="5m", onTimeout="ForceFinalizers")
    first = after(one, course(one, {}, now=BEGAN + 10))
    forced = forcing(first, course(first, {}, now=BEGAN + 301), now=BEGAN + 301)
    assert {each.finalizer for each in forced} == {DNS, DISKS}
    # The first is off, and something kept the other.
    half = msgspec.structs.replace(
        first, finalizers=(DISKS,), status=msgspec.structs.replace(first.status, forced=forced[:1])
    )
    at = course(half, {}, now=BEGAN + 302)
    assert [each.state for each in at.participants] == ["Done", "Unknown"]
    assert at.timed_out == BEGAN + 300
    assert [each.finalizer for each in forcing(half, at, now=BEGAN + 302)] == [DISKS]


def test_nothing_is_forced_unless_that_was_asked_for_and_its_time_has_come() -> None:
    for policy in ("Fail", "Proceed"):
        one = alive(DNS, timeout="10m", onTimeout=policy)
        assert forcing(one, course(one, {}, now=BEGAN + 90_000), now=BEGAN + 90_000) == ()
    one = alive(DNS, DISKS, "skoupa.dev/alive", timeout="10m", onTimeout="ForceFinalizers", forceAfter="5m")
    early = course(one, {}, now=BEGAN + 899)
    assert (early.phase, forcing(one, early, now=BEGAN + 899)) == ("TimedOut", ())
    late = course(one, signs(lease(DNS, written=BEGAN, remaining="2")), now=BEGAN + 900)
    forced = forcing(one, late, now=BEGAN + 900)
    # That it is time for it is not that anybody does it.
    assert late.phase == "TimedOut"
    told = msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, forced=forced))
    assert course(told, {}, now=BEGAN + 901).phase == "Forced"
    assert [(each.finalizer, each.state, each.remaining) for each in forced] == [
        (DNS, "Silent", 2),
        (DISKS, "Unknown", None),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"onTimeout": "forcefinalizers"},
        {"onTimeout": "ForceFinalizers", "timeout": "5 minutes", "unknown": 1},
        {"onTimeout": "ForceFinalizers", "forceAfter": {"a": 1}},
        {"onTimeout": "ForceFinalizers", "participants": "none"},
    ],
)
def test_a_spec_that_is_not_understood_forces_nobody(spec: dict[str, Any]) -> None:
    one = read_alive(
        {
            "metadata": {"uid": "u", "finalizers": [DNS], "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
        }
    )
    assert one.problems
    assert one.spec.on_timeout == "Fail"
    late = course(one, {}, now=BEGAN + 10**7)
    assert late.phase == "TimedOut"
    assert forcing(one, late, now=BEGAN + 10**7) == ()


def test_a_time_that_is_too_long_to_be_counted_is_long_and_not_what_is_shipped() -> None:
    """The server takes it: nine digits of weeks."""
    for_ever = "999999999w"
    found = course(alive(DNS, timeout=for_ever), {}, now=BEGAN + 10**9)
    assert (found.phase, found.timed_out) == ("Terminating", None)
    one = alive(DNS, timeout="1m", onTimeout="ForceFinalizers", forceAfter=for_ever)
    late = BEGAN + 10**9
    assert forcing(one, course(one, {}, now=late), now=late) == ()


def test_of_a_spec_that_is_not_understood_everything_is_preserved_that_it_may_mean() -> None:
    wrong = [{"kind": "Service", "names": ["web"], f"new{number}": 1} for number in range(30)]
    kept = alive(DNS, preserve=[*wrong, {"names": ["db"]}]).spec.preserve
    assert [one.names for one in kept] == [("web",)] * 30 + [("db",)]


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        (None, "Signal"),
        ("Signal", "Signal"),
        ("Preserve", "Preserve"),
        ("preserve", "Preserve"),
        (["x"], "Preserve"),
    ],
)
def test_whether_anybody_is_to_be_told_counts_as_preserve_unless_it_is_understood(
    written: Any, counts: str
) -> None:
    spec = {"onTimeout": "whatever"} | ({} if written is None else {"deletionPolicy": written})
    assert alive(DNS, since=None, **spec).spec.deletion_policy == counts


def test_what_a_thousand_have_to_say_still_fits_into_one_status() -> None:
    many = tuple(f"p{number}.example.com/cleanup" for number in range(1000))
    said = {
        "message": "ä" * 4000,
        "preserved": "\n".join([f"vol-{number}" + "x" * 900 for number in range(200)]),
    }
    one = alive(*many)
    leases = [lease(each, written=BEGAN + 10, **said) for each in many]
    found = course(one, signs(*leases), now=BEGAN + 10)
    assert len(msgspec.json.encode(found.participants)) < 320_000
    assert {len(each.message or "") > 10 for each in found.participants} == {True}
    again = course(after(one, found), signs(*leases), now=BEGAN + 20)
    assert again.last_progress == found.last_progress, "what was cut off is no other message"


def test_who_has_much_to_say_says_how_much_was_left_out_and_few_say_it_all() -> None:
    kept = [f"vol-{number}" for number in range(90)]
    few = course(alive(DNS), signs(lease(DNS, written=BEGAN, preserved="\n".join(kept))), now=BEGAN + 1)
    assert list(few.participants[0].preserved) == kept
    others = [f"p{number}.example.com/cleanup" for number in range(999)]
    many = course(
        alive(DNS, *others),
        signs(lease(DNS, written=BEGAN, message="going on", preserved="\n".join(kept))),
        now=BEGAN + 1,
    )
    first = many.participants[0]
    assert first.message == "going on"
    *named, rest = first.preserved
    assert named == kept[: len(named)]
    assert rest == f"and {90 - len(named)} more"
    assert named

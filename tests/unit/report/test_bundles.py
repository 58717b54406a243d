"""Deletions as Events: few when many go, and no name lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.clock import SystemClock
from skoupa.kube.events import NOTE_LIMIT, Event
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from skoupa.report.bundles import (
    FEW,
    REFUSALS_A_ROUND,
    TENANT_SECONDS,
    WAITING_LIMIT,
    Bundles,
    events_of,
    events_of_tenant,
    refusals_of,
)
from tests.unit.judge.rows import owner_of, row

pytestmark = pytest.mark.unit

CLAIM = Claim(
    mechanism="ttl", rule="x", due=0.0, reason=reason("ttl-expired", key="k", value="1h", since="then")
)
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True)


def names_in(event: Event) -> list[str]:
    return event.note.partition(": ")[2].split(", ")


class Desk:
    """An EventWriter with little room."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.told: list[Event] = []
        self.dropped = 0

    @property
    def room(self) -> bool:
        return len(self.told) < self.places

    def tell(self, event: Event) -> None:
        assert self.room
        self.told.append(event)


TENANT_CLAIM = Claim(
    mechanism="tenants",
    rule="Tenant/111111",
    due=0.0,
    reason=reason("ttl-expired", key="k", value="1h", since="then"),
)


@settings(deadline=None)
@given(st.lists(NAMES, min_size=FEW + 1, max_size=200, unique=True))
def test_what_goes_with_a_tenant_shares_events_and_each_name_is_there(names: list[str]) -> None:
    events = events_of_tenant([(row(name), TENANT_CLAIM, 1.0) for name in names])
    told = [name.rpartition(" ")[2] for event in events for name in names_in(event)]
    assert told == sorted(names)
    assert all(len(event.note.encode()) <= NOTE_LIMIT for event in events)
    assert all("Tenant/111111" in event.note and "configmaps" in event.note for event in events)
    assert sum(len(event.uids) for event in events) == len(names)


def test_what_goes_with_a_tenant_is_gathered_and_told_at_the_end_all_the_same() -> None:
    desk = Desk(100)
    clock = SystemClock()
    bundles = Bundles(desk, clock)  # type: ignore[arg-type] # what of it is used
    for index in range(FEW + 1):
        bundles.add(row(f"a-{index}"), TENANT_CLAIM, clock.now())
    bundles.flush()
    assert not desk.told
    assert len(bundles) == FEW + 1
    bundles.flush(at_the_end=True)
    assert len(desk.told) == 1
    old = clock.now() - TENANT_SECONDS
    for index in range(FEW + 1):
        bundles.add(row(f"b-{index}"), TENANT_CLAIM, old)
    bundles.flush()
    assert len(desk.told) == 2


@settings(deadline=None)
@given(st.lists(NAMES, min_size=FEW + 1, max_size=200, unique=True))
def test_no_name_is_lost_and_no_note_is_too_long(names: list[str]) -> None:
    events = events_of([(row(name), CLAIM, 1.0) for name in names])
    assert [name for event in events for name in names_in(event)] == names
    assert all(len(event.note.encode()) <= NOTE_LIMIT for event in events)
    assert all(event.regarding.name == names_in(event)[0] for event in events)


def test_a_note_is_filled_before_the_next_one_begins() -> None:
    names = [f"object-{number:03}" for number in range(500)]
    events = events_of([(row(name), CLAIM, 1.0) for name in names])
    assert len(events) == pytest.approx(sum(len(name) + 2 for name in names) / NOTE_LIMIT, abs=1.5)


def test_a_single_one_says_why_and_whether_it_comes_back() -> None:
    (event,) = events_of([(row(), CLAIM, 1.0)])
    assert event.note == "deleted: k=1h, counted from then"
    (event,) = events_of([(row(owners=(owner_of(row("parent")),)), CLAIM, 1.0)])
    assert event.note == "deleted: k=1h, counted from then; ConfigMap parent will create it again"


def test_a_few_that_go_at_once_have_an_event_each_with_the_reason() -> None:
    names = [f"object-{number}" for number in range(FEW)]
    events = events_of([(row(name), CLAIM, 1.0) for name in names])
    assert [event.regarding.name for event in events] == names
    assert {event.note for event in events} == {"deleted: k=1h, counted from then"}


def test_bundles_that_nobody_takes_do_not_fill_the_memory() -> None:
    desk = Desk(places=0)
    bundles = Bundles(desk, SystemClock())  # type: ignore[arg-type]  # all that it needs of a writer
    for number in range(WAITING_LIMIT + 7):
        bundles.add(row(namespace=f"team-{number}"), CLAIM, 1.0)
    bundles.flush()
    assert len(bundles) == WAITING_LIMIT
    assert desk.dropped == 7
    desk.places = WAITING_LIMIT
    bundles.flush()
    assert desk.told[0].regarding.namespace == "team-7"


def test_the_same_deletion_told_twice_is_the_same_event() -> None:
    from skoupa.kube.events import event_name

    one, other = (events_of([(row(), CLAIM, 1.25)])[0] for _ in range(2))
    assert event_name(one) == event_name(other)


def test_kinds_namespaces_and_mechanisms_are_not_mixed() -> None:
    desk = Desk(places=100)
    bundles = Bundles(desk, SystemClock())  # type: ignore[arg-type]  # all that it needs of a writer
    other = Claim(mechanism="policy", rule="x", due=0.0, reason=CLAIM.reason)
    many = [f"object-{number}" for number in range(FEW + 1)]
    for name in many:
        bundles.add(row(name), CLAIM, 1.0)
        bundles.add(row(name, namespace="other"), CLAIM, 1.0)
        bundles.add(row(name), other, 1.0)
    assert len(bundles) == 3 * len(many)
    bundles.flush()
    assert len(desk.told) == 3
    assert len(bundles) == 0


def test_what_the_writer_has_no_room_for_waits() -> None:
    desk = Desk(places=1)
    bundles = Bundles(desk, SystemClock())  # type: ignore[arg-type]  # all that it needs of a writer
    for number in range(500):
        bundles.add(row(f"object-{number:03}"), CLAIM, 1.0)
    bundles.flush()
    assert len(desk.told) == 1
    assert len(bundles) > 0
    desk.places = 100
    bundles.flush()
    assert sorted(name for event in desk.told for name in names_in(event)) == [
        f"object-{number:03}" for number in range(500)
    ]


WORDS = "admission webhook denied the request: ask first"


@settings(deadline=None)
@given(st.lists(NAMES, min_size=FEW + 1, max_size=200, unique=True), st.text(max_size=2000))
def test_no_name_of_many_refused_is_lost_and_no_note_is_too_long(names: list[str], words: str) -> None:
    events = refusals_of([(row(name), words, 1.0) for name in names], shared=words)
    told = [name for event in events for name in event.note.rpartition("): ")[2].split(", ")]
    assert told == names
    assert all(len(event.note.encode()) <= NOTE_LIMIT for event in events)
    assert {(event.reason, event.type) for event in events} == {("SkoupaFailed", "Warning")}


def test_many_that_are_refused_alike_share_events_that_name_them_and_the_words() -> None:
    desk = Desk(places=1000)
    bundles = Bundles(desk, SystemClock())  # type: ignore[arg-type]  # all that it needs of a writer
    for number in range(300):
        bundles.add_refusal(row(f"web-{number}"), words=f"web-{number}: {WORDS}", shared=WORDS, at=1.0)
    bundles.add_refusal(row("other"), words="another", shared="another", at=1.0)
    bundles.flush()
    assert len(bundles) == 0
    *many, single = desk.told
    assert len(many) < 10
    assert all(
        event.note.startswith(f"could not delete configmaps, tried again ({WORDS}): ") for event in many
    )
    assert single.note == "could not be deleted, and is tried again: another"


def test_refusals_wait_for_deletions_and_do_not_fill_the_queue() -> None:
    desk = Desk(places=3)
    bundles = Bundles(desk, SystemClock())  # type: ignore[arg-type]  # all that it needs of a writer
    for number in range(2 * REFUSALS_A_ROUND):
        bundles.add_refusal(row(namespace=f"team-{number}"), words=WORDS, shared=WORDS, at=1.0)
    for number in range(3):
        bundles.add(row(f"gone-{number}"), CLAIM, 1.0)
    bundles.flush()
    assert [event.reason for event in desk.told] == ["SkoupaDeleted"] * 3
    desk.places = 1000
    bundles.flush()
    assert len(desk.told) == 3 + REFUSALS_A_ROUND
    bundles.flush()
    assert len(desk.told) == 3 + 2 * REFUSALS_A_ROUND
    assert len(bundles) == 0

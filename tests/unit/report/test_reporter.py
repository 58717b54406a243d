"""Everything that is told is told in one line, as one count, and on the object where its people look."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.errors import Forbidden, Status
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kube.events import Event, event_name
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.reporter import EVENT_REASONS, Reporter
from skoupa.sweep.tripping import Tripped
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit

CLAIM = Claim(mechanism="ttl", rule="x", due=CREATED + 60.0, reason=reason("ttl-date", key="k", value="v"))


class Desk:
    room = True

    def __init__(self) -> None:
        self.told: list[Event] = []

    def tell(self, event: Event) -> bool:
        self.told.append(event)
        return True


class Told:
    def __init__(self, *, observing: bool = False) -> None:
        self._text = io.StringIO()
        self.desk = Desk()
        clock = SystemClock()
        self.metrics = Metrics()
        self.reporter = Reporter(
            clock,
            log=Log(clock, stream=self._text),
            metrics=self.metrics,
            events=None if observing else self.desk,  # type: ignore[arg-type]  # all it needs
        )

    def everything(self) -> None:
        tell = self.reporter
        tell.deleted(row("a"), CLAIM, at=CREATED + 60.5, terminating=False)
        tell.would_delete(row("b"), CLAIM, at=CREATED + 61.0)
        tell.gone_already(row("c"), CLAIM, at=CREATED + 61.0)
        holds = (Hold(reason=reason("bad-propagation", value="x")), Hold(reason=reason("kept", value="true")))
        tell.held(row("d"), Verdict(claims=(CLAIM,), holds=holds), at=CREATED + 61.0, holds=holds)
        status = Status(code=403, reason="Forbidden", message="no")
        tell.failed(
            row("e"), CLAIM, at=CREATED + 61.0, error=Forbidden("delete: no", status=status), retry_in=0.5
        )
        tell.notice(row("f"), CLAIM, at=float(CREATED))
        tell.remark(row("g"), [reason("ttl-annotation", key="k", command="c")], at=float(CREATED))
        tell.stuck(row("h", deleted_at=CREATED, finalizers=("x.y/z",)), at=CREATED + 900.0)
        if tell.bundles is not None:
            tell.bundles.flush()

    def about_brakes(self) -> None:
        spec = BrakeSpec(scope=Scope(namespace="shop"))
        tripped = Tripped(name="stop", spec=spec, span="namespace-minute", by="too many")
        self.reporter.tripped(tripped, at=float(CREATED))
        self.reporter.brake_made("stop", "u", why="too many", at=float(CREATED))
        self.reporter.brake_released("stop", "u", by="kim", held=7, at=float(CREATED))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self._text.getvalue().splitlines()]


def test_one_line_for_each_decision_with_the_object_and_the_reason() -> None:
    told = Told()
    told.everything()
    assert [(line["event"], line["name"]) for line in told.lines] == [
        ("deleted", "a"),
        ("would delete", "b"),
        ("gone already", "c"),
        ("held", "d"),
        ("delete failed", "e"),
        ("notice", "f"),
        ("label problem", "g"),
        ("stuck", "h"),
    ]
    assert all(line["kind"] == "configmaps" and line["namespace"] == "shop" for line in told.lines)
    assert told.lines[3]["why"].endswith("; kept by its label skoupa.dev/keep=true")


def test_every_event_reason_is_in_the_table_and_none_is_left_over() -> None:
    told = Told()
    told.everything()
    told.about_brakes()
    assert {event.reason for event in told.desk.told} == set(EVENT_REASONS)


def test_brakes_are_told_with_their_numbers_and_how_to_release_them() -> None:
    told = Told()
    told.about_brakes()
    pulled, made, released = told.lines
    assert (pulled["event"], pulled["level"], pulled["scope"]) == ("brake pulled", "warning", "ns/shop")
    assert pulled["release"] == "skoupa brakes release stop"
    assert (made["event"], made["why"]) == ("brake made", "too many")
    assert (released["event"], released["by"], released["held"]) == ("brake released", "kim", "7")
    (event, last) = told.desk.told
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Brake", "stop", "u")
    assert last.note == "released by kim; the 7 objects that it held are judged anew"


def test_an_observer_writes_no_event() -> None:
    told = Told(observing=True)
    told.everything()
    assert told.reporter.bundles is None
    assert not told.desk.told
    assert len(told.lines) == 8


def test_telling_the_same_again_makes_the_same_event() -> None:
    first, second = Told(), Told()
    first.everything()
    second.everything()
    assert [event_name(event) for event in first.desk.told] == [
        event_name(event) for event in second.desk.told
    ]


def test_a_notice_of_another_time_is_another_event() -> None:
    told = Told()
    later = msgspec.structs.replace(CLAIM, due=CLAIM.due + 60)
    for claim in (CLAIM, later):
        told.reporter.notice(row(), claim, at=float(CREATED))
    assert len({event_name(event) for event in told.desk.told}) == 2


def test_an_event_about_the_future_is_dated_now() -> None:
    told = Told()
    told.reporter.notice(row(), CLAIM, at=float(CREATED))
    assert told.desk.told[0].at == CREATED


def test_a_cluster_scoped_object_is_kept_by_its_name_alone() -> None:
    from skoupa.kube.resources import NAMESPACES

    told = Told()
    told.reporter.notice(row("preview", resource=NAMESPACES), CLAIM, at=float(CREATED))
    assert told.desk.told[0].note.endswith("To keep it: skoupa keep namespaces/preview")


@pytest.mark.parametrize(
    ("held_by", "level"),
    [
        (reason("clock-skew", seconds="+30"), "warning"),
        (reason("first-start-backlog", count=101), "warning"),
        (reason("retroactive-label", count=51), "warning"),
        (reason("kept", value="true"), "info"),
        (reason("bad-propagation", value="x"), "info"),
    ],
)
def test_what_only_the_operator_can_end_is_a_warning(held_by: Reason, level: str) -> None:
    told = Told()
    holds = (Hold(reason=reason("kept", value="true")), Hold(reason=held_by))
    told.reporter.held(row("a"), Verdict(claims=(CLAIM,), holds=holds), at=CREATED + 61.0, holds=holds)
    assert [line["level"] for line in told.lines] == [level]

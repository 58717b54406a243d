"""Everything that is told is told in one line, as one count, and on the object where its people look."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.errors import (
    ApiError,
    Forbidden,
    SkoupaError,
    Status,
    TimedOut,
    Unreachable,
    api_error,
)
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kube.events import Event, Regarding, event_name
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.report.alive_reporting import ALIVE_EVENT_REASONS
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.notices import Notifier
from skoupa.report.reporter import EVENT_REASONS, Reporter
from skoupa.report.tenant_reporting import TENANT_EVENT_REASONS
from skoupa.settings.notices import EVENTS
from skoupa.sweep.failures import News
from skoupa.sweep.reporting import PolicyRun, Unclear
from skoupa.sweep.tripping import Tripped
from tests.unit.judge.rows import CREATED, row
from tests.unit.report.notices.telling import Inbox, opened, route, running

pytestmark = pytest.mark.unit

NEW, OLD = News(is_other=True), News(is_other=False)

CLAIM = Claim(mechanism="ttl", rule="x", due=CREATED + 60.0, reason=reason("ttl-date", key="k", value="v"))


class Desk:
    room = True

    def __init__(self) -> None:
        self.told: list[Event] = []

    def tell(self, event: Event) -> bool:
        self.told.append(event)
        return True


class Told:
    def __init__(self, *, observing: bool = False, notices: Notifier | None = None) -> None:
        self._text = io.StringIO()
        self.desk = Desk()
        clock = SystemClock()
        self.metrics = Metrics()
        self.reporter = Reporter(
            clock,
            log=Log(clock, stream=self._text),
            metrics=self.metrics,
            events=None if observing else self.desk,  # type: ignore[arg-type]  # all it needs
            notices=notices,
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
            row("e"),
            CLAIM,
            at=CREATED + 61.0,
            error=Forbidden("delete: no", status=status),
            retry_in=0.5,
            news=NEW,
        )
        tell.notice(row("f"), CLAIM, at=float(CREATED))
        tell.remark(row("g"), [reason("ttl-annotation", key="k", command="c")], at=float(CREATED))
        tell.stuck(row("h", deleted_at=CREATED, finalizers=("x.y/z",)), at=CREATED + 900.0, news=True)
        if tell.bundles is not None:
            tell.bundles.flush()

    def about_brakes(self) -> None:
        spec = BrakeSpec(scope=Scope(namespace="shop"))
        tripped = Tripped(name="stop", spec=spec, span="namespace-minute", by="too many")
        self.reporter.tripped(tripped, at=float(CREATED))
        self.reporter.brake_made("stop", "u", why="too many", at=float(CREATED))
        self.reporter.brake_released("stop", "u", by="kim", held=7, at=float(CREATED))

    def about_policies(self) -> None:
        about = Regarding(api_version="kyverno.io/v2", kind="ClusterCleanupPolicy", name="tidy", uid="p")
        ran = PolicyRun(policy=about, called="ClusterCleanupPolicy/tidy", matched=3, deleted=2, held=1)
        self.reporter.policy_ran(ran, at=float(CREATED))
        self.reporter.policy_ran(msgspec.structs.replace(ran, failed=1, trouble="no list"), at=float(CREATED))
        self.reporter.policy_ran(PolicyRun(policy=about, called=ran.called), at=float(CREATED))

    def about_objects_of_policies(self) -> None:
        about = Regarding(api_version="kyverno.io/v2", kind="ClusterCleanupPolicy", name="tidy", uid="p")
        ran = PolicyRun(policy=about, called="ClusterCleanupPolicy/tidy")
        status = Status(code=403, reason="Forbidden", message="no")
        error = Forbidden("delete: no", status=status)
        why = reason("policy-unclear", policy="ClusterCleanupPolicy/tidy", why="target.x leads nowhere")
        unclear = Unclear(
            about=Regarding(api_version="v1", kind="ConfigMap", name="k", namespace="shop", uid="o"),
            kind="configmaps",
            why=why,
        )
        tell = self.reporter
        tell.policy_deleted(about, row("i"), CLAIM, at=float(CREATED))
        tell.policy_refused(about, row("j"), CLAIM, at=float(CREATED), error=error)
        tell.policy_unclear(ran, [unclear], run="r", at=float(CREATED))
        if tell.bundles is not None:
            tell.bundles.flush()

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


@pytest.mark.parametrize(
    ("due", "labelled", "lag"),
    [(CREATED + 60, 0, "0.500"), (CREATED - 9e8, 0, "60.500"), (CREATED - 9e8, CREATED + 58, "2.500")],
)
def test_a_time_that_was_over_when_it_was_written_makes_nobody_late(
    due: float, labelled: int, lag: str
) -> None:
    told = Told()
    found = msgspec.structs.replace(row("a"), labelled=(labelled, "kubectl"))
    claim = msgspec.structs.replace(CLAIM, due=due)
    told.reporter.deleted(found, claim, at=CREATED + 60.5, terminating=False)
    assert told.lines[0]["lag"] == lag


def test_every_event_reason_is_in_the_table_and_none_is_left_over() -> None:
    told = Told()
    told.everything()
    told.about_brakes()
    told.about_policies()
    told.about_objects_of_policies()
    for what in ALIVE_EVENT_REASONS:
        told.reporter.of_alive(what, "a note", uid="u", at=CREATED)
    for what in TENANT_EVENT_REASONS:
        told.reporter.of_tenant(what, "a note", name="111111", uid="u", key="", at=CREATED)
    assert {event.reason for event in told.desk.told} == set(EVENT_REASONS)


def test_a_run_of_a_policy_is_told_where_it_found_something_or_went_wrong() -> None:
    told = Told()
    told.about_policies()
    assert [(line["level"], line["matched"], line.get("trouble", "")) for line in told.lines] == [
        ("info", "3", ""),
        ("warning", "3", "no list"),
    ]
    assert [event.note for event in told.desk.told] == [
        "matched 3, deleted 2, held 1, failed 0",
        "matched 3, deleted 2, held 1, failed 1; no list",
    ]


def test_what_became_of_objects_is_told_on_their_policy() -> None:
    told = Told()
    told.about_objects_of_policies()
    notes = {event.reason: (event.regarding.name, event.type, event.note) for event in told.desk.told}
    assert notes == {
        "SkoupaPolicyDeleted": ("tidy", "Normal", "deleted configmaps in shop: i"),
        "SkoupaPolicyRefused": (
            "tidy",
            "Warning",
            "could not delete configmaps in shop, tried again (no): j",
        ),
        "SkoupaPolicyUnclear": (
            "tidy",
            "Warning",
            "could not judge configmaps in shop, which stay (target.x leads nowhere): k",
        ),
        "SkoupaHeld": (
            "k",
            "Warning",
            "whether it meets the conditions of ClusterCleanupPolicy/tidy is not known: target.x leads nowhere",
        ),
    }
    quiet = Told(observing=True)
    quiet.about_objects_of_policies()
    assert [line["event"] for line in quiet.lines] == ["held"]


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


def test_a_brake_whose_time_is_over_is_told_with_what_it_held() -> None:
    told = Told()
    told.reporter.brake_ended("weekend", "u", held=7, at=1.0)
    (line,) = told.lines
    assert (line["event"], line["name"], line["held"]) == ("brake ended", "weekend", "7")
    (event,) = told.desk.told
    assert (event.reason, event.regarding.name) == ("SkoupaReleased", "weekend")
    assert event.note == "its time is over; the 7 objects that it held are judged anew"


async def test_every_thing_that_routes_may_hear_of_is_told_to_them() -> None:
    clock = SystemClock()
    inbox = Inbox(clock)
    notifier = Notifier(clock, opened(route()), default="ops", post=inbox)
    told = Told(notices=notifier)
    told.everything()
    told.about_brakes()
    async with running(notifier):
        await notifier.drain()
    (body,) = inbox.bodies()
    assert body["counts"] == dict.fromkeys(EVENTS, 1)
    (group,) = body["namespaces"]
    assert group["items"][0] == {
        "what": "braked",
        "kind": "brakes.skoupa.dev",
        "name": "stop",
        "why": "too many",
        "at": whole_seconds(CREATED),
        "release": "skoupa brakes release stop",
    }


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
        (reason("retroactive-label", count=51, brake="mass-labels-1"), "warning"),
        (reason("kept", value="true"), "info"),
        (reason("bad-propagation", value="x"), "info"),
    ],
)
def test_what_only_the_operator_can_end_is_a_warning(held_by: Reason, level: str) -> None:
    told = Told()
    holds = (Hold(reason=reason("kept", value="true")), Hold(reason=held_by))
    told.reporter.held(row("a"), Verdict(claims=(CLAIM,), holds=holds), at=CREATED + 61.0, holds=holds)
    assert [line["level"] for line in told.lines] == [level]


def failing(told: Told, error: SkoupaError, *, name: str = "a", news: News = NEW) -> None:
    told.reporter.failed(row(name), CLAIM, at=CREATED + 61.0, error=error, retry_in=0.5, news=news)
    assert told.reporter.bundles is not None
    told.reporter.bundles.flush()


def refusal(code: int, message: str = "ask first") -> ApiError:
    return api_error(Status(code=code, message=message), doing="delete configmaps/a in shop")


@pytest.mark.parametrize("code", [400, 403, 405, 422])
def test_a_delete_that_is_refused_is_told_on_the_object_in_the_words_of_who_refused(code: int) -> None:
    told = Told()
    failing(told, refusal(code))
    (event,) = told.desk.told
    assert (event.reason, event.type, event.regarding.name) == ("SkoupaFailed", "Warning", "a")
    assert event.note == "could not be deleted, and is tried again: ask first"


@pytest.mark.parametrize(
    "error",
    [*map(refusal, (401, 429, 500, 503)), Unreachable("no route"), TimedOut("no answer")],
    ids=lambda error: type(error).__name__,
)
def test_trouble_of_the_server_is_news_of_the_object_only_once_it_lasts(error: SkoupaError) -> None:
    told = Told()
    failing(told, error)
    assert not told.desk.told
    failing(told, error, news=News(is_other=False, lasts=True))
    (event,) = told.desk.told
    assert event.note.startswith("could not be deleted, and is tried again: ")
    assert len(told.lines) == 1


def test_a_failure_that_is_no_news_is_counted_and_nothing_else() -> None:
    told = Told()
    failing(told, refusal(403), news=OLD)
    assert not told.desk.told
    assert not told.lines
    counted = told.metrics.registry.get_sample_value(
        "skoupa_delete_failures_total", {"kind": "configmaps", "error": "Forbidden"}
    )
    assert counted == 1


def test_the_same_refusal_is_the_same_event_and_another_one_is_another() -> None:
    first, second = Told(), Told()
    failing(first, refusal(403))
    failing(second, refusal(403))
    failing(second, refusal(403, "not on a Friday"))
    names = [event_name(event) for event in (*first.desk.told, *second.desk.told)]
    assert len(names) == 3
    assert len(set(names)) == 2

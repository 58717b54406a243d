"""A Brake is always read; what is wrong with it is told, and until it is mended it holds all that it could mean."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.errors import UsageError
from skoupa.kinds.brake import EVERYTHING, BrakeSpec, BrakeStatus, Schedule, Scope, manifest, stopped_run
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import Brake, parse_brake, read_brake, read_status

pytestmark = pytest.mark.unit

SHOP = {"namespace": "shop"}
FREEZE = {"from": "0 16 * * 5", "to": "0 8 * * 1", "timeZone": "Europe/Athens"}
LONG_AGO = "2020-01-01T00:00:00Z"
NOW = datetime(2026, 11, 18, tzinfo=UTC).timestamp()


def obj(spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one", "uid": "u-1", "generation": 3}, "spec": spec}


def test_a_brake_is_read_with_all_that_it_says() -> None:
    brake = parse_brake(
        obj({"scope": SHOP, "reason": "audit", "until": "2026-11-20T02:00:00+02:00", "schedule": FREEZE})
    )
    assert (brake.name, brake.uid, brake.generation, brake.reason) == ("one", "u-1", 3, "audit")
    assert brake.scope == Scope(namespace="shop")
    assert brake.until == datetime(2026, 11, 20, tzinfo=UTC).timestamp()
    assert brake.window is not None
    assert (brake.window.begins.text, brake.window.ends.text) == ("0 16 * * 5", "0 8 * * 1")
    assert brake.window.zone == ZoneInfo("Europe/Athens")


def test_a_window_is_in_utc_unless_it_says_otherwise() -> None:
    brake = parse_brake(obj({"scope": SHOP, "schedule": {"from": "@daily", "to": "0 6 * * *"}}))
    assert brake.window is not None
    assert brake.window.zone == UTC


def test_what_is_written_is_what_is_read() -> None:
    spec = BrakeSpec(
        scope=Scope(kind="pods", mechanism="ttl"),
        reason="audit",
        until=datetime(2026, 11, 20, tzinfo=UTC),
        schedule=Schedule(begins="0 16 * * 5", ends="0 8 * * 1"),
    )
    made = manifest("one", spec)
    assert made["spec"] == {
        "scope": {"kind": "pods", "mechanism": "ttl"},
        "reason": "audit",
        "until": "2026-11-20T00:00:00Z",
        "schedule": {"from": "0 16 * * 5", "to": "0 8 * * 1"},
    }
    assert msgspec.convert(made["spec"], BrakeSpec) == spec
    assert parse_brake(made).scope == spec.scope


@pytest.mark.parametrize(
    ("spec", "scope", "says"),
    [
        (None, EVERYTHING, "spec.scope is missing: write all: true"),
        ("all", EVERYTHING, "spec.scope is missing"),
        ({}, EVERYTHING, "spec.scope is missing"),
        ({"scope": {}}, EVERYTHING, "spec.scope names nothing"),
        ({"scope": {"all": False}}, EVERYTHING, "spec.scope names nothing"),
        ({"scope": ["all"]}, EVERYTHING, 'spec.scope: ["all"] is not an object'),
        ({"scope": {"all": "yes"}}, EVERYTHING, 'spec.scope.all: "yes" is not true or false'),
        ({"scope": {"all": True, **SHOP}}, EVERYTHING, "spec.scope names everything and more"),
        ({"scope": {"namespaces": "shop"}}, EVERYTHING, "did you mean namespace?"),
        ({"scope": {"namespace": "Shop*"}}, EVERYTHING, 'spec.scope.namespace: "Shop*" is none'),
        ({"scope": {"mechanism": "tll"}}, EVERYTHING, "or ttl"),
        ({"scope": {"kind": "two words"}}, EVERYTHING, "written as for kubectl"),
        ({"scope": SHOP, "scopes": [SHOP]}, EVERYTHING, "did you mean scope?"),
        ({"scope": SHOP, "reason": 5}, Scope(namespace="shop"), "spec.reason: 5 is not a text"),
    ],
)
def test_a_scope_that_is_not_understood_is_everything(spec: Any, scope: Scope, says: str) -> None:
    brake = read_brake(obj(spec))
    assert brake.scope == scope
    assert says in "; ".join(brake.problems)
    with pytest.raises(UsageError, match="Brake one: "):
        parse_brake(obj(spec))


@pytest.mark.parametrize(
    ("until", "says"),
    [
        ("tomorrow", '"tomorrow" is no time: write a time in UTC such as 2026-08-04T00:30:00Z'),
        ("2020-01-01", "write 2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00", "write 2020-01-01T00:00:00Z"),
        ("2020-02-31T00:00:00Z", "write 2020-03-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "lies before 1970"),
        (1577836800, "is not a time"),
    ],
)
def test_an_end_that_is_not_understood_never_comes(until: Any, says: str) -> None:
    brake = read_brake(obj({"scope": SHOP, "until": until}))
    assert says in "; ".join(brake.problems)
    assert brake.scope == Scope(namespace="shop")
    assert active(brake, NOW)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ({**FREEZE, "from": "0 16 * *"}, "spec.schedule.from: "),
        ({**FREEZE, "to": "0 8 * * 8"}, 'spec.schedule.to: "8" is no day of the week'),
        ({**FREEZE, "timeZone": "Europe/Athen"}, "did you mean Europe/Athens"),
        ({**FREEZE, "to": "0 16 * * 5"}, "from and to are the same"),
        ({"from": "@daily", "to": "0 0 * * *"}, "from and to are the same"),
        ({"from": "@daily"}, "spec.schedule.to is missing"),
        ({**FREEZE, "zone": "UTC"}, "did you mean timeZone?"),
        ("weekends", 'spec.schedule: "weekends" is not an object'),
    ],
)
def test_a_window_that_is_not_understood_is_always_open(schedule: Any, says: str) -> None:
    brake = read_brake(obj({"scope": SHOP, "schedule": schedule}))
    assert says in "; ".join(brake.problems)
    assert active(brake, NOW)
    ended = read_brake(obj({"scope": SHOP, "schedule": schedule, "until": LONG_AGO}))
    assert not active(ended, NOW), "an end that is understood counts all the same"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=10), below, max_size=3),
    max_leaves=8,
)
NONSENSE = st.fixed_dictionaries(
    {},
    optional={
        "scope": JSON | st.fixed_dictionaries({}, optional={"all": JSON, "namespace": JSON, "kind": JSON}),
        "reason": JSON,
        "schedule": JSON | st.fixed_dictionaries({}, optional={"from": JSON, "to": JSON, "timeZone": JSON}),
        "more": JSON,
    },
)


@given(spec=JSON | NONSENSE, metadata=JSON, status=JSON)
def test_nonsense_is_read_and_holds(spec: Any, metadata: Any, status: Any) -> None:
    found = {"metadata": metadata, "spec": spec, "status": status}
    brake = read_brake(found)
    assert isinstance(read_status(found), BrakeStatus)
    if brake.problems:
        assert active(brake, NOW), "without an end that is understood it holds"


def test_a_brake_without_anything_holds_everything() -> None:
    brake = read_brake({})
    assert (brake.scope, active(brake, NOW)) == (EVERYTHING, True)


def test_a_status_is_read_as_far_as_it_can_be() -> None:
    assert read_status({"status": {"held": 3, "sample": ["pods/shop/a"], "later": 1}}) == BrakeStatus(
        held=3, sample=("pods/shop/a",)
    )
    assert read_status({"status": {"held": "three"}}) == BrakeStatus()
    assert read_status({}) == BrakeStatus()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("6f1c:3:40", ("6f1c:3", 40)),
        (":1:40", (":1", 40)),
        ("40", ("", 0)),
        ("6f1c:3:", ("", 0)),
        ("6f1c:3:many", ("", 0)),
        ("6f1c:3:" + "9" * 5000, ("", 0)),
        (7, ("", 0)),
        (None, ("", 0)),
    ],
)
def test_which_run_it_stopped_is_known_only_where_that_can_be_read(
    written: Any, read: tuple[str, int]
) -> None:
    annotations = {names.STOPPED_RUN_ANNOTATION: written}
    brake = read_brake({"metadata": {"name": "share-old", "annotations": annotations}})
    assert (brake.edition, brake.asked) == read
    assert read_brake({"metadata": {"annotations": "none"}}).edition == ""


def test_which_run_it_stopped_is_read_as_it_is_written() -> None:
    annotations = {names.STOPPED_RUN_ANNOTATION: stopped_run("6f1c:3", 40)}
    brake = read_brake({"metadata": {"annotations": annotations}})
    assert (brake.edition, brake.asked) == ("6f1c:3", 40)


def test_a_brake_defaults_to_holding_everything() -> None:
    assert Brake(name="one").scope == EVERYTHING

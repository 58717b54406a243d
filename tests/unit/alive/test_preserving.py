"""What outlives the cluster: by tag, by annotation, by spec, and whatever those need."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.alive.preserving import Thing, fitting_nothing, marked, preserved
from skoupa.kinds.alive import Preserved

pytestmark = pytest.mark.unit

NOW = datetime(2026, 9, 1, tzinfo=UTC).timestamp()
KEY, UNTIL = "skoupa.dev/preserve", "skoupa.dev/preserve-until"


@pytest.mark.parametrize(
    ("marks", "stays"),
    [
        ({}, False),
        ({KEY: "true"}, True),
        ({KEY: "false"}, False),
        ({KEY: "yes please"}, True),
        ({KEY: ""}, True),
        ({UNTIL: "2026-09-30"}, True),
        ({UNTIL: "2026-08-01"}, False),
        ({UNTIL: "2026-09-30T12:00:00Z"}, True),
        ({UNTIL: "next summer"}, True),
        ({UNTIL: ""}, True),
        ({KEY: "false", UNTIL: "2026-09-30"}, True),
    ],
)
def test_marks_preserve_and_so_does_what_is_not_understood(marks: dict[str, str], *, stays: bool) -> None:
    assert (marked(marks, now=NOW, where="it") is not None) is stays


def test_what_is_not_understood_is_told() -> None:
    found = marked({UNTIL: "next summer"}, now=NOW, where="it")
    assert found is not None
    assert "write 2026-09-30" in found.doubt


@given(st.text(max_size=40))
def test_no_value_is_an_error(value: str) -> None:
    for key in (KEY, UNTIL):
        marked({key: value}, now=NOW, where="it")


def test_any_of_three_places_is_enough_and_all_that_is_written_there_has_to_fit() -> None:
    things = [
        Thing(id="lb-1", kind="Service", namespace="shop", name="web", annotations={KEY: "true"}),
        Thing(id="lb-2", kind="Service", namespace="shop", name="api", labels={"tier": "gold"}),
        Thing(id="lb-3", kind="Service", namespace="lab", name="api", labels={"tier": "gold"}),
        Thing(id="vol-1", tags={KEY: "true"}),
        Thing(id="vol-2", tags={"env": "prod"}),
        Thing(id="vol-3"),
    ]
    wanted = [
        Preserved(kind="Service", namespace="sh*", match_labels={"tier": "gold"}, reason="sold"),
        Preserved(tags={"env": "prod"}),
        Preserved(ids=("vol-3",), until=datetime(2026, 8, 1, tzinfo=UTC)),
    ]
    found = preserved(things, wanted, now=NOW)
    assert found.keys() == {"lb-1", "lb-2", "vol-1", "vol-2"}
    assert found["lb-2"].why == "sold"
    assert "Service shop/web" in found["lb-1"].why


def test_what_a_preserved_thing_needs_stays_too_and_says_because_of_what() -> None:
    things = [
        Thing(id="lb", tags={KEY: "true"}, needs=("group", "targets")),
        Thing(id="group", needs=("other-group",)),
        Thing(id="other-group", needs=("group",)),
        Thing(id="targets"),
        Thing(id="free", needs=("group",)),
    ]
    found = preserved(things, (), now=NOW)
    assert found.keys() == {"lb", "group", "targets", "other-group"}
    assert found["group"].because_of == "lb"
    assert found["other-group"].because_of == "group"


@pytest.mark.parametrize(
    ("entry", "stays"),
    [
        ({"kind": "Service", "names": ["web"]}, {"web"}),
        ({"kind": "service", "names": ["*"]}, {"web", "api"}),
        ({"kind": "services", "names": ["*"]}, {"web", "api"}),
        # Of a newer version, or wrong: whatever the rest of it means, and all where nothing is left of it.
        ({"kind": "Service", "names": ["web"], "unless": "x"}, {"web"}),
        ({"kind": "Service", "names": "web"}, {"web", "api"}),
        ({"kind": "Service", "names": ["web"], "until": "soon"}, {"web"}),
        ({"kind": 1}, {"web", "api", "disk"}),
        ("web", {"web", "api", "disk"}),
    ],
)
def test_an_entry_as_the_server_has_it_means_no_less_than_what_is_understood_of_it(
    entry: Any, stays: set[str]
) -> None:
    things = [
        Thing(id="web", kind="Service", namespace="shop", name="web"),
        Thing(id="api", kind="Service", namespace="shop", name="api"),
        Thing(id="disk", kind="PersistentVolumeClaim", namespace="shop", name="data"),
    ]
    found = preserved(things, [entry], now=NOW)
    assert found.keys() == stays
    wrong = not isinstance(entry, dict) or "unless" in entry or entry.get("kind") == 1
    assert not wrong or all(one.doubt for one in found.values())


def test_an_entry_that_fits_nothing_is_found_unless_a_cloud_has_to_tell() -> None:
    things = [Thing(id="web", kind="Service", namespace="shop", name="web")]
    wanted = [
        Preserved(kind="Service", names=("web",), until=datetime(2020, 1, 1, tzinfo=UTC)),
        Preserved(kind="Servce", names=("web",)),
        Preserved(namespace="shpo", match_labels={"tier": "gold"}),
        Preserved(kind="Service", tags={"env": "prod"}),
        Preserved(ids=("vol-1",)),
    ]
    assert fitting_nothing(things, wanted) == [1, 2]

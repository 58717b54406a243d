"""A log line is one line, whatever it tells of."""

from __future__ import annotations

import io
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.clock import SystemClock
from skoupa.report.log import Log

pytestmark = pytest.mark.unit

FORMS = st.sampled_from(["json", "text"])


def written(form: Literal["json", "text"], event: str, **facts: Any) -> str:
    stream = io.StringIO()
    Log(SystemClock(), form=form, stream=stream)(event, **facts)
    return stream.getvalue()


@given(FORMS, st.text(max_size=80))
def test_never_more_than_one_line(form: Literal["json", "text"], value: str) -> None:
    text = written(form, "deleted", why=value)
    assert text.endswith("\n")
    assert not {"\n", "\r"} & set(text[:-1])


@given(st.text(max_size=80))
def test_nothing_that_a_terminal_would_obey(value: str) -> None:
    assert written("text", "deleted", why=value).rstrip("\n").isprintable()


@given(st.text(min_size=1, max_size=80))
def test_json_gives_back_what_was_said(value: str) -> None:
    assert msgspec.json.decode(written("json", "held", why=value))["why"] == value


def test_a_line_has_time_level_and_event_first_and_leaves_out_what_is_empty() -> None:
    line = msgspec.json.decode(written("json", "held", level="warning", name="web", namespace="", why=None))
    assert list(line) == ["time", "level", "event", "name"]
    assert line["time"].endswith("Z")
    text = written("text", "held", level="warning", name="web", why="a b")
    assert text.split(" ", 1)[1] == "warning held name=web why='a b'\n"

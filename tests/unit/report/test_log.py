"""A log line is one line, whatever it tells of."""

from __future__ import annotations

import asyncio
import io
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.clock import SystemClock
from skoupa.report.log import Log, Together

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


class Written:
    """What arrives, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def write(self, text: str) -> None:
        self.pieces.append(text)

    def flush(self) -> None:
        return


def test_lines_of_one_moment_are_written_together_and_in_their_order() -> None:
    out = Written()

    async def main() -> None:
        log = Log(SystemClock(), stream=Together(out))
        for number in range(3):
            log("deleted", name=f"n{number}")
        assert not out.pieces
        await asyncio.sleep(0)
        assert [named(line) for line in out.pieces[0].splitlines()] == ["n0", "n1", "n2"]
        log("deleted", name="n3")
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [len(piece.splitlines()) for piece in out.pieces] == [3, 1]


def test_a_warning_waits_for_nobody() -> None:
    out = Written()

    async def main() -> None:
        log = Log(SystemClock(), stream=Together(out))
        log("deleted", name="before")
        log("held", level="warning", name="it")
        assert [named(line) for line in "".join(out.pieces).splitlines()] == ["before", "it"]

    asyncio.run(main())
    assert len("".join(out.pieces).splitlines()) == 2


def test_what_is_said_as_the_loop_ends_or_without_one_is_written_too() -> None:
    out = Written()
    together = Together(out)
    log = Log(SystemClock(), stream=together)
    log("deleted", name="without")
    assert named(out.pieces[0]) == "without"

    async def main() -> None:
        log("deleted", name="last")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        asyncio.run(main())
    together.flush()
    assert [named(piece) for piece in out.pieces] == ["without", "last"]


@given(st.lists(st.text(max_size=6000), max_size=20))
def test_no_piece_is_longer_than_a_pipe_takes_at_once_unless_a_line_is(values: list[str]) -> None:
    out = Written()

    async def main() -> None:
        log = Log(SystemClock(), stream=Together(out))
        for value in values:
            log("deleted", why=value)

    asyncio.run(main())
    for piece in out.pieces:
        assert piece.endswith("\n")
        assert len(piece.encode()) <= 4096 or piece.count("\n") == 1
    assert sum(piece.count("\n") for piece in out.pieces) == len(values)


def named(line: str) -> str:
    return str(msgspec.json.decode(line)["name"])

"""What programs read is documented, and what people see has colours on a terminal only."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
import yaml

from skoupa.cli.terminal import items
from skoupa.cli.terminal.times import distance, short_time, zone_of
from skoupa.errors import UsageError
from skoupa.expr.typed_times import read_time
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, NOON, config_map

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[3] / "docs"


def shapes(top: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The Struct and all that it is made of."""
    yield top
    for hint in get_type_hints(top).values():
        for part in flat(hint):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                yield from shapes(part)


def flat(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from flat(part)


def test_every_field_of_the_output_is_documented() -> None:
    text = (DOCS / "output.md").read_text()
    for shape in set(shapes(items.Document)):
        assert shape.__doc__, f"{shape.__name__} has no docstring"
        for field in msgspec.structs.fields(shape):
            assert f"`{field.encode_name}`" in text, f"{shape.__name__}.{field.encode_name} is not documented"


def test_every_word_of_the_output_is_documented() -> None:
    text = (DOCS / "output.md").read_text()
    for shape in set(shapes(items.Document)):
        for hint in get_type_hints(shape).values():
            for part in flat(hint):
                if get_origin(part) is Literal:
                    for word in get_args(part):
                        assert f"`{word}`" in text, f"{shape.__name__}: {word} is not documented"


def on_a_terminal(*args: str, env: Mapping[str, str]) -> str:
    """What a person sees of both outputs."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "skoupa", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **env},
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    process.wait()
    return seen.decode()


def test_colours_are_for_terminals_that_want_them(tmp_path: Path, skoupa: Shell) -> None:
    manifests = [config_map("due", "1h"), config_map("kept", "1h", labels={KEEP: "true"})]
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all(manifests))
    command = ("plan", "--from", str(tmp_path), "--now", "2026-05-01T12:00:00Z")
    env = {"TZ": "UTC", "TERM": "xterm", "NO_COLOR": ""}
    assert "\x1b[31m" in on_a_terminal(*command, env=env)
    assert "\x1b[3" not in on_a_terminal(*command, "--no-color", env=env)
    assert "\x1b[3" not in on_a_terminal(*command, env={**env, "NO_COLOR": "1"})
    assert "\x1b" not in skoupa(*command, env=env).out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "now"),
        (42, "in 42s"),
        (-42, "42s ago"),
        (3600, "in 1h"),
        (5400, "in 1h30m"),
        (86400 * 2 + 3600 * 4 + 60, "in 2d4h"),
        (86400 * 29 + 3600 * 20, "in 29d"),
        (-86400, "1d ago"),
    ],
)
def test_distances_are_as_exact_as_anybody_reads(seconds: int, told: str) -> None:
    assert distance(NOON + seconds, NOON) == told


def test_the_last_hours_of_the_calendar_can_be_shown_everywhere() -> None:
    assert short_time(253_402_300_799, zone_of("Pacific/Kiritimati")) == "9999-12-31 23:59Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-01T12:00:00Z", NOON),
        ("2026-05-01 15:00", NOON),
        ("15:00", NOON),
        ("2h", NOON + 7200),
        ("friday 16:00", NOON + 3600),
        ("friday 14:00", NOON - 3600 + 7 * 86400),
        ("tomorrow", NOON + 9 * 3600),
    ],
)
def test_a_moment_is_read_by_the_callers_clock(text: str, moment: float) -> None:
    assert read_time(text, option="--now", now=NOON, zone=zone_of("Europe/Athens")) == moment


def test_what_is_no_moment_is_refused_by_the_name_of_the_option() -> None:
    with pytest.raises(UsageError, match="--now: "):
        read_time("whenever", option="--now", now=NOON, zone=zone_of("UTC"))

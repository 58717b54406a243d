"""However the network cuts a watch into pieces, the same changes come out of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import BadReply, Gone
from skoupa.kube.lines import LineReader
from skoupa.kube.objects import METADATA, Partial

pytestmark = pytest.mark.unit


def line(kind: str, version: int, name: str = "pod", **metadata: object) -> bytes:
    body = {"metadata": {"name": name, "resourceVersion": str(version), **metadata}}
    return msgspec.json.encode({"type": kind, "object": body}) + b"\n"


def reader() -> LineReader[Partial]:
    return LineReader(METADATA, doing="watch pods")


@given(st.lists(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), max_size=8), st.data())
def test_pieces_cut_anywhere_give_the_same_changes(kinds: list[str], data: st.DataObject) -> None:
    stream = b"".join(line(kind, number, name=f"päd-{number}") for number, kind in enumerate(kinds))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    lines = reader()
    changes = [change for piece in pieces for change in lines.read(piece).changes]
    assert [(change.object.metadata.name, change.deleted) for change in changes] == [
        (f"päd-{number}", kind == "DELETED") for number, kind in enumerate(kinds)
    ]
    assert lines.rest == b""


def test_the_same_event_twice_is_one_change() -> None:
    lines = reader()
    batch = lines.read(line("ADDED", 5) + line("ADDED", 5) + line("MODIFIED", 6))
    again = lines.read(line("MODIFIED", 6))
    assert len(batch.changes) == 2
    assert again.changes == []


def test_what_stands_before_an_error_in_one_piece_is_still_told() -> None:
    lines = reader()
    expired = (
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'
    )
    batch = lines.read(line("ADDED", 5) + expired + line("ADDED", 6))
    assert [change.object.metadata.resource_version for change in batch.changes] == ["5"]
    assert isinstance(lines.error, Gone)


def test_a_broken_line_is_an_error_after_the_good_ones() -> None:
    lines = reader()
    batch = lines.read(line("ADDED", 5) + b'{"type":"ADD\n')
    assert len(batch.changes) == 1
    assert isinstance(lines.error, BadReply)


def test_the_closing_bookmark_says_where_the_initial_state_ends() -> None:
    lines = reader()
    closing = line("BOOKMARK", 9, annotations={"k8s.io/initial-events-end": "true"})
    batch = lines.read(line("ADDED", 5) + closing + line("DELETED", 10))
    assert batch.closing == 1
    assert batch.version == "10"
    assert len(batch.changes) == 2

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import BadReply, Status
from skoupa.kube.decoding import Line, Undecodable, decode, decode_line, decode_list
from skoupa.kube.objects import METADATA, WHOLE, Partial

pytestmark = pytest.mark.unit


def test_a_page_is_decoded_with_its_position_in_the_list() -> None:
    body = (
        b'{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},'
        b'"items":[{"metadata":{"name":"a","managedFields":[{"x":1}]}}]}'
    )
    meta, items, bad = decode_list(body, METADATA, doing="list pods")
    assert (meta.resource_version, meta.continue_, meta.remaining_item_count) == ("7", "abc", 3)
    assert [item.metadata.name for item in items] == ["a"]
    assert not bad


def test_an_empty_metadata_list_has_null_items() -> None:
    _, items, bad = decode_list(b'{"metadata":{"resourceVersion":"7"},"items":null}', METADATA, doing="list")
    assert (items, bad) == ([], ())


def test_one_malformed_object_costs_itself_and_is_named() -> None:
    body = (
        b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"good"}},'
        b'{"metadata":{"name":"odd","namespace":"shop","uid":"u1","labels":{"a":1}}}]}'
    )
    _, items, bad = decode_list(body, METADATA, doing="list")
    assert [item.metadata.name for item in items] == ["good"]
    assert (bad[0].namespace, bad[0].name, bad[0].uid) == ("shop", "odd", "u1")
    assert "labels" in bad[0].why


@pytest.mark.parametrize("body", [b"", b"<html>login</html>", b"[]", b'{"items":[', b"\xff\xfe", b"null"])
def test_garbage_is_said_to_be_garbage_with_what_to_check(body: bytes) -> None:
    with pytest.raises(BadReply, match=r"not what an API server sends.*check that the address") as caught:
        decode_list(body, METADATA, doing="list pods")
    assert caught.value.exit_code == 6


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_bad_reply(body: bytes) -> None:
    for act in (
        lambda: decode_list(body, METADATA, doing="x"),
        lambda: decode_line(body, METADATA),
        lambda: decode(body, Partial, doing="x"),
    ):
        try:
            act()
        except BadReply:
            continue


def test_lines_are_told_apart() -> None:
    added = decode_line(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}', METADATA)
    assert isinstance(added, Line)
    assert isinstance(added.object, Partial)
    bookmark = decode_line(
        b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}', WHOLE
    )
    assert isinstance(bookmark, Line)
    assert isinstance(bookmark.object, Partial)
    error = decode_line(b'{"type":"ERROR","object":{"kind":"Status","code":410}}', METADATA)
    assert isinstance(error, Line)
    assert error.object == Status(code=410)
    odd = decode_line(b'{"type":"ADDED","object":{"metadata":{"name":"a","finalizers":"no"}}}', METADATA)
    assert isinstance(odd, Undecodable)
    assert odd.name == "a"


def test_an_error_is_found_wherever_its_type_stands() -> None:
    error = decode_line(b'{"object":{"kind":"Status","code":410},"type":"ERROR"}', METADATA)
    assert isinstance(error, Line)
    assert isinstance(error.object, Status)


def test_times_are_read_as_the_server_writes_them() -> None:
    body = b'{"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":null}}'
    found: Partial = decode(body, Partial, doing="get")
    assert found.metadata.creation_timestamp is not None
    assert found.metadata.creation_timestamp.timestamp() == 1_767_225_600
    assert found.metadata.deletion_timestamp is None

"""Objects that are nested without end: each costs itself and is named, and no other of its page."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import BadReply
from skoupa.kube.decoding import Undecodable, decode, decode_line, decode_list
from skoupa.kube.nesting import DEEPEST, MARK, shallow
from skoupa.kube.objects import METADATA, WHOLE, View
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.usage.reading import shipped

pytestmark = pytest.mark.unit

# As deep as a server stores it.
DEEP = 9_000
ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab"\\[]{}:,', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def item(name: str, depth: int) -> str:
    more = "[" * depth + '"}]"' + "]" * depth
    return f'{{"spec": {{"more": {more}}}, "metadata": {{"name": "{name}", "namespace": "shop", "uid": "{name}"}}}}'


@pytest.mark.parametrize("view", [WHOLE, shipped().view("apps/Deployment"), METADATA])
def test_one_that_is_too_deep_costs_itself_and_is_named(view: View[Any]) -> None:
    body = f'{{"metadata": {{"resourceVersion": "7"}}, "items": [{item("a", 2)}, {item("deep", DEEP)}, {item("b", 100)}]}}'
    position, items, (bad,) = decode_list(body.encode(), view, doing="list")
    assert position.resource_version == "7"
    assert len(items) == 2
    assert (bad.namespace, bad.name, bad.uid) == ("shop", "deep", "deep")
    assert "nested more than" in bad.why


def test_also_beside_one_that_is_malformed() -> None:
    odd = '{"metadata": {"name": 7, "uid": "odd"}}'
    body = f'{{"metadata": {{}}, "items": [{odd}, {item("deep", DEEP)}, {item("a", 2)}]}}'
    _, items, bad = decode_list(body.encode(), METADATA, doing="list")
    assert len(items) == 1
    assert {one.uid for one in bad} == {"odd", "deep"}


@pytest.mark.parametrize(("told", "gone"), [("ADDED", False), ("MODIFIED", False), ("DELETED", True)])
def test_a_watch_tells_of_it_and_of_its_end(told: str, *, gone: bool) -> None:
    found = decode_line(f'{{"type": "{told}", "object": {item("deep", DEEP)}}}'.encode(), WHOLE)
    assert isinstance(found, Undecodable)
    assert (found.name, found.gone) == ("deep", gone)


def test_what_stands_alone_is_a_bad_reply_that_says_why() -> None:
    with pytest.raises(BadReply, match="nested more than"):
        decode(item("deep", DEEP).encode(), Any, doing=f"get {CONFIG_MAPS.qualified}/deep")


@given(ANYTHING)
def test_what_is_shallow_stays_as_it_is(value: Any) -> None:
    text = msgspec.json.encode(value)
    assert shallow(text) == text


@given(ANYTHING, st.integers(min_value=0, max_value=4))
def test_what_is_left_is_json_with_the_mark_for_what_begins_below(value: Any, deepest: int) -> None:
    mark = msgspec.json.decode(MARK)

    def cut(part: Any, left: int) -> Any:
        if not isinstance(part, (dict, list)):
            return part
        if left == 0:
            return mark
        if isinstance(part, dict):
            return {key: cut(one, left - 1) for key, one in part.items()}
        return [cut(one, left - 1) for one in part]

    assert msgspec.json.decode(shallow(msgspec.json.encode(value), deepest)) == cut(value, deepest)


def test_the_bound_leaves_room_for_who_decodes_once_more() -> None:
    assert msgspec.json.decode(b"[" * DEEPEST + b"]" * DEEPEST)

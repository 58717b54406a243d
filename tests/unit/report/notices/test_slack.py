"""Slack's limits and escapes hold whatever an object is called or a template says."""

from __future__ import annotations

import html
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.report.notices.digest import Digest
from skoupa.report.notices.slack import BLOCKS_LIMIT, TEXT_LIMIT, cut, escaped, slack_body, units
from skoupa.settings.notices import EVENTS
from tests.unit.report.notices.telling import digest, notice

pytestmark = pytest.mark.unit

STRAY = re.compile(r"&(?!amp;|lt;|gt;)|<|>")
AWKWARD = st.text(st.one_of(st.sampled_from("&<>😀\n*`"), st.characters(codec="utf-8")), max_size=400)


def sent(found: Digest, template: str | None = None) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(slack_body(found, template=template))
    return body


def texts(body: dict[str, Any]) -> list[str]:
    return [body["text"], *(block["text"]["text"] for block in body["blocks"])]


def within_limits(body: dict[str, Any]) -> None:
    assert 1 <= len(body["blocks"]) <= BLOCKS_LIMIT
    for text in texts(body):
        assert 1 <= units(text) <= TEXT_LIMIT


def test_a_message_has_a_text_for_all_and_a_block_for_each_namespace() -> None:
    body = sent(digest(notice("web"), notice("db", namespace="bank", what="notice", keep="skoupa keep x")))
    assert body["text"].startswith("Skoupa on prod: 1 will be deleted, 1 deleted\n")
    assert [block["text"]["text"] for block in body["blocks"]] == [
        "*Skoupa on prod: 1 will be deleted, 1 deleted*",
        (
            "*bank: 1 will be deleted*\n"
            "• configmaps/db will be deleted: its time is over. To keep it: skoupa keep x"
        ),
        "*shop: 1 deleted*\n• configmaps/web deleted: its time is over",
    ]
    assert all(block["text"]["verbatim"] for block in body["blocks"])


def test_many_names_end_with_how_many_more() -> None:
    body = sent(digest(*(notice(f"web-{number}") for number in range(130))))
    assert body["blocks"][1]["text"]["text"].endswith("\n… and 120 more")


def test_lines_that_do_not_fit_are_among_the_more() -> None:
    everything = [
        notice(f"web-{number}", what=what, why="<" * 300) for what in EVENTS for number in range(10)
    ]
    body = sent(digest(*everything))
    within_limits(body)
    block = body["blocks"][1]["text"]["text"]
    assert block.endswith(f"… and {70 - block.count('•')} more")


def test_nothing_that_an_object_says_is_a_link_or_calls_a_channel() -> None:
    body = sent(digest(notice("<!channel>", why="<https://evil.example|click> & co")))
    block = body["blocks"][1]["text"]["text"]
    assert "&lt;!channel&gt;" in block
    assert "&lt;https://evil.example|click&gt; &amp; co" in block


def test_the_most_namespaces_fit_with_remarks_and_the_rest() -> None:
    found = digest(
        *(notice(f"web-{n}", namespace=f"team-{n}") for n in range(200)), remark="there is no route 'x'"
    )
    body = sent(found)
    within_limits(body)
    assert body["blocks"][-1]["text"]["text"] == (
        "and in 160 more namespaces: 160 deleted\nthere is no route 'x'"
    )


@given(
    st.lists(
        st.builds(notice, AWKWARD, why=AWKWARD, keep=AWKWARD, what=st.sampled_from([*EVENTS])),
        min_size=1,
        max_size=30,
    ),
    AWKWARD,
)
def test_limits_and_escapes_hold_for_all_texts(notices: list[Any], remark: str) -> None:
    body = sent(digest(*notices, remark=remark))
    within_limits(body)
    for text in texts(body):
        assert not STRAY.search(text)


@given(st.text(max_size=200), st.integers(min_value=8, max_value=250))
def test_a_cut_is_a_beginning_of_the_whole_and_within_the_limit(text: str, limit: int) -> None:
    shown = cut(escaped(text), limit=limit)
    assert units(shown) <= limit
    assert not STRAY.search(shown)
    if units(escaped(text)) > limit:
        assert text.startswith(_unescaped(shown.removesuffix("…")))
    else:
        assert _unescaped(shown) == text


def _unescaped(text: str) -> str:
    return re.sub("&(amp|lt|gt);", lambda found: html.unescape(found[0]), text)


def test_a_template_keeps_its_own_marks_and_escapes_what_it_is_filled_with() -> None:
    body = sent(digest(notice("a&b")), template="<!here> *$total* in $namespaces\n$text")
    assert body["text"].startswith("<!here> *1* in shop\nSkoupa on prod: 1 deleted\n")
    assert "configmaps/a&amp;b" in body["text"]


def test_a_template_that_comes_out_empty_is_replaced_by_the_summary() -> None:
    body = sent(digest(notice(), cluster=""), template=" $cluster\n")
    assert texts(body) == ["Skoupa: 1 deleted", "Skoupa: 1 deleted"]


@given(AWKWARD.filter(lambda text: text.strip()), st.integers(min_value=1, max_value=300))
def test_templates_of_any_length_stay_within_the_limits(text: str, times: int) -> None:
    template = "x" + ((text + "\n") * times).replace("$", "$$") + "$text"
    within_limits(sent(digest(notice()), template=template))

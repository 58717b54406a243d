"""Manifests that are written as text inside of an object: whatever somebody writes there, it is read or doubted, and ends nobody."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.usage.found import Found
from skoupa.usage.inner_text import values_in
from skoupa.usage.tracking.documents import Unreadable, named_in
from skoupa.usage.walking import walk

pytestmark = pytest.mark.unit

DEEP = 120_000
# Nine times as much in each line.
REPEATED = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


def read(text: str) -> Found:
    return walk({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"values": text}})


def named(text: str) -> set[str]:
    return {use.target.name for use in read(text).uses}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"secretName: db\nmore: {'[' * DEEP}{']' * DEEP}\n", "nested too deep"),
        (f"secretName: db\nmore:\n{'- ' * DEEP}x\n", "nested too deep"),
        (f'{{"secretName": "db", "more": {"[" * DEEP}{"]" * DEEP}}}', "nested too deep"),
        (f"secretName: db\n{REPEATED}", "repeats itself"),
        (f"secretName: db\nmore: {'x' * 300_000}\n", "longer than 256 KiB"),
    ],
)
def test_a_text_that_nobody_can_read_to_its_end_may_name_anything(text: str, why: str) -> None:
    (doubt,) = read(text).doubts
    assert why in doubt


@pytest.mark.parametrize(
    "rest",
    [
        "at: 0001-01-01T00:00:00+05:00",
        'at: !!timestamp "never"',
        'at: !!int ""',
        'at: !!float ""',
        'at: !!bool "perhaps"',
        "at: !!python/object:os.system {}",
        "{a: b}: c",
        "at: &a [*a]",
        "at: .inf",
        "<<: 1",
    ],
)
def test_whatever_stands_beside_it_a_name_is_found(rest: str) -> None:
    assert "db" in named(f"secretName: db\n{rest}\n")


def test_all_documents_of_a_text_are_read() -> None:
    assert {"one", "two"} <= named("secretName: one\n---\nsecretName: two\n")


@given(st.text(alphabet="secret: \n\t-[]{}&*!<>|'\"#%@`,?~ab0", max_size=60))
def test_no_text_ends_who_reads_it(text: str) -> None:
    values_in(f"secretName: db\n{text}")
    with suppress(Unreadable):
        list(named_in(text))


@pytest.mark.parametrize(
    "items", [f"{'[' * DEEP}{']' * DEEP}", '[!!timestamp "never"]'], ids=["deep", "no time"]
)
def test_the_manifest_of_a_release_ends_nobody_either(items: Any) -> None:
    with pytest.raises(Unreadable):
        list(named_in(f"apiVersion: v1\nkind: List\nitems: {items}\n"))


def test_nor_does_one_that_repeats_itself() -> None:
    lists = "l0: &l0 {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" + "".join(
        f"l{n}: &l{n} {{apiVersion: v1, kind: List, items: [{', '.join([f'*l{n - 1}'] * 9)}]}}\n"
        for n in range(1, 12)
    )
    with pytest.raises(Unreadable, match="repeats itself"):
        list(named_in(f"{lists}apiVersion: v1\nkind: List\nitems: [*l11]\n"))

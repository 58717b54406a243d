"""The small parsers of the library: any text is read or refused, and every function has an example."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skoupa.expr.cel.library import addresses, formats, images, urls
from skoupa.expr.cel.library.shelf import NAMES
from skoupa.expr.usage_functions import USAGE_FUNCTIONS

pytestmark = pytest.mark.unit

TEXTS = st.one_of(
    st.text(max_size=40),
    st.text("abc019.:/@%[]?#&=-_ ", max_size=40),
    st.from_regex(r"(https?://)?[a-z0-9.\[\]:@%-]*(/[a-z %?&=#;+-]*)?", fullmatch=True),
    st.ip_addresses().map(str),
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
@example("http://[::1")
@example("//host/path")
@example("https://%zz/")
@example("a@sha256:" + "0" * 64)
@example("localhost:5000/a:b@")
def test_any_text_is_read_or_refused(text: str) -> None:
    parsers: list[Callable[[str], Any]] = [
        urls.parse,
        images.parse,
        addresses.parse_address,
        addresses.parse_network,
    ]
    for parse in parsers:
        with contextlib.suppress(ValueError):
            parse(text)
    for validate in formats.VALIDATORS.values():
        assert all(isinstance(problem, str) for problem in validate(text))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_what_is_a_url_can_be_taken_apart(text: str) -> None:
    if not urls.is_url(text):
        return
    value = urls.FUNCTIONS[0].answer
    assert value is not None
    made = value(text)
    for declared in urls.FUNCTIONS[2:]:
        assert declared.answer is not None
        declared.answer(made)


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_a_canonical_address_reads_as_itself(address: object) -> None:
    text = str(address)
    if not text.startswith("::ffff:"):
        assert str(addresses.parse_address(text)) == text


def test_every_function_has_an_example() -> None:
    here = Path(__file__).parent
    examples = "".join(
        (here / name).read_text()
        for name in ("test_kubernetes_functions.py", "test_kyverno_functions.py", "test_engine_functions.py")
    )
    operators = {name for name in NAMES if not name[0].isalpha()}
    missing = {
        name for name in NAMES - operators if f"{name}(" not in examples and f".{name}(" not in examples
    }
    # What needs a cluster has tests of its own.
    assert missing == set(USAGE_FUNCTIONS)

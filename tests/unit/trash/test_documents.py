"""What `history` and `restore` print for programs is documented."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from skoupa.cli.remembering.remembered import HistoryDocument, RestoreDocument

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[3] / "docs"


def shapes(top: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield top
    for hint in get_type_hints(top).values():
        for part in flat(hint):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                yield from shapes(part)


def flat(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from flat(part)


@pytest.mark.parametrize(
    ("page", "document"), [("history.md", HistoryDocument), ("restore.md", RestoreDocument)]
)
def test_every_field_and_word_is_documented(page: str, document: type[msgspec.Struct]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for shape in set(shapes(document)):
        assert shape.__doc__, f"{shape.__name__} has no docstring"
        for field in msgspec.structs.fields(shape):
            assert f"`{field.encode_name}`" in text, f"{shape.__name__}.{field.encode_name}"
        for hint in get_type_hints(shape).values():
            words = [word for part in flat(hint) if get_origin(part) is Literal for word in get_args(part)]
            for word in words:
                assert f"`{word}`" in text, f"{shape.__name__}: {word}"

"""docs/never-garbage.md: what is never garbage though nothing points at it, from the rows of `usage/never_rows.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.reference.markdown import code, page, table
from skoupa.usage.never_rows import ROWS
from skoupa.usage.never_shape import Never

_INTRODUCTION: Final = """
Some objects are found by their name, by a label or by what they are, and no field of any object points at them. What is in this table is
never told to be [unused](unused.md). All that is in a row has to hold; `*` is anything.

What is missing here for your cluster: label the object with `skoupa.dev/keep`.
"""


def never_page() -> str:
    rows = [(_kinds(row), _by(row), row.because) for row in ROWS]
    return page(
        "Never garbage",
        _INTRODUCTION,
        table(("kind", "known by", "because"), rows),
        source="skoupa.usage.never_rows",
    )


def _kinds(row: Never) -> str:
    return ", ".join(map(code, row.kinds)) or "any"


def _by(row: Never) -> str:
    told = (
        ("name", row.names),
        ("namespace", row.namespaces),
        ("type", row.types),
        ("label", row.labels),
        ("annotation", row.annotations),
        ("finalizer", row.finalizers),
    )
    return "; ".join(f"{what} {_listed(values)}" for what, values in told if values) or "the kind alone"


def _listed(values: Iterable[str]) -> str:
    return " or ".join(map(code, values))

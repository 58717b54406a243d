"""Labels of the Pods that a custom object would make, wherever its template is: a CloneSet that sleeps has none of them.

Operators have them under a template, as `podMetadata`, `podLabels` or just `labels`: whatever is called labels may be theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Labels = tuple[tuple[str, str], ...]
# More than any object has that a server took.
_MOST_VALUES: Final = 1_000_000
# It selects, and nothing has to have it.
_SELECTS: Final = "matchlabels"


def templates_in(value: Any) -> tuple[Labels, ...]:
    """Of everything under a field that is called labels."""
    return tuple(dict.fromkeys(_found(value)))


def _found(value: Any) -> Iterator[Labels]:
    left = [value]
    for _ in range(_MOST_VALUES):
        if not left:
            return
        here = left.pop()
        if isinstance(here, list):
            left += here
        elif isinstance(here, Mapping):
            left += here.values()
            for field, inner in here.items():
                called = str(field).lower()
                if called.endswith("labels") and called != _SELECTS and isinstance(inner, Mapping):
                    yield tuple(
                        sorted((str(key), text) for key, text in inner.items() if isinstance(text, str))
                    )

"""Labels of the Pods that a custom object would make, wherever its template is: a CloneSet that sleeps has none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Labels = tuple[tuple[str, str], ...]
# More than any object has that a server took.
_MOST_VALUES: Final = 1_000_000


def templates_in(value: Any) -> tuple[Labels, ...]:
    """Of everything under a field that is called a template and has labels."""
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
                if isinstance(field, str) and field.lower().endswith("template"):
                    labels = _labels(inner)
                    if labels is not None:
                        yield labels


def _labels(template: Any) -> Labels | None:
    metadata = template.get("metadata") if isinstance(template, Mapping) else None
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not isinstance(labels, Mapping):
        return None
    return tuple(sorted((key, text) for key, text in labels.items() if isinstance(text, str)))

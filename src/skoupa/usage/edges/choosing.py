"""Selectors, found by the labels of an object that they may fit.

A namespace may have thousands of them and as many Pods. Each selector that asks for a label of a certain value is therefore
kept under one such pair, the one under which fewest are; only those that ask for none are tried one by one. A pair is a hash:
two that are equal by chance cost a comparison and nothing else, since each selector is asked at the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from skoupa.kube.selectors import LabelSelector, parse_labels
from skoupa.usage.edges.patterns import kinds_meaning
from skoupa.usage.found import Choice
from skoupa.usage.rules import Means

EVERYWHERE: Final = "*"
# The labels of a Namespace; None: nobody knows them.
NamespaceLabels = Callable[[str], Mapping[str, str] | None]


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """What a selector selects: a Choice without who makes it and why."""

    kind: str
    namespace: str
    selector: str
    namespaces: str

    def fits(
        self, *, kind: str, namespace: str, labels: Mapping[str, str], namespace_labels: NamespaceLabels
    ) -> bool:
        """What can't be read fits: who does not know that an object is not meant has to take it for meant."""
        if self.kind not in kinds_meaning(kind):
            return False
        if self.namespaces:
            around = namespace_labels(namespace)
            if around is not None and not _fits(self.namespaces, around):
                return False
        elif self.namespace not in (namespace, EVERYWHERE):
            return False
        return _fits(self.selector, labels)


def chosen_by(choice: Choice) -> Chosen:
    return Chosen(choice.kind, choice.namespace, choice.selector, choice.namespaces)


def choice_of(chosen: Chosen, *, at: str, means: Means) -> Choice:
    return Choice(
        kind=chosen.kind,
        namespace=chosen.namespace,
        selector=chosen.selector,
        namespaces=chosen.namespaces,
        at=at,
        means=means,
    )


class ChosenIndex:
    """Numbers of selectors; `value` gives the selector of a number."""

    def __init__(self, value: Callable[[int], Chosen]) -> None:
        self._value = value
        self._at: dict[int, int | array[int]] = {}

    def __len__(self) -> int:
        return len(self._at)

    def add(self, number: int) -> None:
        key = min(_keys(self._value(number)), key=self._size)
        kept = self._at.get(key)
        if kept is None:
            self._at[key] = number
        elif isinstance(kept, int):
            self._at[key] = array("I", (kept, number))
        else:
            kept.append(number)

    def drop(self, number: int) -> None:
        for key in _keys(self._value(number)):
            kept = self._at.get(key)
            if isinstance(kept, array) and number in kept:
                kept.remove(number)
            if kept == number or (isinstance(kept, array) and not kept):
                del self._at[key]
        if not self._at:
            self._at = {}

    def candidates(self, kind: str, namespace: str, labels: Mapping[str, str]) -> Iterator[int]:
        """Those that may fit such an object."""
        for of_kind in kinds_meaning(kind):
            for place in (namespace, EVERYWHERE):
                yield from self._under(hash((of_kind, place)))
                for pair in labels.items():
                    yield from self._under(hash((of_kind, place, *pair)))

    def _under(self, key: int) -> tuple[int, ...]:
        kept = self._at.get(key)
        return () if kept is None else (kept,) if isinstance(kept, int) else tuple(kept)

    def _size(self, key: int) -> int:
        kept = self._at.get(key)
        return 0 if kept is None else 1 if isinstance(kept, int) else len(kept)


def _keys(chosen: Chosen) -> list[int]:
    place = EVERYWHERE if chosen.namespaces else chosen.namespace
    selector = selector_of(chosen.selector)
    pairs = [
        (one.key, value)
        for one in (selector.requirements if selector else ())
        if one.operator == "in" and len(one.values) == 1
        for value in one.values
    ]
    return [hash((chosen.kind, place, *pair)) for pair in pairs] or [hash((chosen.kind, place))]


def _fits(text: str, labels: Mapping[str, str]) -> bool:
    selector = selector_of(text)
    return selector is None or selector.matches(labels)


@lru_cache(maxsize=4096)
def selector_of(text: str) -> LabelSelector | None:
    """None where it is no selector."""
    try:
        return parse_labels(text)
    except ValueError:
        return None

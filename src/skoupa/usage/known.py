"""Which places of an object a table reads already, so that the generic walk need not guess there.

A tree of fields, with `[]` for the items of a list and `{}` for the values of a map, made once for each kind that has both
a table and something to be walked.
"""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.usage.paths import Every, Path, Step, parsed
from skoupa.usage.rules import Embedded, Implied, KindRules, Part, Reference, Selection


class Known:
    """One place; `here` where a reference of the table ends."""

    def __init__(self) -> None:
        self.here = False
        self._next: dict[Step, Known] = {}

    def field(self, name: str) -> Known | None:
        return self._next.get(name) or self._next.get(Every.VALUE)

    def item(self) -> Known | None:
        return self._next.get(Every.ITEM)

    def add(self, path: Path) -> None:
        if path:
            self._next.setdefault(path[0], Known()).add(path[1:])
        else:
            self.here = True


def known_to(rules: KindRules) -> Known:
    top = Known()
    for path in _paths(rules.parts, ()):
        top.add(path)
    return top


def _paths(parts: tuple[Part, ...], before: Path) -> Iterator[Path]:
    for part in parts:
        match part:
            case Reference():
                path = (*before, *parsed(part.at))
                yield path
                if part.name:
                    yield (*path, *parsed(part.name))
                elif path[-1:] == ("name",):
                    # `secretRef.name`: the object that holds the name is the reference.
                    yield path[:-1]
            case Selection():
                yield (*before, *parsed(part.at))
            case Embedded():
                yield from _paths(part.shape.parts, (*before, *parsed(part.at)))
            case Implied():
                pass

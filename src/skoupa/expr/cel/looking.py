"""What an expression looks at, told from its tree: fields of `object`, variables, the namespace, the outside.

Always at least what it can look at when it runs: where `object` is used as a whole, all of it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from skoupa.expr.cel.library.shelf import LOOKING_OUTSIDE
from skoupa.expr.cel.syntax import Checked, Node
from skoupa.expr.usage_functions import IDENTITY, OF_OTHERS

OBJECT: Final = "object"
NAMESPACE: Final = "namespaceObject"
IMAGES: Final = "images"
PREFIX: Final = "variables."

_BY_KEY: Final = frozenset({"_[_]", "_[?_]", "_?._"})
_CHANCE: Final = frozenset({"random", "random.random"})


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` are one or two names deep, () is the whole object: ("spec",) all of spec, ("spec", "x") only that."""

    paths: frozenset[tuple[str, ...]] = frozenset()
    # The same of namespaceObject.
    namespace_paths: frozenset[tuple[str, ...]] = frozenset()
    variables: frozenset[str] = frozenset()
    images: bool = False
    chance: bool = False
    asks: frozenset[str] = frozenset()

    def __or__(self, other: Looks) -> Looks:
        return Looks(
            paths=self.paths | other.paths,
            namespace_paths=self.namespace_paths | other.namespace_paths,
            variables=self.variables | other.variables,
            images=self.images or other.images,
            chance=self.chance or other.chance,
            asks=self.asks | other.asks,
        )

    @property
    def namespace(self) -> bool:
        return bool(self.namespace_paths)

    @property
    def fields(self) -> dict[str, frozenset[str] | None] | None:
        """Top-level fields with those within that are looked at; None: all."""
        return _fields(self.paths)

    @property
    def namespace_fields(self) -> dict[str, frozenset[str] | None] | None:
        return _fields(self.namespace_paths)


def _fields(paths: frozenset[tuple[str, ...]]) -> dict[str, frozenset[str] | None] | None:
    if () in paths:
        return None
    whole = {path[0] for path in paths if len(path) == 1}
    return {
        top: None if top in whole else frozenset(path[1] for path in paths if path[0] == top)
        for top in {path[0] for path in paths}
    }


def looks(checked: Checked) -> Looks:
    """For the tree as the checker left it: before anything in it is rewritten."""
    paths: dict[str, set[tuple[str, ...]]] = {OBJECT: set(), NAMESPACE: set()}
    names: set[str] = set()
    calls: set[str] = set()
    waiting = [checked.root]
    while waiting:
        node = waiting.pop()
        if node.is_call and node.name in OF_OTHERS and _is_object(node.arguments):
            # They ask others about it: of itself they see which object it is.
            paths[OBJECT].add(IDENTITY)
            calls.add(node.name)
            continue
        root, path = _path(node)
        if root in paths:
            paths[root].add(path[:2])
            continue
        if node.is_ident:
            names.add(node.name)
        elif node.is_call:
            calls.add(node.name)
        waiting.extend(node.children)
    if IMAGES in names:
        paths[OBJECT] |= {("kind",), ("spec",)}
    return Looks(
        paths=frozenset(paths[OBJECT]),
        namespace_paths=frozenset(paths[NAMESPACE]),
        variables=frozenset(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)),
        images=IMAGES in names,
        chance=bool(calls & _CHANCE),
        asks=frozenset(LOOKING_OUTSIDE[name] for name in calls & LOOKING_OUTSIDE.keys()),
    )


def _is_object(arguments: Sequence[Node]) -> bool:
    return all(one.is_ident and one.name == OBJECT for one in arguments)


def _path(node: Node) -> tuple[str, tuple[str, ...]]:
    """A variable and the names from it to here, by `.name`, `.?name`, `["name"]` or has(); "" where it starts otherwise."""
    names: list[str] = []
    while not node.is_ident:
        arguments = node.arguments
        name = node.name if node.is_select else None
        if node.is_call and node.name in _BY_KEY and len(arguments) == 2:
            name = arguments[1].text
        if name is None:
            return "", ()
        names.append(name)
        node = arguments[0]
    return node.name, tuple(reversed(names))


def is_plain_path(node: Node) -> bool:
    """Whether it is a variable, or fields and elements of one, each asked for as if it were there."""
    while node.is_select or (node.is_call and node.name == "_[_]"):
        node = node.arguments[0]
    return node.is_ident

"""The rules of a kind as a tree with the shape of the object, one node for each field that some rule names.

A node is an object with fields, a list, a map, or a value at the end of a path. Two rules that disagree about that are a
fault of the table and raise `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skoupa.usage.applying.layout import Anchored, Sort
from skoupa.usage.paths import Every, Path, Step, written


class Node(msgspec.Struct):
    """`rules` are those that are anchored here; below says whether there are any further down."""

    path: Path
    fields: dict[str, Node] = {}
    items: Node | None = None
    values: Node | None = None
    keys: Node | None = None
    sort: Sort | None = None
    rules: list[Anchored] = []

    @property
    def shown(self) -> str:
        return written(self.path)

    @property
    def walked(self) -> bool:
        """Whether some rule stands here or further down."""
        return bool(self.rules) or any(child.walked for child in self.children())

    def children(self) -> list[Node]:
        one_of_many = [child for child in (self.items, self.values, self.keys) if child is not None]
        return [*self.fields.values(), *one_of_many]

    def check(self) -> None:
        modes = [bool(self.fields), self.items is not None, self.values is not None, self.keys is not None]
        modes.append(self.sort is not None and self.sort is not Sort.PRESENT)
        if sum(modes) > 1:
            raise ValueError(f"{self.shown}: some rules take this for one thing and some for another")
        for child in self.children():
            child.check()


def tree(rules: Iterable[Anchored]) -> Node:
    root = Node(())
    for rule in rules:
        anchor = _led(root, rule.at)
        anchor.rules.append(rule)
        for want in rule.wants:
            _claim(_led(anchor, want.path), want.sort)
    root.check()
    if root.rules:
        raise ValueError(f"{root.rules[0]}: a rule has to be about something in the object")
    return root


def _led(node: Node, path: Path) -> Node:
    for step in path:
        node = _child(node, step)
    return node


def _child(node: Node, step: Step) -> Node:
    path = (*node.path, step)
    match step:
        case Every.ITEM:
            node.items = node.items or Node(path)
            return node.items
        case Every.VALUE:
            node.values = node.values or Node(path)
            return node.values
        case Every.KEY:
            node.keys = node.keys or Node(path)
            return node.keys
        case _:
            return node.fields.setdefault(str(step), Node(path))


def _claim(node: Node, sort: Sort) -> None:
    if node.sort is None or node.sort is Sort.PRESENT:
        node.sort = sort
    elif sort not in (node.sort, Sort.PRESENT):
        raise ValueError(f"{node.shown}: some rules take this for {node.sort.value}, some for {sort.value}")

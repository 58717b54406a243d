"""The text of settings as a tree: YAML in which every key is written once.

YAML's own readers keep the last of two that are the same and drop the other without a word, so that a guard could be lost by
adding another. What the keys mean is not looked at here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import yaml

from skoupa.errors import UsageError


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # one of two, both known
    """Dates stay as they were written: no setting is anything but a text, a number or a list of them."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, Any]]]] = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{file} can't be read: {why}", advice="check --config") from error


def tree_of(text: str, source: str) -> dict[str, Any]:
    try:
        tree = _tree(text, source)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}" if where else ""
        raise UsageError(
            f"{source} is no YAML{line}", advice=str(getattr(error, "problem", error))
        ) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise UsageError(
            f"{source} is a {type(tree).__name__}, not settings", advice="write `mode: observe` for a start"
        )
    return tree


def _tree(text: str, source: str) -> Any:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check_once(root, source)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _check_once(root: yaml.Node, source: str) -> None:
    """Before anything is built of the nodes: merging (`<<`) then puts keys beside those that override them."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _check_keys(node, source)
            waiting.extend(value for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _check_keys(node: yaml.MappingNode, source: str) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        called, line = (key.tag, key.value), key.start_mark.line + 1
        if called in lines:
            where = f"lines {lines[called]} and {line}" if line != lines[called] else f"line {line}"
            raise UsageError(
                f'{source}: the key "{key.value}" is there twice, in {where}',
                advice="only one of the two would count: write it once, with all that both say",
            )
        lines[called] = line

"""Sets of places in an object: what somebody owns, and what changed between two objects.

A place is a path of steps as managedFields writes them: `f:` a field, `k:` a list item by its keys, `v:` an item by its
value. A set is a plain frozenset of such paths, so union and difference are Python's; this module turns objects into
sets, compares objects into sets, and reads and writes the nested form (`fieldsV1`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from skoupa.kube.selectors import quoted
from skoupa.sim.applying.structure import Path, Structure

Fields = frozenset[Path]
ABSENT: Final = object()

_encoder = msgspec.json.Encoder(order="sorted")


class Unkeyed(ValueError):
    """A list item without the fields that tell it from its neighbours."""


class Comparison(msgspec.Struct):
    added: set[Path]
    modified: set[Path]
    removed: set[Path]

    @property
    def written(self) -> Fields:
        return frozenset(self.added | self.modified)

    def without(self, ignored: Callable[[Path], bool]) -> Comparison:
        sets = (self.added, self.modified, self.removed)
        return Comparison(*({path for path in paths if not ignored(path)} for paths in sets))


def fields_of(value: Any, structure: Structure) -> Fields:
    """Every place that `value` states: leaves, list items and keys of maps, but not the named fields that hold them."""
    found: set[Path] = set()
    _collect(value, (), structure, found)
    return frozenset(found)


def check_items(value: Any, structure: Structure, path: Path = ()) -> None:
    """Raises `Unkeyed` where items of a list can't be told apart."""
    if isinstance(value, dict) and (not path or not structure.whole(path)):
        for key, child in value.items():
            check_items(child, structure, (*path, f"f:{key}"))
    elif isinstance(value, list):
        steps = item_steps(value, path, structure) or []
        for index, step in enumerate(steps):
            if step in steps[:index]:
                raise Unkeyed(f"{printed(path)}: duplicate entries for key {printed((step,))}")
            check_items(value[index], structure, (*path, step))


def compare(before: Mapping[str, Any], after: Mapping[str, Any], structure: Structure) -> Comparison:
    comparison = Comparison(set(), set(), set())
    _compare(before, after, (), structure, comparison)
    return comparison


def with_parents(fields: Iterable[Path], structure: Structure) -> Fields:
    """The set together with the named fields on the way to its members."""
    found = set(fields)
    for path in fields:
        for length in range(1, len(path)):
            if path[length - 1].startswith("f:") and structure.named(path[:length]):
                found.add(path[:length])
    return frozenset(found)


def without(value: Any, gone: Fields, structure: Structure) -> Any:
    """`value` without the places in `gone`; a map or list that is emptied by it becomes None."""
    return _strip(value, (), structure, gone, {path[:length] for path in gone for length in range(len(path))})


def item_steps(items: list[Any], path: Path, structure: Structure) -> list[str] | None:
    """The step of each item of the list at `path`; None when the list is one value."""
    keys = structure.keys(path) if path else None
    if keys is None:
        return None
    return [_step(item, keys, index=index, path=path) for index, item in enumerate(items)]


def encode(fields: Iterable[Path]) -> dict[str, Any]:
    """The nested form: `{"f:data": {".": {}, "f:key": {}}}`; a dot stands for the place itself."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return {step: _folded(child) for step, child in tree.items()}


def decode(nested: Mapping[str, Any]) -> Fields:
    return frozenset(_unfold(nested, ()))


def printed(path: Path) -> str:
    """A path as the server prints it: `.spec.containers[name="web"].image`."""
    return "".join(_printed_step(step) for step in path)


def in_order(fields: Iterable[Path]) -> list[Path]:
    """The order of the server: at every level the places themselves, then what is below them."""
    return sorted(fields, key=lambda path: [(index < len(path) - 1, step) for index, step in enumerate(path)])


def _step(item: Any, keys: Mapping[str, Any], *, index: int, path: Path) -> str:
    def fault(what: str) -> Unkeyed:
        return Unkeyed(f"{printed(path)}: element {index}: {what}")

    if not keys:
        if item is None:
            raise fault("associative list without keys has an element that's an explicit null")
        if isinstance(item, Mapping):
            raise fault("associative list without keys has an element that's a map type")
        return f"v:{_encoder.encode(item).decode()}"
    if not isinstance(item, Mapping):
        what = "a null element" if item is None else "non-map elements"
        raise fault(f"associative list with keys may not have {what}")
    values = {key: item.get(key, default) for key, default in keys.items()}
    values = {key: value for key, value in values.items() if value is not None}
    if not values:
        names = " ".join(quoted(key) for key in keys)
        raise fault(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{_encoder.encode(values).decode()}"


def _collect(value: Any, path: Path, structure: Structure, found: set[Path]) -> None:
    if isinstance(value, dict) and (not path or not structure.whole(path)):
        for key, child in value.items():
            place = (*path, f"f:{key}")
            _collect(child, place, structure, found)
            if child is None or child == {} or not structure.named(place):
                found.add(place)
        return
    if isinstance(value, list):
        steps = item_steps(value, path, structure)
        if steps is not None:
            for step, item in zip(steps, value, strict=True):
                found.add((*path, step))
                if steps.count(step) == 1:
                    _collect(item, (*path, step), structure, found)
            return
    found.add(path)


def _compare(before: Any, after: Any, path: Path, structure: Structure, out: Comparison) -> None:
    if before is not ABSENT and after is not ABSENT and same(before, after):
        return
    old, new = _form(before, path, structure), _form(after, path, structure)
    if old == new or not (old and new):
        leaf = _compare_as(old or new, (before, after), path, structure, out)
    else:
        # It changed its form, from a text to a map, say: as each of them, the other side holds nothing.
        _compare_as(old, (before, after), path, structure, out)
        leaf = _compare_as(new, (before, after), path, structure, out)
    if not leaf and path and not structure.always(path):
        if before is ABSENT:
            out.added.add(path)
        elif after is ABSENT:
            out.removed.add(path)


def _form(value: Any, path: Path, structure: Structure) -> Literal["map", "items", "leaf", ""]:
    if value is ABSENT or value is None:
        return ""
    if isinstance(value, dict):
        return "leaf" if path and structure.whole(path) else "map"
    if isinstance(value, list) and structure.keys(path) is not None:
        return "items"
    return "leaf"


def _compare_as(form: str, sides: tuple[Any, Any], path: Path, structure: Structure, out: Comparison) -> bool:
    """Compares what is below `path`, or all of it as one value; returns whether it was the latter."""
    before, after = sides
    kind = {"map": dict, "items": list}.get(form)
    left, right = (side if kind and isinstance(side, kind) else None for side in sides)
    if not left and not right and path:
        if before is ABSENT:
            out.added.add(path)
        elif after is ABSENT:
            out.removed.add(path)
        elif not same(before, after):
            out.modified.add(path)
        return True
    if form == "items":
        _compare_items(left or [], right or [], path, structure, out)
        return False
    old: Mapping[str, Any] = left or {}
    new: Mapping[str, Any] = right or {}
    for key in {**old, **new}:
        _compare(old.get(key, ABSENT), new.get(key, ABSENT), (*path, f"f:{key}"), structure, out)
    return False


def _compare_items(
    before: list[Any], after: list[Any], path: Path, structure: Structure, out: Comparison
) -> None:
    old, new = _grouped(before, path, structure), _grouped(after, path, structure)
    for step in {**old, **new}:
        left, right, place = old.get(step, []), new.get(step, []), (*path, step)
        if len(left) > 1 or len(right) > 1:
            # Items that share a key can't be told apart: they are owned together, without what is in them.
            if len(left) > 1 and len(right) > 1:
                if not same(left, right):
                    out.modified.add(place)
            elif len(left) > 1:
                if right:
                    _compare(ABSENT, right[0], place, structure, out)
                out.removed.add(place)
            else:
                if left:
                    _compare(left[0], ABSENT, place, structure, out)
                out.added.add(place)
        else:
            _compare(left[0] if left else ABSENT, right[0] if right else ABSENT, place, structure, out)


def same(before: Any, after: Any) -> bool:
    """Equality of JSON: Python takes true for 1."""
    if before != after:
        return False
    if isinstance(before, dict | list):
        return _encoder.encode(before) == _encoder.encode(after)
    return isinstance(before, bool) is isinstance(after, bool)


def _grouped(items: list[Any], path: Path, structure: Structure) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for step, item in zip(item_steps(items, path, structure) or (), items, strict=True):
        groups.setdefault(step, []).append(item)
    return groups


def _strip(value: Any, path: Path, structure: Structure, gone: Fields, parents: set[Path]) -> Any:
    if path not in parents:
        return value
    if isinstance(value, dict):
        kept = {}
        for key, child in value.items():
            place = (*path, f"f:{key}")
            if place not in gone:
                kept[key] = _strip(child, place, structure, gone, parents)
        return kept or None
    if isinstance(value, list):
        steps = item_steps(value, path, structure)
        if steps is not None:
            kept_items = [
                _strip(item, (*path, step), structure, gone, parents)
                for step, item in zip(steps, value, strict=True)
                if (*path, step) not in gone
            ]
            return kept_items or None
    return value


def _folded(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    return {step: _folded(child) if step != "." else {} for step, child in sorted(node.items())}


def _unfold(node: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for step, child in node.items():
        if step == ".":
            yield path
        elif not child:
            yield (*path, step)
        else:
            yield from _unfold(child, (*path, step))


def _printed_step(step: str) -> str:
    kind, value = step[:2], step[2:]
    if kind == "f:":
        return f".{value}"
    if kind == "k:":
        pairs = msgspec.json.decode(value).items()
        return "[" + ",".join(f"{key}={_printed_value(item)}" for key, item in pairs) + "]"
    return f"[={_printed_value(msgspec.json.decode(value))}]" if kind == "v:" else f"[{value}]"


def _printed_value(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else msgspec.json.encode(value).decode()

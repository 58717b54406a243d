"""Lists: Kubernetes' library (isSorted, sum, min, max, indexOf…), CEL's own lists extension, and its sets extension.

The engine counts the steps of comprehensions but not those of functions, so what these make is bounded here.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any, Final

from skoupa.expr.cel.library.declaring import function, method
from skoupa.expr.cel.library.equality import equal, key, ordered
from skoupa.expr.cel.library.tagged import described

_LARGEST: Final = 1_000_000
_INT: Final = range(-(2**63), 2**63)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE: Final = ("int", "uint", "double", "duration")


def is_sorted(items: list[Any]) -> bool:
    keys = ordered(items)
    return all(one <= other for one, other in itertools.pairwise(keys))


def total(items: list[Any]) -> Any:
    if not items:
        return 0
    if all(isinstance(item, timedelta) for item in items):
        return sum(items, timedelta())
    if any(isinstance(item, bool) or not isinstance(item, int | float) for item in items):
        odd = next(item for item in items if isinstance(item, bool) or not isinstance(item, int | float))
        raise ValueError(f"{described(odd)} can't be summed: only numbers of one type, or durations, can")
    if len({type(item) for item in items}) > 1:
        raise ValueError(
            "the list mixes int and double, which can't be summed: convert with int() or double()"
        )
    found = sum(items)
    if isinstance(found, int) and found not in _INT:
        raise ValueError("the sum is larger than an int can be")
    return found


def _extreme(items: list[Any], *, largest: bool) -> Any:
    if not items:
        raise ValueError(f"{'max' if largest else 'min'} of an empty list: ask size() first")
    keys = ordered(items)
    return items[keys.index(max(keys) if largest else min(keys))]


def _index(items: list[Any], item: Any) -> int:
    wanted = key(item)
    return next((at for at, found in enumerate(items) if key(found) == wanted), -1)


def _last_index(items: list[Any], item: Any) -> int:
    wanted = key(item)
    return next((at for at in range(len(items) - 1, -1, -1) if key(items[at]) == wanted), -1)


def _includes(target: Any, item: Any) -> bool:
    return _index(target, item) >= 0 if isinstance(target, list) else equal(target, item)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < start or end > len(items):
        raise ValueError(
            f"slice({start}, {end}) of a list of {len(items)}: write positions from 0 to {len(items)}, in order"
        )
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("flatten takes a depth of 0 or more")
    for _ in range(depth):
        if not any(isinstance(item, list) for item in items):
            break
        items = [inner for item in items for inner in (item if isinstance(item, list) else (item,))]
        _bounded(len(items))
    return items


def _sorted(items: list[Any]) -> list[Any]:
    keys = ordered(items)
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]


def _distinct(items: list[Any]) -> list[Any]:
    found: dict[object, Any] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


def _range(count: int) -> list[int]:
    _bounded(count)
    return list(range(count))


def _bounded(count: int) -> None:
    if count > _LARGEST:
        raise ValueError(
            f"a list of {count} elements is more than {_LARGEST}, the most that a function makes"
        )


def _contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return {key(item) for item in wanted} <= {key(item) for item in items}


def _equivalent(items: list[Any], other: list[Any]) -> bool:
    return {key(item) for item in items} == {key(item) for item in other}


def _intersects(items: list[Any], other: list[Any]) -> bool:
    return not {key(item) for item in items}.isdisjoint(key(item) for item in other)


def smallest(items: list[Any]) -> Any:
    return _extreme(items, largest=False)


def largest(items: list[Any]) -> Any:
    return _extreme(items, largest=True)


def total_duration(items: list[Any]) -> timedelta:
    """Of none, too: an empty list of durations has a type."""
    return sum(items, timedelta())


# By the type of the elements, where the engine can't tell from what Python answers.
TYPED: Final = {
    "timestamp": {"min": smallest, "max": largest},
    "duration": {"min": smallest, "max": largest, "sum": total_duration},
    "uint": {"min": smallest, "max": largest, "sum": total},
}

FUNCTIONS: Final = (
    method("isSorted", is_sorted, *(f"list<{name}> -> bool" for name in _COMPARABLE)),
    method("sum", total, *(f"list<{name}> -> {name}" for name in _SUMMABLE)),
    method("min", smallest, *(f"list<{name}> -> {name}" for name in _COMPARABLE)),
    method("max", largest, *(f"list<{name}> -> {name}" for name in _COMPARABLE)),
    method("indexOf", _index, "list<T>, T -> int"),
    method("lastIndexOf", _last_index, "list<T>, T -> int"),
    method("includes", _includes, "dyn, dyn -> bool"),
    method("slice", _slice, "list<T>, int, int -> list<T>"),
    method("flatten", _flatten, "list<dyn> -> list<dyn>", "list<dyn>, int -> list<dyn>"),
    method("sort", _sorted, *(f"list<{name}> -> list<{name}>" for name in _COMPARABLE)),
    method("distinct", _distinct, "list<T> -> list<T>"),
    method("reverse", lambda items: items[::-1], "list<T> -> list<T>"),
    function("lists.range", _range, "int -> list<int>"),
    function("sets.contains", _contains_all, "list<T>, list<T> -> bool"),
    function("sets.equivalent", _equivalent, "list<T>, list<T> -> bool"),
    function("sets.intersects", _intersects, "list<T>, list<T> -> bool"),
)

"""Kyverno's functions on objects and arrays: look one thing up, turn one into the other."""

from __future__ import annotations

from typing import Any, Final

from skoupa.expr.jmespath.functions.signature import (
    Anything,
    Collection,
    Function,
    Items,
    Members,
    Text,
    TextOrNumber,
    declare,
)
from skoupa.expr.jmespath.jsontypes import Type, name_of, type_of
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.values import plain_number


def lookup(_: Run, collection: Collection, key: TextOrNumber) -> Anything:
    """What is not there is null: this is the way to ask without an error."""
    by_text = isinstance(key, str)
    if isinstance(collection, dict):
        if by_text:
            return collection.get(key)
        raise ValueError("an object is looked up by a string; write the key in quotes: 'name'")
    if by_text:
        raise ValueError("an array is looked up by a number; write it in backticks: `0`")
    if key != int(key):
        raise ValueError(f"an array is looked up by a whole number, not by {key}")
    return collection[int(key)] if 0 <= key < len(collection) else None


def items(run: Run, collection: Collection, key_name: Text, value_name: Text) -> Items:
    run.make_elements(len(collection))
    run.make(200 * len(collection))
    pairs: Any
    if isinstance(collection, dict):
        run.spend(4 * len(collection))
        pairs = sorted(collection.items(), key=_first)
    else:
        pairs = enumerate(collection)
    # The value comes second: with one name for both it is what stays, as in Kyverno.
    return [{key_name: key, value_name: value} for key, value in pairs]


def object_from_lists(run: Run, keys: Items, values: Items) -> Members:
    run.make_members(len(keys))
    run.spend(4 * len(keys))
    return {_key(key): values[at] if at < len(values) else None for at, key in enumerate(keys)}


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if type_of(key) is Type.NUMBER:
        return plain_number(key)
    raise ValueError(f"a key is a string, a number or a boolean, not {name_of(key)}")


FUNCTIONS: Final[tuple[Function, ...]] = (declare(lookup), declare(items), declare(object_from_lists))

"""Each path of the tables of custom kinds: an object that uses a thing through exactly that path keeps it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import pytest

from skoupa.kube.decoding import decode_list
from skoupa.usage import builtin, custom
from skoupa.usage.custom.words import spread
from skoupa.usage.found import Found
from skoupa.usage.reading import Readings
from tests.unit.usage.made_from_rules import Example, examples

pytestmark = pytest.mark.unit

READINGS = Readings((*builtin.RULES, *custom.RULES), custom.ANNOTATED)
# The tables alone, so that nothing is found by the walk that a table should have found.
TABLES = Readings(
    (*builtin.RULES, *(msgspec.structs.replace(one, walked=()) for one in custom.RULES)), custom.ANNOTATED
)
EXAMPLES: dict[str, list[Example]] = defaultdict(list)
for _example in examples((*builtin.RULES, *custom.RULES), custom.ANNOTATED):
    EXAMPLES[_example.kind].append(_example)


def listed(readings: Readings, kind: str, manifest: dict[str, Any]) -> Found:
    body = msgspec.json.encode({"metadata": {}, "items": [manifest]})
    _, items, bad = decode_list(body, readings.view(kind), doing="test")
    assert not bad
    return readings.found(kind, items[0])


def meant(found: Found, example: Example) -> bool:
    uses = {(use.target.kind, use.target.namespace, use.target.name) for use in found.uses}
    choices = {(choice.kind, choice.namespace, choice.selector) for choice in found.choices}
    return example.meant in (choices if example.chosen else uses)


@pytest.mark.parametrize("kind", sorted(one.kind for one in custom.RULES))
def test_what_is_named_by_one_path_alone_is_in_use(kind: str) -> None:
    for example in EXAMPLES[kind]:
        found = listed(TABLES, kind, example.manifest)
        assert meant(found, example), example
        assert not found.doubts, example
        from_file = TABLES.from_manifest(kind, example.manifest)
        assert set(from_file.uses) == set(found.uses), example


@pytest.mark.parametrize("kind", sorted(one.kind for one in custom.RULES if one.walked))
def test_what_a_walk_adds_takes_nothing_away_and_adds_nothing_where_the_table_knows(kind: str) -> None:
    """`Workflow` alone has a thousand paths; some of each kind will do."""
    for example in EXAMPLES[kind][:: max(1, len(EXAMPLES[kind]) // 40)]:
        alone, both = (one.from_manifest(kind, example.manifest) for one in (TABLES, READINGS))
        assert meant(both, example), example
        assert set(alone.uses) <= set(both.uses), example
        added = {use.at for use in both.uses} - {use.at for use in alone.uses}
        assert example.at not in added, example


def test_no_kind_has_two_tables() -> None:
    kinds = [one.kind for one in (*builtin.RULES, *custom.RULES)]
    assert len(set(kinds)) == len(kinds)


def test_a_path_with_alternatives_stands_for_each_of_them() -> None:
    assert spread("a.(b|c[]).d.(e|f)") == ["a.b.d.e", "a.b.d.f", "a.c[].d.e", "a.c[].d.f"]
    assert spread("a{}.b") == ["a{}.b"]

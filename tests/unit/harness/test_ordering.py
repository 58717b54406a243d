"""In which order workers begin: nothing is lost or torn apart, and whoever waits does so beside somebody who works."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from tests.ordering import SECONDS, ordered

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]


class One:
    def __init__(self, module: str, number: int, *marks: str) -> None:
        self.nodeid = f"tests/{module}.py::test_{number}"
        self._marks = marks

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self._marks else None


def a_suite() -> list[One]:
    waiting = [One(f"cluster/test_{module}", number, "cluster") for module in "abcdef" for number in range(4)]
    long = [One("cluster/controller/test_policies", number, "cluster") for number in range(2)]
    mixed = [One("contract/test_contract", number, *(["cluster"] * (number % 2))) for number in range(6)]
    return [
        *waiting,
        *long,
        *mixed,
        *(One(f"unit/test_{number // 9}", number, "unit") for number in range(300)),
    ]


def module_of(test: One) -> str:
    return test.nodeid.partition("::")[0]


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 100])
def test_all_are_there_once_and_what_waits_stays_together_by_modules(workers: int) -> None:
    found = ordered(a_suite(), workers=workers)
    assert sorted(test.nodeid for test in found) == sorted(test.nodeid for test in a_suite())
    runs = [module for module, _ in groupby(found, key=module_of) if "/unit/" not in module]
    assert len(runs) == len(set(runs))


def test_one_worker_has_them_as_they_come() -> None:
    given = a_suite()
    assert ordered(given, workers=1) == given
    unit = [test for test in given if test.get_closest_marker("unit")]
    assert ordered(unit, workers=4) == unit


@pytest.mark.parametrize("workers", [2, 4])
def test_every_part_but_the_last_begins_with_what_waits(workers: int) -> None:
    found = ordered(a_suite(), workers=workers)
    size = len(found) // workers
    begins = [found[part * size] for part in range(workers)]
    assert [bool(test.get_closest_marker("unit")) for test in begins] == [False] * (workers - 1) + [True]
    assert "test_policies" in found[0].nodeid, "the longest of all"


def test_where_there_is_nothing_else_what_waits_is_shared_out_too() -> None:
    found = ordered([test for test in a_suite() if not test.get_closest_marker("unit")], workers=4)
    assert len(found) == 32


def test_whoever_is_said_to_take_long_is_there() -> None:
    assert [name for name in SECONDS if not (ROOT / name).is_file()] == []

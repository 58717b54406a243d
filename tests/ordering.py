"""Which tests begin first where several workers share them: those that wait for something, and of these the longest.

A worker has a part of all tests, in a row, and who is done takes from the end of others' parts (`--dist worksteal`). In their usual order one worker would have
all that wait for a control plane; the others would be done with what needs the processor alone, and in the end all would wait at once, for the longest test of
all perhaps. So every part but the last begins with modules that wait. A module stays in one piece: what it brings along may be a control plane of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, Protocol, TypeVar

WAITING: Final = ("cluster", "browser", "chart")
# About how many seconds, of those that take long; of others each test counts for one.
SECONDS: Final = {
    "tests/cluster/controller/test_policies.py": 190,
    "tests/cluster/controller/test_tenants_held.py": 100,
    "tests/cluster/controller/test_tenants.py": 85,
    "tests/cluster/controller/test_tenants_killed.py": 65,
    "tests/cluster/controller/test_brakes.py": 110,
    "tests/cluster/test_alive_story.py": 100,
    "tests/contract/test_contract.py": 100,
    "tests/cluster/test_install_again.py": 80,
    "tests/cluster/controller/test_pitfall_stories.py": 75,
    "tests/cluster/test_alive_best_effort.py": 70,
    "tests/cluster/test_tenants_installed.py": 70,
    "tests/cluster/controller/test_recreation.py": 60,
    "tests/cluster/controller/test_ledger.py": 60,
    "tests/cluster/test_install.py": 50,
    "tests/cluster/controller/test_telling.py": 45,
    "tests/cluster/controller/test_replicas.py": 40,
    "tests/cluster/controller/test_sweep_by_hand.py": 40,
    "tests/cluster/test_tenant_forced.py": 35,
    "tests/cluster/test_alive_unenforced.py": 30,
}


class Marked(Protocol):
    @property
    def nodeid(self) -> str: ...

    def get_closest_marker(self, name: str) -> object | None: ...


T = TypeVar("T", bound=Marked)


def ordered(items: Sequence[T], *, workers: int) -> list[T]:
    """As `items` where one worker has all of them."""
    modules: dict[str, list[T]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    waiting = [name for name, tests in modules.items() if any(map(_waits, tests))]
    if workers < 2 or not waiting:
        return list(items)
    heads = _shared_out(waiting, modules, parts=workers - 1)
    left = iter([item for name, tests in modules.items() if name not in set(waiting) for item in tests])
    found: list[T] = []
    for number, head in enumerate(heads):
        # As the parts are cut: each worker has its share of what the ones before it left.
        size = (len(items) - len(found)) // (workers - number)
        found += [*head, *islice(left, max(0, size - len(head)))]
    return [*found, *left]


def _shared_out(names: Sequence[str], modules: dict[str, list[T]], *, parts: int) -> list[list[T]]:
    """The longest first, each to who has least."""
    heads: list[list[T]] = [[] for _ in range(parts)]
    load = [0.0] * parts
    for name in sorted(names, key=lambda one: -SECONDS.get(one, 0)):
        least = load.index(min(load))
        heads[least] += modules[name]
        load[least] += SECONDS.get(name, len(modules[name]))
    return heads


def _waits(item: Marked) -> bool:
    return any(item.get_closest_marker(name) for name in WAITING)

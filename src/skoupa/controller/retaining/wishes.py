"""What counts for an object, of what is written on it and of what policies say: the former, where there is any."""

from __future__ import annotations

from collections.abc import Callable

from skoupa.expr.readings import Problem
from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Row
from skoupa.judge.retention import written
from skoupa.judge.retention_rules import Wish


class Wishes:
    """`by_policy` is what policies say of an object."""

    def __init__(self, by_policy: Callable[[Row], Wish | None]) -> None:
        self._by_policy = by_policy

    def of(self, row: Row) -> TtlAfter | Problem | None:
        found = written(row)
        if found is not None:
            return found
        wish = self._by_policy(row)
        return None if wish is None else wish.after or TtlAfter()

    def is_timeless(self, row: Row) -> bool:
        """Whether only that there are too many lets it go."""
        wish = self._by_policy(row)
        return written(row) is None and wish is not None and wish.after is None

    def owners_hold(self, row: Row) -> bool:
        return owners_hold(row, self._by_policy(row))


def owners_hold(row: Row, wish: Wish | None) -> bool:
    """A label on the object replaces the times of policies alone. While they rest none of them lets go of it under an owner."""
    if wish is None or wish.owners_hold:
        return True
    return written(row) is not None and bool(wish.rests)

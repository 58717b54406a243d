"""Why who needs an object is needed in turn: the shortest way up to something that stands for itself.

A ConfigMap is used by a Pod, which a ReplicaSet owns, which a Deployment owns: that one is a root. Owners are gone up first, for who is
owned lives as long as its owner does. Everything on the way was read and is there; cycles end.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from skoupa.facts.rows import Row
from skoupa.usage import finishing
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.worth import is_for_itself
from skoupa.usage.needs import Need, Needed

_LONGEST: Final = 10
_WIDEST: Final = 20


def way_up(looked: Looked, row: Row, need: Need) -> tuple[Need, ...]:
    """Who needs the one that `need` names as a user of `row`, and so on; empty where that stands for itself, or nobody does."""
    start = looked.graph.get(need.by) if need.by is not None else None
    if start is None:
        return ()
    ways: deque[tuple[Row, tuple[Need, ...]]] = deque([(start, ())])
    seen = {row.uid, start.uid}
    dead_end: tuple[Need, ...] | None = None
    while ways:
        above, way = ways.popleft()
        if _is_root(looked, above) or len(way) == _LONGEST:
            return way
        found = looked.needs.of(above, most=_WIDEST)
        steps = found.needs if isinstance(found, Needed) else ()
        for step in steps:
            further = looked.graph.get(step.by) if step.by is not None else None
            if step.by is None:
                # For what it is, or for who tracks it: nobody else has to need it.
                return (*way, step)
            if further is not None and further.uid not in seen:
                seen.add(further.uid)
                ways.append((further, (*way, step)))
        if not steps and dead_end is None:
            dead_end = way
    return dead_end or ()


def _is_root(looked: Looked, row: Row) -> bool:
    if any(looked.graph.by_uid(owner.uid) is not None for owner in row.owners):
        return False
    # What may finish and is found to use others has not.
    at_work = finishing.shipped().ends(kind_name(row.resource)) is Ends.BY_RULE
    return at_work or is_for_itself(row.resource, looked.sight.readings)

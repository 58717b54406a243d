"""What has to be counted before a run of a rule can be weighed: what its objects take along, and how many there are in all.

What can't be counted raises: a run that nobody can weigh does not begin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.weight import count_inside, uncounted
from skoupa.errors import KindUnreadable
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_namespace
from skoupa.kube.kinds import Discovery
from skoupa.sweep.weighing import Part


async def parts_of(
    rows: Sequence[Row], *, counting: Counting, discovery: Discovery, ignore: Collection[str]
) -> dict[Uid, Part]:
    """Each object with what it takes along; kinds to `ignore` need not be countable."""
    weights = await count_inside(rows, counting=counting, discovery=discovery)
    parts = {}
    for row in rows:
        weight = weights.get(row.uid)
        gap = uncounted(weight, ignore=ignore) if weight is not None else ""
        if gap:
            raise KindUnreadable(f"what {row.name} takes along can't all be counted: {gap}")
        along = tuple(weight.objects.items()) if weight is not None else ()
        namespace = row.name if is_namespace(row) else row.namespace
        parts[row.uid] = Part(kind=row.resource.qualified, namespace=namespace, along=along)
    return parts


async def totals_of(
    kinds: Iterable[str], *, counting: Counting, discovery: Discovery, namespaces: Sequence[str]
) -> dict[str, int]:
    """How many there are, in all that is looked after here."""
    resources = {one.qualified: one for one in discovery.preferred()}
    totals = {}
    for kind in kinds:
        resource = resources.get(kind)
        if resource is None:
            # What a Namespace takes along was counted by kind a moment ago: this one went since.
            totals[kind] = 0
            continue
        places = namespaces if resource.namespaced else ()
        totals[kind] = sum([await counting.count(resource, namespace=place) for place in places or ("",)])
    return totals

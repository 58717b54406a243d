"""What labelled objects are good for beside being used: a Service has Pods behind it, a definition objects of its kind.

The questions are about the whole cluster, so what they are answered from is put together for many answers at once and is good for
a moment; putting it together takes no more than a small part of the time. Right before something goes it is put together anew. An object
of which the graph has not seen the state that is judged is not asked about: nobody knows yet.
"""

from __future__ import annotations

from typing import Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.usage_graph import UsageGraph
from skoupa.facts.rows import Row
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.worth import good_for, is_asked
from skoupa.usage.needs import Answer, Needs
from skoupa.usage.sight import Sight

GOOD_SECONDS: Final = 2.0
# So many times longer than it took to put together is it good.
_PART: Final = 10.0


class Worth:
    def __init__(self, clock: Clock, graph: UsageGraph, *, knowledge: Knowledge) -> None:
        self._clock = clock
        self._graph = graph
        self._knowledge = knowledge
        self._looked: Looked | None = None
        self._good_until = 0.0
        self._of = -1

    def doubt(self) -> None:
        """What is asked from now on is answered from what is known now."""
        self._looked = None

    def of(self, row: Row, needs: Needs, sight: Sight, *, unneeded: Answer) -> Answer | None:
        """Whether it goes although nobody needs it; None: that is not known yet."""
        if not is_asked(kind_name(row.resource)):
            return unneeded
        known = self._graph.graph.by_uid(row.uid)
        if known is None or not (known.version == row.version or _is_older(row, known)):
            return None
        found = good_for(self._put_together(needs, sight), row)
        return unneeded if found is None else found

    def _put_together(self, needs: Needs, sight: Sight) -> Looked:
        now = self._clock.monotonic()
        looked = self._looked
        if looked is not None and (self._of == self._graph.changes or now < self._good_until):
            looked.now = self._clock.now()
            return looked
        discovery = self._knowledge.discovery
        looked = self._looked = Looked(
            self._graph.graph,
            needs,
            sight,
            particulars=self._graph.particulars,
            served={one.qualified: kind_name(one) for one in discovery.preferred()},
            now=self._clock.now(),
        )
        looked.put_together()
        self._of = self._graph.changes
        took = self._clock.monotonic() - now
        self._good_until = now + max(GOOD_SECONDS, _PART * took)
        return looked


def _is_older(row: Row, known: Row) -> bool:
    """Where versions are no numbers nobody can tell."""
    return isinstance(row.version, int) and isinstance(known.version, int) and row.version < known.version

"""Which kinds were read in one pass over a cluster, how, and what could not be: what can be said of who uses what.

What could not be read is told with the answer; it never looks like "there is nothing". What the settings waive is told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from skoupa.errors import PASSING, Forbidden, SkoupaError
from skoupa.kube.decoding import Undecodable
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage.graph import Graph, kind_name
from skoupa.usage.objects import is_waived
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Sight, Unread


class KindsRead:
    """`asked` are the kinds whose objects are to be judged, `place` the one namespace to judge in, or empty."""

    def __init__(
        self, readings: Readings, asked: Collection[str], *, place: str, ignored: Iterable[str]
    ) -> None:
        self._readings = readings
        self._asked = asked
        self._place = place
        self._ignored = frozenset(ignored)
        self._all: set[str] = set()
        self._narrow: set[str] = set()
        self._lists_may_come = False
        # With the names that the settings have for them.
        self.walked: dict[str, Resource] = {}
        self.unread: list[Unread] = []
        # Kinds that are to be judged and could not be read at all.
        self.refused: dict[str, SkoupaError] = {}
        self.schemas_unread: SkoupaError | None = None

    @property
    def may_come(self) -> bool:
        """Whether something was not read for a reason that passes."""
        return isinstance(self.schemas_unread, PASSING) or self._lists_may_come

    def all_of(self, kind: str, *, narrow: bool) -> None:
        """Every object was read, or each in the one namespace."""
        self._all.add(kind)
        if narrow:
            self._narrow.add(kind)

    def could_not(self, resource: Resource, error: SkoupaError, *, inside: bool = False) -> None:
        """`inside`: but for those in the one namespace."""
        kind = kind_name(resource)
        self._lists_may_come = self._lists_may_come or isinstance(error, PASSING)
        if kind in self._asked and not inside:
            self.refused.setdefault(kind, error)
        why = (
            f"only those in the namespace {self._place} could be read: {error.brief}"
            if inside
            else error.brief
        )
        self.unread.append(Unread(kind=kind, what=resource.qualified, why=why))

    def could_not_decode(self, resource: Resource, bad: Undecodable) -> None:
        what = f"{resource.qualified}/{bad.name}"
        self.unread.append(Unread(kind=kind_name(resource), what=what, why=bad.why))

    def sight(self, graph: Graph, *, unread: Iterable[Unread], schemas: Collection[Resource]) -> Sight:
        """`unread` beside what is known here; `schemas` are the kinds whose definition was read."""
        every = (*self.unread, *unread, *self._searched_blindly(schemas))
        return Sight(
            readings=self._readings,
            read=frozenset(self._all),
            walked=frozenset(self.walked),
            unread=tuple(one for one in every if not is_waived(one, self._ignored)),
            waived=tuple(one for one in every if is_waived(one, self._ignored)),
            place=self._place,
            narrow=frozenset(self._narrow),
            ignored=self._ignored,
            overlooked=tuple(self._overlooked(graph)),
        )

    def _overlooked(self, graph: Graph) -> Iterator[Unread]:
        for row, doubts in graph.doubtful():
            kind = kind_name(row.resource)
            found = Unread(kind=kind, what=row.resource.qualified, why=f"{row.name}: {'; '.join(doubts)}")
            if is_waived(found, self._ignored):
                yield found

    def _searched_blindly(self, schemas: Collection[Resource]) -> Iterator[Unread]:
        """Custom kinds of which only a definition says what some fields name, and it could not be read."""
        if self.schemas_unread is None:
            return
        error = self.schemas_unread
        why = "no permission" if isinstance(error, Forbidden) else error.brief
        why = f"their definition says which fields name something, and can't be read: {why}"
        for kind, resource in self.walked.items():
            if resource.group not in BUILT_IN_GROUPS and resource not in schemas:
                yield Unread(kind=kind, what=resource.qualified, why=why)

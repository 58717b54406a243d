"""What is known of a labelled object beside its row, put together: has it finished, who needs it, since when does nobody.

Where something is still being read the answer is that nobody knows yet; it is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.controller.retaining.labelled import SECRET, Labelled, Noted
from skoupa.controller.retaining.secret_types import SecretTypes
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.controller.retaining.usage_graph import UsageGraph
from skoupa.controller.retaining.worth import Worth
from skoupa.facts.rows import Row
from skoupa.usage import never
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.worth import for_itself
from skoupa.usage.needs import Answer, Need, Needed, Needs
from skoupa.usage.sight import Sight

_MOST_PROOFS: Final = 3


class FollowedEvidence:
    """`since_of` is who keeps the moments; `owners_hold` says whether it matters who owns an object."""

    def __init__(
        self,
        labelled: Labelled,
        *,
        graph: UsageGraph,
        feeds: UsageFeeds,
        types: SecretTypes,
        worth: Worth,
        since_of: Callable[[Row, float], float | None],
        owners_hold: Callable[[Row], bool],
    ) -> None:
        self._labelled = labelled
        self._graph = graph
        self._feeds = feeds
        self._types = types
        self._worth = worth
        self._since_of = since_of
        self._owners_hold = owners_hold
        self._needs: Needs | None = None
        self._sight: Sight | None = None

    def doubt(self) -> None:
        """What can be seen, or understood, is another now."""
        self._needs = None
        self._worth.doubt()

    def finish(self, row: Row) -> Finish | Doubt | None:
        return self._labelled.finish(row)

    def ends(self, row: Row) -> Ends:
        return self._labelled.ends(row)

    def since(self, row: Row, now: float) -> float | None:
        return self._since_of(row, now)

    def needs(self, row: Row) -> Answer | None:
        noted = self._labelled.noted(row)
        if noted is None or noted.row.version != row.version:
            # This very state of it is being read.
            return None
        nature = self._nature(row, noted)
        if nature:
            return Needed((Need(how="never", why=nature),))
        sight = self._feeds.sight()
        if self._needs is None or sight is not self._sight:
            self._needs = Needs(self._graph.graph, sight, mentioning=self._graph.mentioning)
            self._sight = sight
        found = self._needs.of(row, most=_MOST_PROOFS, owners=self._owners_hold(row))
        if isinstance(found, Needed):
            return found
        alone = for_itself(row, ends=self.ends(row), finish=self.finish(row), readings=self._graph.readings)
        if alone is not None:
            return alone
        if nature is None or self._feeds.awaited:
            # Who needs it may be among what is still to be read.
            return None
        told = None
        if noted.metadata is not None:
            told = self._graph.deployers.reason(kind_name(row.resource), noted.metadata)
        if told is not None:
            return Needed((Need(how="tracker", why=told),))
        return self._worth.of(row, self._needs, sight, unneeded=found)

    def _nature(self, row: Row, noted: Noted) -> str | None:
        """Why it is never garbage, or that it may be (empty); None: that is not known yet."""
        if noted.nature or kind_name(row.resource) != SECRET or noted.metadata is None:
            return noted.nature
        type_ = self._types.of(row)
        return None if type_ is None else never.reason(noted.metadata, SECRET, type_) or ""

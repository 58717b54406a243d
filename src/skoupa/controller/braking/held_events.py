"""Due Events that wait for Brakes: nobody keeps rows of them, so how many there are is told by each look at them.

What is known is as of the last look, a minute ago at most; at the beginning of a lead there was none yet. Who let go what a Brake held forgets it here, so that nothing is
allowed twice; the next look counts anew. A run is weighed without its Events, so a Brake that stops one stands for none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from skoupa.facts.rows import Row
from skoupa.model.verdicts import Claim

_SAMPLED: Final = 20


class HeldPart(NamedTuple):
    """Of one rule, in one namespace: they wait for all these Brakes, and for nothing else."""

    rule: str
    namespace: str
    brakes: frozenset[str]


class EventsSeen:
    """One look at them, as far as it went."""

    def __init__(self) -> None:
        self.numbers: Counter[HeldPart] = Counter()
        self.sample: dict[str, list[str]] = {}

    def note(self, row: Row, claim: Claim, brakes: frozenset[str]) -> None:
        if not brakes:
            # Something else holds it.
            return
        self.numbers[HeldPart(claim.rule, row.namespace, brakes)] += 1
        for name in brakes:
            named = self.sample.setdefault(name, [])
            if len(named) < _SAMPLED:
                named.append(f"{row.resource.kind}/{row.namespace}/{row.name}")


class HeldEvents:
    def __init__(self) -> None:
        self._seen = EventsSeen()
        self._looked = True
        # Whether some rule takes any, as far as is known.
        self.taken: Callable[[], bool] = lambda: False
        # Set when a lead begins: somebody may wait for a look.
        self.begun = asyncio.Event()

    def begin(self) -> None:
        """Another replica may have led meanwhile, or nobody."""
        self._seen, self._looked = EventsSeen(), False
        self.begun.set()

    @property
    def unknown(self) -> bool:
        """Whether nobody has looked in this lead, and there may be some."""
        return not self._looked and self.taken()

    def tell(self, seen: EventsSeen) -> None:
        self._seen, self._looked = seen, True

    def number(self, brake: str) -> int:
        return sum(number for part, number in self._seen.numbers.items() if brake in part.brakes)

    def sample(self, brake: str) -> list[str]:
        return self._seen.sample.get(brake, [])

    def let_go(self, brake: str, *, standing: Collection[str] | None) -> Iterator[tuple[HeldPart, int]]:
        """What goes when this one does; `standing` are those that hold still, None: nobody knows which."""
        for part, number in self._seen.numbers.items():
            others = part.brakes - {brake}
            if brake in part.brakes and not (others if standing is None else others & set(standing)):
                yield part, number

    def forget(self, brake: str) -> None:
        """It was let go."""
        kept = EventsSeen()
        kept.sample = {name: named for name, named in self._seen.sample.items() if name != brake}
        for part, number in self._seen.numbers.items():
            if left := part.brakes - {brake}:
                kept.numbers[part._replace(brakes=left)] += number
        self._seen = kept

"""A run of a rule, weighed as a whole before the first of it goes: over a limit, nothing of it goes.

What is asked: how many objects of kinds that are parents or hold data, what part of a kind, how many in all, how many
times the largest run so far, and whether the ceilings have room for all of it. A Namespace or a definition counts as
what is in it. Pure: whoever calls has counted, and pulls the Brake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from skoupa.facts.rows import Uid
from skoupa.judge.mechanism import Run
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kinds.brake_reading import Brake
from skoupa.kinds.naming import means
from skoupa.kube.kinds import Discovery
from skoupa.settings import BrakeSettings
from skoupa.sweep.ceilings import Ceilings, Going
from skoupa.sweep.tripping import CEILING_SPANS, Tripped, brake_name, is_numbered, of_ceiling

# What a run can be stopped by, as the names of its Brakes begin.
_SPANS: Final = ("parents", "share", "max-per-run", "surge", *CEILING_SPANS)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One object that a run claims: its kind, where it is, and how many of each kind it takes along.

    `unnamed` went along too, and nobody knows any more what kinds that was.
    """

    kind: str
    namespace: str
    along: tuple[tuple[str, int], ...] = ()
    unnamed: int = 0

    @property
    def weight(self) -> int:
        return 1 + sum(number for _, number in self.along) + self.unnamed


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run claims: what it may take still, and what of it went already."""

    run: Run
    claimed: Mapping[Uid, Part]
    gone: tuple[Part, ...] = ()

    @property
    def parts(self) -> Iterator[Part]:
        yield from self.claimed.values()
        yield from self.gone

    @property
    def weight(self) -> int:
        return sum(part.weight for part in self.parts)

    def kinds(self) -> Counter[str]:
        """How many of each kind would be gone, with what goes along."""
        return _counted(self.parts)

    def goings(self, *, but: Callable[[Uid], bool] | None = None) -> Iterator[Going]:
        """Only what is still to go: the ceilings have counted the rest."""
        for uid, part in self.claimed.items():
            if but is not None and but(uid):
                continue
            yield Going(
                namespace=part.namespace,
                rule=self.run.rule,
                weight=part.weight,
                kind=part.kind,
                mechanism=self.run.mechanism,
            )


class Scales:
    """`largest` is the weight of the largest run of this generation of the rule; None: there was none.

    `discovery` tells of the kinds that there are: the settings name parents as people name kinds.
    """

    def __init__(
        self,
        brakes: BrakeSettings,
        ceilings: Ceilings,
        *,
        discovery: Callable[[], Discovery],
    ) -> None:
        self._brakes = brakes
        self._ceilings = ceilings
        self._discovery = discovery

    def doubtful(self, load: Load) -> list[str]:
        """Kinds of which has to be known how many there are."""
        if load.run.usual:
            return []
        return [kind for kind, number in load.kinds().items() if number > self._brakes.share_over]

    def weigh(
        self,
        load: Load,
        *,
        totals: Mapping[str, int],
        largest: int | None,
        settled: Callable[[Uid], bool] | None = None,
    ) -> Tripped | None:
        """What is wrong with it; `totals` says for each doubtful kind how many there are now.

        `settled`: it is gone, or goes and has used what was released of this rule. Asking for that again would be twice.
        """
        but = settled if self._ceilings.allowances else None
        if self._ceilings.allow(load.goings(but=but), edition=load.run.edition):
            return None
        return next(self.objections(load, totals=totals, largest=largest), None)

    def objections(self, load: Load, *, totals: Mapping[str, int], largest: int | None) -> Iterator[Tripped]:
        """All that is wrong with it, for who wants to know beforehand."""
        yield from self._parents(load)
        if not load.run.usual:
            yield from self._share(load, totals)
        yield from self._most(load)
        if not load.run.usual:
            yield from self._surge(load, largest)
        trip = self._ceilings.too_many(load.goings())
        if trip is not None:
            full = of_ceiling(trip)
            yield _tripped(load, full.span, f"claims {load.weight} objects at once, too many: {full.by}")

    def _parents(self, load: Load) -> Iterator[Tripped]:
        most = self._brakes.parents_most
        claimed = load.kinds()
        many = {kind for kind, number in claimed.items() if number > most}
        for kind in self._named_parents(many):
            directly = sum(part.kind == kind for part in load.parts)
            inside = "" if directly == claimed[kind] else " with what goes along"
            said = f"claims {claimed[kind]} {kind}{inside}, which hold data or take much along: more than the {most}"
            yield _tripped(load, "parents", f"{said} of brakes.parentsMost")

    def _named_parents(self, kinds: Collection[str]) -> Iterable[str]:
        """Those of them that are parents, each once and in the order of the settings."""
        if not kinds:
            return ()
        known = [resource for resource in self._discovery().preferred() if resource.qualified in kinds]
        named: list[str] = []
        for text in self._brakes.parents:
            named += (text, *(one.qualified for one in known if means(text, one)))
        return [kind for kind in dict.fromkeys(named) if kind in kinds]

    def _share(self, load: Load, totals: Mapping[str, int]) -> Iterator[Tripped]:
        gone = _counted(load.gone)
        for kind, number in load.kinds().most_common():
            if number <= self._brakes.share_over:
                return
            total = max(number, totals[kind] + gone[kind])
            if number * 100 > self._brakes.share * total:
                part = f"claims {number} of all {total} {kind} ({number * 100 // total} %)"
                yield _tripped(load, "share", f"{part}: more than the {self._brakes.share} % of brakes.share")

    def _most(self, load: Load) -> Iterator[Tripped]:
        own = load.run.most
        if own is not None and load.weight > own:
            yield _tripped(
                load, "max-per-run", f"claims {load.weight} objects: more than the {own} it allows itself"
            )
        if load.weight > self._brakes.max_per_run:
            said = f"claims {load.weight} objects in one run: more than the {self._brakes.max_per_run}"
            yield _tripped(load, "max-per-run", f"{said} of brakes.maxPerRun")

    def _surge(self, load: Load, largest: int | None) -> Iterator[Tripped]:
        if largest is None or load.weight <= self._brakes.surge_over:
            return
        if load.weight > self._brakes.surge_factor * largest:
            said = f"claims {load.weight} objects, and its largest run so far had {largest}: more than"
            yield _tripped(
                load, "surge", f"{said} {self._brakes.surge_factor} times as many (brakes.surgeFactor)"
            )


def stops_a_run(brake: Brake) -> bool:
    """Whether a run was over a limit, and this Brake stands for the question whether it may go all the same."""
    return _stops_a_run(brake.name, brake.scope)


@lru_cache(maxsize=64)
def _stops_a_run(name: str, scope: Scope) -> bool:
    rule = scope.policy
    if rule is None or scope != Scope(policy=rule):
        return False
    return any(is_numbered(brake_name(span, rule), name) for span in _SPANS)


def _counted(parts: Iterable[Part]) -> Counter[str]:
    found: Counter[str] = Counter()
    for part in parts:
        found[part.kind] += 1
        for kind, number in part.along:
            found[kind] += number
    return found


def _tripped(load: Load, span: str, said: str) -> Tripped:
    rule = load.run.rule
    by = f"{rule} {said}; nothing of it went"
    if load.gone:
        by = f"{rule} {said}; {len(load.gone)} went before, and no more do"
    return Tripped(
        name=brake_name(span, rule),
        spec=BrakeSpec(scope=Scope(policy=rule), reason=by),
        span=span,
        by=by,
        claims=f"{rule} {said}",
        count=load.weight,
        edition=load.run.edition,
        objects=len(load.claimed),
    )

"""How much may go within a minute and an hour: in all, from one namespace, by one rule.

A reservation is taken from every ceiling before a delete is sent, so nothing overshoots; what did not go gives it back.
Windows slide by the second, and count what went before a restart once that is told (`rebuild`). A ceiling that is
reached trips for its scope: what is to be done about it is not decided here. An allowance lets as much pass as somebody
released on purpose, before the ceilings count again; what nobody used by its time is forgotten. One for a rule ends when the
rule is another (`outdate`). An object that several rules claim was counted for each that was released, and uses up all of these,
whichever it goes by: what is left over would be for others, of which nobody has approved. What is told of the time before a
restart uses up the allowances of that time, just as it did then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from skoupa.clock import Clock
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.sweep.allowances import Allowance, Grant, Span, Whose
from skoupa.sweep.windows import Window

Key = tuple[Span, str]
MINUTE: Final = 60
HOUR: Final = 3600
_SPANS: Final[tuple[Span, ...]] = ("rule", "namespace", "all")


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """`most` within `seconds` for each scope of this `span`."""

    span: Span
    seconds: int
    most: int


class By(NamedTuple):
    """Who claims an object, as the ceilings see it."""

    mechanism: str
    rule: str


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """One deletion as the ceilings see it. `rule` is empty where nobody's rule but the object's own label decides.

    `kind` (as kubectl shows it), `mechanism` and `also`, those who claim it as well, matter for allowances only.
    """

    namespace: str = ""
    rule: str = ""
    weight: int = 1
    kind: str = ""
    mechanism: str = ""
    also: tuple[By, ...] = ()

    @property
    def is_bounded_elsewhere(self) -> bool:
        """A tenant's deletion is large by nature: it is bounded to that tenant, and by tenants.mostObjects."""
        return self.mechanism == TENANTS

    def claimed(self) -> Iterator[tuple[By, Going]]:
        """As it would go by each of the others."""
        for by in self.also:
            yield by, msgspec.structs.replace(self, mechanism=by.mechanism, rule=by.rule, also=())

    def scopes(self) -> Iterator[Key]:
        yield "all", ""
        if self.namespace:
            yield "namespace", self.namespace
        if self.rule:
            yield "rule", self.rule


class Trip(msgspec.Struct, frozen=True, kw_only=True):
    """A ceiling that one more deletion would break: whose it is, and how much has gone."""

    ceiling: Ceiling
    name: str
    gone: int
    weight: int


class Used(NamedTuple):
    """What was taken from an allowance for somebody who claims the object too."""

    by: By
    whose: Whose
    number: int


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    going: Going
    second: int
    # The allowance that it came from, if it did not count against the ceilings.
    allowed_by: Whose | None = None
    beside: tuple[Used, ...] = ()

    def has_used(self, rule: str) -> bool:
        """Whether it took from what was released of this rule."""
        used = (self.allowed_by, *(one.whose for one in self.beside))
        return any(whose is not None and (whose.span, whose.name) == ("rule", rule) for whose in used)


class Ceilings:
    def __init__(self, clock: Clock, ceilings: Iterable[Ceiling]) -> None:
        self._clock = clock
        self._ceilings = tuple(ceilings)
        self._lengths = {ceiling.seconds for ceiling in self._ceilings}
        self._longest = max(self._lengths, default=0)
        self._windows: dict[Key, Window] = {}
        self.allowances: dict[Whose, Allowance] = {}
        # Hears that nothing is left of an allowance.
        self.on_used_up: Callable[[], None] = lambda: None

    def reserve(self, going: Going) -> Reservation | Trip:
        now = self._clock.now()
        second = int(now)
        if going.is_bounded_elsewhere:
            # What others claim too was counted for them where that was released.
            beside = self._take_beside(going, now)
            self._tell_used_up(*(one.whose for one in beside))
            return Reservation(going=going, second=second, beside=beside)
        allowed_by = self._take_allowance(going, now) if self.allowances else None
        if allowed_by is not None:
            beside = self._take_beside(going, now)
            self._tell_used_up(allowed_by, *(one.whose for one in beside))
            return Reservation(going=going, second=second, allowed_by=allowed_by, beside=beside)
        keys = dict(going.scopes())
        for ceiling in self._ceilings:
            name = keys.get(ceiling.span)
            if name is None:
                continue
            gone = self._gone(ceiling, name, second)
            if gone + going.weight > ceiling.most:
                return Trip(ceiling=ceiling, name=name, gone=gone, weight=going.weight)
        self._count(going, second)
        beside = self._take_beside(going, now)
        self._tell_used_up(*(one.whose for one in beside))
        return Reservation(going=going, second=second, beside=beside)

    def _tell_used_up(self, *used: Whose) -> None:
        if not all(map(self.allowed, used)):
            self.on_used_up()

    def too_many(self, goings: Iterable[Going]) -> Trip | None:
        """The first ceiling that has no room for all of these together; nothing is taken from any."""
        second = int(self._clock.now())
        sums: dict[Key, int] = {}
        for going in goings:
            for key in going.scopes():
                sums[key] = sums.get(key, 0) + going.weight
        for ceiling in self._ceilings:
            for (span, name), weight in sums.items():
                gone = self._gone(ceiling, name, second) if span == ceiling.span else 0
                if span == ceiling.span and gone + weight > ceiling.most:
                    return Trip(ceiling=ceiling, name=name, gone=gone, weight=weight)
        return None

    def allow(self, goings: Iterable[Going], *, edition: str) -> bool:
        """Whether somebody released so much of each kind on purpose, while the rule by which they go was of this edition."""
        sums: dict[Going, int] = {}
        for going in goings:
            one = msgspec.structs.replace(going, namespace="", weight=1)
            sums[one] = sums.get(one, 0) + going.weight
        return all(self._released(going, edition) >= weight for going, weight in sums.items())

    def _released(self, going: Going, edition: str) -> int:
        found = (one for one in self.allowances if one.span == "rule" and one.edition == edition)
        return sum(self.allowed(whose) for whose in found if is_for(whose, going))

    def outdate(self, rule: str, *, edition: str) -> bool:
        """The rule is of this edition now: what was allowed for another one is not for it. Whether there was any."""
        rules = (one for one in self.allowances if one.span == "rule" and one.name == rule)
        old = [whose for whose in rules if whose.edition != edition]
        for whose in old:
            del self.allowances[whose]
        return bool(old)

    def allowed(self, whose: Whose) -> int:
        """How much is left of what was released."""
        found = self.allowances.get(whose)
        return found.left(self._clock.now()) if found is not None else 0

    def give_back(self, reservation: Reservation) -> None:
        """Nothing went: the next may go instead."""
        going = reservation.going
        for one in reservation.beside:
            self._return(one.whose, one.number)
        if going.is_bounded_elsewhere:
            return
        if reservation.allowed_by is not None:
            self._return(reservation.allowed_by, going.weight)
            return
        for key in going.scopes():
            window = self._windows.get(key)
            if window is not None:
                window.take_back(reservation.second, going.weight)

    def _return(self, whose: Whose, number: int) -> None:
        found = self.allowances.get(whose)
        if found is not None:
            found.give_back(number, self._clock.now())

    def grant(self, grant: Grant) -> None:
        """Lets so many of this scope pass without counting them."""
        found = self.allowances.setdefault(grant.whose, Allowance())
        found.grant(grant.number, until=grant.until, now=grant.at)

    def rebuild(self, gone: Iterable[tuple[float, Going]], grants: Iterable[Grant] = ()) -> None:
        """Counts what went before this process began, or led; what was counted here is part of it.

        What went by an allowance is not counted, and is not left of it. Allowances are nobody else's from then on.
        """
        self._windows, self.allowances = {}, {}
        ahead = deque(sorted(grants, key=lambda grant: grant.at))
        for at, going in sorted(gone, key=lambda one: one[0]):
            while ahead and ahead[0].at <= at:
                self.grant(ahead.popleft())
            counts = not going.is_bounded_elsewhere
            if counts and self._take_allowance(going, at) is None:
                self._count(going, int(at))
            self._take_beside(going, at)
        for grant in ahead:
            self.grant(grant)

    def _gone(self, ceiling: Ceiling, name: str, second: int) -> int:
        window = self._windows.get((ceiling.span, name))
        return window.within(second, ceiling.seconds) if window is not None else 0

    def _take_allowance(self, going: Going, now: float) -> Whose | None:
        """From the narrowest: what was released of one rule must not be left over because others were allowed as well."""
        for whose, found in sorted(self.allowances.items(), key=_width):
            if not found.left(now):
                del self.allowances[whose]
            elif is_for(whose, going) and found.take(going.weight, now):
                return whose
        return None

    def _take_beside(self, going: Going, now: float) -> tuple[Used, ...]:
        """For each other who claims it from the narrowest, but for what it could have gone by itself: there it counted once."""
        taken: dict[Whose, Used] = {}
        for by, claimed in going.claimed() if self.allowances else ():
            for whose, found in sorted(self.allowances.items(), key=_width):
                if whose in taken or is_for(whose, going) or not is_for(whose, claimed):
                    continue
                if number := found.take_what_is_left(going.weight, now):
                    taken[whose] = Used(by, whose, number)
                    break
        return tuple(taken.values())

    def _count(self, going: Going, second: int) -> None:
        for key in going.scopes():
            window = self._windows.get(key)
            if window is None:
                self._forget_quiet(second)
                window = self._windows[key] = Window(self._lengths)
            window.add(second, going.weight)

    def _forget_quiet(self, second: int) -> None:
        """Namespaces come and go; one that saw nothing for long needs no window."""
        if len(self._windows) % 1000 == 999:
            before = second - self._longest
            self._windows = {key: window for key, window in self._windows.items() if window.newest >= before}


def _width(one: tuple[Whose, Allowance]) -> tuple[int, bool, bool]:
    whose = one[0]
    return _SPANS.index(whose.span), not whose.kind, not whose.mechanism


def is_for(whose: Whose, going: Going) -> bool:
    """Whether such an allowance lets it pass; whether its rule is the same still is for who keeps allowances.

    What no ceiling counts needs none.
    """
    if going.is_bounded_elsewhere:
        return False
    name = going.namespace if whose.span == "namespace" else going.rule
    return (
        (whose.span == "all" or whose.name == name)
        and whose.kind in {"", going.kind}
        and whose.mechanism in {"", going.mechanism}
    )


def is_used_by(whose: Whose, going: Going) -> bool:
    """Whether it takes from such an allowance, by whichever Claim it goes."""
    return is_for(whose, going) or any(is_for(whose, claimed) for _, claimed in going.claimed())

"""How much may go within a minute and an hour: in all, from one namespace, by one rule.

A reservation is taken from every ceiling before a delete is sent, so nothing overshoots; what did not go gives it back.
Windows slide by the second, and count what went before a restart once that is told (`rebuild`). A ceiling that is
reached trips for its scope: what is to be done about it is not decided here. An allowance lets as much pass as somebody
released on purpose, before the ceilings count again; what nobody used by its time is forgotten. One for a rule ends when the
rule is another (`outdate`). What is told of the time before a restart uses up the allowances of that time, just as it did then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.sweep.allowances import Allowance, Grant, Span, Whose

Key = tuple[Span, str]
MINUTE: Final = 60
HOUR: Final = 3600
_SPANS: Final[tuple[Span, ...]] = ("rule", "namespace", "all")


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """`most` within `seconds` for each scope of this `span`."""

    span: Span
    seconds: int
    most: int


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """One deletion as the ceilings see it. `rule` is empty where nobody's rule but the object's own label decides.

    `kind` (as kubectl shows it) and `mechanism` matter for allowances only.
    """

    namespace: str = ""
    rule: str = ""
    weight: int = 1
    kind: str = ""
    mechanism: str = ""

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


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    going: Going
    second: int
    # The allowance that it came from, if it did not count against the ceilings.
    allowed_by: Whose | None = None


class Ceilings:
    def __init__(self, clock: Clock, ceilings: Iterable[Ceiling]) -> None:
        self._clock = clock
        self._ceilings = tuple(ceilings)
        self._lengths = {ceiling.seconds for ceiling in self._ceilings}
        self._longest = max(self._lengths, default=0)
        self._windows: dict[Key, _Window] = {}
        self.allowances: dict[Whose, Allowance] = {}

    def reserve(self, going: Going) -> Reservation | Trip:
        second = int(self._clock.now())
        allowed_by = self._take_allowance(going, self._clock.now()) if self.allowances else None
        if allowed_by is not None:
            return Reservation(going=going, second=second, allowed_by=allowed_by)
        keys = dict(going.scopes())
        for ceiling in self._ceilings:
            name = keys.get(ceiling.span)
            if name is None:
                continue
            gone = self._gone(ceiling, name, second)
            if gone + going.weight > ceiling.most:
                return Trip(ceiling=ceiling, name=name, gone=gone, weight=going.weight)
        self._count(going, second)
        return Reservation(going=going, second=second)

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
        if reservation.allowed_by is not None:
            found = self.allowances.get(reservation.allowed_by)
            if found is not None:
                found.give_back(going.weight, self._clock.now())
            return
        for key in going.scopes():
            window = self._windows.get(key)
            if window is not None:
                window.take_back(reservation.second, going.weight)

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
            if self._take_allowance(going, at) is None:
                self._count(going, int(at))
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

    def _count(self, going: Going, second: int) -> None:
        for key in going.scopes():
            window = self._windows.get(key)
            if window is None:
                self._forget_quiet(second)
                window = self._windows[key] = _Window(self._lengths)
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
    """Whether such an allowance lets it pass; whether its rule is the same still is for who keeps allowances."""
    name = going.namespace if whose.span == "namespace" else going.rule
    return (
        (whose.span == "all" or whose.name == name)
        and whose.kind in {"", going.kind}
        and whose.mechanism in {"", going.mechanism}
    )


class _Window:
    """Counts of one scope, for each length of time that some ceiling has."""

    def __init__(self, lengths: Iterable[int]) -> None:
        self._sums = {length: _Sum(length) for length in lengths}
        self.newest = 0

    def add(self, second: int, number: int) -> None:
        # A clock that was set back: it counts as of the newest second, so that nothing is forgotten too soon.
        self.newest = max(self.newest, second)
        for found in self._sums.values():
            found.add(self.newest, number)

    def take_back(self, second: int, number: int) -> None:
        for found in self._sums.values():
            found.take_back(second, number)

    def within(self, second: int, length: int) -> int:
        return self._sums[length].at(second)


class _Sum:
    """How many within the last `length` seconds: counts by the second, the oldest first, and their sum.

    Seconds that are over are forgotten as they are met, so that asking costs the same however much went.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._seconds: deque[list[int]] = deque()
        self._total = 0

    def add(self, second: int, number: int) -> None:
        self._total += number
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1][1] += number
        else:
            self._seconds.append([second, number])
            self.at(second)

    def take_back(self, second: int, number: int) -> None:
        """What is not in the window any more needs no taking back."""
        for entry in reversed(self._seconds):
            if entry[0] <= second:
                if entry[0] == second:
                    entry[1] -= number
                    self._total -= number
                return

    def at(self, second: int) -> int:
        while self._seconds and self._seconds[0][0] <= second - self._length:
            self._total -= self._seconds.popleft()[1]
        return self._total

"""The way back: who points at a thing, where both are numbers.

Half of all things in a cluster have one user, and some have all of them (the ServiceAccount `default`): a number alone where
one points at it, an array where several do. Who ceased to point stays in the array until half of it is of that sort, so that
no change costs more for a thing that everybody uses. Therefore `candidates` may name too many, and never too few; `points`
says who still does.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable
from typing import Final
from weakref import WeakMethod

# Arrays that are this small are not worth tidying up.
_FEW: Final = 8


def weakly(points: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
    """For whoever holds a PointedAt itself: a graph that nobody holds is gone at once: it is too large to wait until somebody collects circles."""
    method = WeakMethod(points)

    def asked(user: int, thing: int) -> bool:
        known = method()
        return known is not None and known(user, thing)

    return asked


class PointedAt:
    def __init__(self, points: Callable[[int, int], bool]) -> None:
        self._points = points
        self._users: list[int | array[int] | None] = []
        self._living = array("I")
        self._pointed_at = 0

    def __len__(self) -> int:
        """How many things somebody points at."""
        return self._pointed_at

    def candidates(self, thing: int) -> Iterable[int]:
        users = self._users[thing] if thing < len(self._users) else None
        if users is None:
            return ()
        return (users,) if isinstance(users, int) else dict.fromkeys(users)

    def add(self, things: Collection[int], user: int) -> list[int]:
        """For a user that did not point at these before; those at which nobody did."""
        first: list[int] = []
        if missing := max(things, default=-1) + 1 - len(self._users):
            self._make_room(missing)
        all_users, living = self._users, self._living
        for thing in things:
            users = all_users[thing]
            if users is None:
                all_users[thing] = user
                first.append(thing)
            elif isinstance(users, int):
                all_users[thing] = array("I", (users, user))
            else:
                users.append(user)
            living[thing] += 1
        self._pointed_at += len(first)
        return first

    def _make_room(self, number: int) -> None:
        if number > 0:
            self._users.extend([None] * number)
            self._living.extend([0] * number)

    def drop(self, thing: int, user: int) -> None:
        """For a user that pointed at it, after it has ceased to."""
        users = self._users[thing]
        self._living[thing] -= 1
        living = self._living[thing]
        if not living:
            self._users[thing] = None
            self._pointed_at -= 1
        elif isinstance(users, array) and len(users) > 2 * living + _FEW:
            left = (one for one in dict.fromkeys(users) if one != user and self._points(one, thing))
            self._users[thing] = array("I", left)
        if not self._pointed_at:
            self._users, self._living = [], array("I")

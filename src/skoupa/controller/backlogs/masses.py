"""Labellings of many objects as they are remembered: which are one and the same, and of which of them a label is.

How one is found is in `late_labels`, what follows from it in `backlog`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.controller.backlogs.late_labels import LABELLING_SECONDS, may_belong

MOST_MASSES: Final = 10


class Mass(msgspec.Struct, kw_only=True, rename="camel"):
    """One labelling of many objects: when its labels were written, how many, and the Brake that shows it."""

    start: int
    end: int
    count: int
    brake: str = ""


def mass_at(masses: Iterable[Mass], moment: int, *, witnessed: bool) -> Mass | None:
    """The one that a label is of which was written then.

    Of those that it may be of it is the last: to accept an earlier one does not let it go.
    """
    may_be = (mass for mass in masses if may_belong(moment, mass.start, mass.end, witnessed=witnessed))
    return max(may_be, key=lambda mass: mass.start, default=None)


def add_mass(masses: list[Mass], mass: Mass, *, accepted_at: float) -> None:
    """One that was written down before a restart; what was counted since may be the same one, or several parts of it."""
    parts = [own for own in masses if _touch(own, mass)]
    if not parts:
        if mass.end > accepted_at:
            masses.append(mass)
        return
    same, *others = parts
    for part in (mass, *others):
        same.start, same.end = min(same.start, part.start), max(same.end, part.end)
        same.count = max(same.count, part.count)
    same.brake = mass.brake or same.brake
    for part in others:
        masses.remove(part)


def put_in_order(masses: list[Mass]) -> None:
    """The earliest first, and no more than a few.

    Labels of an unknown time make a new one at each restart. A mass has no upper end: the earliest says it all.
    """
    masses.sort(key=lambda mass: mass.start)
    while len(masses) > MOST_MASSES:
        last = masses.pop()
        masses[-1].end = max(masses[-1].end, last.end)
        masses[-1].count = max(masses[-1].count, last.count)


def _touch(one: Mass, other: Mass) -> bool:
    return one.start <= other.end + LABELLING_SECONDS and other.start <= one.end + LABELLING_SECONDS

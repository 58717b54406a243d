"""What was looked at, and what was not: whether "nothing points at it" can be said at all.

A kind whose list failed, that may not be read, or that the server could not tell, may point at anything that its rules can
point at; one without rules at everything. What the settings waive (`usage.ignoreKinds`) is not among them any more.
"""

from __future__ import annotations

import msgspec

from skoupa.kube.resources import Resource
from skoupa.usage import tracking
from skoupa.usage.edges.patterns import ANYTHING
from skoupa.usage.reading import Readings
from skoupa.usage.silent import SILENT
from skoupa.usage.texts import TELLING


class Unread(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A kind that was not read, or not all of it; `kind` is `GROUP/*` where nobody knows which kinds there are.

    `what` is its name as kubectl shows it.
    """

    kind: str
    what: str
    why: str

    @property
    def group(self) -> str:
        return self.kind.rpartition("/")[0]


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """`read` are the kinds of which every object is known, `walked` those of them that no rules are known for and that exist.

    `waived` were not read either, and the settings say that this need not hold anything. Where only one namespace was looked
    at it is `place`, and `narrow` are the kinds of which only those in it were read, since others can't point at what is judged.
    """

    readings: Readings
    read: frozenset[str]
    walked: frozenset[str] = frozenset()
    unread: tuple[Unread, ...] = ()
    waived: tuple[Unread, ...] = ()
    place: str = ""
    narrow: frozenset[str] = frozenset()
    # As the settings name the kinds that they waive, and what was read of these and could not be understood.
    ignored: frozenset[str] = frozenset()
    overlooked: tuple[Unread, ...] = ()

    def gap(self, kind: str, *, namespace: str = "") -> Unread | None:
        """Why objects of this kind, in that namespace where one is said, may exist that nobody has seen."""
        if kind in self.narrow and namespace not in ("", self.place):
            return Unread(kind=kind, what=kind, why=f"only those in the namespace {self.place} were read")
        if kind in self.read:
            return None
        group_of_it = f"{kind.rpartition('/')[0]}/{ANYTHING}"
        return next((one for one in (*self.unread, *self.waived) if one.kind in (kind, group_of_it)), None)

    def blind_for(self, kind: str) -> tuple[Unread, ...]:
        """What was not read and could point at objects of this kind."""
        return tuple(one for one in self.unread if self.may_point(one.kind, kind))

    def heeds(self, resource: Resource) -> bool:
        """Whether it matters that an object of this kind can't be understood."""
        return resource.qualified not in self.ignored and f"*.{resource.group}" not in self.ignored

    def may_point(self, user: str, kind: str) -> bool:
        """Whether objects of the kind `user` can point at objects of `kind`."""
        if user.rpartition("/")[2] == ANYTHING or user in tracking.KINDS or user in TELLING:
            return True
        pointing = self.readings.may_point_at(kind)
        if user in pointing or ANYTHING in pointing:
            return True
        return user not in self.readings.kinds() and user not in SILENT

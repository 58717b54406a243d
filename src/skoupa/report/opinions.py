"""What a running controller has to say of objects that somebody asks about: what holds them there.

Some holds only the controller can know: that it could not put an object into the trash, that its ledger is away, which
rights it has. Others are found by everybody; they are told as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from skoupa.facts.rows import Row
from skoupa.judge.brakes import Pulled
from skoupa.model.verdicts import Verdict

Acts = Literal["acts", "observes", "stands-by", "starts"]


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an object stays, in one word (the code of a reason, `failing`, `hanging` or `unseen`) and in words."""

    code: str
    text: str


class Opinion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of one object: its kind as kubectl shows it, and where it is. Nothing in `stays`: nothing holds it there."""

    uid: str
    resource: str
    namespace: str = ""
    stays: tuple[Standing, ...] = ()


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """What a retention policy is about, as its status tells; `says` are its times, `told` its remarks."""

    says: str
    matched: int = 0
    waiting: int = 0
    held: int = 0
    deleted: int | None = None
    next_time: str | None = None
    told: str = ""


class PolicyStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as the controller knows it; `last` is when it ran last, with how many objects that was about.

    `resource` is its kind as kubectl shows it. `next_run` None: it does not run; `problems` say why. `retained` is of a retention policy.
    """

    resource: str
    kind: str
    namespace: str
    name: str
    schedule: str = ""
    words: str = ""
    zone: str = ""
    last: float | None = None
    matched: int = 0
    deleted: int = 0
    held: int = 0
    failed: int = 0
    next_run: float | None = None
    suspended: bool = False
    observed_until: float | None = None
    problems: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    retained: Retained | None = None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can't be read now, so that objects of it may be missing: `what` names it, `why` says why.

    `resource` is the kind as kubectl shows it, in `namespace` or, without one, in all; empty: it is about no single kind.
    """

    what: str
    why: str
    resource: str = ""
    namespace: str = ""


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What everybody should know who may see objects of that kind (in no namespace), in a sentence without its full stop."""

    kind: str
    text: str


class Opinions(Protocol):
    def acts(self) -> Acts:
        """Whether it would let anything go itself now; another replica does while it stands by."""

    def of(self, uid: str, *, resource: str, namespace: str) -> Opinion:
        """`resource` and `namespace` are those that whoever asks believes; they count where it does not know the object."""


class Insight(Opinions, Protocol):
    """Who can be asked about everything, and not about single objects alone."""

    def rows(self) -> list[Row]:
        """What some mechanism may speak of."""

    def judged(self, row: Row, now: float) -> Verdict:
        """With what only a try found out, and without what passes within moments."""

    def policies(self) -> list[PolicyStanding] | None:
        """None: they are switched off."""

    def unread(self) -> list[Unread]:
        """What it can't read now."""

    def announced(self) -> Sequence[Announcement]:
        """That this cluster is about to die, and which Tenants are being deleted, as far as that is known here."""

    def brakes(self) -> Pulled:
        """Those that count here, be they objects or not, and why that may not be all of them: then everything is held."""

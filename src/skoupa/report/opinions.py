"""What a running controller has to say of objects that somebody asks about: what holds them there.

Some holds only the controller can know: that it could not put an object into the trash, that its ledger is away, which
rights it has. Others are found by everybody; they are told as well.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

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


class Opinions(Protocol):
    def acts(self) -> Acts:
        """Whether it would let anything go itself now; another replica does while it stands by."""

    def of(self, uid: str, *, resource: str, namespace: str) -> Opinion:
        """`resource` and `namespace` are those that whoever asks believes; they count where it does not know the object."""

"""One object on its way back: what is kept of it, as what it is to be created, and how far it got."""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.cli.remembering.remembered import RestoreOutcome
from skoupa.cli.restoring.obstacles import Obstacle
from skoupa.ledger.rows import Entry
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.manifests import Manifest
from skoupa.ledger.trash.ordering import DEFINITIONS, NAMESPACES

POSSIBLE: Final = RestoreOutcome(what="would-restore")
# What a controller makes in every Namespace.
ACCOUNT: Final = ("serviceaccounts", "default")
_AUTHORITY: Final = ("configmaps", "kube-root-ca.crt")


class Piece(msgspec.Struct, kw_only=True):
    """`entry` is the decision that took it; `went_along`: not by itself.

    `foreign`: it was of another cluster than the one it comes to. `checked`: the server would take it. `uid` is its new
    one, or that of who has its name. `spare`: who has it serves as well, so nothing is left undone. What is said of its
    volume and its owners is foreseen first, and said anew when it comes.
    """

    entry: Entry
    kept: Kept
    manifest: Manifest
    went_along: bool = False
    foreign: bool = False
    differs: tuple[str, ...] = ()
    volume_said: str = ""
    owners_said: tuple[str, ...] = ()
    outcome: RestoreOutcome = POSSIBLE
    checked: bool = False
    denied: bool = False
    spare: bool = False
    uid: str = ""

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"].get("namespace", "")) if self.kept.namespaced else ""

    @property
    def moved(self) -> bool:
        """Whether it comes back to another namespace than it was in."""
        return self.kept.namespaced and self.namespace != self.kept.namespace

    @property
    def elsewhere(self) -> bool:
        """Whether it comes to where it never was: who has a name there that it knows is somebody else."""
        return self.foreign or self.moved

    @property
    def again(self) -> bool:
        """Whether what took it along did come back before, and maybe it too: of what went along that is not written down."""
        return self.went_along and bool(self.entry.restored_as)

    @property
    def will_differ(self) -> tuple[str, ...]:
        volume = (self.volume_said,) if self.volume_said else ()
        return (*self.differs, *volume, *self.owners_said)

    @property
    def possible(self) -> bool:
        return self.outcome.what == "would-restore"

    @property
    def is_ground(self) -> bool:
        """Whether others live in it."""
        return self.kept.resource in {NAMESPACES, DEFINITIONS}

    @property
    def called(self) -> tuple[str, str]:
        return self.kept.resource, self.kept.name

    @property
    def is_replaceable(self) -> bool:
        """Whether the one that its namespace has by now serves as well; on an account people may have written something."""
        return self.called == _AUTHORITY or (self.called == ACCOUNT and self.went_along)

    @property
    def own_uids(self) -> set[str]:
        """The one that it had, and the one that it got when it came back before."""
        return {self.kept.uid} if self.went_along else {self.kept.uid, self.entry.restored_as} - {""}

    @property
    def stands_for_itself(self) -> bool:
        """Whether who has its name may stand for it: elsewhere only what came back there before."""
        return not self.elsewhere or (not self.went_along and self.uid == self.entry.restored_as)

    def meets(self, obstacle: Obstacle) -> None:
        self.outcome = RestoreOutcome(what=obstacle.what, text=obstacle.text)
        self.uid = obstacle.uid
        self.denied = obstacle.denied

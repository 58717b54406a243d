"""What is known at one moment of what will go, wherever that comes from: a plan, or the engine of a running controller."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from skoupa import names
from skoupa.controller.survey import Finding, Gap
from skoupa.web.dashboard.shapes import Mode

Typed = Callable[[Sequence[str]], str]


def plainly(words: Sequence[str]) -> str:
    """A command as it is typed. Who reached the cluster with options of their own needs them there too."""
    return shlex.join(("skoupa", *words))


# They ask the controller, wherever it is; without this, in the namespace that an installation makes.
_ASK_IT: Final = frozenset({"history", "restore", "explain"})


def typed_for(home: str) -> Typed:
    """`plainly`, for a controller that lives in the namespace `home`."""

    def typed(words: Sequence[str]) -> str:
        named = ("--skoupa-namespace", home) if home != names.COMPONENT and words[0] in _ASK_IT else ()
        return plainly((*words, *named))

    return typed


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`findings` are objects that something claims, `remarks` those of which only something is to be told.

    `mode_why` says why the mode is not known, or where no controller is. `place` is the cluster as it may be shown, `typed` makes
    a command of its words. `trouble` says why this is older than it should be; empty: it is not. `left_out` says what is there and
    is not among the findings. `announced`: that this cluster is about to die, which Tenants are being deleted. `made` is when it was read, where that was not now.
    """

    now: float
    made: str = ""
    mode: Mode
    mode_why: str = ""
    place: str = ""
    namespace: str = ""
    findings: Sequence[Finding] = ()
    remarks: Sequence[Finding] = ()
    gaps: Sequence[Gap] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()
    announced: Sequence[str] = ()
    trouble: str = ""
    typed: Typed = plainly

    @property
    def is_silent(self) -> bool:
        """Who was asked does not know what is to go."""
        return self.mode in {"stands-by", "starts"} and not self.findings

    @property
    def is_complete(self) -> bool:
        """Where nothing is found, there is nothing."""
        return not self.left_out and not self.gaps and not self.is_silent

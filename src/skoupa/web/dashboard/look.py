"""What is known at one moment of what will go, wherever that comes from: a plan, or the engine of a running controller."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

import msgspec

from skoupa.controller.survey import Finding, Gap
from skoupa.web.dashboard.shapes import Mode

Typed = Callable[[Sequence[str]], str]


def plainly(words: Sequence[str]) -> str:
    """A command as it is typed. Who reached the cluster with options of their own needs them there too."""
    return shlex.join(("skoupa", *words))


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`findings` are objects that something claims, `remarks` those of which only something is to be told.

    `mode_why` says why the mode is not known, or where no controller is. `place` is the cluster as it may be shown, `typed` makes
    a command of its words. `trouble` says why this is older than it should be; empty: it is not.
    """

    now: float
    mode: Mode
    mode_why: str = ""
    place: str = ""
    namespace: str = ""
    findings: Sequence[Finding] = ()
    remarks: Sequence[Finding] = ()
    gaps: Sequence[Gap] = ()
    warnings: Sequence[str] = ()
    trouble: str = ""
    typed: Typed = plainly

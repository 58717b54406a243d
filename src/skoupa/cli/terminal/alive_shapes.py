"""What is told of Alive by commands that are about something else: whether this cluster is about to die, for whom it waits, what outlives it.

Public, as `items`: `docs/output.md` describes every field.
"""

from __future__ import annotations

from typing import Literal

from skoupa.cli.terminal.shape import Shape


class PreservedObject(Shape, frozen=True, kw_only=True):
    """An object of the cluster whose thing elsewhere is to stay, as far as the cluster alone can tell; `doubt`: what was not understood."""

    object: str
    why: str
    doubt: str = ""


class WaitedFor(Shape, frozen=True, kw_only=True):
    """A participant that has something left."""

    finalizer: str
    state: str
    remaining: int | None = None
    message: str = ""


class AliveStanding(Shape, frozen=True, kw_only=True):
    """`text` says in a sentence that it is dying; empty: it lives. `state` is `lives`, or `dying` since `since`; `phase`, `deadline` and `remaining` are then as in an AliveReport.

    `unread` are kinds that may not be listed: what of them is preserved is not known.
    """

    state: Literal["lives", "dying"]
    text: str
    phase: str
    since: str | None = None
    deadline: str | None = None
    deletion_policy: str
    on_timeout: str
    remaining: int | None = None
    waiting_for: tuple[WaitedFor, ...] = ()
    preserved: tuple[PreservedObject, ...] = ()
    unread: tuple[str, ...] = ()

"""That a cluster is about to die, in one sentence for whoever looks at something else: a plan, a page."""

from __future__ import annotations

from typing import Final

from skoupa.alive.course import Course
from skoupa.alive.reading import Alive
from skoupa.kinds.alive_status import Participant
from skoupa.kube.timestamps import whole_seconds

_NAMED: Final = 5


def announced(alive: Alive, at: Course) -> str:
    """Without its full stop; empty: it lives, and there is nothing to announce."""
    if alive.since is None:
        return ""
    left = [one for one in at.participants if one.state != "Done"]
    who = "; ".join(_words(one) for one in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    waits = f"it waits for {who}{more}" if left else "nobody has anything left"
    out = {"TimedOut": ", and timed out", "Forced": ", and finalizers are forced"}.get(at.phase, "")
    return f"This cluster is about to die: its deletion was asked for at {whole_seconds(alive.since)}{out}; {waits}"


def _words(one: Participant) -> str:
    left = "" if one.remaining is None else f", {one.remaining} left"
    message = f": {one.message}" if one.message else ""
    return f"{one.finalizer} ({one.state}{left}{message})"

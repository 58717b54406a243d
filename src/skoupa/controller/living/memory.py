"""What must be known of Alive after a restart: which one was there, what people wanted of it, and whether its deletion is over.

Without it a cluster that is being destroyed would be brought back to life by the next Pod of Skoupa, and participants with it; and one
that is made anew would forget what is to outlive the cluster. What was written here and can't be understood holds: nothing is made.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from skoupa.controller.state import ALIVE, ALIVE_SPEC, State
from skoupa.kinds.alive import AliveSpec

# It shares a ConfigMap with all else that must survive.
_LONGEST_SPEC: Final = 128 * 1024


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """`forced` are the finalizers that were taken off for others. TakenAway: by somebody else, while it was going."""

    uid: str
    began: float
    ended: float
    outcome: Literal["Drained", "Forced", "TakenAway"]
    forced: tuple[str, ...] = ()


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """The Alive that was there last, since when its deletion was asked for, and the last one that ended as somebody wished."""

    uid: str = ""
    began: float | None = None
    tombstone: Tombstone | None = None

    @property
    def over(self) -> bool:
        """Whether the last one ended, and is not to come back."""
        return self.tombstone is not None and self.uid in {"", self.tombstone.uid}


def remembered(state: State) -> Life:
    found = state.get(ALIVE, Life)
    return found if isinstance(found, Life) else Life()


async def remember(state: State, life: Life) -> None:
    if remembered(state) != life:
        await state.put(ALIVE, life)


def garbled(state: State) -> bool:
    """Whether it can't be told any more if one has ended."""
    return state.is_garbled(ALIVE, Life)


def wanted(state: State) -> AliveSpec | None:
    """What the last one wanted, without its participants, who join again; None where that is not known."""
    found = state.get(ALIVE_SPEC, AliveSpec)
    return found if isinstance(found, AliveSpec) else None


async def remember_wanted(state: State, spec: AliveSpec) -> None:
    """One that is too long is not remembered, nor is the one before it."""
    alone = msgspec.structs.replace(spec, participants=())
    told = alone if len(msgspec.json.encode(alone)) <= _LONGEST_SPEC else None
    if wanted(state) != told:
        await state.put(ALIVE_SPEC, told)

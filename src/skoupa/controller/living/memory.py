"""What must be known of Alive after a restart: which one was there, and whether its deletion is over.

Without it a cluster that is being destroyed would be brought back to life by the next Pod of Skoupa, and participants with it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from skoupa.controller.state import ALIVE, State


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

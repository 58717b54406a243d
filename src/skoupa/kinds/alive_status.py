"""What Skoupa tells on Alive: how far the cluster is on its way, and each of its participants.

Nobody has to believe it: who waits works the same out from Alive and the signs of life, and remembers by it only what was before.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from skoupa.kinds.conditions import Conditions
from skoupa.kinds.schema import about

Phase = Literal["Active", "Terminating", "Drained", "TimedOut", "Forced"]
ParticipantState = Literal["Ready", "Working", "Failed", "Done", "Silent", "Unknown"]

_Text = Annotated[str, msgspec.Meta(max_length=1024)]
_Texts = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=100)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Participant(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How far one of them is."""

    finalizer: Annotated[str, about("Its finalizer.")]
    identity: Annotated[str | None, about("Who it is.")] = None
    state: Annotated[
        ParticipantState,
        about(
            "Ready (nothing was asked of it yet), Working, Failed (it says so), Done (its finalizer is gone), Silent (no sign "
            "of life for longer than it promised), Unknown (it gives no signs of life)."
        ),
    ]
    message: Annotated[str | None, about("What it says itself.")] = None
    remaining: Annotated[_Count | None, about("How many things it has left to clean up, as it says.")] = None
    last_heartbeat: Annotated[
        _Time | None, about("Its last sign of life, by the clock of the API server.")
    ] = None
    last_progress: Annotated[
        _Time | None, about("When it last had fewer things left, or another message.")
    ] = None
    preserved: Annotated[_Texts, about("What it leaves as it is, as it says.")] = ()


class Forced(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A finalizer that was taken off for who had it."""

    finalizer: Annotated[str, about("The finalizer.")]
    at: Annotated[_Time, about("When it was decided; it is removed after that.")]
    state: Annotated[str | None, about("How far its participant was.")] = None
    remaining: Annotated[_Count | None, about("What it said was left.")] = None


class AliveStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How far the cluster is on its way."""

    phase: Annotated[
        Phase | None,
        about(
            "Active; Terminating (the deletion was asked for); Drained (nobody has anything left); TimedOut; Forced "
            "(finalizers are, or were, taken off)."
        ),
    ] = None
    deadline: Annotated[_Time | None, about("When it times out, if there is progress until then.")] = None
    waiting: Annotated[_Count | None, about("How many participants have something left.")] = None
    remaining: Annotated[_Count | None, about("How many things they have left together, as they say.")] = None
    last_progress: Annotated[_Time | None, about("When there was progress last.")] = None
    participants: Annotated[
        tuple[Participant, ...], about("How far each of them is.", keys=("finalizer",))
    ] = ()
    forced: Annotated[
        tuple[Forced, ...],
        about("Finalizers that Skoupa takes off, written before it does.", keys=("finalizer",)),
    ] = ()
    observed_generation: Annotated[
        _Count | None, about("The generation of the object that this status is about.")
    ] = None
    conditions: Conditions = ()

"""Conditions of a status, as all of our kinds have them (metav1.Condition).

A list of conditions has each type once. The time of transition moves only when the status of its type does, so that it tells
since when.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from skoupa.kinds.schema import about

READY: Final = "Ready"

_Type = Annotated[str, msgspec.Meta(min_length=1, max_length=316)]
_Reason = Annotated[
    str, msgspec.Meta(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
]
_Message = Annotated[str, msgspec.Meta(max_length=32768)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing that is so, is not so, or is not known."""

    type: Annotated[_Type, about("What it is about, for instance Ready.")]
    status: Annotated[Literal["True", "False", "Unknown"], about("Whether it is so.")]
    reason: Annotated[_Reason, about("Why, in one word that programs may compare.")]
    message: Annotated[_Message, about("Why, in a sentence.")]
    last_transition_time: Annotated[_Time, about("Since when the status is what it is.")]
    observed_generation: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        about(
            "The generation of the object that this was said of; older than the object's: not yet looked at."
        ),
    ] = None


Conditions = Annotated[
    tuple[Condition, ...],
    about("What is known about the object; Ready says whether it does what it should.", keys=("type",)),
]


def updated(conditions: Iterable[Condition], new: Condition) -> tuple[Condition, ...]:
    """With `new` in the place of the one of its type; the order of the others stays."""
    known = {condition.type: condition for condition in conditions}
    before = known.get(new.type)
    if before is not None and before.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=before.last_transition_time)
    return tuple({**known, new.type: new}.values())

"""Brakes of which nothing is written down, because there were too many, or because what was written can't be understood.

Whether some of them were lost with their definition can be told by its age alone: one that was made after the oldest of
them took it along, and nobody knows what that held. Then everything is held, over every restart, until somebody has looked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from skoupa.controller.braking.feed import Found, Unlisted, made_at
from skoupa.controller.state import BRAKES_KNOWN, BRAKES_UNLISTED, State

# A ConfigMap holds a megabyte, and not all of it is ours.
MOST: Final = 300


class Known(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it takes to make a Brake again, and to tell whether somebody deleted it."""

    name: str
    uid: str
    created: str
    labels: dict[str, str] = {}
    spec: Any = None

    @property
    def made(self) -> float:
        """Zero where nobody can tell: then any definition may have taken it along."""
        made = made_at(self.found())
        return made if made < math.inf else 0.0

    def found(self) -> Found:
        metadata = {
            "name": self.name,
            "uid": self.uid,
            "creationTimestamp": self.created,
            "labels": self.labels,
        }
        return {"metadata": metadata, "spec": self.spec}


def known_of(found: Found) -> Known:
    metadata = found["metadata"]
    return Known(
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        labels=dict(metadata.get("labels") or {}),
        spec=found.get("spec"),
    )


def listed(known: Sequence[Known]) -> tuple[list[Known], Unlisted | None]:
    """What is written down, by name, and what is left out of it: the youngest, which are the last to be older than a definition."""
    by_age = sorted(known, key=lambda one: (one.made, one.name, one.uid))
    kept, rest = by_age[:MOST], by_age[MOST:]
    left_out = Unlisted(len(rest), int(rest[0].made)) if rest else None
    return sorted(kept, key=lambda one: (one.name, one.uid)), left_out


def read_known(state: State) -> tuple[list[Known], Unlisted | None]:
    """What the state says; what can't be understood may have been anything."""
    garbled = state.is_garbled(BRAKES_KNOWN, list[Known]) or state.is_garbled(BRAKES_UNLISTED, list[int])
    number, oldest = (*(state.get(BRAKES_UNLISTED, list[int]) or ()), 0, 0)[:2]
    there = bool(state.get(BRAKES_UNLISTED, list[int]))
    left_out = Unlisted(0, 0) if garbled else Unlisted(number, oldest) if there else None
    return state.get(BRAKES_KNOWN, list[Known]) or [], left_out

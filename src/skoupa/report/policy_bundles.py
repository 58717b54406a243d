"""What policies did, as Events on the policies themselves: every object is named, many names share an Event.

Each object has its Event besides, or shares one with its like; these are for who looks at a policy and asks what went by it.
The run is part of what makes an Event the same one: names that come and go with every run are told with every run.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from skoupa.kube.events import Event, Regarding, shortened
from skoupa.report.notes import note, pieces

DELETED: Final = "SkoupaPolicyDeleted"
REFUSED: Final = "SkoupaPolicyRefused"
UNCLEAR: Final = "SkoupaPolicyUnclear"
# The shared words leave room for names.
_WORDS_LIMIT: Final = 400


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for all objects of a bundle; `words` say why, where there is a why."""

    policy: Regarding
    reason: str
    run: str
    kind: str
    namespace: str
    words: str = ""


class PolicyBundles:
    def __init__(self) -> None:
        self._open: dict[Told, list[tuple[str, float]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def add(self, told: Told, name: str, at: float) -> None:
        self._open.setdefault(told, []).append((name, at))

    def take(self) -> list[Event]:
        """All that was added since."""
        taken, self._open = self._open, {}
        return [event for told, named in taken.items() for event in events_of(told, named)]


def events_of(told: Told, named: list[tuple[str, float]]) -> list[Event]:
    head, names = _head(told), [name for name, _ in named]
    kind: Literal["Normal", "Warning"] = "Normal" if told.reason == DELETED else "Warning"
    return [
        Event(
            regarding=told.policy,
            reason=told.reason,
            action="Run",
            note=note(head, names[piece]),
            type=kind,
            at=named[piece.start][1],
            identity=told.run,
        )
        for piece in pieces(names, head)
    ]


def _head(told: Told) -> str:
    where = f" in {told.namespace}" if told.namespace else ""
    words = f" ({shortened(told.words, limit=_WORDS_LIMIT)})" if told.words else ""
    match told.reason:
        case "SkoupaPolicyDeleted":
            return f"deleted {told.kind}{where}: "
        case "SkoupaPolicyRefused":
            return f"could not delete {told.kind}{where}, tried again{words}: "
        case _:
            return f"could not judge {told.kind}{where}, which stay{words}: "

"""Notes of Events that name many objects: as few as their names fit into, and no name is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skoupa.kube.events import NOTE_LIMIT


def pieces(names: Sequence[str], head: str) -> Iterator[slice]:
    """Which names go together into notes that begin with the head."""
    start = 0
    while start < len(names):
        end, used = start, len(head.encode())
        while end < len(names):
            used += len(names[end].encode()) + 2
            # An object's name has 253 characters at most: one always fits.
            if end > start and used > NOTE_LIMIT:
                break
            end += 1
        yield slice(start, end)
        start = end


def note(head: str, names: Sequence[str]) -> str:
    return head + ", ".join(names)

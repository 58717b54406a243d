"""Events of deletions of which only the ledger knows: told by a process after the one that sent them.

They are bundled and read like those of `bundles`: one that was told after all is mostly told by the same Event. Of what
was in flight when Skoupa was interrupted nobody saw the end, and the words say so. Policies are told nothing here: the ledger
knows their names and not which one of that name it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from skoupa.kube.events import Event, Regarding
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import render
from skoupa.report.bundles import FEW, deletion
from skoupa.report.notes import note, pieces

_ENDING: Final = "to be deleted when Skoupa was interrupted, and"


def retold(entries: Iterable[Entry]) -> list[Event]:
    """One Event for each of a few that are alike; for many, as few as their names fit into."""
    alike: dict[tuple[str, str, str, bool], list[Entry]] = {}
    for entry in entries:
        key = (entry.namespace, entry.resource, _by(entry), entry.outcome == "gone-by-unknown")
        alike.setdefault(key, []).append(entry)
    return [event for bundle in alike.values() for event in _events_of(bundle)]


def _events_of(bundle: Sequence[Entry]) -> list[Event]:
    unseen = bundle[0].outcome == "gone-by-unknown"
    if len(bundle) <= FEW:
        said = f"was {_ENDING} is gone since" if unseen else "deleted"
        return [_event([entry], f"{said}: {_why(entry)}") for entry in bundle]
    what = f"{bundle[0].resource} ({_by(bundle[0])})"
    head = f"{what} were {_ENDING} are gone since: " if unseen else f"deleted {what}: "
    names = [entry.name for entry in bundle]
    return [_event(bundle[piece], note(head, names[piece])) for piece in pieces(names, head)]


def _event(entries: Sequence[Entry], said: str) -> Event:
    first = entries[0]
    about = Regarding(
        api_version=first.api_version,
        kind=first.kind,
        name=first.name,
        namespace=first.namespace,
        uid=first.uid,
    )
    return deletion(about, first.finished_at or first.at, said, uids=tuple(entry.uid for entry in entries))


def _by(entry: Entry) -> str:
    return entry.rule if entry.run else entry.mechanism


def _why(entry: Entry) -> str:
    return render(entry.claims[0].reason) if entry.claims else entry.rule

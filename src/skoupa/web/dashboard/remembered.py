"""The page of the history: each decision with its reasons, and how to bring back what went."""

from __future__ import annotations

from collections.abc import Iterable

from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import DELETIONS, Entry
from skoupa.model.reasons import said
from skoupa.web.dashboard.look import Typed
from skoupa.web.dashboard.questions import Filters
from skoupa.web.dashboard.shapes import Remembered, ShownEntry


def remembered(
    entries: Iterable[Entry],
    filters: Filters,
    *,
    now: float,
    more: bool,
    notes: Iterable[str],
    typed: Typed,
    restoring: Typed | None = None,
) -> Remembered:
    """`typed` is for commands that look back, `restoring` for `restore`, where that takes other options."""
    return Remembered(
        now=whole_seconds(now),
        items=tuple(_shown(entry, typed=restoring or typed) for entry in entries),
        more=more,
        notes=tuple(notes),
        command=typed(("history", *_options(filters))),
    )


def _shown(entry: Entry, *, typed: Typed) -> ShownEntry:
    state = entry.in_trash
    # What came back is there; what did not go needs not to.
    comes_back = entry.outcome in DELETIONS and state == "kept" and not entry.restored_as
    return ShownEntry(
        id=entry.id,
        at=whole_seconds(entry.at),
        outcome=entry.outcome,
        kind=entry.kind,
        namespace=entry.namespace,
        name=entry.name,
        rule=entry.rule,
        run=entry.run,
        author=entry.author,
        why=tuple(said(claim.reason) for claim in entry.claims) or (entry.rule,),
        holds=tuple(said(hold.reason) for hold in entry.holds),
        error=entry.error,
        trash="partly" if state == "kept" and entry.partly else state,
        restored_as=entry.restored_as,
        restore=typed(("restore", entry.id)) if comes_back else "",
    )


def _options(filters: Filters) -> Iterable[str]:
    if filters.object:
        yield filters.object
    yield from ("-n", filters.namespace) if filters.namespace else ("-A",)
    named = (
        ("--since", filters.since),
        ("--until", filters.until),
        ("--by-policy", filters.rule),
        ("--run", filters.run),
        ("--outcome", filters.outcome),
    )
    for option, value in named:
        if value:
            yield from (option, value)

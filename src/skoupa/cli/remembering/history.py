"""`skoupa history`: what Skoupa decided and did, the newest first, and everything about one decision.

Reads the ledger, or asks the running controller; nothing of a manifest is shown but what it was.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any, Final

import msgspec

from skoupa.cli.options import Connecting, TableForm
from skoupa.cli.remembering.carried import Company, carried_along
from skoupa.cli.remembering.ledgers import LedgerChoice, LeftOut, opened
from skoupa.cli.remembering.recalling import (
    Filters,
    existing,
    namespace_of,
    recall,
    refuse_filters,
    wishes_of,
)
from skoupa.cli.remembering.remembered import HistoryDocument, TrashState, history_item, trash_state
from skoupa.cli.remembering.unkept_company import takes_along_unseen
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, Paint, Screen, printable, render, screen_of
from skoupa.cli.terminal.times import distance, full_time, short_time, zone_of
from skoupa.errors import UsageError
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import DELETIONS, Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import YOUNG, Kept
from skoupa.model.reasons import said

TITLES: Final = ("ID", "WHEN", "", "OUTCOME", "KIND", "NAMESPACE", "NAME", "TRASH", "WHY")
WIDE_TITLES: Final = (*TITLES, "RULE", "RUN", "UID", "TRIES", "RESTORED AS", "ERROR")
_SHOW: Final = "show"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    entries: list[Entry]
    wishes: list[Wish] = msgspec.field(default_factory=list)
    more: bool = False
    kept: tuple[Kept, ...] | None = None
    sealed: str = ""
    left_out: LeftOut = msgspec.field(default_factory=LeftOut)
    company: Company = msgspec.field(default_factory=Company)


def run(
    *,
    connecting: Connecting,
    ledger: dict[str, Any],
    filters: dict[str, Any],
    all_namespaces: bool,
    tz: str | None,
    form: TableForm,
    no_color: bool,
) -> None:
    zone = zone_of(tz)
    now = time.time()
    asked = Filters(**filters)
    choice = LedgerChoice(**ledger)
    one = _id_to_show(asked.words)
    if one is not None or asked.ids:
        refuse_filters(asked)
    else:
        where = namespace_of(connecting, all_namespaces=all_namespaces)
        asked = msgspec.structs.replace(asked, namespace=where)
    found = asyncio.run(_find(choice, asked, connecting=connecting, one=one, now=now, zone=zone))
    if form in {"json", "yaml"}:
        items = tuple(history_item(entry, found.kept) for entry in found.entries)
        document = HistoryDocument(
            now=whole_seconds(now), items=items, more=found.more, hidden=found.left_out.hidden
        )
        output.write(msgspec.to_builtins(document), form)
    elif form == "name":
        output.write_lines(entry.id for entry in found.entries)
    elif one is not None:
        lines = in_words(found.entries[0], found.kept, now=now, zone=zone)
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    else:
        screen = screen_of(no_color=no_color)
        sys.stdout.write(_table(found, asked, now=now, zone=zone, screen=screen, wide=form == "wide"))
    if found.more:
        say(f"only the newest {asked.limit} are shown; --limit and --until show others")
    if found.sealed:
        say(found.sealed)
    named = any(wish.name is not None for wish in found.wishes)
    absent = named and not found.entries
    for remark in (*found.company.remarks(), *found.left_out.remarks(absent=absent)):
        say(remark)


async def _find(
    choice: LedgerChoice,
    asked: Filters,
    *,
    connecting: Connecting,
    one: str | None,
    now: float,
    zone: tzinfo,
) -> Found:
    async with opened(choice, connecting=connecting) as source:
        if one is None:
            entries, more = await recall(source, asked, now=now, zone=zone)
            company = await carried_along(source, asked, entries, now=now, zone=zone)
            wishes = [] if asked.ids else wishes_of(asked, now=now, zone=zone)
            return Found(entries=entries, wishes=wishes, more=more, left_out=source.left_out, company=company)
        entry = await existing(source, one)
        try:
            kept = (await source.kept([entry])).get(entry.id, ())
        except UsageError as error:
            # Without the key the row is still worth showing.
            return Found(entries=[entry], sealed=str(error))
        return Found(entries=[entry], kept=kept)


def _id_to_show(words: tuple[str, ...]) -> str | None:
    if words[:1] != (_SHOW,):
        return None
    if len(words) != 2:
        raise UsageError("history show takes one id", advice="`skoupa history` shows the ids")
    return words[1]


def _table(found: Found, asked: Filters, *, now: float, zone: tzinfo, screen: Screen, wide: bool) -> str:
    if not found.entries:
        return f"{printable(_nothing(found, asked))}\n"
    lines = [_line(entry, now, zone=zone, wide=wide) for entry in found.entries]
    if wide:
        return render(WIDE_TITLES, lines, screen=Screen(colours=screen.colours))
    return render(TITLES, lines, screen=screen, texts=1)


def _nothing(found: Found, asked: Filters) -> str:
    """Where it was looked for: what lives in no namespace is not looked for in one."""
    what = f"Nothing of {', '.join(asked.words)}" if asked.words else "Nothing"
    places = sorted({wish.namespace for wish in found.wishes if wish.namespace})
    if not places:
        return f"{what}."
    where = f"in the namespace{'s' * (len(places) > 1)} {', '.join(places)}"
    return f"{what} {where}" + ("; -A looks into all." if asked.namespace in places else ".")


def _line(entry: Entry, now: float, *, zone: tzinfo, wide: bool) -> Line:
    cells: tuple[str, ...] = (
        entry.id,
        short_time(entry.at, zone),
        distance(entry.at, now),
        f"{entry.outcome}, restored" if entry.restored_as else entry.outcome,
        entry.kind,
        entry.namespace,
        entry.name,
        "partly" if (trash := trash_state(entry)).partly else trash.state,
        why(entry),
    )
    if wide:
        cells += (entry.rule, entry.run, entry.uid, str(entry.attempts), entry.restored_as, entry.error)
    failed = entry.outcome in {"failed", "gone-by-unknown"}
    paint: Paint = "red" if failed else "" if entry.outcome in DELETIONS else "yellow"
    return Line(cells=cells, paint=paint)


def why(entry: Entry) -> str:
    """What let it go, and for what did not go what held it."""
    claims = "; ".join(said(claim.reason) for claim in entry.claims) or entry.rule
    holds = "; ".join(said(hold.reason) for hold in entry.holds)
    return f"{claims}; held: {holds}" if holds else claims


def in_words(entry: Entry, kept: tuple[Kept, ...] | None, *, now: float, zone: tzinfo) -> Iterator[str]:
    """All about one decision."""
    item = history_item(entry)
    yield f"{entry.kind} {entry.namespace}/{entry.name}" if entry.namespace else f"{entry.kind} {entry.name}"
    yield f"  {_became(entry)} {full_time(entry.at, zone)}, {distance(entry.at, now)}."
    for claim in item.claims:
        yield f"  why: {claim.reason.text}"
        yield f"       {claim.mechanism}, due {claim.due}, propagation {claim.propagation}"
    for hold in item.holds:
        yield f"  held by: {hold.reason.text}"
    if entry.author:
        yield f"  the rule was written by {entry.author}"
    if entry.run:
        yield f"  run: {entry.run}"
    if entry.error:
        yield f"  error: {entry.error}"
    yield f"  uid {entry.uid}, id {entry.id}, {entry.attempts} tr{'y' if entry.attempts == 1 else 'ies'}"
    if entry.restored_as:
        yield f"  restored: its uid is {entry.restored_as} now"
    if not entry.finalizer:
        yield from (f"  {line}" for line in _in_trash(entry, kept))


def _became(entry: Entry) -> str:
    if entry.finalizer and entry.outcome in _OF_FINALIZER:
        return _OF_FINALIZER[entry.outcome].format(entry.finalizer)
    return _OUTCOMES[entry.outcome]


def _in_trash(entry: Entry, kept: tuple[Kept, ...] | None) -> Iterator[str]:
    state = trash_state(entry)
    if state.state != "kept":
        why = f": {state.why}" if state.why else ""
        yield f"in the trash: {_NOTHING[state.state].format(until=state.until)}{why}"
        if kept is not None and takes_along_unseen(entry, kept):
            yield "not known: what went along with it, of which nothing is kept either"
        return
    partly = _lacking(state, kept or ())
    yield f"in the trash: {state.bytes} bytes{partly}; `skoupa restore {entry.id}` brings it back"
    for number, one in enumerate(kept or ()):
        if number:
            yield f"  went along: {one.part}"
        if one.missing:
            yield f"  not kept: {one.missing}"
        if one.withheld:
            yield f"  values not kept: {', '.join(one.withheld)}"
        yield from (f"  not known: {what}" for what in one.unknown)
    if kept and takes_along_unseen(entry, kept):
        yield "  not known: what hung on it and went along; that is not looked for with objects of this kind"


def _lacking(state: TrashState, kept: tuple[Kept, ...]) -> str:
    if any(not said.startswith(YOUNG) for one in kept for said in one.unknown):
        return ", but not all that went along"
    return ", but not all of it" if state.partly or any(one.withheld for one in kept) else ""


_NOTHING: Final = {
    "none": "nothing",
    "purged": "nothing any more, it was purged",
    "forgotten": "nothing any more, it was kept until {until} (trash.keepDays, trash.keepBytes)",
}
_OF_FINALIZER: Final = {
    "intended": "Taking its finalizer {} off was begun",
    "deleted": "Its finalizer {} was taken off",
    "gone": "Was gone already when its finalizer {} was to be taken off,",
    "failed": "Its finalizer {} could not be taken off",
    "still-there": "Its finalizer {} was to be taken off when Skoupa was interrupted, and was still there,",
    "gone-by-unknown": "Its finalizer {} was to be taken off when Skoupa was interrupted, and is off since,",
}
_OUTCOMES: Final = {
    "intended": "Its deletion was begun",
    "deleted": "Deleted",
    "terminating": "Deleted, and waiting for its end, since",
    "gone": "Was gone already",
    "failed": "Could not be deleted",
    "braked": "Held by a brake",
    "would-delete": "Would have been deleted, had Skoupa not only observed,",
    "still-there": "Was to be deleted when Skoupa was interrupted, and was still there,",
    "gone-by-unknown": "Was to be deleted when Skoupa was interrupted, and is gone since,",
}

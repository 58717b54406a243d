"""What became of an object that `explain` does not find: the history knows whether Skoupa deleted it, or what took it along."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any, Final

import msgspec

from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.remembering.carried import SEALED, carried_along
from skoupa.cli.remembering.history import in_words
from skoupa.cli.remembering.ledgers import LedgerChoice, opened
from skoupa.cli.remembering.misunderstandings import ledger_here
from skoupa.cli.remembering.recalling import Filters, is_full_kind, recall
from skoupa.cli.remembering.remembered import HistoryDocument, history_item
from skoupa.cli.terminal import output
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.targets import read_targets
from skoupa.cli.worlds import World
from skoupa.errors import NoController, SkoupaError, UnknownKind, UsageError
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import COUNTED, Entry
from skoupa.ledger.trash.contents import Kept

# Of these the row says itself how it went, or that it was gone.
_ENDS: Final = frozenset({*COUNTED, "gone"})


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """`entry` is the decision about it; where it had none, the one about what took it `along`.

    `no_kind` says that there is no such kind any more.
    """

    entry: Entry
    along: Kept | None = None
    no_kind: str = ""


async def look_back(
    missing: UsageError,
    target: str,
    *,
    world: World,
    ledger: Mapping[str, Any],
    connecting: Connecting,
    zone: tzinfo,
) -> Gone:
    """The newest decision about it, else about what took it along; raises where there is none, or none can be had.

    `missing` says that there is no such object, or no such kind: that may be gone too.
    """
    no_kind = missing.message if isinstance(missing, UnknownKind) else ""
    if no_kind and not is_full_kind(read_targets([target])[0].kind):
        # A name as short as that can't be told from a slip.
        raise missing
    choice = LedgerChoice(**ledger)
    filters = Filters(words=(target,), namespace=world.namespace, limit=1, ends=True)
    try:
        async with opened(choice, connecting=connecting, world=world) as source:
            now = time.time()
            entries, _ = await recall(source, filters, now=now, zone=zone)
            company = await carried_along(source, filters, entries, now=now, zone=zone)
    except NoController:
        here = ledger_here()
        kept = f"--ledger {shlex.quote(here)} is what was written down here" if here else ""
        raise UsageError(
            f"{missing.message}; no Skoupa answers here, so its history could not be asked",
            advice=f"{missing.advice}; {kept or '--ledger names a history that is kept elsewhere'}",
        ) from missing
    except SkoupaError as error:
        if choice.ledger is not None:
            raise
        raise UsageError(
            f"{missing.message}; whether it went by Skoupa is not known here: {error}", advice=missing.advice
        ) from missing
    # What was decided about it before, such as that a Brake holds it, is not how it went.
    for one in company.carried:
        if not entries or entries[0].at <= one.entry.at:
            return Gone(entry=one.entry, along=one.kept, no_kind=no_kind)
    if not entries and company.unsure:
        raise UsageError(f"{missing.message}; {company.unsure[0].said}", advice=missing.advice) from missing
    if not entries:
        seen = "is known here" if choice.ledger is not None else "its history shows you"
        unsure = f"; {SEALED}" if company.sealed else ""
        unsure += f"; {company.unrecorded.said}" if company.unrecorded is not None else ""
        raise UsageError(
            f"{missing.message}; if there was, it went not by Skoupa, as far as {seen}{unsure}",
            advice=missing.advice,
        ) from missing
    return Gone(entry=entries[0], no_kind=no_kind)


def tell_gone(gone: Gone, *, zone: tzinfo, form: TextForm) -> None:
    now = time.time()
    if form != "text":
        parts = None if gone.along is None else (gone.along,)
        document = HistoryDocument(now=whole_seconds(now), items=(history_item(gone.entry, parts),))
        output.write(msgspec.to_builtins(document), form)
        return
    sys.stdout.writelines(f"{printable(line)}\n" for line in _in_words(gone, now=now, zone=zone))


def _in_words(gone: Gone, *, now: float, zone: tzinfo) -> Iterator[str]:
    along = gone.along
    if along is not None:
        place = f"{along.namespace}/{along.name}" if along.namespace else along.name
        yield f"{along.kind} {place}"
        not_kept = f" and was not kept: {along.missing}." if along.manifest is None else ":"
        yield f"  Went along with {gone.entry.kind} {gone.entry.name}{not_kept}"
    yield from in_words(gone.entry, None, now=now, zone=zone)
    if gone.entry.outcome not in _ENDS:
        yield "  It is gone since: not by Skoupa, as far as is known."
    if gone.no_kind:
        yield f"  its kind is gone, too: {gone.no_kind}"

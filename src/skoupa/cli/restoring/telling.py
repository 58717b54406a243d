"""What `restore` says: its table and the line below it, the items for programs, and the remarks on what is not among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from skoupa.cli.remembering.remembered import RestoreItem
from skoupa.cli.restoring.pieces import Piece
from skoupa.cli.restoring.selecting import Selection, not_known
from skoupa.cli.terminal.tables import Line, Paint, Screen, render

TITLES: Final = ("KIND", "NAMESPACE", "NAME", "OUTCOME", "WHY")


def table(pieces: Iterable[Piece], screen: Screen) -> str:
    lines = [_line(piece) for piece in pieces]
    return render(TITLES, lines, screen=screen, texts=1) if lines else "Nothing.\n"


def _line(piece: Piece) -> Line:
    what = piece.outcome.what
    paint: Paint = "green" if what == "restored" else "" if what == "would-restore" else "yellow"
    cells = (piece.kept.kind, piece.namespace, piece.kept.name, what, piece.outcome.text)
    comes = piece.possible or what == "restored"
    return Line(cells=cells, paint=paint, below=piece.will_differ if comes else tuple(not_known(piece.kept)))


def summary(selection: Selection, *, dry_run: bool) -> str:
    pieces = selection.pieces
    wanted = sum(not piece.spare for piece in pieces) + selection.unseen + len(selection.absent)
    unsure = ", and maybe more went along" if selection.uncertain else ""
    if dry_run:
        possible = sum(piece.possible for piece in pieces)
        return f"{possible} of {wanted} would come back{unsure}. Nothing was restored: this is a dry run."
    came = sum(piece.outcome.what == "restored" for piece in pieces)
    return f"{came} of {wanted} restored{unsure}."


def item_of(piece: Piece) -> RestoreItem:
    return RestoreItem(
        id=piece.entry.id,
        api_version=piece.kept.api_version,
        kind=piece.kept.kind,
        namespace=piece.namespace,
        name=piece.kept.name,
        uid=piece.kept.uid,
        went_along=piece.went_along,
        outcome=piece.outcome,
        new_uid=piece.uid if piece.outcome.what == "restored" else "",
        differs=piece.will_differ,
    )


def remarks(selection: Selection, *, more: bool, limit: int) -> Iterator[str]:
    if not selection.pieces and not selection.left_homes:
        yield "the history has nothing that went and fits; `skoupa history` shows also what stayed or would have gone"
    elif selection.absent:
        yield f"the history has nothing of {', '.join(selection.absent)} that went"
    if more:
        yield f"only the newest {limit} are looked at, as --limit says; there are more"
    if selection.older:
        yield f"{selection.older} older ones of the same names are left out; restore them by their ids"
    if selection.left_homes:
        yield f"with --into the Namespace {', '.join(selection.left_homes)} itself stays out, not what was in it"
    if selection.unseen:
        what = "1 object" if selection.unseen == 1 else f"{selection.unseen} objects"
        yield f"{what} that went along can't come back: you may not read such objects where they were"
    if selection.uncertain:
        yield f"not all that went along is known: {'; '.join(selection.uncertain)}"
    if selection.left_along:
        told = "1 object that went along is kept too; --with-dependents brings it back"
        if selection.left_along > 1:
            told = f"{selection.left_along} objects that went along are kept too; --with-dependents brings them back"
        yield told

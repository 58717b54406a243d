"""From rows of the history to the objects that are to come back, and those of them that can't.

Of several deletions of one name the newest counts, by itself or along with something else. Into another namespace what was in one comes, not that itself. A rule that is no label on the object may take it again at once:
such an object needs a time to be kept for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from skoupa import names
from skoupa.cli.remembering.carried import Carried, called
from skoupa.cli.remembering.remembered import RestoreOutcome
from skoupa.cli.remembering.unkept_company import lost, uncertain
from skoupa.cli.restoring.pieces import Piece
from skoupa.errors import SkoupaError
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry, Result
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.manifests import comes_back
from skoupa.ledger.trash.ordering import NAMESPACES
from skoupa.ledger.trash.returning import made_ready

# What is worth bringing back: it went, or may have gone, by us.
WENT: Final[tuple[Result, ...]] = ("deleted", "terminating", "gone-by-unknown", "intended")
_BY_LABEL: Final = "ttl"
# Whether a Tenant takes it again is asked of each object: who is gone takes nothing, and from one that goes no time keeps it.
_BY_TENANT: Final = "tenants"
_DID_NOT_GO: Final[dict[Result, str]] = {
    "would-delete": "it did not go: Skoupa only observed",
    "braked": "it did not go: a Brake held it",
    "failed": "it did not go: its deletion failed",
    "still-there": "it did not go: it was still there after a crash",
}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """How to bring them back; `keep` is the value of the label that holds them, empty: none.

    `foreign`: they were of another cluster.
    """

    with_dependents: bool = False
    into: str = ""
    foreign: bool = False
    keep: str = ""
    now: float = 0.0


class Selection(msgspec.Struct, kw_only=True):
    """`left_along` counts what went along and was not asked for, `unseen` what was and may not be read by who asks.

    `uncertain` says what else may have gone along, `left_homes` are Namespaces that stay out, and `absent` are objects
    that were named and of which nothing is known. `rules` are those that let something go, by the id of its row, and
    `matching` those that would.
    """

    pieces: list[Piece] = msgspec.field(default_factory=list)
    left_along: int = 0
    unseen: int = 0
    uncertain: list[str] = msgspec.field(default_factory=list)
    left_homes: list[str] = msgspec.field(default_factory=list)
    absent: list[str] = msgspec.field(default_factory=list)
    older: int = 0
    rules: dict[str, str] = msgspec.field(default_factory=dict)
    matching: set[str] = msgspec.field(default_factory=set)

    @property
    def by_rule(self) -> set[str]:
        """Rules that may take something again at once, as far as it can come back at all."""
        coming = {piece.entry.id for piece in self.pieces if piece.possible}
        return {rule for entry_id, rule in self.rules.items() if entry_id in coming} | self.matching

    def match(self, policies: Mapping[str, str]) -> None:
        """Policies that match something of it, with the first of that; those by which something went are told already."""
        told = self.by_rule
        self.matching |= {
            f"{policy}, which matches {what},"
            for policy, what in policies.items()
            if not any(rule.endswith(f" {policy}") for rule in told)
        }


def select(
    entries: Iterable[Entry],
    trash: Mapping[str, tuple[Kept, ...]],
    *,
    choice: Choice,
    carried: Iterable[Carried] = (),
    sealed: Mapping[str, SkoupaError] | None = None,
) -> Selection:
    """`entries` are the newest first; `carried` went along with something else, later than rows of the same names.

    `sealed` are those whose trash can't be opened.
    """
    selection = Selection()
    later = {(one.kept.resource, one.kept.namespace, one.kept.name): one for one in carried}
    taken = set(later)
    mine = [entry for entry in entries if _is_first(entry, taken, selection)]
    for entry in mine:
        by_label = entry.mechanism == _BY_LABEL or entry.rule.startswith(f"{names.TTL_AFTER_LABEL}=")
        if not by_label and entry.mechanism != _BY_TENANT and not choice.keep:
            selection.rules[entry.id] = f"{entry.mechanism} {entry.rule}"
        shut = (sealed or {}).get(entry.id)
        own, *along = trash.get(entry.id, ()) or (_nothing(entry, shut),)
        if choice.into and own.resource == NAMESPACES:
            selection.left_homes.append(own.name)
        else:
            selection.pieces.append(_piece(entry, own, choice=choice, went_along=False))
        if choice.with_dependents:
            if shut is not None:
                selection.uncertain.append(f"what went along with {called(entry)} can't be opened either")
            selection.unseen += own.unseen
            selection.uncertain += uncertain(own)
            along += (one.as_kept() for one in lost(own, entry))
        for kept in _wanted(along, taken):
            if choice.with_dependents:
                taken.add((kept.resource, kept.namespace, kept.name))
                selection.pieces.append(_piece(entry, kept, choice=choice, went_along=True))
            else:
                selection.left_along += 1
    selection.pieces += (
        _piece(one.entry, one.kept, choice=choice, went_along=True) for one in later.values()
    )
    return selection


def not_known(kept: Kept) -> Iterator[str]:
    return (f"not known: {what}" for what in kept.unknown)


def _is_first(entry: Entry, taken: set[tuple[str, str, str]], selection: Selection) -> bool:
    key = (entry.resource, entry.namespace, entry.name)
    if key in taken:
        selection.older += 1
        return False
    taken.add(key)
    return True


def _wanted(along: Iterable[Kept], taken: set[tuple[str, str, str]]) -> Iterator[Kept]:
    for kept in along:
        if (kept.resource, kept.namespace, kept.name) in taken:
            continue
        if kept.manifest is None or not comes_back(kept.manifest, kept.resource):
            yield kept


def _piece(entry: Entry, kept: Kept, *, choice: Choice, went_along: bool) -> Piece:
    if kept.manifest is None:
        outcome = RestoreOutcome(what="not-kept", text=kept.missing)
        where = {"namespace": kept.namespace} if kept.namespaced else {}
        manifest = {"metadata": {"name": kept.name, **where}}
        return Piece(
            entry=entry,
            kept=kept,
            manifest=manifest,
            went_along=went_along,
            foreign=choice.foreign,
            outcome=outcome,
        )
    claims = () if went_along else entry.claims
    ready = made_ready(kept, claims=claims, into=choice.into, keep=choice.keep, now=choice.now)
    differs = (*ready.differs, *not_known(kept))
    return Piece(
        entry=entry,
        kept=kept,
        manifest=ready.manifest,
        went_along=went_along,
        foreign=choice.foreign,
        differs=differs,
    )


def _nothing(entry: Entry, shut: SkoupaError | None) -> Kept:
    return Kept(
        api_version=entry.api_version,
        kind=entry.kind,
        resource=entry.resource,
        namespaced=bool(entry.namespace),
        name=entry.name,
        namespace=entry.namespace,
        uid=entry.uid,
        missing=f"{entry.id} can't be opened: {shut.message}" if shut is not None else _why_nothing(entry),
    )


def _why_nothing(entry: Entry) -> str:
    if entry.finalizer:
        return f"this is not how it went: its finalizer {entry.finalizer} was taken off"
    if entry.outcome in _DID_NOT_GO:
        return _DID_NOT_GO[entry.outcome]
    if entry.forgotten_at is not None:
        until = whole_seconds(entry.forgotten_at)
        return f"it was in the trash until {until}, and is forgotten since (trash.keepDays, trash.keepBytes)"
    if entry.kept < 0:
        return "it was purged from the trash"
    return "it was not put into the trash" + (f": {entry.unkept}" if entry.unkept else "")

"""What `history` and `restore` print as `-o json` and `-o yaml`.

Public, as `items` is: `docs/history.md` describes every field, and a test compares. Fields that an item of `plan` has
too mean the same here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from skoupa.cli.terminal.items import API_VERSION, ToldClaim, ToldHold, claim_of, hold_of, moment
from skoupa.cli.terminal.shape import Shape
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry, InTrash, Result
from skoupa.ledger.trash.contents import Kept

RestoreResult = Literal[
    "restored", "would-restore", "exists", "refused", "not-kept", "skipped", "failed", "not-tried"
]


class DecisionOutcome(Shape, frozen=True, kw_only=True):
    """What became of the decision; `text` is the error behind it, where there is one."""

    what: Result
    text: str = ""


class RestoreOutcome(Shape, frozen=True, kw_only=True):
    """What became of bringing it back; `text` says why it did not come."""

    what: RestoreResult
    text: str = ""


class TrashState(Shape, frozen=True, kw_only=True):
    """Whether it is in the trash, and how many bytes it takes there with all that went along.

    `until` is when it was forgotten, because the trash keeps nothing for so long or no more than so much. `why` says why
    it went without being kept. `partly`: some of it, or of what went along, is not there; None: not known.
    """

    state: InTrash
    bytes: int
    until: str | None = None
    why: str = ""
    partly: bool | None = None


class TrashPart(Shape, frozen=True, kw_only=True):
    """One object in the trash: the deleted one, or one that went along. Manifests are not shown.

    `withheld` are keys of a Secret whose values were not kept, `missing` says why the object is not there at all,
    `unknown` what else went along that could not be looked at.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    withheld: tuple[str, ...] = ()
    missing: str = ""
    unknown: tuple[str, ...] = ()


class HistoryItem(Shape, frozen=True, kw_only=True):
    """One decision about one object."""

    id: str
    at: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    due: str | None
    claims: tuple[ToldClaim, ...]
    holds: tuple[ToldHold, ...]
    mechanism: str
    rule: str
    author: str
    run: str
    propagation: str
    weight: int
    attempts: int
    finished_at: str | None
    outcome: DecisionOutcome
    trash: TrashState
    restored_as: str
    parts: tuple[TrashPart, ...] | msgspec.UnsetType = msgspec.UNSET


class HistoryDocument(Shape, frozen=True, kw_only=True):
    """What `history` prints; `more`: there are older ones than `--limit` lets through.

    `hidden` counts rows in between that are not shown, because the caller may not read their kinds there.
    """

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["History"] = "History"
    now: str
    items: tuple[HistoryItem, ...]
    more: bool = False
    hidden: int = 0


class RestoreItem(Shape, frozen=True, kw_only=True):
    """One object to bring back. `id` is the decision that it went by; `went_along`: not by itself.

    `namespace` is where it comes back to, `new_uid` the uid that it has now, `differs` what is not as before.
    """

    id: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    went_along: bool
    outcome: RestoreOutcome
    new_uid: str = ""
    differs: tuple[str, ...] = ()


class RestoreDocument(Shape, frozen=True, kw_only=True):
    """What `restore` prints."""

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["Restore"] = "Restore"
    now: str
    dry_run: bool
    items: tuple[RestoreItem, ...]
    warnings: tuple[str, ...] = ()


def history_item(entry: Entry, kept: tuple[Kept, ...] | None = None) -> HistoryItem:
    return HistoryItem(
        id=entry.id,
        at=whole_seconds(entry.at),
        api_version=entry.api_version,
        kind=entry.kind,
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        labels=dict(entry.labels),
        due=moment(entry.due or None),
        claims=tuple(map(claim_of, entry.claims)),
        holds=tuple(map(hold_of, entry.holds)),
        mechanism=entry.mechanism,
        rule=entry.rule,
        author=entry.author,
        run=entry.run,
        propagation=entry.propagation,
        weight=entry.weight,
        attempts=entry.attempts,
        finished_at=moment(entry.finished_at),
        outcome=DecisionOutcome(what=entry.outcome, text=entry.error),
        trash=trash_state(entry),
        restored_as=entry.restored_as,
        parts=msgspec.UNSET if kept is None else tuple(trash_part(one) for one in kept),
    )


def trash_state(entry: Entry) -> TrashState:
    state = entry.in_trash
    if state != "kept":
        why = entry.unkept if state == "none" else ""
        return TrashState(state=state, bytes=0, until=moment(entry.forgotten_at), why=why)
    return TrashState(state=state, bytes=entry.kept, partly=entry.partly)


def trash_part(kept: Kept) -> TrashPart:
    return TrashPart(
        api_version=kept.api_version,
        kind=kept.kind,
        namespace=kept.namespace,
        name=kept.name,
        uid=kept.uid,
        withheld=kept.withheld,
        missing=kept.missing,
        unknown=kept.unknown,
    )

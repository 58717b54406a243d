"""What `-o json` and `-o yaml` print: one schema of an object for all commands, and the lists it comes in.

Public: `docs/output.md` describes every field, and a test compares. Fields are added, never renamed. Times are RFC 3339
in UTC. Reasons are codes with facts; their texts are for people and may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from skoupa.cli.terminal.alive_shapes import AliveStanding
from skoupa.cli.terminal.needs_told import ItemNeeds
from skoupa.cli.terminal.retention_shapes import ItemRetention, RetentionStanding
from skoupa.cli.terminal.shape import Shape, ToldGap
from skoupa.cli.terminal.tenant_shapes import DeletedTenant, ItemTenant
from skoupa.expr.windows import Window
from skoupa.facts.rows import Row, uid_text
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, said
from skoupa.model.verdicts import Claim, Hold, Verdict

if TYPE_CHECKING:
    # `history` writes such documents too, and has no use for what reads a cluster: it would take longer than all the rest.
    from skoupa.controller.survey import Finding, Gap
    from skoupa.controller.weighing.weight import Weight

API_VERSION: Final = "skoupa.dev/v1alpha1"


class ToldReason(Shape, frozen=True, kw_only=True):
    """Why: `code` is for programs, `text` for people."""

    code: str
    facts: dict[str, str]
    text: str


class ToldClaim(Shape, frozen=True, kw_only=True):
    """Something lets the object go from `due` on; `rule` is the label, policy or setting behind it."""

    mechanism: str
    rule: str
    due: str
    propagation: str
    reason: ToldReason


class ToldHold(Shape, frozen=True, kw_only=True):
    """Something holds the object, until `until` where that is known."""

    reason: ToldReason
    until: str | None


class TakesAlong(Shape, frozen=True, kw_only=True):
    """What goes with a Namespace or a definition, counted by kind; `uncounted` gives the reason for each kind."""

    total: int
    objects: dict[str, int]
    uncounted: dict[str, str]


class Parent(Shape, frozen=True, kw_only=True):
    """What would take the object along: an owner, an owner's owner, its Namespace, its definition.

    `why` says why it is `unreadable`; `due` and `goes_at` are as in an item, `mechanism`, `rule` and `propagation` as in a claim.
    """

    relation: Literal["owner", "namespace", "definition"]
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    state: Literal["lives", "terminating", "gone", "unreadable"]
    why: str = ""
    due: str | None = None
    goes_at: str | None = None
    mechanism: str = ""
    rule: str = ""
    propagation: str = ""


class Change(Shape, frozen=True, kw_only=True):
    """One label or annotation that a command wrote; null is absent."""

    field: Literal["label", "annotation"]
    key: str
    before: str | None
    after: str | None


class Outcome(Shape, frozen=True, kw_only=True):
    """What became of it: `what` is one word, `text` the sentence behind it, empty where all went well."""

    what: Literal[
        "deleted",
        "terminating",
        "gone",
        "stays",
        "failed",
        "not-tried",
        "changed",
        "unchanged",
        "would-change",
    ]
    text: str = ""


class ItemPolicy(Shape, frozen=True, kw_only=True):
    """What a policy says of one object for its next run; `why` says why it is not, or not surely, to go by that.

    The first fields are as in a PolicyRun.
    """

    kind: str
    namespace: str
    name: str
    schedule: str
    words: str
    zone: str
    next_run: str | None
    suspended: bool
    observed_until: str | None
    answer: Literal["matches", "spares", "unclear", "leaves"]
    why: str = ""


class Item(Shape, frozen=True, kw_only=True):
    """One object. `due` is when the first claim lets it go, `goes_at` when it goes if nothing changes.

    The last eight are there only in the commands that have something to say in them.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    due: str | None
    goes_at: str | None
    claims: tuple[ToldClaim, ...] = ()
    holds: tuple[ToldHold, ...] = ()
    notes: tuple[ToldReason, ...] = ()
    takes_along: TakesAlong | msgspec.UnsetType = msgspec.UNSET
    parents: tuple[Parent, ...] | msgspec.UnsetType = msgspec.UNSET
    policies: tuple[ItemPolicy, ...] | msgspec.UnsetType = msgspec.UNSET
    retention: tuple[ItemRetention, ...] | msgspec.UnsetType = msgspec.UNSET
    needed_by: ItemNeeds | msgspec.UnsetType = msgspec.UNSET
    tenant: ItemTenant | msgspec.UnsetType = msgspec.UNSET
    changes: tuple[Change, ...] | msgspec.UnsetType = msgspec.UNSET
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET


class ToldWindow(Shape, frozen=True, kw_only=True):
    """The window of time that was understood, also in words; `from_now`: what is overdue belongs to it."""

    start: str
    end: str
    includes_end: bool
    from_now: bool
    text: str


class LastRun(Shape, frozen=True, kw_only=True):
    """The last run of a policy, as its status tells: when, and how many objects it was about."""

    at: str
    matched: int = 0
    deleted: int = 0
    held: int = 0
    failed: int = 0


class PolicyRun(Shape, frozen=True, kw_only=True):
    """A policy: when it runs next, and what of what it matches would go. `looked_at`: it was asked what it matches.

    `file` and `document` are of `plan -f`. `would_brake` says why a Brake would stop the whole run, `problems` why it does not
    run, or could not be asked about all of its objects.
    """

    kind: str
    namespace: str
    name: str
    file: str
    document: int
    schedule: str
    words: str
    zone: str
    last_run: LastRun | None
    next_run: str | None
    suspended: bool
    observed_until: str | None
    looked_at: bool
    matched: int
    would_go: int
    held: int
    unclear: int
    would_brake: tuple[str, ...]
    problems: tuple[str, ...]
    cautions: tuple[str, ...]


class Document(Shape, frozen=True, kw_only=True):
    """What one command prints. `items` are what was asked for; `remarks` are objects of which only notes are told.

    `policies` and `retention` (where there are any) are told by `plan` alone, `ledger` by a `sweep` that has written to one, `alive` by
    `plan` where there is an Alive, and by `explain` of it, `tenants` by `plan` where some are being deleted.
    """

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["Plan", "Explanation", "Changes", "Sweep"]
    now: str
    window: ToldWindow | None = None
    dry_run: bool = False
    ledger: str | msgspec.UnsetType = msgspec.UNSET
    items: tuple[Item, ...]
    remarks: tuple[Item, ...] = ()
    policies: tuple[PolicyRun, ...] | msgspec.UnsetType = msgspec.UNSET
    retention: tuple[RetentionStanding, ...] | msgspec.UnsetType = msgspec.UNSET
    alive: AliveStanding | msgspec.UnsetType = msgspec.UNSET
    tenants: tuple[DeletedTenant, ...] | msgspec.UnsetType = msgspec.UNSET
    gaps: tuple[ToldGap, ...] = ()
    warnings: tuple[str, ...] = ()


def item_of(found: Finding, *, weight: Weight | None = None) -> Item:
    row, verdict = found.row, found.verdict
    extra = tuple(weight.notes()) if weight else ()
    return Item(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        uid=uid_text(row.uid),
        due=moment(verdict.due),
        goes_at=moment(verdict.goes),
        claims=tuple(claim_of(claim) for claim in verdict.claims),
        holds=tuple(hold_of(hold) for hold in verdict.holds),
        notes=tuple(_reason(note) for note in (*verdict.notes, *extra)),
        takes_along=TakesAlong(total=weight.total, objects=weight.objects, uncounted=weight.uncounted)
        if weight and (weight.objects or weight.uncounted)
        else msgspec.UNSET,
    )


def parent_of(row: Row, verdict: Verdict, relation: Literal["owner", "namespace", "definition"]) -> Parent:
    claim = verdict.claims[0] if verdict.claims else None
    return Parent(
        relation=relation,
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        uid=uid_text(row.uid),
        state="terminating" if row.deleted_at else "lives",
        due=moment(verdict.due),
        goes_at=moment(verdict.goes),
        mechanism=claim.mechanism if claim is not None else "",
        rule=claim.rule if claim is not None else "",
        propagation=claim.propagation if claim is not None else "",
    )


def window_of(window: Window) -> ToldWindow:
    return ToldWindow(
        start=whole_seconds(window.start),
        end=whole_seconds(window.end),
        includes_end=window.includes_end,
        from_now=window.from_now,
        text=window.text,
    )


def gap_of(gap: Gap) -> ToldGap:
    return ToldGap(what=gap.what, why=gap.why)


def moment(epoch: float | None) -> str | None:
    return None if epoch is None else whole_seconds(epoch)


def claim_of(claim: Claim) -> ToldClaim:
    return ToldClaim(
        mechanism=claim.mechanism,
        rule=claim.rule,
        due=whole_seconds(claim.due),
        propagation=claim.propagation,
        reason=_reason(claim.reason),
    )


def hold_of(hold: Hold) -> ToldHold:
    return ToldHold(reason=_reason(hold.reason), until=moment(hold.until))


def _reason(told: Reason) -> ToldReason:
    return ToldReason(code=told.code, facts=dict(told.facts), text=said(told))

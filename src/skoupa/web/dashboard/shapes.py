"""What the pages are told: documents of text, numbers and times, ready to be shown.

Not a public format: programs read what the commands print with `-o json`. Reasons are rendered here, by the one table, so
that a page says what `plan`, `explain` and `history` say. Times are RFC 3339 in UTC; a page shows them in its reader's zone.
Nothing of what an object contains is ever in them.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from skoupa.ledger.rows import InTrash, Result
from skoupa.web.shapes import ROOT, Document

BOARD: Final = f"{ROOT}/board"

State = Literal["due", "later", "held"]
# What a controller does here: as `Acts`, or that there is none, that nobody can tell, that this is a cluster in files.
Mode = Literal["acts", "observes", "stands-by", "starts", "absent", "unknown", "files"]


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Keys are written in camelCase."""


class ShownHold(Part, frozen=True, kw_only=True):
    code: str
    text: str
    until: str | None = None


class ShownObject(Part, frozen=True, kw_only=True):
    """`why` are its claims, the one that decides first. `commands` are what to type about it."""

    kind: str
    namespace: str
    name: str
    uid: str
    state: State
    due: str | None
    goes_at: str | None
    mechanism: str = ""
    rule: str = ""
    why: tuple[str, ...] = ()
    holds: tuple[ShownHold, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


class Lot(Part, frozen=True, kw_only=True):
    """What is due in one namespace by one rule: how many, the longest overdue first, and the first few of them."""

    namespace: str
    mechanism: str
    rule: str
    count: int
    since: str
    first: tuple[ShownObject, ...]


class Said(Part, frozen=True, kw_only=True):
    """A sentence, and of how many objects it is said."""

    text: str
    count: int


class HoldLot(Part, frozen=True, kw_only=True):
    """What is held for one sort of reason: the sentences that are said most often, and how many others there are."""

    code: str
    count: int
    texts: tuple[Said, ...]
    other_texts: int = 0


class Counts(Part, frozen=True, kw_only=True):
    """`soon` are those of `later` that go within a day."""

    due: int
    soon: int
    later: int
    held: int


class ShownGap(Part, frozen=True, kw_only=True):
    what: str
    why: str


class Standing(Part, frozen=True, kw_only=True):
    """What the controller does, in a sentence; `headline` is the one thing to know now."""

    mode: Mode
    headline: str
    sentence: str


class Seen(Document, frozen=True, kw_only=True):
    """What all documents say: the time there, and why what is shown is not up to date, if it is not.

    `made` is when what is shown was read; empty: at that time.
    """

    now: str
    made: str = ""
    trouble: str = ""


class Overview(Seen, frozen=True, kw_only=True):
    """`place` is the cluster, `namespace` the one that is looked into; empty: all. `complete`: there is nothing but what is shown.

    `announced` says that this cluster is about to die, and which Tenants are being deleted, a sentence each; empty: nobody knows of that.
    """

    place: str
    namespace: str
    announced: tuple[str, ...] = ()
    standing: Standing
    counts: Counts
    complete: bool
    due: tuple[Lot, ...]
    due_lots: int
    next: tuple[ShownObject, ...]
    holds: tuple[HoldLot, ...]
    remarks: tuple[ShownObject, ...]
    remarks_count: int
    gaps: tuple[ShownGap, ...]
    warnings: tuple[str, ...]
    command: str


class Objects(Seen, frozen=True, kw_only=True):
    """One page of the objects that were asked for; `total` of them there are. `notes` say what is left out."""

    items: tuple[ShownObject, ...]
    total: int
    offset: int
    command: str
    notes: tuple[str, ...] = ()


class ShownBrake(Part, frozen=True, kw_only=True):
    """`held` null: nobody has counted. `release` is the command that ends it; empty: it ends already."""

    name: str
    scope: str
    state: str
    holds: bool
    held: int | None
    since: str | None
    until: str | None
    reason: str
    remarks: tuple[str, ...]
    release: str


class Brakes(Seen, frozen=True, kw_only=True):
    """`unknown` says why it is not known which Brakes there are; `all_held`: then everything is held by that alone.

    `notes` say why there can be none.
    """

    items: tuple[ShownBrake, ...]
    unknown: str = ""
    all_held: bool = False
    command: str
    pause: str
    notes: tuple[str, ...] = ()


class ShownEntry(Part, frozen=True, kw_only=True):
    """One decision. `restore` is the command that brings the object back; empty: there is nothing to bring back."""

    id: str
    at: str
    outcome: Result
    kind: str
    namespace: str
    name: str
    rule: str
    run: str
    author: str
    why: tuple[str, ...]
    holds: tuple[str, ...]
    error: str
    trash: InTrash | Literal["partly"]
    restored_as: str
    restore: str


class Remembered(Seen, frozen=True, kw_only=True):
    """The newest first; `more`: there are older ones. `notes` say what is not shown, and why."""

    items: tuple[ShownEntry, ...]
    more: bool
    notes: tuple[str, ...]
    command: str


class ShownRun(Part, frozen=True, kw_only=True):
    at: str
    matched: int
    deleted: int
    held: int
    failed: int


class ShownRetained(Part, frozen=True, kw_only=True):
    """What a retention policy is about: `says` are its times, `deleted` is null where nobody counted, `told` are remarks."""

    says: str
    matched: int
    waiting: int
    held: int
    deleted: int | None
    next_time: str | None
    told: str = ""


class ShownPolicy(Part, frozen=True, kw_only=True):
    """`retained` is of a retention policy, which has no schedule; null: it is another. `ahead`: what it matches now is known, and the numbers below count. `observed_until`: until then it only reports."""

    kind: str
    namespace: str
    name: str
    schedule: str
    words: str
    zone: str
    last_run: ShownRun | None
    next_run: str | None
    suspended: bool
    observed_until: str | None
    ahead: bool = False
    matched: int = 0
    would_go: int = 0
    held: int = 0
    unclear: int = 0
    would_brake: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    retained: ShownRetained | None = None


class Policies(Seen, frozen=True, kw_only=True):
    """`notes` say why some, or all, are not known here."""

    items: tuple[ShownPolicy, ...]
    notes: tuple[str, ...]
    command: str

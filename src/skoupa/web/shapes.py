"""What goes over the wire between the command line and a controller, for both sides.

Not a public format: programs read what `-o json` prints. Documents carry an `apiVersion`; a side that is older ignores
fields that it does not know, and refuses values that it does not. Refusals are a Status as an API server writes it, with
a group by which they can be told from those of the API server on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from skoupa import names
from skoupa.errors import Status
from skoupa.ledger.rows import Entry, Result
from skoupa.ledger.store import Place, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.report.opinions import Acts, Opinion

API_VERSION: Final = f"{names.SKOUPA_GROUP}/v1alpha1"
ROOT: Final = "/api/v1alpha1"
HISTORY: Final = f"{ROOT}/history"
BODIES: Final = f"{ROOT}/bodies"
RESTORED: Final = f"{ROOT}/restored"
STANDING: Final = f"{ROOT}/standing"

BEARER: Final = "Bearer "
# What the way through the API server names; the port of the Service is install.history's.
SERVICE: Final = names.COMPONENT

MOST_ROWS: Final = 500
MOST_IDS: Final = 200
# Each is named with its kind and namespace, in the address.
MOST_OBJECTS: Final = 100
_OBJECT: Final = "object"

Reason = Literal[
    "NoToken",
    "Unauthorized",
    "Forbidden",
    "CannotAsk",
    "NoLedger",
    "NotFound",
    "UnknownPath",
    "UnknownHost",
    "Reading",
    "BadRequest",
    "Sealed",
    "TooManyRequests",
    "LedgerUnavailable",
    "NotErased",
    "TimedOut",
    "InternalError",
]


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Keys are written in camelCase."""

    api_version: str = API_VERSION


class Page(Document, frozen=True, kw_only=True):
    """Rows, the newest first. `hidden` counts those in between that the caller may not see.

    `next` is where to go on; None: there are no older ones.
    """

    items: tuple[Entry, ...]
    hidden: int = 0
    next: Place | None = None


class One(Document, frozen=True, kw_only=True):
    item: Entry


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object of the trash, or why there are no more: of that deletion, or without an id of any."""

    id: str = ""
    kept: Kept | None = None
    refusal: Status | None = None


class CameBack(Document, frozen=True, kw_only=True):
    """Old uids and new ones."""

    uids: dict[str, str]


class Written(Document, frozen=True, kw_only=True):
    """How many rows were changed."""

    number: int


class Standings(Document, frozen=True, kw_only=True):
    """What a controller says of objects, those that the caller may not read left out; and whether it acts at all."""

    acts: Acts
    items: tuple[Opinion, ...] = ()


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """An object that is asked about: its kind as kubectl shows it, and where it is."""

    resource: str
    namespace: str
    uid: str


class _Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As it stands in the address; what is not there is not asked for."""

    uid: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    since: float | None = None
    until: float | None = None
    mechanism: str | None = None
    rule: str | None = None
    rule_end: str | None = None
    run: str | None = None
    outcome: tuple[Result, ...] | None = None
    limit: int = MOST_ROWS
    before_at: float | None = None
    before_id: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    wish: Wish
    limit: int
    before: Place | None = None


_WISHED: Final = (
    "uid",
    "kind",
    "namespace",
    "name",
    "since",
    "until",
    "mechanism",
    "rule",
    "rule_end",
    "run",
)


def query_of(question: Question) -> tuple[tuple[str, str], ...]:
    return tuple(_pairs(question))


def _pairs(question: Question) -> Iterator[tuple[str, str]]:
    for name in _WISHED:
        value = getattr(question.wish, name)
        if value is not None:
            # repr keeps every digit of a time, on which paging depends.
            yield name, repr(value) if isinstance(value, float) else str(value)
    for outcome in question.wish.outcomes or ():
        yield "outcome", outcome
    yield "limit", str(question.limit)
    if question.before is not None:
        yield "before_at", repr(question.before.at)
        yield "before_id", question.before.id


def question_of(pairs: Iterable[tuple[str, str]]) -> Question:
    """Raises ValueError (msgspec's) on what can't be meant."""
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name == "outcome":
            given.setdefault(name, []).append(value)
        else:
            given[name] = value
    query = msgspec.convert(given, _Query, strict=False)
    wish = Wish(**{name: getattr(query, name) for name in _WISHED}, outcomes=query.outcome)
    before = Place(at=query.before_at, id=query.before_id) if query.before_at is not None else None
    return Question(wish=wish, limit=min(max(query.limit, 1), MOST_ROWS), before=before)


def named_query(objects: Iterable[Named]) -> tuple[tuple[str, str], ...]:
    return tuple((_OBJECT, f"{one.resource}/{one.namespace}/{one.uid}") for one in objects)


def named_of(pairs: Iterable[tuple[str, str]]) -> list[Named]:
    """Raises ValueError on what can't be meant."""
    found: list[Named] = []
    for name, value in pairs:
        parts = value.split("/")
        if name != _OBJECT or len(parts) != 3 or not parts[0] or not parts[2]:
            raise msgspec.ValidationError(f"{name} is no object=KIND/NAMESPACE/UID")
        found.append(Named(resource=parts[0], namespace=parts[1], uid=parts[2]))
    if not 0 < len(found) <= MOST_OBJECTS:
        raise msgspec.ValidationError(f"one to {MOST_OBJECTS} objects can be asked about at once")
    return found


def refusal(code: int, reason: Reason, message: str) -> Status:
    return Status(
        code=code, reason=reason, message=message, status="Failure", details={"group": names.SKOUPA_GROUP}
    )


def status_body(status: Status) -> bytes:
    return msgspec.json.encode({"kind": "Status", "apiVersion": "v1", **msgspec.to_builtins(status)})


def is_ours(status: Status) -> bool:
    """Whether a controller said it, and not the API server on the way."""
    details: Mapping[str, Any] = status.details or {}
    return details.get("group") == names.SKOUPA_GROUP

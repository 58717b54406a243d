"""Lists: pages of one moment, older moments as far as they are remembered, and continue tokens.

All pages of a list show the objects as they were when the first page was read. When that moment has been forgotten the
answer is 410 with a token that goes on from the same place in the present ("inconsistent continue").
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skoupa.sim.server import encoding
from skoupa.sim.server.calls import Call
from skoupa.sim.server.selecting import Selection, selection_of
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.refusals import (
    TOO_OLD_TOKEN,
    Cause,
    bad_request,
    expired,
    options_invalid,
    too_large_version,
)
from skoupa.sim.state.storage import Row, Shelf

_PRESENT = -1


class Page(msgspec.Struct, frozen=True, kw_only=True):
    rows: Sequence[Row]
    version: int
    continue_token: str = ""
    remaining: int | None = None


class Token(msgspec.Struct, frozen=True):
    """A place in a list: the next key and the revision of the first page (-1: whatever is now)."""

    v: str
    rv: int
    start: str


def answer(plane: Plane, call: Call) -> bytes:
    page = read(plane, call)
    metadata: dict[str, Any] = {"resourceVersion": str(page.version)}
    if page.continue_token or call.served.custom:
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    parts = encoding.items(call.served, page.rows, partial=call.partial)
    return encoding.listing(call.served, parts, metadata=metadata, partial=call.partial)


def read(plane: Plane, call: Call) -> Page:
    """The rows of one page; raises the server's refusal of impossible options and forgotten moments."""
    _check_options(call)
    selection = selection_of(call)
    limit = max(0, call.number("limit") or 0)
    # What may come from any moment comes from the cache, and the cache has no pages.
    if call.query.get("resourceVersion") == "0" and call.query.get("resourceVersionMatch") != "Exact":
        limit = 0
    token = call.query.get("continue", "")
    plane.store.tick()
    if token:
        place = _decode(token)
        version = plane.store.revision if place.rv == _PRESENT else place.rv
        if not _remembered(plane, call.served.shelf, version):
            raise expired(TOO_OLD_TOKEN, continue_token=_encode(_PRESENT, place.start))
        return _page(call, selection, version=version, start=place.start, limit=limit)
    version = _version(plane, call, paged=limit > 0)
    return _page(call, selection, version=version, start="", limit=limit)


def _version(plane: Plane, call: Call, *, paged: bool) -> int:
    current = plane.store.revision
    text = call.query.get("resourceVersion", "")
    if text in {"", "0"}:
        return current
    if not text.isdecimal():
        said = f'"{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: resourceVersion: Invalid value: {said}")
    asked = int(text)
    if asked > current:
        raise too_large_version(asked, current)
    match = call.query.get("resourceVersionMatch", "")
    # Without a match a paged list means exactly that version, an unpaged one anything newer.
    if match == "Exact" or (not match and paged):
        if not _remembered(plane, call.served.shelf, asked):
            raise expired("The resourceVersion for the provided list is too old.")
        return asked
    return current


def _remembered(plane: Plane, shelf: Shelf, version: int) -> bool:
    if version == plane.store.revision:
        return True
    return version >= plane.store.compacted and version >= shelf.complete_after


def _page(call: Call, selection: Selection, *, version: int, start: str, limit: int) -> Page:
    served = call.served
    keys, rows = served.shelf.at(version)
    first, last = _bounds(keys, selection, start)
    if selection.everything:
        stop = min(last, first + limit) if limit else last
        found = [rows[key] for key in keys[first:stop]]
        left = last - stop
    else:
        found, stop = _matching(call, selection, keys=keys, rows=rows, first=first, last=last, limit=limit)
        left = last - stop
    if not left or not limit:
        return Page(rows=found, version=version)
    return Page(
        rows=found,
        version=version,
        continue_token=_encode(version, found[-1].key + "\0"),
        remaining=left if selection.everything else None,
    )


def _bounds(keys: Sequence[str], selection: Selection, start: str) -> tuple[int, int]:
    first, last = 0, len(keys)
    namespace = selection.namespace
    fields = selection.fields
    if fields is not None and fields.namespace and not namespace:
        namespace = fields.namespace
    if namespace:
        first, last = bisect_left(keys, f"{namespace}/"), bisect_left(keys, f"{namespace}0")
        if fields is not None and fields.name:
            first = bisect_left(keys, f"{namespace}/{fields.name}", first, last)
            last = min(last, first + 1)
    return (max(first, bisect_left(keys, start)) if start else first), last


def _matching(
    call: Call,
    selection: Selection,
    *,
    keys: Sequence[str],
    rows: Mapping[str, Row],
    first: int,
    last: int,
    limit: int,
) -> tuple[list[Row], int]:
    """The matching rows of one page and where the next one starts; it ends at `last` if nothing more matches."""
    found: list[Row] = []
    for index in range(first, last):
        row = rows[keys[index]]
        if not selection.matches(call.served, row):
            continue
        if limit and len(found) == limit:
            return found, index
        found.append(row)
    return found, last


def _check_options(call: Call) -> None:
    query = call.query
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    field = "resourceVersionMatch"
    causes: list[Cause] = []
    if match:
        if not version:
            causes.append(
                _forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if query.get("continue"):
            causes.append(_forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in {"Exact", "NotOlderThan"}:
            said = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
            causes.append(Cause(reason="FieldValueNotSupported", message=said, field=field))
        if match == "Exact" and version == "0":
            causes.append(
                _forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
            )
    if query.get("sendInitialEvents"):
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise options_invalid("ListOptions", *causes)
    if query.get("continue") and version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")


def _forbidden(field: str, said: str) -> Cause:
    return Cause(reason="FieldValueForbidden", message=f"Forbidden: {said}", field=field)


def _encode(version: int, start: str) -> str:
    raw = msgspec.json.encode(Token("meta.k8s.io/v1", version, start))
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> Token:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(raw, type=Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if token.v != "meta.k8s.io/v1" or not token.rv or not token.start:
        raise bad_request("invalid continue token: continue key is not valid")
    return token

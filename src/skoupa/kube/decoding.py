"""Bytes from the server into typed values.

A page is decoded in one go. Only when that fails is it taken apart item by item, so that one malformed object costs
itself and not the other 499; it is handed on as `Undecodable`, because an object that can't be read is a gap in
knowledge and not an object that does not exist. So is one that is nested too deep to be decoded (`nesting`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from skoupa.errors import BadReply, Status
from skoupa.kube.nesting import MARK, TOO_DEEP, shallow
from skoupa.kube.objects import ListMeta, Metadata, Partial, View

T = TypeVar("T")


class Undecodable(msgspec.Struct, frozen=True, kw_only=True):
    """An object that arrived but could not be read, with as much of its identity as there was. `gone`: it was deleted."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    why: str
    gone: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A piece of a list. `first` starts a list: whatever came before it is void."""

    first: bool
    items: list[T]
    undecodable: tuple[Undecodable, ...] = ()
    resource_version: str
    remaining: int | None = None


class Line(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One line of a watch."""

    type: str
    object: T


class _List(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    metadata: ListMeta
    items: list[T] | None = None
    kind: str = ""


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _line_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """By the kind itself: to ask for `Line[kind]` takes as long as to decode a small object."""
    return msgspec.json.Decoder(Line[kind])


def decode(body: bytes, kind: Any, *, doing: str) -> Any:
    """Decodes a whole body; what is no such thing raises `BadReply`."""
    try:
        return _decoder(kind).decode(body)
    except RecursionError as error:
        raise BadReply(f"{doing}: {TOO_DEEP}", advice="delete the object, or write it anew") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadReply(
            f"{doing}: the answer is not what an API server sends ({error}): it begins with {excerpt(body)}",
            advice="check that the address in the kubeconfig is that of a Kubernetes API server",
        ) from error


def decode_list(
    body: bytes, view: View[T], *, doing: str
) -> tuple[ListMeta, list[T], tuple[Undecodable, ...]]:
    try:
        page = _decoder(_List[view.type]).decode(body)  # type: ignore[name-defined]
    except RecursionError:
        return _decode_item_by_item(shallow(body), view, doing=doing)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_item_by_item(body, view, doing=doing)
    return page.metadata, page.items or [], ()


def _decode_item_by_item(
    body: bytes, view: View[T], *, doing: str
) -> tuple[ListMeta, list[T], tuple[Undecodable, ...]]:
    page = _by_items(body, doing=doing)
    items: list[T] = []
    bad: list[Undecodable] = []
    for raw in page.items or ():
        if MARK in bytes(raw):
            bad.append(undecodable(bytes(raw), TOO_DEEP))
            continue
        try:
            items.append(_decoder(view.type).decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            bad.append(undecodable(bytes(raw), str(error)))
    return page.metadata, items, tuple(bad)


def _by_items(body: bytes, *, doing: str) -> _List[msgspec.Raw]:
    try:
        page = _decoder(_List[msgspec.Raw]).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # One may be malformed and another too deep.
        page = decode(shallow(body), _List[msgspec.Raw], doing=doing)
    return page  # type: ignore[no-any-return]


def decode_line(line: bytes, view: View[T]) -> Line[T] | Line[Status] | Line[Partial] | Undecodable:
    """One watch line: a change, a BOOKMARK (metadata only), an ERROR (Status), or an object that can't be read.

    Raises `BadReply` for a line that is no watch event at all.
    """
    if line.startswith(b'{"type":"ERROR"'):
        return decode(line, Line[Status], doing="watch")  # type: ignore[no-any-return]
    if line.startswith(b'{"type":"BOOKMARK"'):
        return decode(line, Line[Partial], doing="watch")  # type: ignore[no-any-return]
    try:
        return _line_decoder(view.type).decode(line)  # type: ignore[no-any-return]
    except RecursionError:
        line, why = shallow(line), TOO_DEEP
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = str(error)
    raw = decode(line, Line[msgspec.Raw], doing="watch")
    if raw.type == "ERROR":
        return decode(line, Line[Status], doing="watch")  # type: ignore[no-any-return]
    return msgspec.structs.replace(undecodable(bytes(raw.object), why), gone=raw.type == "DELETED")


class _LooseMetadata(msgspec.Struct):
    name: Any = ""
    namespace: Any = ""
    uid: Any = ""


class _Loose(msgspec.Struct):
    metadata: _LooseMetadata


def undecodable(raw: bytes, why: str) -> Undecodable:
    try:
        found = _decoder(_Loose).decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Undecodable(why=why)
    return Undecodable(namespace=str(found.namespace), name=str(found.name), uid=str(found.uid), why=why)


def metadata_of(item: Any) -> Metadata:
    """The metadata of an object of any view, also of a plain dict."""
    if isinstance(item, dict):
        found = item.get("metadata") or {}
        # Who wrote which fields is kept as bytes, which a dict has no more.
        return msgspec.convert({key: found[key] for key in found if key != "managedFields"}, Metadata)
    metadata: Metadata = item.metadata
    return metadata


def excerpt(body: bytes, length: int = 80) -> str:
    """The beginning of a body for an error message; never the place where secrets stand in an API object."""
    return repr(body[:length].decode("utf-8", "replace"))

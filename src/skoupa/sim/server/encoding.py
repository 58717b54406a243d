"""How stored rows become answers: whole objects or metadata only, alone, in lists and as lines of a watch.

A row is already JSON, so an answer is mostly joined bytes; only kinds whose versions differ in shape are decoded.
As a real server does, a list shows built-in kinds without kind and apiVersion in each item, and an empty list of
metadata has `items: null`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Row

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

PARTIAL = Resource(
    group="meta.k8s.io", version="v1", plural="", kind="PartialObjectMetadata", namespaced=False
)


@cache
def _opening(api_version: str, kind: str) -> bytes:
    return b'{"kind":%s,"apiVersion":%s,"metadata":' % (_encode(kind), _encode(api_version))


def document(served: Served, row: Row, *, partial: bool = False) -> bytes:
    """One object as it stands alone."""
    if partial:
        return _opening(PARTIAL.api_version, PARTIAL.kind) + row.meta + b"}"
    resource = served.resource
    return _opening(resource.api_version, resource.kind) + row.meta + _fields(served, row)


def items(served: Served, rows: Iterable[Row], *, partial: bool = False) -> list[bytes]:
    if partial:
        opening = _opening(PARTIAL.api_version, PARTIAL.kind)
        return [opening + row.meta + b"}" for row in rows]
    resource = served.resource
    opening = _opening(resource.api_version, resource.kind) if served.custom else b'{"metadata":'
    return [opening + row.meta + _fields(served, row) for row in rows]


def listing(served: Served, parts: list[bytes], *, metadata: dict[str, Any], partial: bool = False) -> bytes:
    resource = served.resource
    if partial:
        opening = _opening(PARTIAL.api_version, "PartialObjectMetadataList")
    else:
        opening = _opening(resource.api_version, served.list_kind)
    if partial and not parts:
        return opening + _encode(metadata) + b',"items":null}'
    return b"".join((opening, _encode(metadata), b',"items":[', b",".join(parts), b"]}"))


def line(event: str, served: Served, row: Row, *, partial: bool = False) -> bytes:
    """One line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (event.encode(), document(served, row, partial=partial))


def bookmark(
    served: Served, version: int, *, initial_events_end: bool = False, partial: bool = False
) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if initial_events_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    resource = PARTIAL if partial else served.resource
    opening = _opening(resource.api_version, resource.kind)
    return b'{"type":"BOOKMARK","object":%s%s}}\n' % (opening, _encode(metadata))


def failure_line(refusal: Refusal) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % _encode(refusal.status)


def shown(served: Served, row: Row) -> dict[str, Any]:
    """The object as a client of this version would decode it."""
    resource = served.resource
    body = row.decode()
    if served.shape is not None:
        body = served.shape.shown(body)
    return {"kind": resource.kind, "apiVersion": resource.api_version, **body}


def _fields(served: Served, row: Row) -> bytes:
    rest = row.rest
    if served.shape is not None and rest:
        rest = _encode(served.shape.shown(_decode(b"{" + rest + b"}")))[1:-1]
    return b"," + rest + b"}" if rest else b"}"

"""One object by its path, for those who may list and not get: a list with a field selector on the name.

The installed rights have no `get`, so this is tried first. Where listing is not granted, or not to be had, the path itself is asked
for: a person who plans with their own rights may have it the other way round, and so has an installation for some namespaces
with its Namespaces. Subresources can be had by `get` alone.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.errors import BadReply, BadRequest, Forbidden, MethodNotAllowed, NotFound, Status
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.runs.calls.answers import Answer
from skoupa.runs.calls.paths import Path, served_at
from skoupa.runs.calls.server import Server

# Nothing that a field selector would read as more than a name.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Items(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


_ITEMS: Final = msgspec.json.Decoder(_Items)
_NAMED: Final = msgspec.json.Decoder(_Named)


class Single(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource
    namespace: str = ""
    name: str


def single(place: Path, discovery: Discovery) -> Single | None:
    """The object that a path leads to; None where it leads to something else, or asks in a way of its own."""
    served = served_at(place)
    if served is None:
        return None
    group, version, rest = served
    match rest:
        case [plural, name]:
            namespace = ""
        case ["namespaces", namespace, plural, name]:
            pass
        case _:
            return None
    if place.query or not _NAME.fullmatch(name):
        return None
    for row in discovery.resources:
        if (row.group, row.version, row.plural) == (group, version, plural):
            fits = row.namespaced == bool(namespace) and row.may("list")
            return Single(resource=row, namespace=namespace, name=name) if fits else None
    return None


async def ask_for(server: Server, place: Path, *, discovery: Discovery) -> Answer:
    """What a GET of the path answers, also to those who may only list. A NotFound where there is no such object."""
    wanted = single(place, discovery)
    if wanted is None:
        return await server.ask(place, method="GET")
    collection = Path(
        path=wanted.resource.path(namespace=wanted.namespace),
        query=(("fieldSelector", f"metadata.name={wanted.name}"),),
        shown=place.shown,
    )
    try:
        found = await server.ask(collection, method="GET")
    except (Forbidden, MethodNotAllowed, BadRequest, NotFound):
        # A list says 404 where there is no such kind any more; then the path says so too.
        return await server.ask(place, method="GET")
    return _picked(found, wanted)


def _picked(found: Answer, wanted: Single) -> Answer:
    """The one of that name: some servers behind the API server take no notice of the selector."""
    resource = wanted.resource
    try:
        for raw in _ITEMS.decode(found.body).items or ():
            if _NAMED.decode(raw).metadata.name == wanted.name:
                # Lists leave these out.
                whole = {"apiVersion": resource.api_version, "kind": resource.kind}
                body = msgspec.json.encode(whole | msgspec.json.decode(raw, type=dict))
                return Answer(body, where=found.where)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadReply(
            f"{found.where} answered with something that is no list of objects",
            advice="policies read answers in JSON only",
        ) from None
    message = f'{resource.qualified} "{wanted.name}" not found'
    status = Status(code=404, reason="NotFound", message=message)
    raise NotFound(f"{found.where}: {message}", status=status)

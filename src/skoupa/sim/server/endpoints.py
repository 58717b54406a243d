"""What each verb on a kind does, from call to answer.

The rules are elsewhere (`writes`, `deletion`, `lists`); here a body is decoded, the right function asked, and its result put
into the bytes and the code that a client sees. Supported are create, get, list, update, merge, JSON and apply
patches, delete and collection delete; a strategic merge patch is refused with 415, as for custom kinds.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from skoupa.kube.transport import Response
from skoupa.sim.applying.apply import ApplyConflict, ApplyRefused, apply_patch
from skoupa.sim.applying.patches import PatchRefused, json_patch, merge_patch
from skoupa.sim.server import encoding, lists
from skoupa.sim.server.calls import Call, decoded
from skoupa.sim.server.deleteoptions import options_in, options_of
from skoupa.sim.state import kinds
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    forbidden,
    invalid,
    method_not_allowed,
    not_found,
    options_invalid,
    too_large_version,
    unsupported_media_type,
)
from skoupa.sim.state.storage import Row
from skoupa.sim.writing import deletion, writes
from skoupa.sim.writing.guards import (
    check_identity,
    check_kind,
    check_place,
    check_uid_of_absent,
    check_version,
    unreadable,
)
from skoupa.sim.writing.validation import check_types

Body = dict[str, Any]

_APPLY = frozenset({"application/apply-patch+yaml", "application/apply-patch+cbor"})
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_DONE = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_EMPTY_PATCH_REASON = "the server rejected our request due to an error in our request"


def respond(plane: Plane, call: Call, author: Author) -> Response:
    match call.verb:
        case "get":
            return _get(plane, call)
        case "list":
            return _json(lists.answer(plane, call))
        case "create":
            return _create(plane, call, author)
        case "update":
            return _update(plane, call, author)
        case "patch":
            return _patch(plane, call, author)
        case "delete":
            return _delete(plane, call, author)
        case "deletecollection":
            return _delete_many(plane, call, author)
        case _:
            raise method_not_allowed()


def _json(body: bytes, status: int = 200) -> Response:
    return Response(status=status, headers={"content-type": "application/json"}, body=body)


def _object(call: Call, row: Row, status: int = 200) -> Response:
    return _json(encoding.document(call.served, row, partial=call.partial), status)


def _existing(call: Call) -> Row:
    row = call.served.shelf.get(call.namespace, call.name)
    if row is None:
        raise not_found(call.served.resource, call.name)
    return row


def _get(plane: Plane, call: Call) -> Response:
    version = call.query.get("resourceVersion", "")
    if version.isdecimal() and int(version) > plane.store.revision:
        raise too_large_version(int(version), plane.store.revision)
    return _object(call, _existing(call))


def evict(plane: Plane, call: Call, author: Author) -> None:
    """Deletes a Pod on behalf of whoever empties a node; no budget is asked."""
    _existing(call)
    deletion.delete(
        plane,
        call.served,
        namespace=call.namespace,
        name=call.name,
        options=options_in(call.body),
        author=author,
    )


def _create(plane: Plane, call: Call, author: Author) -> Response:
    if call.subresource == "eviction":
        evict(plane, call, author)
        return _json(msgspec.json.encode(_DONE), 201)
    resource = call.served.resource
    if (resource.group, resource.plural) in plane.catalogue.closing:
        said = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource, decoded(call)["metadata"].get("name") or "", said)
    obj = decoded(call)
    return _object(call, _created(plane, call, obj, author), 201)


def _created(plane: Plane, call: Call, obj: Body, author: Author) -> Row:
    body = {field: value for field, value in obj.items() if field not in {"kind", "apiVersion"}}
    return writes.create(plane, call.served, namespace=call.namespace, obj=body, author=author)


def _update(plane: Plane, call: Call, author: Author) -> Response:
    served, resource = call.served, call.served.resource
    obj = decoded(call)
    metadata = obj["metadata"]
    check_place(metadata, namespace=call.namespace, name=call.name)
    row = served.shelf.get(call.namespace, call.name)
    place = (resource.group, resource.plural)
    if row is None:
        if place not in kinds.CREATED_BY_UPDATE or served.custom or call.subresource:
            raise not_found(resource, call.name)
        return _object(call, _created(plane, call, obj, author), 201)
    version = metadata.get("resourceVersion") or ""
    if not version and (served.custom or place in kinds.VERSION_REQUIRED):
        said = "Invalid value: 0: must be specified for an update"
        # The server names the plural here where it names the kind elsewhere.
        named = msgspec.structs.replace(resource, kind=resource.plural)
        raise invalid(named, call.name, [Cause(field="metadata.resourceVersion", message=said)])
    check_identity(served, row, uid=metadata.get("uid") or "")
    check_version(served, row, version=version)
    after = served.shape.stored(obj) if served.shape is not None else obj
    return _object(
        call, writes.change(plane, served, row, after=after, author=author, subresource=call.subresource)
    )


def _patch(plane: Plane, call: Call, author: Author) -> Response:
    media = call.headers.get("content-type", "").partition(";")[0].strip()
    served = call.served
    if media in _APPLY:
        return _apply(plane, call, author)
    if media not in {"application/merge-patch+json", "application/json-patch+json"}:
        if served.custom:
            raise unsupported_media_type(_PATCHES)
        said = "415: Unsupported Media Type"
        raise Refusal(code=415, reason="UnsupportedMediaType", message=said, details={})
    row = _existing(call)
    before = encoding.shown(served, row)
    try:
        given = msgspec.json.decode(call.body)
    except msgspec.DecodeError as error:
        why = "unexpected end of JSON input" if "truncated" in str(error) else str(error)
        raise bad_request(f"error decoding patch: {why}") from error
    try:
        after = (merge_patch if media.startswith("application/merge") else json_patch)(before, given)
    except PatchRefused as refused:
        details: Body | None = {} if refused.message == _EMPTY_PATCH_REASON else None
        raise Refusal(
            code=refused.code, reason=refused.reason, message=refused.message, details=details
        ) from refused
    return _object(call, _changed(plane, call, row, after, author))


def _changed(plane: Plane, call: Call, row: Row, after: Body, author: Author) -> Row:
    """Writes a patched object, which has to be the same one and of the version the patch names."""
    served = call.served
    check_kind(served, after)
    try:
        check_types(served.resource, after)
    except Refusal as refused:
        raise unreadable(after, str(refused)) from refused
    metadata = after["metadata"]
    check_place(metadata, namespace=call.namespace, name=call.name)
    check_version(served, row, version=metadata.get("resourceVersion") or "")
    if metadata.get("uid", row.uid) != row.uid:
        said = f'Invalid value: "{metadata["uid"]}": field is immutable'
        raise invalid(served.resource, call.name, [Cause(field="metadata.uid", message=said)])
    stored = served.shape.stored(after) if served.shape is not None else after
    return writes.change(plane, served, row, after=stored, author=author, subresource=call.subresource)


def _apply(plane: Plane, call: Call, author: Author) -> Response:
    served, resource = call.served, call.served.resource
    if not call.query.get("fieldManager"):
        said = "Required value: is required for apply patch"
        cause = Cause(reason="FieldValueRequired", message=said, field="fieldManager")
        raise options_invalid("PatchOptions", cause)
    applied = _applied(call)
    if (applied.get("apiVersion"), applied.get("kind")) != (resource.api_version, resource.kind):
        group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={applied.get('kind') or ''}")
    check_types(resource, applied)
    row = served.shelf.get(call.namespace, call.name)
    if row is None and call.subresource:
        raise not_found(resource, call.name)
    live = None if row is None else encoding.shown(served, row)
    try:
        after = apply_patch(
            live,
            applied,
            manager=call.query["fieldManager"],
            force=call.flag("force"),
            now=plane.now(),
            subresource=call.subresource,
            schema=served.schema,
        )
    except ApplyConflict as refused:
        raise Refusal(
            code=409, reason="Conflict", message=refused.message, details={"causes": refused.causes}
        ) from refused
    except ApplyRefused as refused:
        raise Refusal(code=refused.code, reason=refused.reason, message=refused.message) from refused
    written = msgspec.structs.replace(author, manager=writes.APPLIED)
    if row is None:
        metadata = after.setdefault("metadata", {})
        check_place(metadata, namespace=call.namespace, name=call.name)
        check_uid_of_absent(served, name=call.name, uid=metadata.get("uid") or "")
        return _object(call, _created(plane, call, after, written), 201)
    return _object(call, _changed(plane, call, row, after, written))


def _applied(call: Call) -> Body:
    """The body of an apply, which is YAML and mostly its subset JSON."""
    try:
        obj = msgspec.json.decode(call.body)
    except msgspec.DecodeError:
        try:
            obj = yaml.safe_load(call.body)
        except yaml.YAMLError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(obj, dict):
        raise bad_request("error decoding YAML: the body is not an object")
    return obj


def _delete(plane: Plane, call: Call, author: Author) -> Response:
    done = deletion.delete(
        plane,
        call.served,
        namespace=call.namespace,
        name=call.name,
        options=options_of(call),
        author=author,
    )
    if done.returned or not done.removed:
        return _object(call, done.row)
    return _json(msgspec.json.encode(deletion.removal_status(call.served, done.row)))


def _delete_many(plane: Plane, call: Call, author: Author) -> Response:
    options = options_of(call)
    page = lists.read(plane, call)
    for row in page.rows:
        try:
            deletion.delete(
                plane,
                call.served,
                namespace=row.namespace,
                name=row.name,
                options=options,
                author=author,
            )
        except Refusal as refusal:
            if refusal.code != 404:
                raise
    metadata: Body = {"resourceVersion": str(page.version)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    parts = encoding.items(call.served, page.rows, partial=call.partial)
    return _json(encoding.listing(call.served, parts, metadata=metadata, partial=call.partial))

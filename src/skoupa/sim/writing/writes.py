"""Creating and changing objects: what the server sets, keeps, counts and refuses.

Every write of the embedded cluster goes through `create` or `change`, whoever asks: metadata that belongs to the server
is kept, the generation counts changes of what is wanted (not of metadata or status), field ownership is recorded, hooks are
asked, nothing is written when nothing changed, and an object under deletion goes with its last finalizer.
"""

from __future__ import annotations

from typing import Any

from skoupa.sim.applying.apply import track_update
from skoupa.sim.applying.patches import copied
from skoupa.sim.state import kinds
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal, already_exists, bad_request
from skoupa.sim.state.storage import Row, row_of
from skoupa.sim.writing.defaults import begin, default, default_again, keep_labels, secret_texts
from skoupa.sim.writing.guards import (
    check_finalizers,
    check_immutable,
    check_kept,
    namespace_exists,
    namespace_is_open,
    settle_namespace,
)
from skoupa.sim.writing.schemas import pruned
from skoupa.sim.writing.validation import check

Body = dict[str, Any]

# What a client may send and the server takes from the stored object.
_KEPT = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
# Metadata that a built-in kind does not take through its status; a custom kind takes none.
_ALL_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_KEPT_BY_STATUS = {
    ("", "pods"): ("ownerReferences",),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _ALL_METADATA,
    ("apps", "deployments"): ("labels",),
    ("networking.k8s.io", "servicecidrs"): _ALL_METADATA,
    ("resource.k8s.io", "resourceclaims"): _ALL_METADATA,
    ("storage.k8s.io", "volumeattachments"): _ALL_METADATA,
}
_NOTHING: tuple[Any, ...] = (None, "", {}, [])
_EMPTY_IS_ABSENT = {("", "configmaps"): ("data", "binaryData"), ("", "secrets"): ("data",)}
_ATTEMPTS_AT_A_NAME = 8


def create(
    plane: Plane, served: Served, *, namespace: str, obj: Body, author: Author, subresource: str = ""
) -> Row:
    """Keeps a new object; `obj` is the client's body, in the shape of the version it came in."""
    resource = served.resource
    metadata = obj["metadata"]
    settle_namespace(served, metadata, namespace)
    if served.shape is not None:
        check(served, _named(plane, obj))
        obj = served.shape.stored(obj)
        metadata = obj["metadata"]
    asked_version = metadata.pop("resourceVersion", None)
    for field in _KEPT:
        metadata.pop(field, None)
    _named(plane, obj)
    namespace_is_open(plane, served, namespace=namespace, name=metadata.get("name") or "")
    obj = _pruned(served, obj, author)
    drop_empty(served, obj)
    obj = _asked(plane, "CREATE", served, obj=obj, old=None, author=author)
    metadata = obj["metadata"]
    default(served, obj)
    _record_manager(plane, served, before=None, after=obj, author=author, subresource=subresource)
    begin(served, obj)
    metadata["uid"] = plane.new_uid()
    metadata["creationTimestamp"] = plane.now()
    if served.shape is None:
        check(served, obj)
    taken = served.shelf.get(namespace, metadata["name"])
    if taken is not None:
        if not metadata.get("generateName"):
            raise already_exists(resource, metadata["name"], deleting=taken.deleting)
        _another_name(plane, served, metadata)
    if asked_version:
        raise Refusal(
            code=500, reason="", message="resourceVersion should not be set on objects to be created"
        )
    if author.dry_run:
        return row_of(obj, None)
    return plane.store.put(served.shelf, obj)


def change(
    plane: Plane, served: Served, row: Row, *, after: Body, author: Author, subresource: str = ""
) -> Row:
    """Writes `after` in the place of `row`, both in stored shape; what may not be changed through here stays."""
    before = row.decode()
    after = _through(served, before=before, after=after, subresource=subresource)
    if row.namespace:
        namespace_exists(plane, row.namespace)
    after = _pruned(served, after, author)
    keep_labels(served, after)
    metadata, old = after["metadata"], before["metadata"]
    check_kept(served, old, metadata)
    drop_empty(served, after)
    default_again(served, before, after)
    for field in _KEPT:
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    metadata["resourceVersion"] = old["resourceVersion"]
    after = _asked(plane, "UPDATE", served, obj=after, old=before, author=author)
    _record_manager(plane, served, before=before, after=after, author=author, subresource=subresource)
    metadata = after["metadata"]
    check_finalizers(served, old, metadata)
    check_immutable(served, before, after)
    check(served, after if served.shape is None else served.shape.shown(after))
    if _counts(served, before=before, after=after):
        metadata["generation"] = old.get("generation", 0) + 1
    if _same(before, after):
        return row
    if author.dry_run:
        return row_of(after, row.version)
    if _is_last_finalizer(served, old, after):
        plane.store.remove(served.shelf, row)
        return row_of(after, row.version)
    return plane.store.put(served.shelf, after)


def _pruned(served: Served, obj: Body, author: Author) -> Body:
    """A custom object as its schema leaves it; the writer hears what was dropped, as far as it wants to."""
    if served.schema is None:
        return secret_texts(served, obj)
    kept, unknown = pruned(served.schema, obj)
    if unknown and author.unknown_fields == "Strict":
        said = ", ".join(f'unknown field "{path}"' for path in unknown)
        kind = served.resource.kind
        raise bad_request(
            f'{kind} in version "{served.resource.version}" cannot be handled as a {kind}: strict decoding error: {said}'
        )
    if author.unknown_fields != "Ignore":
        author.warnings.extend(f'unknown field "{path}"' for path in unknown)
    return kept


def drop_empty(served: Served, obj: Body) -> None:
    """Takes away fields that a server does not write when they are empty."""
    metadata = obj["metadata"]
    for field in [field for field, value in metadata.items() if value in _NOTHING]:
        del metadata[field]
    for field in _EMPTY_IS_ABSENT.get((served.resource.group, served.resource.plural), ()):
        if obj.get(field, True) in _NOTHING:
            del obj[field]


def _named(plane: Plane, obj: Body) -> Body:
    metadata = obj["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = plane.generated_name(metadata["generateName"])
    return obj


def _another_name(plane: Plane, served: Served, metadata: Body) -> None:
    for _ in range(_ATTEMPTS_AT_A_NAME):
        metadata["name"] = plane.generated_name(metadata["generateName"])
        if served.shelf.get(metadata.get("namespace") or "", metadata["name"]) is None:
            return
    raise already_exists(served.resource, metadata["name"])


def _asked(
    plane: Plane, operation: Any, served: Served, *, obj: Body, old: Body | None, author: Author
) -> Body:
    """The object after the hooks; they see and return whole objects."""
    if not plane.admission:
        return obj
    head = {"apiVersion": served.resource.api_version, "kind": served.resource.kind}
    ruled = plane.admission.ask(
        operation,
        resource=served.resource,
        obj={**head, **copied(obj)},
        old=None if old is None else {**head, **copied(old)},
        user=author.user,
        warnings=author.warnings,
    )
    assert ruled is not None
    return {field: value for field, value in ruled.items() if field not in head}


def _through(served: Served, *, before: Body, after: Body, subresource: str) -> Body:
    """What a write through this endpoint may change: all but status, status alone, or a namespace's finalizers."""
    after = {field: value for field, value in after.items() if field not in {"kind", "apiVersion"}}
    if subresource == "finalize":
        finalizers = (after.get("spec") or {}).get("finalizers")
        spec = {**before.get("spec", {})}
        spec.pop("finalizers", None)
        return {
            **before,
            "metadata": dict(before["metadata"]),
            "spec": spec | ({"finalizers": finalizers} if finalizers else {}),
        }
    if not served.has_status:
        return after | {"metadata": dict(after["metadata"])}
    source, kept = (before, after) if subresource else (after, before)
    mixed = {field: value for field, value in source.items() if field != "status"}
    mixed["metadata"] = dict(mixed["metadata"])
    if subresource and not served.custom:
        place = (served.resource.group, served.resource.plural)
        kept_fields = {field: before["metadata"].get(field) for field in _KEPT_BY_STATUS.get(place, ())}
        mixed["metadata"] = {**after["metadata"], **kept_fields}
    if "status" in kept:
        mixed["status"] = kept["status"]
    if (served.resource.group, served.resource.plural) == ("", "namespaces"):
        mixed["spec"] = before.get("spec", {})
    return mixed


def _counts(served: Served, *, before: Body, after: Body) -> bool:
    """Whether what is wanted of the object differs, so that its generation rises."""
    if not served.custom and (served.resource.group, served.resource.plural) not in kinds.WITH_GENERATION:
        return False
    left_out = {"metadata", "status"} if served.has_status else {"metadata"}
    fields = (before.keys() | after.keys()) - left_out
    return any(before.get(field) != after.get(field) for field in fields)


def _record_manager(
    plane: Plane, served: Served, *, before: Body | None, after: Body, author: Author, subresource: str
) -> None:
    if author.manager == APPLIED:
        return
    head = {"apiVersion": served.resource.api_version, "kind": served.resource.kind}
    entries = track_update(
        None if before is None else head | before,
        head | after,
        manager=author.manager,
        now=plane.now(),
        subresource=subresource if subresource != "finalize" else "",
        schema=served.schema,
    )
    if entries:
        after["metadata"]["managedFields"] = entries
    else:
        after["metadata"].pop("managedFields", None)


# The manager of a write whose managedFields were worked out already (server-side apply).
APPLIED = "\0applied"


def _same(before: Body, after: Body) -> bool:
    if before.keys() != after.keys():
        return False
    if any(before[field] != after[field] for field in before if field != "metadata"):
        return False
    return _without_times(before["metadata"]) == _without_times(after["metadata"])


def _without_times(metadata: Body) -> Body:
    """Metadata as far as it says something: a new time on an unchanged managedFields entry is no change."""
    found = {field: value for field, value in metadata.items() if value not in _NOTHING}
    entries = found.get("managedFields")
    if entries:
        found["managedFields"] = [
            {field: value for field, value in entry.items() if field != "time"} for entry in entries
        ]
    return found


def _is_last_finalizer(served: Served, old: Body, after: Body) -> bool:
    """Whether an object under deletion has nothing left that holds it."""
    if not old.get("deletionTimestamp") or after["metadata"].get("finalizers"):
        return False
    if (served.resource.group, served.resource.plural) == ("", "namespaces"):
        return not (after.get("spec") or {}).get("finalizers")
    return not old.get("deletionGracePeriodSeconds")

"""Loading many objects at once, as a restored backup of etcd would: nothing asks whether they may exist.

What an object says about itself is kept (uid, times, generation, status, finalizers, managedFields); what it lacks is
made up (uid, creationTimestamp, its namespace, a name where there is a generateName). Objects of kinds that are not served are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skoupa.errors import UsageError
from skoupa.sim.controllers.definitions import announce
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Plane
from skoupa.sim.writing.defaults import begin, default

Body = dict[str, Any]

_BATCH = 2_000
_DEFINITION = ("apiextensions.k8s.io", "customresourcedefinitions")


def restore(plane: Plane, objects: Iterable[Mapping[str, Any]]) -> int:
    """Puts objects in place and returns how many; a definition makes its kinds known for those that follow."""
    waiting: dict[tuple[str, str], tuple[Served, list[Body]]] = {}
    made_up: set[tuple[str, str, str]] = set()
    seen_namespaces: set[str] = set()
    count = 0
    for obj in objects:
        api_version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
        place = (api_version, kind)
        entry = waiting.get(place)
        if entry is None:
            served = plane.catalogue.of_kind(api_version=api_version, kind=kind)
            if served is None:
                raise UsageError(
                    f"the embedded cluster does not serve {kind or 'an object without a kind'} of {api_version or 'no version'}",
                    advice="install the kind first, or load its CustomResourceDefinition before its objects",
                )
            entry = waiting[place] = (served, [])
        served, batch = entry
        if (served.resource.group, served.resource.plural) == _DEFINITION:
            body = _announced(plane, served, obj)
        else:
            body = _completed(plane, served, obj)
        _name(plane, served, body["metadata"], made_up)
        namespace = body["metadata"].get("namespace")
        if namespace and namespace not in seen_namespaces:
            seen_namespaces.add(namespace)
        batch.append(body)
        count += 1
        if len(batch) >= _BATCH:
            plane.store.restore(served.shelf, batch)
            batch.clear()
    for served, batch in waiting.values():
        plane.store.restore(served.shelf, batch)
    _add_namespaces(plane, seen_namespaces)
    return count


def _announced(plane: Plane, served: Served, obj: Mapping[str, Any]) -> Body:
    """A server would have taken no definition that lacks something; what was written by hand may."""
    try:
        body = _completed(plane, served, obj)
        announce(plane, body)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"has no {error.args[0]}" if isinstance(error, KeyError) else f"can't be understood ({error})"
        raise UsageError(
            f"the CustomResourceDefinition {obj['metadata'].get('name', 'without a name')} {what}, so no server would take it",
            advice="mend it, or leave it out along with the objects of its kind",
        ) from error
    return body


def _completed(plane: Plane, served: Served, obj: Mapping[str, Any]) -> Body:
    body = {field: value for field, value in obj.items() if field not in {"kind", "apiVersion"}}
    if served.shape is not None:
        body = served.shape.stored(body)
    metadata = {field: value for field, value in body["metadata"].items() if value is not None}
    body["metadata"] = metadata
    if served.resource.namespaced:
        metadata.setdefault("namespace", "default")
    else:
        metadata.pop("namespace", None)
    status, generation = body.get("status"), metadata.get("generation")
    default(served, body)
    begin(served, body)
    if status is not None:
        body["status"] = status
    if generation is not None:
        metadata["generation"] = generation
    if not metadata.get("uid"):
        metadata["uid"] = plane.new_uid()
    if not metadata.get("creationTimestamp"):
        metadata["creationTimestamp"] = plane.now()
    return body


def _name(plane: Plane, served: Served, metadata: Body, made_up: set[tuple[str, str, str]]) -> None:
    """As a create would; a name in `made_up` may still wait for its batch, so the shelf alone can't tell."""
    namespace = metadata.get("namespace") or ""
    while not metadata.get("name"):
        name = plane.generated_name(metadata["generateName"])
        place = (served.resource.qualified, namespace, name)
        if place not in made_up and served.shelf.get(namespace, name) is None:
            made_up.add(place)
            metadata["name"] = name


def _add_namespaces(plane: Plane, wanted: Iterable[str]) -> None:
    """A dump of some kinds may lack the namespaces that its objects live in."""
    served = plane.served(group="", version="v1", plural="namespaces")
    missing = sorted(name for name in wanted if served.shelf.get("", name) is None)
    plane.store.restore(
        served.shelf, [_completed(plane, served, {"metadata": {"name": name}}) for name in missing]
    )

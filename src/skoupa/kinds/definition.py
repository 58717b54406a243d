"""The CustomResourceDefinition of a kind, from its versions as Structs.

A definition is a value; `document` writes it as the server takes it and `resource` as the client asks for it. All versions
have the same meaning (conversion None): where a kind's versions differ, they differ in what they know. A version has a
status subresource when its Struct has a `status`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from skoupa.kinds.schema import SchemaError, schema_of
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """What `kubectl get` shows; one with a `priority` above 0 only in the wide table."""

    name: str
    path: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    description: str = ""
    priority: int = 0


AGE: Final = Column(
    name="Age", path=".metadata.creationTimestamp", type="date", description="When it was made."
)


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """`shape` is a Struct with the fields beside metadata, mostly `spec` and `status`."""

    name: str
    shape: type[msgspec.Struct]
    columns: tuple[Column, ...] = (AGE,)
    served: bool = True
    storage: bool = True
    deprecation: str = ""

    @property
    def has_status(self) -> bool:
        return any(field.encode_name == "status" for field in msgspec.structs.fields(self.shape))


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[Version, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def storage(self) -> Version:
        stored = [version for version in self.versions if version.storage]
        if len(stored) != 1:
            raise SchemaError(f"{self.name}: one version is stored, not {len(stored)}")
        return stored[0]


def document(definition: Definition) -> dict[str, Any]:
    """The CustomResourceDefinition as the server takes it."""
    assert definition.storage
    names: dict[str, Any] = {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.kind.lower(),
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": definition.name},
        "spec": {
            "group": definition.group,
            "names": names,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "versions": [_version(version) for version in definition.versions],
        },
    }


def resource(definition: Definition, version: str = "") -> Resource:
    """The kind as a client asks for it, in its stored version unless another is named."""
    chosen = definition.storage
    if version:
        chosen = next(each for each in definition.versions if each.name == version)
    return Resource(
        group=definition.group,
        version=chosen.name,
        plural=definition.plural,
        kind=definition.kind,
        namespaced=definition.namespaced,
        singular=definition.kind.lower(),
        short_names=definition.short_names,
        verbs=_VERBS,
        categories=definition.categories,
        subresources=("status",) if chosen.has_status else (),
    )


def _version(version: Version) -> dict[str, Any]:
    found: dict[str, Any] = {"name": version.name, "served": version.served, "storage": version.storage}
    if version.deprecation:
        found |= {"deprecated": True, "deprecationWarning": version.deprecation}
    found["schema"] = {"openAPIV3Schema": schema_of(version.shape)}
    if version.has_status:
        found["subresources"] = {"status": {}}
    if version.columns:
        found["additionalPrinterColumns"] = [_column(column) for column in version.columns]
    return found


def _column(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.description:
        found["description"] = column.description
    if column.priority:
        found["priority"] = column.priority
    return found

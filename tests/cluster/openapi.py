"""The schemas of a running server, walked: every field of every kind that can be listed, and which look like a reference."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from skoupa.kube.client import Client
from skoupa.kube.transport import Request

_INDEX = "/openapi/v3"
# The schemas of the kinds that a server brings along; those of definitions are named after their group.
_BUILT_IN = ("io.k8s.api.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.")
# What the server writes into an object about itself, and what is the same for all kinds.
_OF_EVERY_KIND = frozenset(("apiVersion", "kind", "metadata"))

# An object {name …} under a field that is called so, and a text under a field that is called so.
_OBJECT = re.compile(r"(secret|configMap)(Key)?(Ref|Selector|s)?$|Refs?$", re.IGNORECASE)
_TEXT = re.compile(
    r"(secret|configMap|serviceAccount|claim|credential|class|node|pod|service|lease|policy|volume|driver|template|spec)s?"
    r"Names?$|^(serviceAccount|endpoints|attacher|provisioner|driver|resourceNames)$",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"(Reference|Ref|Selector|SelectorTerm|Subject|ParamKind)$")
_SELECTOR = re.compile(r"selector$", re.IGNORECASE)


class Field(msgspec.Struct, frozen=True):
    """`schema` is the name of the type where it has one: `LocalObjectReference`."""

    path: str
    schema: str
    type: str
    properties: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2].replace("[]", "").replace("{}", "")

    def looks_like_a_reference(self, kinds: Container[str]) -> bool:
        """`kinds` are the names of all that there are, in small letters: `service: {name: …}` is one as well."""
        if _SCHEMA.search(self.schema):
            return True
        if self.properties:
            named_for_a_kind = self.name.lower().removesuffix("s") in kinds
            return "name" in self.properties and (named_for_a_kind or bool(_OBJECT.search(self.name)))
        if self.type == "object":
            return bool(_SELECTOR.search(self.name))
        return self.type == "string" and bool(_TEXT.search(self.name))


class Schemas:
    """Of each kind that the server brings along (`apps/Deployment`) the fields in all versions that it offers."""

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self.kinds: dict[str, dict[str, Field]] = {}
        for document in documents:
            schemas = document.get("components", {}).get("schemas", {})
            listable = _listable(document)
            for title, schema in schemas.items():
                if not title.startswith(_BUILT_IN):
                    continue
                for kind in schema.get("x-kubernetes-group-version-kind", ()):
                    known = (kind["group"], kind["version"], kind["kind"])
                    if known in listable:
                        name = f"{kind['group']}/{kind['kind']}" if kind["group"] else kind["kind"]
                        fields = self.kinds.setdefault(name, {})
                        fields.update((field.path, field) for field in _fields(schemas, schema, "", ()))

    def references(self) -> Iterator[tuple[str, Field]]:
        """What looks like a reference, with its kind."""
        kinds = {kind.rpartition("/")[2].lower() for kind in self.kinds}
        for kind, fields in self.kinds.items():
            for field in fields.values():
                if field.looks_like_a_reference(kinds):
                    yield kind, field


async def served(client: Client) -> Schemas:
    """What this server publishes."""

    async def ask(path: str) -> Any:
        request = Request(path=path, headers=client.headers())
        answer = await client.ask(request, doing="read the schemas")
        return msgspec.json.decode(answer.body)

    index = await ask(_INDEX)
    return Schemas([await ask(f"{_INDEX}/{path}") for path in index["paths"] if re.search(r"/v\d\w*$", path)])


def _listable(document: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    found = set()
    for operations in document.get("paths", {}).values():
        operation = operations.get("get", {})
        kind = operation.get("x-kubernetes-group-version-kind")
        if operation.get("x-kubernetes-action") == "list" and kind:
            found.add((kind["group"], kind["version"], kind["kind"]))
    return found


def _fields(
    schemas: Mapping[str, Any], schema: Mapping[str, Any], path: str, above: tuple[str, ...]
) -> Iterator[Field]:
    schema, name = _resolved(schemas, schema)
    if name and name in above:
        return
    above = (*above, name) if name else above
    properties = schema.get("properties", {})
    if path:
        yield Field(path, name.rpartition(".")[2], schema.get("type", ""), tuple(properties))
    if schema.get("type") == "array":
        yield from _fields(schemas, schema["items"], f"{path}[]", above)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _fields(schemas, schema["additionalProperties"], f"{path}{{}}", above)
    for field, below in properties.items():
        if path or field not in _OF_EVERY_KIND:
            yield from _fields(schemas, below, f"{path}.{field}" if path else field, above)


def _resolved(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    name = ""
    while True:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = schemas[name]
        elif len(schema.get("allOf", ())) == 1:
            schema = schema["allOf"][0]
        else:
            return schema, name

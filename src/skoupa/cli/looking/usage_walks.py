"""Custom kinds without rules: walked by the schema of their definition where that can be read, and by their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import pages
from skoupa.kube.objects import View
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.usage.found import Found
from skoupa.usage.graph import kind_name
from skoupa.usage.reading import Readings
from skoupa.usage.walking import walk


class _Schema(msgspec.Struct, frozen=True):
    open_api: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="openAPIV3Schema")


class _Version(msgspec.Struct, frozen=True):
    name: str = ""
    schema: _Schema | None = None


class _Names(msgspec.Struct, frozen=True):
    plural: str = ""


class _Spec(msgspec.Struct, frozen=True):
    group: str = ""
    names: _Names = _Names()
    versions: list[_Version] | None = None


class _Definition(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_DEFINITIONS: View[_Definition] = View(type=_Definition)


class Walks:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._schemas: dict[Resource, Mapping[str, Any]] = {}
        self.doubt = ""

    async def learn(self, resources: Iterable[Resource]) -> None:
        """The schemas of these kinds. Without them values alone are walked: a schema only adds to that."""
        wanted = {(one.group, one.plural, one.version): one for one in resources}
        if not wanted:
            return
        try:
            async with aclosing(pages(self._client, CUSTOM_RESOURCE_DEFINITIONS, _DEFINITIONS)) as listing:
                async for page in listing:
                    for definition in page.items:
                        self._keep(definition.spec, wanted)
        except SkoupaError as error:
            self.doubt = f"custom kinds were searched by their values alone, for their definitions can't be read ({error.brief})"

    def found(self, resource: Resource, manifest: Mapping[str, Any], *, marks: Readings) -> Found:
        """`marks` read what is written in labels and annotations of every kind."""
        walked = walk(manifest, schema=self._schemas.get(resource))
        marked = marks.from_manifest(kind_name(resource), manifest)
        return both(walked, marked)

    def _keep(self, spec: _Spec, wanted: Mapping[tuple[str, str, str], Resource]) -> None:
        for version in spec.versions or ():
            resource = wanted.get((spec.group, spec.names.plural, version.name))
            if resource is not None and version.schema is not None:
                schema = msgspec.json.decode(version.schema.open_api)
                if isinstance(schema, dict):
                    self._schemas[resource] = schema


def both(one: Found, other: Found) -> Found:
    return Found(
        uses=(*one.uses, *other.uses),
        choices=(*one.choices, *other.choices),
        doubts=(*one.doubts, *other.doubts),
    )

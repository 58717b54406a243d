"""The schemas of custom kinds that no table knows: what their definitions say about fields helps to find references."""

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


async def schemas_of(
    client: Client, resources: Iterable[Resource]
) -> tuple[dict[Resource, Mapping[str, Any]], SkoupaError | None]:
    """As far as they can be read, and what stood in the way. Without one the values alone are walked: a schema only adds to that."""
    wanted = {(one.group, one.plural, one.version): one for one in resources}
    found: dict[Resource, Mapping[str, Any]] = {}
    if not wanted:
        return found, None
    try:
        async with aclosing(pages(client, CUSTOM_RESOURCE_DEFINITIONS, _DEFINITIONS)) as listing:
            async for page in listing:
                for definition in page.items:
                    found.update(_schemas(definition.spec, wanted))
    except SkoupaError as error:
        return found, error
    return found, None


def _schemas(
    spec: _Spec, wanted: Mapping[tuple[str, str, str], Resource]
) -> Iterable[tuple[Resource, Mapping[str, Any]]]:
    for version in spec.versions or ():
        resource = wanted.get((spec.group, spec.names.plural, version.name))
        if resource is not None and version.schema is not None:
            schema = msgspec.json.decode(version.schema.open_api)
            if isinstance(schema, dict):
                yield resource, schema

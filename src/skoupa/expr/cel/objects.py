"""The objects of a page, one at a time, with only the fields that a program looks at.

A page is a list as the server sent it; its items are decoded when their turn comes, so that a large page costs memory
for one object only. The apiVersion and kind that items of a list leave out are put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from skoupa.expr.cel.library.documents import whole
from skoupa.expr.cel.looking import Looks
from skoupa.expr.cel.messages import Circumstances

_WHOLE: Final = msgspec.json.Decoder(dict[str, Any])
_NUL: Final = b"\\u0000"
_SPEC_OF_PODS: Final = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("spec", "template", "spec")
    ),
}
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


class Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]
    apiVersion: str = ""  # noqa: N815 - as it is on the wire
    kind: str = ""


class Identity(msgspec.Struct, frozen=True):
    uid: str = ""
    name: str = ""
    namespace: str = ""


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity = Identity()


PAGE: Final = msgspec.json.Decoder(Page)
_IDENTITY: Final = msgspec.json.Decoder(_Identified)


class Reading:
    """How the objects of one page are read for one program."""

    def __init__(self, page: Page, *, looks: Looks, circumstances: Circumstances) -> None:
        self._fields = looks.fields
        self._looks = looks
        self._decoder = _decoder(self._fields) if self._fields is not None else None
        self._api_version = circumstances.api_version or page.apiVersion
        self._kind = circumstances.kind or page.kind.removesuffix("List")
        self._told = bool(circumstances.kind)
        self._namespaces = circumstances.namespaces
        self._known_namespaces: dict[str, Any] = {}

    def identity(self, raw: msgspec.Raw) -> Identity:
        return _IDENTITY.decode(raw).metadata

    def data(self, raw: msgspec.Raw) -> dict[str, Any]:
        """The variables that the program may name; a ValueError where one of them can't be had."""
        found = self._object(raw)
        if _NUL in bytes(raw):
            whole(found)
        data: dict[str, Any] = {"object": found}
        if self._looks.images:
            data["images"] = images(found)
        if self._looks.namespace:
            data["namespaceObject"] = self._namespace(raw)
        return data

    def _object(self, raw: msgspec.Raw) -> dict[str, Any]:
        found: dict[str, Any]
        try:
            found = _WHOLE.decode(raw) if self._decoder is None else self._decoder(raw)
        except msgspec.ValidationError:
            # A field that is no map here, though something in it is looked at: the expression will say so.
            found = _WHOLE.decode(raw)
        if self._fields is None or "kind" in self._fields:
            found["kind"] = self._kind if self._told else found.get("kind", self._kind)
        if self._fields is None or "apiVersion" in self._fields:
            found["apiVersion"] = (
                self._api_version if self._told else found.get("apiVersion", self._api_version)
            )
        return found

    def _namespace(self, raw: msgspec.Raw) -> Any:
        """Null for an object without one; a Namespace is its own."""
        if self._kind == "Namespace" and self._api_version == "v1":
            return _WHOLE.decode(raw)
        name = self.identity(raw).namespace
        if not name:
            return None
        if name not in self._known_namespaces:
            if name not in self._namespaces:
                raise ValueError(f"namespace {name} could not be read, so namespaceObject is not known")
            self._known_namespaces[name] = _WHOLE.decode(self._namespaces[name])
        return self._known_namespaces[name]


def images(found: dict[str, Any]) -> dict[str, list[str]]:
    """The images of the containers in a Pod or in the template of one, as Kyverno's `images` has them."""
    kind = str(found.get("kind", ""))
    spec: Any = found
    if kind not in _SPEC_OF_PODS:
        return {}
    for name in _SPEC_OF_PODS[kind]:
        spec = spec.get(name) if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        return {name: [] for name in _CONTAINERS}
    return {
        name: [str(container.get("image", "")) for container in spec.get(name) or ()] for name in _CONTAINERS
    }


def _decoder(fields: dict[str, frozenset[str] | None]) -> Callable[[msgspec.Raw], dict[str, Any]]:
    """Typed structs skip what is not looked at, at a nanosecond a byte."""
    try:
        tops = sorted(fields)
        kinds = {top: Any if fields[top] is None else _struct(sorted(fields[top] or ())) for top in tops}
        decoder = msgspec.json.Decoder(_struct(tops, kinds))
    except (TypeError, ValueError):
        # A name that a struct can't have, such as one with a quote in it.
        return _WHOLE.decode

    def decode(raw: msgspec.Raw) -> dict[str, Any]:
        return {
            top: value if fields[top] is None else _members(sorted(fields[top] or ()), value)
            for top, value in _members(tops, decoder.decode(raw)).items()
        }

    return decode


def _struct(names: list[str], kinds: dict[str, Any] | None = None) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        "Looked",
        [
            (f"f{number}", (kinds or {}).get(name, Any) | msgspec.UnsetType, msgspec.UNSET)
            for number, name in enumerate(names)
        ],
        rename={f"f{number}": name for number, name in enumerate(names)},
    )


def _members(names: list[str], found: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in zip(names, msgspec.structs.astuple(found), strict=True)
        if value is not msgspec.UNSET
    }

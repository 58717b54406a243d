"""The generic rule for custom kinds that no table knows: whatever is shaped like a reference is one.

It goes by the values of an object, and by the schema of its definition where that is given: the schema says more about a field
(an object of `{name, kind}` that is mostly left empty, a description that speaks of a Secret), and never less. So what the
schema does not know (`x-kubernetes-preserve-unknown-fields`) is read all the same.

An object is walked without recursion and up to a bound; beyond it a doubt is given, which holds whatever it could mean. What
lies under `metadata` is not for here: owners and annotations are read for every kind alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.selectors import parse_labels
from skoupa.usage import schemas
from skoupa.usage.applying.naming import names_meant
from skoupa.usage.applying.selecting import Selector, selector_text
from skoupa.usage.claims import claims_of
from skoupa.usage.found import Choice, Found, Target, Use
from skoupa.usage.inner_text import Unread, values_in
from skoupa.usage.known import Known
from skoupa.usage.rules import Form, Means
from skoupa.usage.shaped import (
    ANY_KIND,
    OF_A_REFERENCE,
    Look,
    kind_of,
    look_of_field,
    look_of_object,
    places,
)
from skoupa.usage.spelled import Spelled, spelled

# No object is deeper that a server took: its own limit for custom kinds is far below.
DEEPEST: Final = 256
# 1.5 MB, which is all that fits into a server, hold fewer values than this.
MOST_VALUES: Final = 1_000_000
MOST_REFERENCES: Final = 50_000
_NOT_WALKED: Final = frozenset({"apiVersion", "kind", "metadata"})
_OF_A_SELECTOR: Final = frozenset({"matchLabels", "matchExpressions"})
# Of an object inside the object: its own name is no reference, and its annotations are for when it is made.
_OF_METADATA: Final = frozenset(
    {"name", "namespace", "labels", "annotations", "ownerReferences", "managedFields"}
)
_OF_A_PROGRAM: Final = frozenset({"args", "command"})
_CONFIGURATION: Final = Look(("ConfigMap", "Secret"), Means.MENTIONS)
_PLURALS: Final = frozenset({"Secret", "ConfigMap"})

# The way to a value, from its end: each step knows the one before, and text is made of it only for what is found.
Way = tuple[Any, str] | None


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where the walk is: the field that holds the value, the way there, what its schema says and what a table knows of it."""

    field: str
    way: Way
    depth: int
    schema: Mapping[str, Any] | None
    known: Known | None

    def under(self, field: str) -> Place:
        known = self.known.field(field) if self.known is not None else None
        return Place(field, (self.way, field), self.depth + 1, schemas.of_field(self.schema, field), known)

    def item(self) -> Place:
        known = self.known.item() if self.known is not None else None
        return Place(self.field, (self.way, "[]"), self.depth + 1, schemas.of_items(self.schema), known)

    def deeper(self) -> Place:
        """What is written in a text."""
        return Place(self.field, self.way, self.depth + 1, None, None)

    @property
    def is_known(self) -> bool:
        return self.known is not None and self.known.here


def walk(manifest: Mapping[str, Any], *, schema: Mapping[str, Any] | None = None) -> Found:
    """All that an object seems to point at. `schema` is the `openAPIV3Schema` of its version, if there is one."""
    metadata = manifest.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    namespace = namespace if isinstance(namespace, str) else ""
    fields = {field: value for field, value in manifest.items() if field not in _NOT_WALKED}
    found = walk_fields(fields, namespace=namespace, schema=schema)
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    claims = tuple(claims_of(manifest, name=name if isinstance(name, str) else "", namespace=namespace))
    return msgspec.structs.replace(found, uses=(*found.uses, *claims)) if claims else found


def walk_fields(
    fields: Mapping[str, Any],
    *,
    namespace: str,
    schema: Mapping[str, Any] | None = None,
    known: Known | None = None,
) -> Found:
    """The same for some top-level fields of an object; what a table knows already is left out."""
    return _Walk(namespace).through(fields, Place("", None, 0, schema, known))


class _Walk:
    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._uses: dict[Target, Use] = {}
        self._choices: dict[Choice, None] = {}
        self._doubts: dict[str, None] = {}

    def through(self, fields: Mapping[str, Any], start: Place) -> Found:
        values = 0
        left: list[tuple[Any, Place]] = [(fields, start)]
        while left:
            value, place = left.pop()
            values += 1
            if place.depth > DEEPEST:
                self._doubt(f"it is nested more than {DEEPEST} deep at {text_of(place.way)[:200]}")
                continue
            if values > MOST_VALUES:
                self._doubt(f"it has more than {MOST_VALUES:,} values")
                break
            if len(self._uses) > MOST_REFERENCES:
                self._doubt(f"it has more than {MOST_REFERENCES:,} references")
                break
            if isinstance(value, str):
                self._text(value, place, self._namespaces_said({}, place.field))
                left.extend((inner, place.deeper()) for inner in values_in(value))
            elif isinstance(value, list):
                inner = place.item()
                left.extend(
                    (item, inner) for item in reversed(value) if isinstance(item, (str, list, Mapping))
                )
            elif isinstance(value, Mapping):
                left.extend(reversed(list(self._object(value, place))))
            elif isinstance(value, Unread):
                self._doubt(f"{value.told}, at {text_of(place.way)[:200]}")
        return Found(
            uses=tuple(self._uses.values()), choices=tuple(self._choices), doubts=tuple(self._doubts)
        )

    def _doubt(self, sentence: str) -> None:
        self._doubts[sentence] = None

    def _object(self, value: Mapping[str, Any], place: Place) -> Iterator[tuple[Any, Place]]:
        """What is found at the object itself, and then what has to be looked at inside it."""
        if _is_selector(value):
            self._selector(value, place, wide=True)
            value = _without(value, _OF_A_SELECTOR)
        is_reference = self._reference(value, place)
        plural = None if is_reference else _plural(place)
        for key, inner in value.items():
            # YAML has keys of other sorts.
            field = str(key)
            if plural is not None and spelled(field) is not None:
                # `secrets: {db-password: /mnt}`: either side may be the name.
                self._named(plural, field, (place.way, "{}"), (self._namespace,))
            if isinstance(inner, str):
                if inner and not (is_reference and field in OF_A_REFERENCE):
                    under = place.under(field)
                    self._text(inner, under, self._namespaces_said(value, field), otherwise=plural)
                    yield from ((one, under.deeper()) for one in values_in(inner))
            elif isinstance(inner, Mapping) and _is_selector(inner):
                wide = any("namespace" in str(beside).lower() for beside in value if beside != key)
                self._selector(inner, place.under(field), wide=wide)
                yield _without(inner, _OF_A_SELECTOR), place.under(field)
            elif isinstance(inner, Mapping) and field == "metadata" and "kind" in value:
                yield _without(inner, _OF_METADATA), place.under(field)
            elif isinstance(inner, (list, Mapping)) and inner:
                yield inner, place.under(field)

    def _reference(self, value: Mapping[str, Any], place: Place) -> bool:
        """Whether the object says a name and so is a reference, which then is noted."""
        name = value.get("name")
        kind = kind_of(value)
        if not isinstance(name, str) or not name:
            return self._whole_object(value, kind, place)
        look = Look((kind,)) if kind else None
        look = (
            look
            or look_of_field(place.field)
            or schemas.look(place.schema)
            or look_of_object(value, place.field)
        )
        if look is None:
            return False
        if not place.is_known:
            namespace = value.get("namespace")
            said = spelled(namespace) if isinstance(namespace, str) else None
            self._named(look, name, (place.way, "name"), (said.name,) if said else (self._namespace,))
        return True

    def _whole_object(self, value: Mapping[str, Any], kind: str, place: Place) -> bool:
        """An object inside the object, with metadata of its own: it is there to be made."""
        metadata = value.get("metadata")
        if not kind or "apiVersion" not in value or not isinstance(metadata, Mapping):
            return False
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if isinstance(name, str) and name and not place.is_known:
            where = namespace if isinstance(namespace, str) and namespace else self._namespace
            self._named(Look((kind,), Means.PRODUCES), name, (place.way, "metadata.name"), (where,))
        return False

    def _text(
        self, text: str, place: Place, namespaces: Iterable[str], *, otherwise: Look | None = None
    ) -> None:
        if place.field in _OF_A_PROGRAM and not place.is_known:
            for _, name in names_meant(text, Form.ARGUMENT):
                self._named(_CONFIGURATION, name, place.way, (self._namespace,))
            return
        look = look_of_field(place.field)
        if look is None or look.kinds == (ANY_KIND,):
            look = schemas.look(place.schema) or look or otherwise
        if look is not None and not place.is_known:
            self._named(look, text, place.way, namespaces)

    def _namespaces_said(self, beside: Mapping[str, Any], field: str) -> list[str]:
        """Where a bare name may be: here, or where a field beside it says."""
        stem = field.removesuffix("Name").removesuffix("Ref")
        said = [beside.get(f"{stem}Namespace"), beside.get("namespace") if field != "namespace" else None]
        named = [one.name for text in said if isinstance(text, str) and (one := spelled(text)) is not None]
        return [*named, self._namespace] if self._namespace or not named else named

    def _named(self, look: Look, text: str, way: Way, namespaces: Iterable[str]) -> None:
        name = spelled(text)
        if name is None or (name.is_anything and look.means is Means.MENTIONS):
            return
        for kind in look.kinds:
            for namespace in (name.namespace,) if name.namespace else namespaces:
                self._use(kind, namespace, name, way=way, means=look.means)
            if kind == "Service" and (host := name.as_host()) is not None:
                self._use(kind, host.namespace, host, way=way, means=look.means)

    def _use(self, kind: str, namespace: str, name: Spelled, *, way: Way, means: Means) -> None:
        for place in places(kind, namespace):
            target = Target(kind, place, name.name)
            known = self._uses.get(target)
            if known is None or (known.means is Means.MENTIONS and means is not Means.MENTIONS):
                self._uses[target] = Use(target, text_of(way), means)

    def _selector(self, value: Mapping[str, Any], place: Place, *, wide: bool) -> None:
        """`wide` where something beside it speaks of namespaces, so that it may mean those of others."""
        if place.is_known:
            return
        try:
            selector = selector_text(msgspec.convert(value, Selector))
            parse_labels(selector)
        except (ValueError, msgspec.ValidationError) as error:
            self._doubt(f"the selector at {text_of(place.way)} can't be understood: {error}")
            return
        if not selector:
            # It means all there is of something, and so says nothing about any one object.
            return
        stem = place.field.lower().removesuffix("selector").removesuffix("label")
        look = look_of_field(stem)
        kind = "Pod" if stem == "pod" else look.kinds[0] if look is not None else ANY_KIND
        for namespace in places(kind, "*" if wide else self._namespace):
            choice = Choice(kind=kind, namespace=namespace, selector=selector, at=text_of(place.way))
            self._choices[choice] = None


def _is_selector(value: Mapping[str, Any]) -> bool:
    return not _OF_A_SELECTOR.isdisjoint(value)


def _without(value: Mapping[str, Any], fields: frozenset[str]) -> Mapping[str, Any]:
    return {field: inner for field, inner in value.items() if field not in fields}


def _plural(place: Place) -> Look | None:
    """For a map of several: `secrets: {db: db-password}`."""
    is_map_of_it = place.field.endswith("s") and place.way is not None and place.way[1] == place.field
    look = look_of_field(place.field) if is_map_of_it and place.known is None else None
    return look if look is not None and look.kinds[0] in _PLURALS else None


def text_of(way: Way) -> str:
    steps: list[str] = []
    while way is not None:
        way, step = way
        steps.append(f'"{step}"' if "." in step and step != "metadata.name" else step)
    text = ""
    for step in reversed(steps):
        text = f"{text}{step}" if not text or step in {"[]", "{}"} else f"{text}.{step}"
    return text

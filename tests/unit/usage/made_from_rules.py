"""Objects made from the tables: for each rule one that points at something by exactly that path, and by nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from skoupa.usage.applying.layout import unfolded
from skoupa.usage.paths import Every, Path, parsed, written
from skoupa.usage.rules import (
    ANY_NAMESPACE,
    NO_NAMESPACE,
    Annotated,
    Form,
    Implied,
    KindRules,
    Reference,
    Selection,
)
from skoupa.usage.scopes import IN_A_NAMESPACE, WITHOUT_NAMESPACE

OWN, OTHER, WANTED, OWNER = "shop", "elsewhere", "wanted", "web"

# How the name is written, and what it means: a namespace, where it is in the text, and a name.
WRITTEN = {
    Form.NAME: (WANTED, "", WANTED),
    Form.SLASHED: (f"{OTHER}/{WANTED}", OTHER, WANTED),
    Form.LISTED: (f"first, {OTHER}/{WANTED}", OTHER, WANTED),
    Form.HOST: (f"{WANTED}.{OTHER}.svc.cluster.local", OTHER, WANTED),
    Form.TEMPLATE: ("of-${pvc.name}", ANY_NAMESPACE, "of-*"),
    Form.ACCOUNT: (f"system:serviceaccount:{OTHER}:{WANTED}", OTHER, WANTED),
    Form.QUOTA: (f"{WANTED}.storageclass.storage.k8s.io/requests.storage", "", WANTED),
    Form.API_VERSION: ("example.com/v1", "", "*.example.com"),
    Form.JSON: (f'{{"of": {{"secretName": "{WANTED}"}}}}', "", WANTED),
    Form.TRAEFIK: (f"{OTHER}-{WANTED}@kubernetescrd", OTHER, WANTED),
    Form.ARGUMENT: (f"--configmap=$(POD_NAMESPACE)/{WANTED}", "", WANTED),
}


class Example(msgspec.Struct, frozen=True):
    """`meant` is (kind, namespace, name), or (kind, namespace, selector)."""

    kind: str
    at: str
    manifest: dict[str, Any]
    meant: tuple[str, str, str]
    chosen: bool = False
    # What is meant where a field is empty, which comes along with everything else.
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.at}"


def examples(rules: Iterable[KindRules], annotated: Iterable[Annotated]) -> Iterator[Example]:
    tables = list(rules)
    cluster = WITHOUT_NAMESPACE | {one.kind for one in tables if one.cluster}
    known = IN_A_NAMESPACE | {one.kind for one in tables}
    places = Places(cluster, known)
    for table in tables:
        also = tuple(
            part.otherwise
            for _, part in unfolded(table.parts)
            if isinstance(part, Reference) and part.otherwise
        )
        for base, part in unfolded(table.parts):
            yield msgspec.structs.replace(_example(table.kind, base, part, places), also=also)
    for one in annotated:
        for kind in one.of or ("ConfigMap",):
            yield _marked(kind, one, places)


class Places:
    """Where things live, written down a second time: what the program has is what is tested."""

    def __init__(self, cluster: Iterable[str], known: Iterable[str]) -> None:
        self._cluster = frozenset(cluster)
        self._known = frozenset(known)

    def own(self, kind: str) -> str:
        return "" if kind in self._cluster else OWN

    def of(self, kind: str, *, said: str, fixed: str, own: str) -> str:
        if kind in self._cluster or fixed == NO_NAMESPACE:
            return ""
        if said or fixed:
            return said or fixed
        return own or ANY_NAMESPACE if kind in self._known or kind == "*" else ANY_NAMESPACE


def _example(kind: str, base: Path, part: Reference | Selection | Implied, places: Places) -> Example:
    match part:
        case Reference():
            return _reference(kind, base, part, places)
        case Selection():
            return _selection(kind, base, part, places)
        case Implied():
            return _implied(kind, base, part, places)


def _manifest(kind: str, places: Places) -> dict[str, Any]:
    metadata = {"name": OWNER, "uid": "1"}
    if places.own(kind):
        metadata["namespace"] = OWN
    return {"kind": kind.rpartition("/")[2], "metadata": metadata}


def put(manifest: Any, path: Path, value: Any) -> None:
    """Writes a value at the end of a path, with one item in each list and one value in each map on the way."""
    step, rest = path[0], path[1:]
    key: Any = (
        0 if step is Every.ITEM else "any" if step is Every.VALUE else value if step is Every.KEY else step
    )
    if isinstance(manifest, list) and not manifest:
        manifest.append(None)
    there = manifest[key] if isinstance(manifest, list) else manifest.get(key)
    if not rest:
        manifest[key] = value if step is not Every.KEY else "1"
        return
    if there is None:
        there = manifest[key] = [] if rest[0] is Every.ITEM else {}
    put(there, rest, value)


def _reference(kind: str, base: Path, rule: Reference, places: Places) -> Example:
    manifest = _manifest(kind, places)
    whole = (*base, *parsed(rule.at))
    beside = whole if rule.name else whole[:-1]
    text, said, name = WRITTEN[rule.form]
    put(manifest, (*whole, *parsed(rule.name)), text)
    to = rule.to
    if rule.kind_at:
        put(manifest, (*beside, *parsed(rule.kind_at)), "Gadget")
        to = "*/Gadget"
    if rule.group_at:
        put(manifest, (*beside, *parsed(rule.group_at)), "example.com")
        to = "example.com/Gadget"
    if rule.version_at:
        put(manifest, (*beside, *parsed(rule.version_at)), "example.com/v1")
        to = "example.com/Gadget"
    if rule.when_at:
        put(manifest, (*beside, *parsed(rule.when_at)), rule.when[-1])
    if rule.namespace_at:
        put(manifest, (*beside, *parsed(rule.namespace_at)), OTHER)
        said = OTHER
    namespace = places.of(to, said=said, fixed=rule.namespace, own=places.own(kind))
    return Example(kind, written((*whole, *parsed(rule.name))), manifest, (to, namespace, name))


def _selection(kind: str, base: Path, rule: Selection, places: Places) -> Example:
    manifest = _manifest(kind, places)
    whole = (*base, *parsed(rule.at))
    put(manifest, whole, {"app": WANTED} if rule.plain else {"matchLabels": {"app": WANTED}})
    namespace = places.of(rule.to, said="", fixed=rule.namespace, own=places.own(kind))
    return Example(kind, written(whole), manifest, (rule.to, namespace, f"app={WANTED}"), chosen=True)


def _implied(kind: str, base: Path, rule: Implied, places: Places) -> Example:
    manifest = _manifest(kind, places)
    holes = re.findall(r"\{((?:[^{}]|\{\})+)\}", rule.name)
    for hole in holes:
        if hole != "metadata.name":
            put(manifest, (*base, *parsed(hole)), "part")
    if rule.only_at and rule.only_at not in holes:
        put(manifest, (*base, *parsed(rule.only_at)), {})
    name = rule.name
    for hole in holes:
        name = name.replace(f"{{{hole}}}", OWNER if hole == "metadata.name" else "part")
    namespace = places.of(rule.to, said="", fixed=rule.namespace, own=places.own(kind))
    shown = rule.only_at or next((hole for hole in holes if hole != "metadata.name"), "metadata.name")
    at = written((*base, *parsed(shown)))
    if rule.label:
        return Example(kind, at, manifest, (rule.to, namespace, f"{rule.label}={name}"), chosen=True)
    return Example(kind, at, manifest, (rule.to, namespace, name))


def _marked(kind: str, rule: Annotated, places: Places) -> Example:
    manifest = _manifest(kind, places)
    text, said, name = WRITTEN[rule.form]
    where: Path = ("metadata", "labels" if rule.label else "annotations", rule.key)
    put(manifest, (*where[:-1], rule.key.replace("*", "any")), text)
    namespace = places.of(rule.to, said=said, fixed=rule.namespace, own=places.own(kind))
    return Example(kind, written(where), manifest, (rule.to, namespace, name))

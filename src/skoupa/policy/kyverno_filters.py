"""`resourceFilters` of Kyverno's own ConfigMap: objects that Kyverno leaves alone, and so do our policies.

The text is a row of `[Kind,namespace,name]` with wildcards; a kind may have group and version, a missing part means all. Kyverno, when it
cleans up, compares what stands after a kind's slash with the kind itself, so that `[Node/?*,*,*]` holds Nodes and `[Node,*,*]` does
not. Here both hold: whoever wrote either wants Nodes left alone. Entries that can't be read are told, and hold nothing. Where
the ConfigMap itself can't be read although there is a Kyverno, everything may be among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import matches
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.policy.kind_patterns import KindPattern, kind_pattern

KEY: Final = "resourceFilters"

_ENTRY: Final = re.compile(r"\[([^\[\]]*)\]")
_ANY: Final = "*"


class KyvernoFilter(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    kind: KindPattern
    namespace: str = _ANY
    name: str = _ANY


class KyvernoFilters(msgspec.Struct, frozen=True, kw_only=True):
    """`unread` are entries that are none; `missing` says why nothing of it is known, and what to do."""

    filters: tuple[KyvernoFilter, ...] = ()
    unread: tuple[str, ...] = ()
    missing: str = ""


def parse_filters(text: str) -> KyvernoFilters:
    """All entries of the text; what stands between them means nothing, as in Kyverno."""
    found: list[KyvernoFilter] = []
    unread: list[str] = []
    for match in _ENTRY.finditer(text):
        parts = [part.strip() for part in match[1].split(",")]
        kind = kind_pattern(parts[0])
        if len(parts) > 3 or not kind.kind:
            unread.append(f"{quoted(match[0])} is no [Kind,namespace,name]")
            continue
        namespace, name = [*(part or _ANY for part in parts[1:]), _ANY, _ANY][:2]
        found.append(KyvernoFilter(text=match[0], kind=kind, namespace=namespace, name=name))
    return KyvernoFilters(filters=tuple(found), unread=tuple(unread))


def left_alone(filters: Iterable[KyvernoFilter], resource: Resource, metadata: Metadata) -> str:
    """The entry by which Kyverno leaves the object alone; empty where none does."""
    for one in filters:
        if not one.kind.fits(resource) or not _means_the_whole(one.kind, resource):
            continue
        if matches(one.namespace, metadata.namespace) and matches(one.name, metadata.name):
            return one.text
        # A filter for a namespace is about the Namespace of that name too.
        is_namespace = resource.group == NAMESPACES.group and resource.kind == NAMESPACES.kind
        if is_namespace and matches(one.namespace, metadata.name):
            return one.text
    return ""


def _means_the_whole(kind: KindPattern, resource: Resource) -> bool:
    """Not only a real subresource such as `Pod/binding`."""
    return not kind.subresource or matches(kind.subresource, resource.kind)

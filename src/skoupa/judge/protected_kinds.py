"""The kinds that `protect` names: which kinds of the server a name means, and which names mean none.

A kind may be written in each way that kubectl understands (`pods`, `Pod`, `po`, `deployments.apps`, `apps/v1/Deployment`),
in any case. A version narrows nothing: the object is the same in all of them. A name without a group means every
kind that is called so. What means no kind is no error, since its definition may come later; but it is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from skoupa.errors import KindUnreadable, UnknownKind
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import EVENTS, Resource
from skoupa.settings import Protect

_VERSION: Final = re.compile("v[0-9]+((alpha|beta)[0-9]+)?")


class KindName(msgspec.Struct, frozen=True):
    """A kind as somebody wrote it, without case and version."""

    plain: str

    @property
    def wild(self) -> bool:
        return "*" in self.plain or "?" in self.plain

    def means(self, resource: Resource) -> bool:
        called = called_by(resource)
        if self.wild:
            return any(fnmatchcase(name, self.plain) for name in called)
        return self.plain in called


def kind_name(text: str) -> KindName:
    text = text.lower()
    *place, kind = text.split("/")
    if place:
        # The core group has no name: v1/Pod.
        group = "" if _VERSION.fullmatch(place[0]) else place[0]
        return KindName(f"{kind}.{group}")
    name, dot, rest = text.partition(".")
    version, _, group = rest.partition(".")
    if dot and _VERSION.fullmatch(version):
        return KindName(f"{name}.{group}")
    return KindName(text)


def called_by(resource: Resource) -> set[str]:
    """All names of a kind; with its group, which for the core group is a dot and nothing."""
    names = {resource.kind.lower(), resource.plural, resource.singular, *resource.short_names} - {""}
    return names | {f"{name}.{resource.group}" for name in names}


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Something that `protect` says and may not mean; `empty`: it protects nothing."""

    setting: Literal["kinds", "names"]
    value: str
    empty: bool
    why: str

    def __str__(self) -> str:
        return f"protect.{self.setting}: {self.value!r} {self.why}"


def doubts(protect: Protect, discovery: Discovery) -> Iterator[Doubt]:
    for text in protect.kinds:
        yield from _doubts_of_kind("kinds", text, kind=text, discovery=discovery)
    for text in protect.names:
        kind, *place, name = text.split("/")
        found = list(_doubts_of_kind("names", text, kind=kind, discovery=discovery))
        yield from found
        meant = [resource for resource in discovery.preferred() if kind_name(kind).means(resource)]
        if place and meant and not any(resource.namespaced for resource in meant):
            why = f"protects nothing: {meant[0].qualified} are in no namespace; write {kind}/{name}"
            yield Doubt(setting="names", value=text, empty=True, why=why)


def _doubts_of_kind(
    setting: Literal["kinds", "names"], text: str, *, kind: str, discovery: Discovery
) -> Iterator[Doubt]:
    name = kind_name(kind)
    meant = [resource for resource in discovery.preferred() if name.means(resource)]
    if not meant:
        yield Doubt(setting=setting, value=text, empty=True, why=_nothing(kind, discovery))
        return
    # Events are one kind in two groups, and what nobody can delete needs no protection.
    several = [one.qualified for one in meant if one.may("delete") and one.qualified != EVENTS.qualified]
    if len(several) > 1 and not name.wild:
        why = f"means {', '.join(several)}; write one of them if not all are meant"
        yield Doubt(setting=setting, value=text, empty=False, why=why)


def _nothing(kind: str, discovery: Discovery) -> str:
    try:
        discovery.resolve(kind)
    except KindUnreadable as error:
        return f"protects nothing that is known: {error.message}"
    except UnknownKind as error:
        return f"protects nothing: there is no such kind; {error.advice}"
    return "protects nothing: there is no such kind"

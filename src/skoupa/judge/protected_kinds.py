"""The kinds that `protect` names, against those of the server: which names mean none, and which several.

What means no kind is no error, since its definition may come later; but it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from skoupa.errors import KindUnreadable, UnknownKind
from skoupa.kinds.naming import is_wild, means
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import EVENTS
from skoupa.settings import Protect


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
        meant = [resource for resource in discovery.preferred() if means(kind, resource)]
        if place and meant and not any(resource.namespaced for resource in meant):
            why = f"protects nothing: {meant[0].qualified} are in no namespace; write {kind}/{name}"
            yield Doubt(setting="names", value=text, empty=True, why=why)


def _doubts_of_kind(
    setting: Literal["kinds", "names"], text: str, *, kind: str, discovery: Discovery
) -> Iterator[Doubt]:
    meant = [resource for resource in discovery.preferred() if means(kind, resource)]
    if not meant:
        yield Doubt(setting=setting, value=text, empty=True, why=_nothing(kind, discovery))
        return
    # Events are one kind in two groups, and what nobody can delete needs no protection.
    several = [one.qualified for one in meant if one.may("delete") and one.qualified != EVENTS.qualified]
    if len(several) > 1 and not is_wild(kind):
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

"""Kinds as CleanupPolicies name them: `Pod`, `v1/Pod`, `apps/v1/Deployment`, with `*` and `?` in every part.

The grammar is Kyverno's, with capitals, also where it reads a subresource (`Pod/exec`, `Pod.status`): those are recognised, so
that they can be refused. One thing is read otherwise: `*/v1/Pod` is a Pod of any group, and not the subresource Pod of a kind
v1, which would never fit. A kind without a group is that of any group.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from skoupa.expr.wildcards import has_wildcard, matches
from skoupa.kube.resources import Resource

_ANY: Final = "*"
_VERSION: Final = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?|\*", re.ASCII)


class KindPattern(msgspec.Struct, frozen=True, kw_only=True):
    """`grouped`: somebody wrote the group; without that one kind is meant, with it all that fit."""

    text: str
    group: str = _ANY
    version: str = _ANY
    kind: str = ""
    subresource: str = ""
    grouped: bool = False

    @property
    def wild(self) -> bool:
        """Whether kinds fit that nobody named."""
        return has_wildcard(self.kind)

    def fits(self, resource: Resource) -> bool:
        return (
            matches(self.kind, resource.kind)
            and matches(self.group, resource.group)
            and matches(self.version, resource.version)
        )


@lru_cache(maxsize=4096)
def kind_pattern(text: str) -> KindPattern:
    """How Kyverno reads it; with an empty kind where it reads nothing."""
    *before, last = text.split("/")
    parts = [*before, *last.split(".")]
    match parts:
        case [kind]:
            return KindPattern(text=text, kind=kind)
        case ["*", "*"]:
            return KindPattern(text=text, kind=_ANY, subresource=_ANY)
        case ["*", below] if below == below.lower():
            return KindPattern(text=text, kind=_ANY, subresource=below)
        case [version, kind] if _VERSION.fullmatch(version):
            return KindPattern(text=text, version=version, kind=kind)
        case [kind, below]:
            return KindPattern(text=text, kind=kind, subresource=below)
        case ["*", version, kind] if _VERSION.fullmatch(version) and (kind == _ANY or kind != kind.lower()):
            return KindPattern(text=text, version=version, kind=kind, grouped=True)
        case [version, kind, below] if _VERSION.fullmatch(version):
            return KindPattern(text=text, version=version, kind=kind, subresource=below)
        case [group, version, kind]:
            return KindPattern(text=text, group=group, version=version, kind=kind, grouped=True)
        case [group, version, kind, below]:
            return KindPattern(
                text=text, group=group, version=version, kind=kind, subresource=below, grouped=True
            )
        case _:
            return KindPattern(text=text)

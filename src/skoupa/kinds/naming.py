"""Kinds as people write them: `pods`, `Pod`, `po`, `deployments.apps`, `apps/v1/Deployment`, with wildcards, in any case.

A version narrows nothing, for the object is the same in all of them; a name without a group means every kind that is
called so. Whether there is such a kind is not asked here: that takes discovery.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from skoupa.kube.resources import Resource

_VERSION: Final = re.compile("v[0-9]+((alpha|beta)[0-9]+)?")


def means(text: str, resource: Resource) -> bool:
    """Whether somebody who writes `text` means this kind."""
    return _fits(plain(text), called(resource))


def defines(text: str, definition: str) -> bool:
    """Whether the CustomResourceDefinition of that name (`widgets.example.com`) is of the kind meant by `text`.

    Its name tells plural and group only, so the kind's own name is recognised by its regular plurals.
    """
    wanted = plain(text)
    plural, _, group = definition.partition(".")
    if _fits(wanted, frozenset({plural, definition})):
        return True
    name, dot, wanted_group = wanted.partition(".")
    return (not dot or wanted_group == group) and plural in {f"{name}s", f"{name}es", f"{name[:-1]}ies"}


@lru_cache(maxsize=1024)
def plain(text: str) -> str:
    """Name and, after a dot, group; without case and version."""
    *place, name = text.lower().split("/")
    if place:
        # The core group has no name: v1/Pod.
        return f"{name}." if _VERSION.fullmatch(place[0]) else f"{name}.{place[0]}"
    name, _, rest = text.lower().partition(".")
    version, _, group = rest.partition(".")
    return f"{name}.{group}" if _VERSION.fullmatch(version) else text.lower()


@lru_cache(maxsize=4096)
def called(resource: Resource) -> frozenset[str]:
    """All names of a kind, bare and with its group, which for the core group is a dot and nothing."""
    bare = {resource.kind.lower(), resource.plural, resource.singular, *resource.short_names} - {""}
    return frozenset(bare | {f"{name}.{resource.group}" for name in bare})


def is_wild(text: str) -> bool:
    return "*" in text or "?" in text


def _fits(wanted: str, names: frozenset[str]) -> bool:
    if is_wild(wanted):
        return any(fnmatchcase(name, wanted) for name in names)
    return wanted in names

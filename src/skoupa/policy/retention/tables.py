"""From a profile to the table by which objects of its kind are read for what they point at.

What a profile says takes the place of what is shipped, part by part: `uses` that of what the kind uses, `produces` that of what it would
only make again. Of Kubernetes' own kinds nothing is lost that way: their tables are complete, and a profile adds to them. A kind that no
table knows is searched as before until a profile says what it uses. What it `takes` it keeps, too: that goes with it and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from skoupa.kube.resources import BUILT_IN_GROUPS
from skoupa.policy.retention.profiles import Pointer, Profile
from skoupa.usage.paths import Every, Path, Step, last_of_many, written
from skoupa.usage.rules import ANY_NAMESPACE, Embedded, Implied, KindRules, Means, Part, Reference

_OWN_NAME: Final[Path] = ("metadata", "name")


def table_of(profile: Profile, shipped: KindRules | None) -> KindRules | None:
    """None where it says nothing of what its kind points at, so that what is shipped stands."""
    taught = tuple(_parts(profile))
    if not taught:
        return None
    known = shipped or KindRules(kind=profile.kind, parts=())
    if profile.group in BUILT_IN_GROUPS:
        return msgspec.structs.replace(known, parts=(*known.parts, *taught))
    replaced = {Means.USES} if profile.uses else set()
    replaced |= {Means.PRODUCES} if profile.produces else set()
    kept = tuple(part for part in known.parts if _means(part) not in replaced)
    if profile.uses:
        return msgspec.structs.replace(
            known, parts=(*kept, *taught), walked=(), walked_unless="", spent_at=""
        )
    return msgspec.structs.replace(known, parts=(*kept, *taught), whole=shipped is None or shipped.whole)


def takes_of(profile: Profile) -> KindRules | None:
    """A table of what goes along with it, and nothing else."""
    if not profile.takes:
        return None
    return KindRules(kind=profile.kind, parts=tuple(_part(one, Means.MANAGES) for one in profile.takes))


def doubted(kind: str, known: KindRules | None) -> KindRules:
    """For a kind of which nobody can tell what its profile means: it may point at anything."""
    return msgspec.structs.replace(known or KindRules(kind=kind, parts=()), whole=True)


def _parts(profile: Profile) -> Iterator[Part]:
    for pointers, means in (
        (profile.uses, Means.USES),
        (profile.produces, Means.PRODUCES),
        (profile.takes, Means.MANAGES),
    ):
        yield from (_part(one, means) for one in pointers)


def _part(pointer: Pointer, means: Means) -> Part:
    if pointer.path == _OWN_NAME:
        place = ANY_NAMESPACE if pointer.namespace_path else pointer.namespace
        return Implied(to=pointer.kind, name="{metadata.name}", namespace=place, means=means)
    if not pointer.namespace_path:
        return Reference(at=written(pointer.path), to=pointer.kind, namespace=pointer.namespace, means=means)
    shared = _shared(pointer.path, pointer.namespace_path)
    name, beside = pointer.path[shared:], pointer.namespace_path[shared:]
    if not shared or _is_many(name[:-1] if name[-1] is Every.ITEM else name) or _is_many(beside):
        # Which namespace belongs to which name can't be read: one of this name in any of them is meant.
        return Reference(at=written(pointer.path), to=pointer.kind, namespace=ANY_NAMESPACE, means=means)
    return Reference(
        at=written(pointer.path[:shared]),
        name=written(name),
        namespace_at=written(beside),
        to=pointer.kind,
        means=means,
    )


def _shared(path: Path, beside: Path) -> int:
    """How many steps lead to the object that has both, or what both are in."""
    most = min(len(path), len(beside)) - 1
    same = next((index for index in range(most) if path[index] != beside[index]), most)
    # The item of a list is as near as it gets.
    return max(same, 0)


def _is_many(steps: Iterable[Step]) -> bool:
    return bool(last_of_many(tuple(steps)))


def _means(part: Part) -> Means:
    """A shape that is embedded says what is used."""
    return Means.USES if isinstance(part, Embedded) else part.means

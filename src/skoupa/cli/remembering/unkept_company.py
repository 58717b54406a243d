"""What went along and is not in the trash, read from what a row says of it.

A controller tells it in sentences, cut down to what the caller may know, so sentences are what is read here: some name an
object, some name kinds or a whole group, and all others may mean anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from skoupa.kinds.naming import defines
from skoupa.kube.resources import Resource
from skoupa.ledger.rows import COUNTED, Entry
from skoupa.ledger.trash.contents import YOUNG, Kept
from skoupa.ledger.trash.kinds import may_own
from skoupa.ledger.trash.ordering import DEFINITIONS, NAMESPACES

_OBJECT: Final = re.compile(
    r"(?P<part>[^\s/]+(?:/[^\s/]+){1,2}) (?:goes along|that may go along): (?P<why>.+)"
)
_KINDS: Final = re.compile(r"(?P<kinds>[^\s,/]+(?:, [^\s,/]+)*) that may go along: .+")
_GROUP: Final = re.compile(r"kinds of (?P<group>[^\s/]+)\S* that may go along: .+")
# The group without a name is told by its version.
_CORE: Final = frozenset({"core", "v1"})
_HIDDEN: Final = re.compile(r"[0-9]+ .+ that you may not read")
_YOUNG: Final = re.compile(YOUNG + r"[0-9]+ seconds that may go along: .+")
_UNSEEN: Final = re.compile(r"[0-9]+ objects? that went along, of .+")


def takes_along_unseen(entry: Entry, kept: Sequence[Kept]) -> bool:
    """Whether it may have taken something along of which there is no word; `kept` is what is in the trash of it."""
    if entry.outcome not in COUNTED or entry.propagation == "Orphan" or entry.finalizer:
        return False
    if not kept:
        return True
    return len(kept) == 1 and not kept[0].unknown and not is_looked_around(entry)


def is_looked_around(entry: Entry) -> bool:
    """Whether it is of a kind of which what hangs on an object is looked for before that goes."""
    group, _, version = entry.api_version.rpartition("/")
    kind = Resource(
        group=group,
        version=version,
        plural=entry.resource.partition(".")[0],
        kind=entry.kind,
        namespaced=bool(entry.namespace),
    )
    return entry.resource in {NAMESPACES, DEFINITIONS} or may_own(kind)


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """An object that went along, or may have, and `why` it is not kept; `resource` is its kind as kubectl shows it."""

    resource: str
    namespace: str
    name: str
    why: str

    def as_kept(self) -> Kept:
        """As a part of the trash with nothing in it."""
        api_version, kind = _called(self.resource)
        return Kept(
            api_version=api_version,
            kind=kind,
            resource=self.resource,
            namespaced=bool(self.namespace),
            name=self.name,
            namespace=self.namespace,
            uid="",
            missing=self.why,
        )


def lost(own: Kept, entry: Entry) -> Iterator[Lost]:
    """The objects that are named; `own` is what is kept of the one that took them along."""
    for said in own.unknown:
        found = _OBJECT.fullmatch(said)
        if found is not None:
            resource, *where, name = found["part"].split("/")
            yield Lost(
                resource=resource,
                namespace=where[0] if where else entry.namespace,
                name=name,
                why=found["why"],
            )


def uncertain(own: Kept) -> Iterator[str]:
    """What else is said: nobody knows how much it is, or whether it is anything."""
    for said in own.unknown:
        counted = own.unseen and _UNSEEN.fullmatch(said)
        if not counted and not is_young(said) and _OBJECT.fullmatch(said) is None:
            yield said


def is_young(said: str) -> bool:
    """Whether it only says that something may have been made after the look around."""
    return _YOUNG.fullmatch(said) is not None


def may_mean(said: str, kind: str) -> bool:
    """Whether a sentence may be about an object of this kind, written as `deployments.apps` or as `Widget`.

    What somebody may not read is no answer to a question for a name.
    """
    if _OBJECT.fullmatch(said) is not None or _HIDDEN.fullmatch(said) is not None:
        return False
    if (group := _GROUP.fullmatch(said)) is not None:
        wanted = "" if group["group"] in _CORE else group["group"]
        return kind[:1].isupper() or kind.partition(".")[2] == wanted
    if (kinds := _KINDS.fullmatch(said)) is not None:
        return any(defines(kind, one) for one in kinds["kinds"].split(", "))
    return True


def _called(resource: str) -> tuple[str, str]:
    """Its version and kind; of others than the built-in ones a sentence does not tell them."""
    # What the cluster in memory knows is what every server knows; nobody else here needs it.
    from skoupa.sim.state.kinds import BUILT_IN  # noqa: PLC0415

    found = next((one for one in BUILT_IN if one.qualified == resource), None)
    return (found.api_version, found.kind) if found is not None else ("", resource)

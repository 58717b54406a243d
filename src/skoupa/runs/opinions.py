"""What conditions say of one object: it goes, it does not, or nobody knows, which never lets it go.

Who asks hands over the objects that match; who answers gives one Opinion for each, in the same order, and raises for none of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Protocol

import msgspec

from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason, reason
from skoupa.policy.policies import Policy

Outcome = Literal["claimed", "left", "unclear"]

_LONGEST: Final = 600
_UNTOLD: Final = frozenset({"Secret"})


class Item(msgspec.Struct, frozen=True, gc=False):
    """An object that matches; `raw` is its JSON, or that of its metadata alone where nothing more is looked at."""

    metadata: Metadata
    raw: msgspec.Raw


class Opinion(msgspec.Struct, frozen=True):
    outcome: Outcome
    why: Reason | None = None


CLAIMED: Final = Opinion("claimed")
LEFT: Final = Opinion("left")


class Judging(Protocol):
    """The conditions of one policy at one moment."""

    @property
    def needs_bodies(self) -> bool:
        """Whether they look further than metadata; known once begun."""
        ...

    @property
    def troubles(self) -> tuple[str, ...]:
        """What went wrong for the run as a whole so far, each once."""
        ...

    async def begin(self) -> None: ...

    async def ask(self, resource: Resource, items: Sequence[Item]) -> list[Opinion]: ...


def unclear(policy: Policy, resource: Resource, *, why: str, gist: str) -> Opinion:
    """`gist` is the same without what it may quote of the object."""
    told = shown(resource, why=why, gist=gist)
    return Opinion("unclear", reason("policy-unclear", policy=policy.called, why=told))


def shown(resource: Resource, *, why: str, gist: str) -> str:
    """Errors quote what they are about, which may be long, and of a Secret nobody else's business."""
    if resource.kind in _UNTOLD:
        return clipped(f"{gist} (more is not shown of a Secret)")
    return clipped(why)


def clipped(why: str) -> str:
    return why if len(why) <= _LONGEST else f"{why[: _LONGEST - 1]}…"

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
NOT_SHOWN: Final = "(more is not shown of a Secret)"
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

    @property
    def interrupted(self) -> bool:
        """Whether something had no answer for what happened to the machine, so that it may have one later."""
        ...

    def looks_into(self, fields: frozenset[str]) -> bool:
        """Whether they may look at one of these fields of an object; known once begun."""
        ...

    async def begin(self) -> None: ...

    async def ask(self, resource: Resource, items: Sequence[Item]) -> list[Opinion]: ...

    async def unmet(self, resource: Resource, item: Item) -> str:
        """Of an object that they leave: the first condition that does not hold, with what it compared; empty: not known."""
        ...


def unclear(policy: Policy, resource: Resource, *, why: str, gist: str, secret: bool = False) -> Opinion:
    """`gist` is the same without what it may quote of the object; `secret`: Secrets were looked at on the way."""
    told = shown(resource, why=why, gist=gist, secret=secret)
    return Opinion("unclear", reason("policy-unclear", policy=policy.called, why=told))


def shown(resource: Resource, *, why: str, gist: str, secret: bool = False) -> str:
    """Errors quote what they are about, which may be long, and of a Secret nobody else's business."""
    if secret or resource.kind in _UNTOLD:
        return clipped(f"{gist} {NOT_SHOWN}")
    return clipped(why)


def clipped(why: str) -> str:
    return why if len(why) <= _LONGEST else f"{why[: _LONGEST - 1]}…"

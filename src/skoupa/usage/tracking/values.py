"""What a deployer says of what it deployed, and what an object says of its deployer, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from skoupa.usage.found import Found, Target, Use
from skoupa.usage.rules import Means
from skoupa.usage.shaped import places


class Tracks(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one deployer tracks. Where it does not say all of it, `untold` says why: then what names it as its deployer stays."""

    found: Found = Found()
    untold: str = ""


class Mark(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An object says by a label or annotation (`at`) who tracks it; `by` may leave a part open with `*`.

    `hint` where the mark alone proves nothing: charts write the same label without any such deployer.
    """

    by: Target
    at: str
    hint: bool = False


def tracked(
    kind: str, namespace: str, name: str, *, at: str, means: Means = Means.MANAGES
) -> tuple[Use, ...]:
    """The uses of one object that a deployer names; of a kind that may live in no namespace there are two."""
    return tuple(Use(Target(kind, place, name), at, means) for place in places(kind, namespace))


def text(value: Any, *path: str) -> str:
    """The text at the end of a path through maps; "" where there is none."""
    for field in path:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def at(value: Any, *path: str) -> Any:
    for field in path:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value

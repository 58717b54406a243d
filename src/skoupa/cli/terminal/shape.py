"""What every part of the output for programs is made of."""

from __future__ import annotations

import msgspec


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of the output; keys are written in camelCase."""


class ToldGap(Shape, frozen=True, kw_only=True):
    """Something that could not be read, so that the list may lack objects."""

    what: str
    why: str

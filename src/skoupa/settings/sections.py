"""What all groups of settings are made of."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec


class _Duration(msgspec.Struct, frozen=True):
    """Marks a text that has to be a duration."""


def about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


DURATION: Final = _Duration()
Duration = Annotated[str, DURATION]


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A group of settings; keys are written in camelCase."""

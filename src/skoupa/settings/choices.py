"""What may be written at a place of the settings, also inside a list, which has no setting of its own for each entry."""

from __future__ import annotations

import re
from typing import Final

from msgspec import inspect as types

from skoupa.settings.fields import Settings

_STEP: Final = re.compile(r"[^.\[\]]+|\[[^\]]*\]")


def choices_at(key: str) -> tuple[str, ...]:
    """The values that `notices.routes[0].type` takes; none where it takes any, or nobody knows."""
    info = _at(key)
    return tuple(str(value) for value in info.values) if isinstance(info, types.LiteralType) else ()


def keys_at(key: str) -> tuple[str, ...]:
    """The keys below `notices.routes[0]`; none where nobody knows."""
    info = _at(key)
    return tuple(field.encode_name for field in info.fields) if isinstance(info, types.StructType) else ()


def _at(key: str) -> types.Type:
    info = _bare(types.type_info(Settings))
    for step in _STEP.findall(key):
        if isinstance(info, types.StructType):
            fields = {field.encode_name: field.type for field in info.fields}
            info = _bare(fields.get(step, types.AnyType()))
        elif isinstance(info, types.VarTupleType):
            info = _bare(info.item_type)
        else:
            return types.AnyType()
    return info


def _bare(info: types.Type) -> types.Type:
    """Without descriptions and without None."""
    while isinstance(info, types.Metadata):
        info = info.type
    if isinstance(info, types.UnionType):
        parts = [part for part in info.types if not isinstance(part, types.NoneType)]
        return _bare(parts[0]) if len(parts) == 1 else info
    return info

"""Secrets without their values, for policies that may not look at those.

Values stand in their fields and, where somebody applied a Secret with kubectl, once more in an annotation. That keeps its
key, with other words, so that whoever only asks whether it is there is answered as before.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa.runs.opinions import Item

SECRETS: Final = "secrets"
SECRET_FIELDS: Final = frozenset({"data", "stringData"})
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN: Final = "(not shown)"
_WHOLE: Final = msgspec.json.Decoder(dict[str, Any])


def without_values(item: Item) -> Item:
    """What is no object is left as it is: whoever reads it finds out."""
    try:
        found = _WHOLE.decode(item.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return item
    kept = {key: value for key, value in found.items() if key not in SECRET_FIELDS}
    metadata = kept.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict) and _APPLIED in annotations:
        kept["metadata"] = {**metadata, "annotations": {**annotations, _APPLIED: _HIDDEN}}
    return Item(item.metadata, msgspec.Raw(msgspec.json.encode(kept)))

"""What of an object's metadata its writer wrote, and a new object keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa import names

_WRITTEN: Final = ("name", "generateName", "namespace", "labels", "annotations")
# What others wrote about the old object: of a new one it would be untrue.
_ABOUT_THE_OLD: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", names.NEXT_EXECUTION_ANNOTATION}
)


def kept_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {field: metadata[field] for field in _WRITTEN if metadata.get(field)}
    annotations = {
        key: value
        for key, value in (kept.pop("annotations", None) or {}).items()
        if key not in _ABOUT_THE_OLD
    }
    return {**kept, **({"annotations": annotations} if annotations else {})}

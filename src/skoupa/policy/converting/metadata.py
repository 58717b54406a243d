"""What of an object's metadata its writer wrote, and a new object keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_WRITTEN: Final = ("name", "generateName", "namespace", "labels", "annotations")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def kept_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {field: metadata[field] for field in _WRITTEN if metadata.get(field)}
    annotations = {
        key: value for key, value in (kept.pop("annotations", None) or {}).items() if key != _LAST_APPLIED
    }
    return {**kept, **({"annotations": annotations} if annotations else {})}

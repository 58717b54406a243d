"""Claims of a custom kind that is made like a StatefulSet: named after its templates, itself and an ordinal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.usage.edges.patterns import ORDINAL
from skoupa.usage.found import Target, Use

_TEMPLATES: Final = "volumeClaimTemplates"


def claims_of(manifest: Mapping[str, Any], *, name: str, namespace: str) -> Iterator[Use]:
    """Of every ordinal: it wants them back when it grows again."""
    spec = manifest.get("spec")
    templates = spec.get(_TEMPLATES) if isinstance(spec, Mapping) else None
    for one in templates if isinstance(templates, list) else ():
        metadata = one.get("metadata") if isinstance(one, Mapping) else None
        template = metadata.get("name") if isinstance(metadata, Mapping) else None
        if isinstance(template, str) and template and name and namespace:
            target = Target("PersistentVolumeClaim", namespace, f"{template}-{name}-{ORDINAL}")
            yield Use(target, f"spec.{_TEMPLATES}[]")

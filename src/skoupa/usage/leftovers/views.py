"""How a kind is listed: for what it points at, and for what else a report wants to know of it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa.kube.objects import WHOLE, View
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage import tracking
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.keys import HAVING_KEYS, KeyReading
from skoupa.usage.leftovers.particulars import HAVING, Particular, Particulars, extended
from skoupa.usage.leftovers.templates import templates_in
from skoupa.usage.objects import is_walked
from skoupa.usage.reading import Readings

_SPEC: Final = "spec"


class KindView:
    """`particulars`: what questions ask about is wanted; of custom kinds these are the templates that they have in them."""

    def __init__(self, resource: Resource, readings: Readings, *, particulars: bool, keys: bool) -> None:
        kind = kind_name(resource)
        self.walked = is_walked(resource, readings)
        whole = self.walked or kind in tracking.KINDS
        self.view: View[Any] = WHOLE if whole else readings.view(kind)
        self.keys: KeyReading | None = None
        self._particular: Particular | None = None
        self._spec = ""
        self._templates = particulars and (resource.group not in BUILT_IN_GROUPS or self.walked)
        if particulars and kind in HAVING:
            self._particular = Particular(kind, self.view)
            self.view = self._particular.view
        if keys and kind in HAVING_KEYS:
            self.keys = KeyReading(kind, self.view)
            self.view = self.keys.view
        if self._templates and not whole:
            self.view, attributes = extended(self.view, (_SPEC,))
            self._spec = attributes[_SPEC]

    def particulars(self, item: Any) -> Particulars | None:
        if self._particular is not None:
            return self._particular.of(item)
        if not self._templates:
            return None
        try:
            raw = getattr(item, self._spec) if self._spec else b""
            spec = item.get(_SPEC) if isinstance(item, dict) else msgspec.json.decode(raw) if raw else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        templates = templates_in(spec)
        return Particulars(templates=templates) if templates else None

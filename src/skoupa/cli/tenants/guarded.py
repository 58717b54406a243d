"""What the settings protect, and what is Skoupa's own: of that nothing goes with any tenant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.facts.rows import Extraction, Row
from skoupa.judge.protection import Protection, goes_with_its_tenant
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import Resource
from skoupa.model.reasons import render
from skoupa.settings import Settings

_NO_LABEL: Final[Mapping[str, str]] = {}


class Guarded:
    """`namespace_keeps` has the keep labels of Namespaces by name; a plan, which those do not hold, needs none."""

    def __init__(self, settings: Settings, *, namespace_keeps: Mapping[str, str] = _NO_LABEL) -> None:
        self._protection = Protection(
            settings.protect, namespace_label=namespace_keeps.get, home=settings.lease.namespace
        )
        self._extraction = Extraction()

    def row(self, resource: Resource, metadata: Metadata) -> Row:
        return self._extraction.row(resource, Partial(metadata=metadata))

    def row_of(self, resource: Resource, found: Mapping[str, Any]) -> Row:
        # Through JSON, since who wrote which fields stays bytes.
        return self.row(resource, msgspec.json.decode(msgspec.json.encode(found["metadata"]), type=Metadata))

    def from_tenants(self, row: Row, now: float) -> str:
        """Why it does not go with a tenant; empty: nothing says so. A keep label does not hold against that."""
        return next(
            (
                render(told)
                for told, _ in self._protection.reasons(row, now)
                if not goes_with_its_tenant(told, row)
            ),
            "",
        )

    def from_everything(self, row: Row, now: float) -> str:
        """The same of what nobody may force either: what is kept, or shared, as well."""
        told = next((render(told) for told, _ in self._protection.reasons(row, now)), "")
        shared = row.label(names.SHARED_LABEL)
        if not told and shared is not None and shared != "false":
            return f"it has the label {names.SHARED_LABEL}"
        return told

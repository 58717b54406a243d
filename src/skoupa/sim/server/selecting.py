"""Which rows a list, a watch or a collection delete is about: namespace, labels and fields in one predicate.

Labels and names are decided on the row's header; only other fields make it decode the object.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from skoupa.kube.selectors import LabelSelector, parse_labels
from skoupa.sim.server.calls import Call
from skoupa.sim.server.encoding import shown
from skoupa.sim.server.selection import FieldSelector, parse_fields
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.refusals import bad_request
from skoupa.sim.state.storage import Row

_NO_LABELS: Mapping[str, str] = {}
_IN_HEADER = frozenset({"metadata.name", "metadata.namespace"})


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str = ""
    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    decodes: bool = False

    @property
    def everything(self) -> bool:
        """No selector narrows it (a namespace is no selector)."""
        return self.labels is None and self.fields is None

    def matches(self, served: Served, row: Row) -> bool:
        if self.namespace and row.namespace != self.namespace:
            return False
        if self.labels is not None and not self.labels.matches(row.labels or _NO_LABELS):
            return False
        if self.fields is None:
            return True
        if self.decodes:
            return self.fields.matches(shown(served, row))
        return self.fields.matches({"metadata": {"name": row.name, "namespace": row.namespace}})


def selection_of(call: Call) -> Selection:
    labels = call.query.get("labelSelector", "")
    fields = call.query.get("fieldSelector", "")
    served = call.served
    try:
        by_label = parse_labels(labels) if labels else None
        by_field = (
            parse_fields(fields, resource=served.resource, selectable=served.selectable) if fields else None
        )
    except ValueError as error:
        raise bad_request(str(error)) from error
    return Selection(
        namespace=call.namespace,
        labels=by_label,
        fields=by_field,
        decodes=by_field is not None and any(term.field not in _IN_HEADER for term in by_field.terms),
    )

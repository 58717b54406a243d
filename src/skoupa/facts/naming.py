"""What an object is called where somebody types its name."""

from __future__ import annotations

from skoupa.facts.rows import Row


def name_of(row: Row, *, with_namespace: bool) -> str:
    """As `kubectl -o name` writes it, or with its namespace in between; `explain`, `keep` and others take both."""
    kind = row.resource.singular or row.resource.kind.lower()
    group = f".{row.resource.group}" if row.resource.group else ""
    namespace = f"{row.namespace}/" if with_namespace and row.namespace else ""
    return f"{kind}{group}/{namespace}{row.name}"

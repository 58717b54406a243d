"""Which of the objects that were read a plan has to look at more closely, and in which order they are told."""

from __future__ import annotations

from collections.abc import Iterable

from skoupa.controller.survey import Finding, Survey
from skoupa.expr.comparisons import Comparison
from skoupa.expr.windows import Window
from skoupa.facts.rows import Row
from skoupa.judge.ttl import TtlMechanism


def candidates(
    survey: Survey,
    window: Window | None,
    lifetime: Comparison | None,
    now: float,
    *,
    namespace: str,
    chosen: Iterable[Row],
) -> tuple[list[Row], list[Row]]:
    """Rows that have a time which may lie in the window, and rows that have none; `chosen` are those of policies.

    What was read of other namespaces than `namespace` decides about others, and is not asked for itself.
    """
    ttl = next((one for one in survey.knowledge.mechanisms if isinstance(one, TtlMechanism)), None)
    timed: list[Row] = []
    silent: list[Row] = []
    for row in {row.uid: row for row in (*survey.rows(), *chosen)}.values():
        if namespace and row.namespace not in ("", namespace):
            continue
        due = survey.knowledge.judge.due(row, now)
        if due is None:
            silent.append(row)
        elif window is not None and due > window.end:
            # Holds only delay: it can't go before it is due.
            continue
        elif lifetime is None:
            timed.append(row)
        else:
            span = ttl.lifetime(row) if ttl else None
            if span is not None and lifetime.holds(span):
                timed.append(row)
    return timed, silent


def order(found: Finding) -> tuple[float, str, str, str]:
    row, due = found.row, found.verdict.due
    return (due if due is not None else 0.0, row.namespace, row.resource.kind, row.name)

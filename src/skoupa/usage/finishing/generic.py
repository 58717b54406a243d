"""What counts as ended where no rule knows the kind: only a shape that can mean nothing else.

A condition of a usual name says so, and a field of a usual name says when; both, and no other condition that speaks of work
going on. A phase alone is no proof: every kind has words of its own for it, and in many of them what failed is tried again. A
condition alone is none either: `Failed` is often what an operator says between two tries. Built-in kinds are not
guessed at.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.finishing.rules import Condition, FinishRule, TimeAt, ended, failed, succeeded

ANY_KIND: Final = "*"
_GOING_ON: Final = (
    "Running",
    "Active",
    "Progressing",
    "Reconciling",
    "Restarting",
    "Retrying",
    "Pending",
    "Paused",
    "Suspended",
)
_TIMES: Final = (
    "completionTime",
    "completionTimestamp",
    "finishedAt",
    "completedAt",
    "endTime",
    "terminationTime",
)

RULE: Final = FinishRule(
    kind=ANY_KIND,
    signs=(
        succeeded(Condition("Succeeded")),
        failed(Condition("Failed")),
        # Some say so of what failed as well.
        ended(Condition("Complete")),
        ended(Condition("Completed")),
    ),
    unless=tuple(map(Condition, _GOING_ON)),
    times=tuple(TimeAt(at=f"status.{name}") for name in _TIMES),
    started=("status.startTime", "status.startedAt", "status.startTimestamp"),
    certain_time=True,
    generation_at="status.observedGeneration",
)


def guessed(kind: str) -> bool:
    """Whether the kind is one of somebody's own: those of Kubernetes have a rule, or do not end."""
    group = kind.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")

"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds (metav1.Time) or microseconds (metav1.MicroTime)."""

from __future__ import annotations

from datetime import UTC, datetime


def whole_seconds(epoch: float) -> str:
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(epoch: float) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

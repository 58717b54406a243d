"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds (metav1.Time) or microseconds (metav1.MicroTime)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def whole_seconds(epoch: float) -> str:
    return f"{_second(int(epoch))}Z"


def micro_time(epoch: float) -> str:
    second, micros = divmod(round(epoch * 1_000_000), 1_000_000)
    return f"{_second(second)}.{micros:06}Z"


# Thousands of objects are born, go and are told of within the same second.
@lru_cache(maxsize=4096)
def _second(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")

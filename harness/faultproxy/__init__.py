"""A fault proxy for tests: real TLS and real bytes between a Kubernetes client and an API server.

async with FaultProxy(upstream_url=url, upstream_ca=ca, upstream_client_cert=(cert, key)) as proxy:
    lost = proxy.script(Rule(Reset(after_bytes=0), method="DELETE", times=3))
    gone = proxy.script(Rule(WatchError(410, after_lines=2), path="/api/v1/pods", watch=True))

The faults are in `faults`, how rules are picked is in `script`, what can be done from outside in `proxy`.
"""

from harness.faultproxy.faults import (
    Answer,
    Close,
    Cut,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    Garbage,
    HalfClose,
    InjectLine,
    OtherClock,
    Reset,
    Silence,
    Slow,
    Stream,
    WatchError,
    kube_status,
)
from harness.faultproxy.journal import Seen
from harness.faultproxy.proxy import FaultProxy
from harness.faultproxy.script import Rule

__all__ = [
    "Answer",
    "Close",
    "Cut",
    "CutLine",
    "Duplicate",
    "EndWatch",
    "Fault",
    "FaultProxy",
    "Garbage",
    "HalfClose",
    "InjectLine",
    "OtherClock",
    "Reset",
    "Rule",
    "Seen",
    "Silence",
    "Slow",
    "Stream",
    "WatchError",
    "kube_status",
]

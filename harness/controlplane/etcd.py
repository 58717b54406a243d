"""Compaction of etcd on demand, through its JSON gateway, so that old resourceVersions expire while a test waits.

The API server's watch cache answers for old versions on its own, and looks for compactions every 15 s only, by the
key that API servers agree on. So a continue token answers 410 up to 15 s later; at once when the cache keeps no
snapshots (feature gate ListFromCacheSnapshot=false) or after a restart of the API server. A watch from an old
resourceVersion answers 410 after a restart only.
"""

from __future__ import annotations

import base64

from harness.controlplane.errors import ControlPlaneError
from harness.controlplane.probe import Answer, Probe

_AGREED_KEY = "compact_rev_key"


def compact(probe: Probe) -> int:
    """Forgets everything before the current revision, and returns that."""
    revision = int(_checked(probe.ask("POST", "/v3/kv/range", {"key": _base64(_AGREED_KEY)}))["revision"])
    _checked(probe.ask("POST", "/v3/kv/put", {"key": _base64(_AGREED_KEY), "value": _base64(str(revision))}))
    _checked(probe.ask("POST", "/v3/kv/compaction", {"revision": str(revision), "physical": True}))
    return revision


def _checked(answer: Answer) -> dict[str, str]:
    if answer.status != 200:
        raise ControlPlaneError(f"etcd answered {answer.status}: {answer.body.decode(errors='replace')}")
    header: dict[str, str] = answer.json()["header"]
    return header


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

"""One control plane for all workers of a test run: the first one in starts it, the last one out stops it.

Each user holds a shared lock, so a worker that crashes or is killed counts as gone; when all are gone the
control plane goes too. Different options get different control planes. Users can't stop or restart it: a test
that does so starts a ControlPlane of its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.controlplane import keeper
from harness.controlplane.access import Access
from harness.controlplane.options import Options


@contextmanager
def shared_control_plane(options: Options | None = None, *, run: str | None = None) -> Iterator[Access]:
    """`run` names the test run; by default the one of pytest-xdist, or else this process."""
    options = options or Options()
    home = _home(options, run or os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"pid{os.getpid()}")
    users = keeper.users_lock(home)
    # Waits while a control plane of the same name is on its way out. From here on it can't go.
    users.take(shared=True)
    try:
        yield keeper.provide(home, options, while_used=True)
    finally:
        if users.sole():
            keeper.stop(home)
        users.release()


def _home(options: Options, run: str) -> Path:
    digest = hashlib.sha256(msgspec.json.encode(options, order="deterministic")).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"skoupa-shared-{os.getuid()}-{run}-{digest}"

"""A trash for each test, on the shared control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from tests.cluster.trash.deleting import Bin


@pytest.fixture
def trash(control_plane: Access, admin: Client, tmp_path: Path) -> Bin:
    return Bin(admin, tmp_path / "ledger.db", kubeconfig=control_plane.kubeconfig)

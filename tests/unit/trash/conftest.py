"""A town whose history is in a file, with the commands that look back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.saying import Shell
from tests.unit.trash.remembering import Memory


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Memory:
    return Memory(Shell(monkeypatch, capsys), monkeypatch, tmp_path / "ledger.db")

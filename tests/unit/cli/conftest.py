"""A shell for the command line."""

from __future__ import annotations

import pytest

from tests.unit.cli.saying import Shell


@pytest.fixture
def skoupa(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)

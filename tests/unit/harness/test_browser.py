"""Where Chromium comes from: PATH first, then the package, for who may install it; else the error says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.browser.program import provide
from harness.controlplane.errors import NoBinaryError

pytestmark = pytest.mark.unit


def program(path: Path, script: str = "exit 0") -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def environment(directory: Path) -> dict[str, str]:
    return {"PATH": str(directory), "SKOUPA_CACHE": str(directory / "cache")}


def test_the_one_on_path_is_taken(tmp_path: Path) -> None:
    found = program(tmp_path / "chromium-browser")
    assert provide(environment(tmp_path)) == found
    assert provide(environment(tmp_path)) != program(tmp_path / "google-chrome")


def test_root_has_it_installed_and_the_lists_of_packages_fetched_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    listed, made = tmp_path / "listed", tmp_path / "chromium"
    program(
        tmp_path / "apt-get",
        f'if [ "$1" = update ]; then : > {listed}; exit 0; fi\n'
        f'[ -e {listed} ] || {{ echo "no such package" >&2; exit 100; }}\n'
        f": > {made}; /bin/chmod 755 {made}",
    )
    assert provide(environment(tmp_path)) == made


def test_who_can_not_install_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoBinaryError, match="apt-get install chromium"):
        provide(environment(tmp_path))
    program(tmp_path / "apt-get", 'echo "no way to the archive" >&2; exit 100')
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoBinaryError, match="there is no Chromium on PATH"):
        provide(environment(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NoBinaryError, match="no way to the archive"):
        provide(environment(tmp_path))

"""Where the PostgreSQL of the tests comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.postgres import provide

pytestmark = pytest.mark.unit


def make(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_path_comes_first_and_links_are_followed(tmp_path: Path) -> None:
    real = make(tmp_path / "real" / "bin", "postgres", "initdb")
    links = make(tmp_path / "links")
    (links / "postgres").symlink_to(real / "postgres")
    packages = make(tmp_path / "packages" / "17" / "bin", "postgres", "initdb").parents[1]
    assert provide({"PATH": str(links)}, packages=packages).folder == real
    assert provide({"PATH": ""}, packages=packages).folder == packages / "17" / "bin"


def test_the_newest_package_that_is_complete_is_taken(tmp_path: Path) -> None:
    make(tmp_path / "9" / "bin", "postgres", "initdb")
    make(tmp_path / "15" / "bin", "postgres", "initdb")
    make(tmp_path / "16" / "bin", "psql")
    assert provide({"PATH": ""}, packages=tmp_path).postgres == tmp_path / "15" / "bin" / "postgres"

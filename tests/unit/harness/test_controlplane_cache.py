"""The per-user cache of programs: complete entries only, whatever happened to them or to their makers."""

import os
from pathlib import Path

import pytest

from harness.controlplane.cache import Cache, default_directory
from harness.controlplane.errors import PassedOverError
from harness.controlplane.programs import Program

pytestmark = pytest.mark.unit

PROGRAM = Program(name="tool", version="1.2.3", fits=("1.2.",), package="example.org/tool")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def installed(cache: Cache, content: bytes = b"#!/bin/sh\necho 1.2.3\n") -> Path:
    with cache.workspace() as workspace:
        made = workspace / "made"
        made.write_bytes(content)
        return cache.install(PROGRAM, made, source="a test")


def test_an_installed_program_is_found_and_can_be_executed(cache: Cache) -> None:
    path = installed(cache)
    assert cache.find(PROGRAM, thorough=True) == path
    assert os.access(path, os.X_OK)


def test_another_version_is_not_found(cache: Cache) -> None:
    installed(cache)
    other = Program(name="tool", version="1.2.4", fits=(), package="example.org/tool")
    with pytest.raises(PassedOverError, match=r"does not have tool 1\.2\.4"):
        cache.find(other)


def test_a_truncated_program_is_broken(cache: Cache) -> None:
    path = installed(cache)
    os.truncate(path, 3)
    with pytest.raises(PassedOverError, match="broken: 3 bytes instead of 21"):
        cache.find(PROGRAM)


def test_a_program_that_may_not_be_executed_is_broken(cache: Cache) -> None:
    installed(cache).chmod(0o644)
    with pytest.raises(PassedOverError, match="broken: tool may not be executed"):
        cache.find(PROGRAM)


def test_an_entry_without_its_program_is_broken(cache: Cache) -> None:
    installed(cache).unlink()
    with pytest.raises(PassedOverError, match="broken"):
        cache.find(PROGRAM)


@pytest.mark.parametrize("manifest", [b"", b"{}", b'{"name": 1}', b"\xff"])
def test_an_entry_with_a_damaged_manifest_is_broken(cache: Cache, manifest: bytes) -> None:
    (installed(cache).parent / "manifest.json").write_bytes(manifest)
    with pytest.raises(PassedOverError, match="broken"):
        cache.find(PROGRAM)


def test_changed_content_of_the_same_size_is_found_by_a_thorough_look(cache: Cache) -> None:
    path = installed(cache)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(PassedOverError, match="the content is not what was installed"):
        cache.find(PROGRAM, thorough=True)


def test_installing_replaces_a_broken_entry(cache: Cache) -> None:
    os.truncate(installed(cache), 0)
    path = installed(cache, b"#!/bin/sh\necho anew\n")
    assert cache.find(PROGRAM, thorough=True) == path
    assert path.read_bytes().endswith(b"anew\n")


def test_a_workspace_is_gone_after_a_failure(cache: Cache) -> None:
    def fail() -> None:
        with cache.workspace() as workspace:
            (workspace / "half").write_bytes(b"...")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(cache.root.iterdir()) == []


def test_what_a_killed_maker_left_is_removed_by_the_next_one(cache: Cache) -> None:
    left = cache.root / "unfinished-killed"
    left.mkdir(parents=True)
    with cache.lock(waiting=lambda: pytest.fail("nobody holds the lock")):
        assert not left.exists()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/h"}, "/h/.cache/skoupa"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/skoupa"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x", "SKOUPA_CACHE": "/s"}, "/s"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "", "SKOUPA_CACHE": ""}, "/h/.cache/skoupa"),
    ],
)
def test_the_nearest_setting_says_where_the_cache_is(environment: dict[str, str], expected: str) -> None:
    assert default_directory(environment) == Path(expected)

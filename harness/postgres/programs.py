"""Where PostgreSQL comes from: PATH, the folders of Linux packages, the per-user cache, a PyPI package that carries it.

The last one fills the cache, one process at a time; when it does not work either, the error says what to install.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from harness.controlplane.cache import Cache, default_directory
from harness.controlplane.errors import NoBinaryError
from harness.controlplane.progress import Progress

_PACKAGE = "pgserver"
_PACKAGE_VERSION = "0.1.4"
_LINUX_FOLDERS = "/usr/lib/postgresql"


class Programs(msgspec.Struct, frozen=True, kw_only=True):
    """`folder` has postgres and initdb in it; `root`, above it, has all that they need."""

    folder: Path
    root: Path

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


def provide(
    environment: Mapping[str, str] | None = None, *, packages: Path = Path(_LINUX_FOLDERS)
) -> Programs:
    """PostgreSQL, installed into the cache when the machine has none."""
    known = os.environ if environment is None else environment
    for folder in _folders(known, packages):
        found = Programs(folder=folder, root=folder.parent)
        if found.postgres.is_file() and found.initdb.is_file():
            return found
    return _from_package(Cache(default_directory(known)))


def _folders(environment: Mapping[str, str], packages: Path) -> Iterator[Path]:
    on_path = shutil.which("postgres", path=environment.get("PATH", ""))
    if on_path is not None:
        # initdb looks for its files beside the real program, not beside a link to it.
        yield Path(on_path).resolve().parent
    versions = [folder for folder in packages.glob("*/bin") if folder.parent.name.isdigit()]
    yield from sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)


def _from_package(cache: Cache) -> Programs:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = cache.root / "postgres" / f"{_PACKAGE}-{_PACKAGE_VERSION}-{version}-{platform.machine()}"
    folder = place / _PACKAGE / "pginstall" / "bin"
    if folder.is_dir():
        return Programs(folder=folder, root=place)
    progress = Progress()
    with (
        cache.lock(waiting=lambda: progress.say("waiting for another process that installs PostgreSQL")),
        cache.workspace() as workspace,
    ):
        if not folder.is_dir():
            with progress.step(f"installing PostgreSQL from the package {_PACKAGE}"):
                _install(workspace / "new")
            cache.put(workspace / "new", place)
    if not folder.is_dir():
        raise NoBinaryError(f"the package {_PACKAGE} {_PACKAGE_VERSION} has no PostgreSQL in it")
    return Programs(folder=folder, root=place)


def _install(target: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    installer = (
        [uv, "pip", "install", "--python", sys.executable]
        if uv
        else [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    )
    wanted = f"{_PACKAGE}=={_PACKAGE_VERSION}"
    done = subprocess.run(
        [*installer, "--quiet", "--no-deps", "--target", str(target), wanted],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NoBinaryError(
            f"no postgres on PATH or in {_LINUX_FOLDERS}, and {wanted} can't be installed:\n{done.stderr.strip()}\n"
            "Install PostgreSQL 13 or newer with the package manager of your system."
        )

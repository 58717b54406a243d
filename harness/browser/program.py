"""Where Chromium comes from: PATH, else the package of the system, which root may install.

One process at a time installs; when it does not work, the error says what to install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.controlplane.cache import Cache, default_directory
from harness.controlplane.errors import NoBinaryError
from harness.controlplane.progress import Progress

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PACKAGE: Final = "chromium"
_ADVICE: Final = "Install Chromium with the package manager of your system (Debian: apt-get install chromium), or put one on PATH."


def provide(environment: Mapping[str, str] | None = None) -> Path:
    """Chromium, installed when the machine has none and this is root on a system with apt-get."""
    known = os.environ if environment is None else environment
    found = _on_path(known)
    if found is not None:
        return found
    apt = shutil.which("apt-get", path=known.get("PATH", ""))
    if apt is None or os.geteuid() != 0:
        raise NoBinaryError(f"there is no Chromium on PATH ({', '.join(_NAMES)}). {_ADVICE}")
    progress = Progress()
    with Cache(default_directory(known)).lock(
        waiting=lambda: progress.say("waiting for another process that installs Chromium")
    ):
        if (found := _on_path(known)) is None:
            with progress.step("installing Chromium with apt-get"):
                _install(apt, known)
            found = _on_path(known)
    if found is None:
        raise NoBinaryError(
            f"apt-get installed {_PACKAGE}, and there is still no Chromium on PATH. {_ADVICE}"
        )
    return found


def _on_path(environment: Mapping[str, str]) -> Path | None:
    places = (shutil.which(name, path=environment.get("PATH", "")) for name in _NAMES)
    return next((Path(place) for place in places if place is not None), None)


def _install(apt: str, environment: Mapping[str, str]) -> None:
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "--yes", "--no-install-recommends", _PACKAGE]
    done = _run(install, quiet)
    if done.returncode:
        # A fresh machine has no lists of packages, or old ones.
        _run([apt, "update"], quiet)
        done = _run(install, quiet)
    if done.returncode:
        raise NoBinaryError(
            f"there is no Chromium on PATH, and apt-get can't install it:\n{done.stderr.strip()}\n{_ADVICE}"
        )


def _run(command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

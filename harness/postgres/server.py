"""One PostgreSQL on loopback that dies with its owner, and can be stopped, killed and started again on the same data.

Its data is in a folder of its own and goes with it. It is not flushed to disk: that is for tests, which kill processes
and not machines. Where the owner is root, the server runs as somebody who is not.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from harness.controlplane.errors import ControlPlaneError, NotReadyError, ProcessEndedError, tail
from harness.controlplane.ports import HOST
from harness.controlplane.processes import Processes
from harness.postgres.programs import Programs, provide

USER = "skoupa"
_NAME = "postgres"
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_SCRIPT = Path(__file__).with_name("unprivileged.py")
_RETRY_SECONDS = 15.0
# The first message of version 3.0 of the protocol, and the first byte of the answer of a server that is ready.
_STARTUP = b"\x00\x03\x00\x00user\x00" + USER.encode() + b"\x00\x00"
_ASKS_FOR_PASSWORD = b"R"


class _Account(msgspec.Struct, frozen=True):
    uid: int
    gid: int


class PostgresServer:
    def __init__(self, programs: Programs | None = None, *, settings: dict[str, str] | None = None) -> None:
        self._given = programs
        self._settings = settings or {}
        self._processes: Processes | None = None
        self._account = _account()
        self.password = secrets.token_hex(8)
        self.port = 0
        self.directory = Path()

    @property
    def dsn(self) -> str:
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{USER}:{self.password}@{HOST}:{self.port}/{database}"

    @property
    def log(self) -> Path:
        return self.directory / f"{_NAME}.log"

    def __enter__(self) -> Self:
        programs = self._given or provide()
        self.directory = Path(tempfile.mkdtemp(prefix="skoupa-postgres-"))
        self._processes = Processes(logs=self.directory, remove=self.directory)
        try:
            self._own(self.directory)
            self._programs = self._reachable(programs)
            self._make_data()
            self.port = _free_port()
            self.start()
        except BaseException:
            self._processes.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._processes is not None:
            try:
                self.stop()
            finally:
                self._processes.close()
                self._processes = None
                # What the server's children wrote while the folder was being removed.
                shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        """Returns when it takes connections. After a kill its orphans keep it from starting for a moment."""
        processes, began = self._running(), time.monotonic()
        command: list[str | Path] = [
            self._programs.postgres,
            "-D",
            self.directory / "data",
            *(word for name, value in self._all_settings().items() for word in ("-c", f"{name}={value}")),
        ]
        processes.start(_NAME, self._as_account(command))
        while not self._answers():
            if time.monotonic() > began + _START_SECONDS:
                raise NotReadyError(_NAME, seconds=_START_SECONDS, last="no connection", log=self.log)
            time.sleep(_LOOK_SECONDS)
            try:
                processes.check(_NAME)
            except ProcessEndedError:
                if time.monotonic() > began + _RETRY_SECONDS:
                    raise
                processes.start(_NAME, self._as_account(command))

    def stop(self) -> None:
        """Ends it as an administrator would: connections are cut, data is complete."""
        self._running().stop(_NAME, number=signal.SIGINT, grace=20)

    def kill(self) -> None:
        """As a crash would: kill -9, in the middle of whatever it does."""
        self._running().stop(_NAME, number=signal.SIGKILL)

    def restart(self) -> None:
        """On the same port and data; also after `kill`."""
        self.stop()
        self.start()

    def _all_settings(self) -> dict[str, str]:
        return {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "50",
            "shared_buffers": "32MB",
            # Nothing of it outlives a kill in /dev/shm.
            "dynamic_shared_memory_type": "mmap",
            **self._settings,
        }

    def _make_data(self) -> None:
        secret = self.directory / "password"
        secret.touch(mode=0o600)
        secret.write_text(self.password)
        self._own(secret)
        done = subprocess.run(
            self._as_account(
                [
                    self._programs.initdb,
                    "-D",
                    self.directory / "data",
                    f"--username={USER}",
                    f"--pwfile={secret}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--no-sync",
                ]
            ),
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd="/",
        )
        if done.returncode:
            raise ControlPlaneError(f"initdb failed:\n{done.stdout}")

    def _reachable(self, programs: Programs) -> Programs:
        """The programs where the account may run them: a cache in root's home is nobody else's."""
        try:
            done = subprocess.run(
                self._as_account([programs.postgres, "--version"]), check=False, capture_output=True, cwd="/"
            )
            if done.returncode == 0:
                return programs
        except PermissionError:
            pass
        copy = self.directory / "install"
        shutil.copytree(programs.root, copy, symlinks=True)
        # The package's own folder may be closed to others, too.
        copy.chmod(0o755)
        return Programs(folder=copy / programs.folder.relative_to(programs.root), root=copy)

    def _as_account(self, command: list[str | Path]) -> list[str]:
        words = [str(word) for word in command]
        if self._account is None:
            return words
        return [
            sys.executable,
            "-I",
            "-S",
            str(_SCRIPT),
            str(self._account.uid),
            str(self._account.gid),
            *words,
        ]

    def _own(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.uid, self._account.gid)

    def _answers(self) -> bool:
        """Whether it asks for the password: while it starts or recovers it answers with an error."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall((4 + len(_STARTUP)).to_bytes(4) + _STARTUP)
                return connection.recv(1) == _ASKS_FOR_PASSWORD
        except OSError:
            return False

    def _running(self) -> Processes:
        if self._processes is None:
            raise ControlPlaneError(f"PostgreSQL was not started\n{tail(self.log)}")
        return self._processes


def _account() -> _Account | None:
    """Whom to run as; None: ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            known = pwd.getpwnam(name)
        except KeyError:
            continue
        return _Account(known.pw_uid, known.pw_gid)
    return _Account(65534, 65534)


def _free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind((HOST, 0))
        port: int = chosen.getsockname()[1]
        return port

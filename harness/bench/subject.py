"""The controller under test as a process of its own: Skoupa, or a peer given by its command."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from string import Template
from typing import Final

import aiohttp
import msgspec

from harness.bench import installed
from harness.bench.arena import HOME

READY_SECONDS = 180.0


class Subject(msgspec.Struct, frozen=True):
    """`command` is run with KUBECONFIG set, which `$KUBECONFIG` in it means; `{port}` is where it may serve its metrics."""

    name: str
    command: str
    own: bool = False


# What is measured here is more than any cluster lets go in a second, or in an hour.
_NO_CEILINGS: Final = {
    "rate.deletionsPerSecond": "1000000",
    **{
        f"brakes.{key}": "1000000000"
        for key in ("perMinute", "perHour", "namespacePerMinute", "namespacePerHour")
    },
}


def skoupa(*, ledger: str = "none", settings: Mapping[str, str] | None = None) -> Subject:
    """The controller with this ledger, and these settings besides those that every measurement needs."""
    given = {
        **_NO_CEILINGS,
        "address": "127.0.0.1:{port}",
        "lease.namespace": HOME,
        **(settings or {}),
    }
    words = [sys.executable, "-m", "skoupa", "run", "--enforce", "--accept-backlog", "--ledger", ledger]
    words += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    # The braces of the port are quoted too, which is undone when the command is split.
    return Subject("skoupa", shlex.join(words), own=True)


SKOUPA: Final = skoupa()


def words_of(command: str, *, port: int, environment: Mapping[str, str]) -> list[str]:
    """As a shell would read it, since no shell does; a variable that is not set stays as it is, and so does any other brace."""
    return [
        Template(word).safe_substitute(environment).replace("{port}", str(port))
        for word in shlex.split(command)
    ]


class Running:
    def __init__(self, process: asyncio.subprocess.Process, port: int, *, own: bool) -> None:
        self._process = process
        self._port = port
        self._own = own

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def rss_bytes(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def connections(self) -> int:
        """Open sockets, the one it listens on aside."""
        found = 0
        for link in Path(f"/proc/{self._process.pid}/fd").iterdir():
            # One that is closed while we look counts no more.
            with suppress(FileNotFoundError):
                found += str(link.readlink()).startswith("socket:")
        return found - 1

    async def until_ready(self) -> None:
        """Skoupa says so; of a peer nothing is known, so it is given time to settle."""
        if not self._own:
            await asyncio.sleep(20)
            return
        async with asyncio.timeout(READY_SECONDS), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"http://127.0.0.1:{self._port}/readyz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                if self._process.returncode is not None:
                    raise RuntimeError(f"it ended by itself with {self._process.returncode}")
                await asyncio.sleep(0.05)

    async def metrics(self) -> dict[str, float]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self._port}/metrics") as answer,
        ):
            text = await answer.text()
        lines = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in lines}


@asynccontextmanager
async def running(subject: Subject, kubeconfig: Path, *, port: int, log: Path) -> AsyncIterator[Running]:
    environment = installed.environment(KUBECONFIG=str(kubeconfig))
    with log.open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            *words_of(subject.command, port=port, environment=environment),
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        yield Running(process, port, own=subject.own)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(30):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()

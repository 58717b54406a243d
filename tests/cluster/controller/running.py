"""`skoupa run` as a process of its own, driven by its public configuration alone and read by its log."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from harness.controlplane.errors import ProcessEndedError
from harness.controlplane.processes import Processes
from skoupa.kube.resources import Resource
from tests.cluster.controller.objects import People
from tests.cluster.reaching import DEADLINE_SECONDS, POLL_SECONDS, until

START_SECONDS = 60.0
# Of a log, for the report of a failure.
LAST_LINES = 60


class Skoupa:
    def __init__(self, processes: Processes, name: str, *, pid: int, kubeconfig: Path) -> None:
        self._processes = processes
        self.name = name
        self.pid = pid
        self.kubeconfig = kubeconfig
        self._ended = False
        self._lines: list[dict[str, Any]] = []
        self._read = 0

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it logged; a line that is being written is not counted yet."""
        # Who waits for a line asks fifty times a second, and a log may have thousands.
        with self._processes.log(self.name).open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        self._lines += [msgspec.json.decode(line) for line in whole.splitlines() if line.startswith(b"{")]
        return self._lines.copy()

    def said(self, event: str, **facts: str) -> list[dict[str, Any]]:
        return [
            line
            for line in self.lines
            if line["event"] == event and all(line.get(key) == value for key, value in facts.items())
        ]

    async def says(self, event: str, *, seconds: float = DEADLINE_SECONDS, **facts: str) -> dict[str, Any]:
        """The first line of that kind, waited for as long as there is somebody who may still say it."""

        def heard() -> list[dict[str, Any]]:
            # In this order: its last words count.
            running = self.running
            found = self.said(event, **facts)
            if not found and not running:
                self._processes.check(self.name)
            return found

        found = await until(
            heard,
            what=lambda: f"{self.name} to say {event} {facts}; its last words: {self.lines[-5:]}",
            seconds=seconds,
            patiently=True,
        )
        return found[0]

    def wait_until_it_says(self, event: str, *, seconds: float = START_SECONDS) -> None:
        """For fixtures, which have no event loop."""
        end = time.monotonic() + seconds
        while not self.said(event):
            self._processes.check(self.name)
            assert time.monotonic() < end, f"{self.name} did not say {event}: {self.lines[-5:]}"
            time.sleep(POLL_SECONDS)

    @property
    def last_words(self) -> str:
        return "\n".join(
            self._processes.log(self.name).read_text(errors="replace").splitlines()[-LAST_LINES:]
        )

    @property
    def address(self) -> str:
        return str(self.said("started")[0]["address"])

    async def get(self, path: str) -> tuple[int, str]:
        url = f"http://{self.address}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status, await response.text()

    async def metric(self, sample: str) -> float:
        """The value behind a line of /metrics, such as `skoupa_holds{reason="kept"}`; 0 where there is none."""
        _, text = await self.get("/metrics")
        return next(
            (float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(f"{sample} ")),
            0.0,
        )

    async def has_heard_of_all(self, people: People, *resources: Resource) -> None:
        """Of what was made of these kinds until now: a watch tells in order, and what is made last of each goes."""
        last = f"last-{secrets.token_hex(4)}"
        for resource in resources:
            await people.make(last, "1s", resource=resource)
        for resource in resources:
            await self.says("deleted", kind=resource.plural, name=last)

    def terminate(self) -> None:
        """SIGTERM, and on to the next thing."""
        os.kill(self.pid, signal.SIGTERM)

    @property
    def running(self) -> bool:
        try:
            self._processes.check(self.name)
        except ProcessEndedError:
            return False
        return True

    def exit_code(self) -> int | None:
        try:
            self._processes.check(self.name)
        except ProcessEndedError as ended:
            return ended.returncode
        return None

    def kill(self) -> None:
        self.end(number=signal.SIGKILL)

    def end(self, *, number: signal.Signals = signal.SIGTERM) -> None:
        if not self._ended:
            self._ended = True
            self._processes.stop(self.name, number=number, grace=30.0)


class Yard:
    """Where processes are started, in the namespace `home` with an administrator's rights; all end with it."""

    def __init__(self, directory: Path, *, kubeconfig: Path, home: str) -> None:
        self._processes = Processes(logs=directory)
        self.ledger = directory / "ledger.db"
        self._kubeconfig = kubeconfig
        self.home = home
        self._started: list[Skoupa] = []

    def start(
        self,
        *,
        kubeconfig: Path | None = None,
        enforce: bool = True,
        flags: Sequence[str] = (),
        program: Sequence[str] = ("-m", "skoupa"),
        **settings: str,
    ) -> Skoupa:
        """`settings` are keys with their dots written as double underscores: `rate__inFlight="4"`."""
        given = {"lease.namespace": self.home, "address": "127.0.0.1:0", "ledger.dsn": str(self.ledger)}
        given |= {key.replace("__", "."): value for key, value in settings.items()}
        config = kubeconfig or self._kubeconfig
        argv = [sys.executable, *program, "run", "--kubeconfig", str(config)]
        argv += [*(["--enforce"] if enforce else []), *flags]
        for key, value in given.items():
            argv += ["--set", f"{key}={value}"]
        name = f"skoupa-{len(self._started)}"
        pid = self._processes.start(name, argv)
        process = Skoupa(self._processes, name, pid=pid, kubeconfig=config)
        self._started.append(process)
        return process

    @property
    def last_words(self) -> str:
        """Of all that were started, for who has to find out afterwards."""
        return "\n".join(f"{process.name}:\n{process.last_words}" for process in self._started)

    async def started(self, **given: Any) -> Skoupa:
        """One that leads, or observes, by the time it is given back."""
        process = self.start(**given)
        await process.says("ready", seconds=START_SECONDS)
        if given.get("enforce", True):
            await process.says("leading")
        return process

    def close(self) -> None:
        for process in reversed(self._started):
            process.end()
        self._processes.close()


@contextmanager
def opened_yard(directory: Path, *, kubeconfig: Path, home: str) -> Iterator[Yard]:
    yard = Yard(directory, kubeconfig=kubeconfig, home=home)
    try:
        yield yard
    finally:
        yard.close()

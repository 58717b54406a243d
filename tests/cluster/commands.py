"""`skoupa` as a process of its own, as a shell starts it, with nothing of this process's environment but the PATH."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path

import msgspec

SECONDS = 180.0
COMMAND = Path(sys.executable).with_name("skoupa")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard error, sentence by sentence; a traceback is none."""
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert all(line.startswith("skoupa: ") for line in lines), self.err
        return [line.removeprefix("skoupa: ") for line in lines]

    @property
    def sentence(self) -> str:
        (sentence,) = self.lines
        return sentence


async def started(*args: str | Path, kubeconfig: Path, env: Mapping[str, str] | None = None) -> Process:
    environment = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "SKOUPA_LEDGER_DSN": "none",
        **(env or {}),
    }
    return await asyncio.create_subprocess_exec(COMMAND, *args, stdout=PIPE, stderr=PIPE, env=environment)


async def ended(process: Process) -> Said:
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Said(code=process.returncode or 0, out=out.decode(), err=err.decode())


async def skoupa(*args: str | Path, kubeconfig: Path, env: Mapping[str, str] | None = None) -> Said:
    return await ended(await started(*args, kubeconfig=kubeconfig, env=env))

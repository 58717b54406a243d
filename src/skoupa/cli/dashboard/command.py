"""The command: opens the board, serves it on loopback, prints the address, and ends with Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, Final

import msgspec

from skoupa.cli.dashboard.board import PlanBoard
from skoupa.cli.dashboard.typing_along import TypedHere
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerChoice, check_choice
from skoupa.cli.terminal import output
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import STANDARD_INPUT, World, in_cluster, in_files
from skoupa.errors import UsageError
from skoupa.expr.typed_times import read_time
from skoupa.report.endpoints import listening
from skoupa.web.dashboard.door import Door, is_loopback, new_secret

_WARNING: Final = (
    "{host} can be reached from other machines, and pages travel in the clear: who reads the secret on the way sees what "
    "you may see; 127.0.0.1 with a tunnel (ssh -L) is safer"
)


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    port: int
    form: str


def run(
    *,
    connecting: Connecting,
    listening: dict[str, Any],
    sources: tuple[str, ...],
    now: str | None,
    config: str | None,
    ledger: dict[str, Any],
) -> None:
    where, choice = Listening(**listening), LedgerChoice(**ledger)
    _check(where, sources=sources, now=now)
    check_choice(choice)
    typed = TypedHere(connecting, choice, sources=sources, config=config)

    async def work(world: World) -> None:
        board = PlanBoard(
            world,
            namespace=connecting.namespace or "",
            choice=choice,
            connecting=connecting,
            config=config,
            typed=typed,
            place=", ".join(sources) if sources else world.cluster,
        )
        await _serve(board, where)

    if not sources:
        in_cluster(work, connecting=connecting)
        return
    here = time.time()
    moment = read_time(now, option="--now", now=here, zone=zone_of(None)) if now else None
    in_files(work, sources=sources, now=moment, namespace=connecting.namespace or "")


def _check(where: Listening, *, sources: tuple[str, ...], now: str | None) -> None:
    if now is not None and not sources:
        raise UsageError("--now needs --from", advice="a cluster has its own clock")
    if STANDARD_INPUT in sources:
        raise UsageError("--from - is not for the dashboard", advice="name a file")
    if not where.host or "/" in where.host:
        raise UsageError(f"--address {where.host} is no address", advice="write 127.0.0.1, or a host name")
    if not is_loopback(where.host):
        say(_WARNING.format(host=where.host))


async def _serve(board: PlanBoard, where: Listening) -> None:
    secret = new_secret()
    host = f"[{where.host.strip('[]')}]" if ":" in where.host else where.host
    door = Door(board, secret=secret, host=where.host.strip("[]"))
    async with (
        stop_on_signal() as stop,
        listening(door.application(), f"{host}:{where.port}", setting="--port") as bound,
        asyncio.TaskGroup() as group,
    ):
        following = [group.create_task(work) for work in board.work()]
        _tell(f"http://{host}:{bound.rpartition(':')[2]}/#token={secret}", form=where.form)
        await stop.wait()
        for task in following:
            task.cancel()


def _tell(address: str, *, form: str) -> None:
    if form == "json":
        output.write({"address": address}, "json")
    else:
        sys.stdout.write(
            f"The dashboard is at\n\n    {address}\n\nWho has this address sees it; Ctrl-C ends it.\n"
        )
    sys.stdout.flush()

"""The settings of a `skoupa run` that names no file: those of the installation in the cluster, as `plan` and `sweep` have them.

What `plan` shows as protected must not go by a controller that was started elsewhere, so one that can't read them does not
enforce. Not taken over is what belongs to the installation's own Pod: its ledger and keys, where it serves, whether it
enforces and whether a backlog may go. A server that is not there yet is waited for, and the endpoints answer meanwhile.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import typer

from skoupa import __version__
from skoupa import settings as configuration
from skoupa.cli import exits
from skoupa.cli.installed import Installed, settings_for, with_own_places
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.saying import say
from skoupa.cli.worlds import World
from skoupa.clock import Clock
from skoupa.errors import ServerFailure, TimedOut, TooManyRequests, Unreachable, UsageError
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.login.connection import Connection
from skoupa.report.endpoints import serving
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.notices.routes import open_routes
from skoupa.settings import Settings

# Longer than a server in order takes; from then on somebody may ask whether the process is well.
FIRST_TRY_SECONDS: Final = 5.0
_HOME: Final = ("lease.namespace", "SKOUPA_LEASE_NAMESPACE")
_UNREAD: Final = "the settings of the installation are not read yet"
_PASSING: Final = (Unreachable, TimedOut, ServerFailure, TooManyRequests, TimeoutError)


async def settings_to_run_by(
    connection: Connection, clock: Clock, *, flags: Mapping[str, Any], log: Log
) -> tuple[Settings, bool] | None:
    """With whether they are an installation's. None: a signal ended the wait for the server."""
    here = configuration.load(flags=flags, whole=False)
    async with HttpTransport(connection, clock) as transport, stop_on_signal() as stop:
        world = World(client=Client(transport, clock), namespace="", cluster=connection.server)
        reading = asyncio.create_task(_read(world, here, flags=flags, log=log))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not reading.done():
            log("stopping")
            reading.cancel()
            await asyncio.wait({reading})
            log("stopped")
            return None
        found, address = reading.result()
    here = msgspec.structs.replace(here, address=address or here.address)
    _refuse_in_doubt(found, here, log=log)
    if found.known:
        log("settings of the installation", namespace=found.settings.lease.namespace)
    return _as_run_here(found.settings, here, flags=flags, log=log), found.known


async def _read(world: World, here: Settings, *, flags: Mapping[str, Any], log: Log) -> tuple[Installed, str]:
    """With the address that was served at while the server was waited for, empty where it was not."""
    # A home that somebody names is a controller of its own, with its settings or none.
    elsewhere = _HOME[0] not in flags and _HOME[1] not in os.environ
    clock = world.client.clock

    async def ask(seconds: float | None) -> Installed | str:
        """Else why they could not be asked for."""
        try:
            async with clock.timeout(seconds):
                return await settings_for(world, None, flags=flags, elsewhere=elsewhere)
        except _PASSING as error:
            return str(error) or "no answer in time"

    found = await ask(FIRST_TRY_SECONDS)
    if isinstance(found, Installed):
        return found, ""
    backoff = Backoff(clock)
    async with _answering(here, log=log) as address:
        while isinstance(found, str):
            wait = backoff.next()
            log("waiting for the server", level="warning", error=found, retry_in=f"{wait:.1f}")
            await clock.sleep(wait)
            found = await ask(None)
    return found, address


@asynccontextmanager
async def _answering(here: Settings, *, log: Log) -> AsyncIterator[str]:
    """That it lives, and is not ready."""
    async with serving(
        here.address, metrics=Metrics(dict), unready=lambda: _UNREAD, unhealthy=lambda: ""
    ) as address:
        log("started", version=__version__, mode=here.mode, address=address)
        yield address


def _refuse_in_doubt(found: Installed, here: Settings, *, log: Log) -> None:
    if not found.doubt:
        return
    if here.mode == "enforce":
        # A controller has no other use for what a sweep by hand needs.
        from skoupa.cli.acting.swept import GRANT  # noqa: PLC0415

        right = f"; or {GRANT}" if found.forbidden else ""
        say(f"nothing is deleted: {found.doubt}{right}")
        raise typer.Exit(exits.REFUSED)
    log("degraded", level="warning", why=found.doubt)


def _as_run_here(installed: Settings, here: Settings, *, flags: Mapping[str, Any], log: Log) -> Settings:
    settings = msgspec.structs.replace(
        with_own_places(installed, flags=flags),
        mode=here.mode,
        accept_backlog=here.accept_backlog,
        address=here.address,
        api=here.api,
        webhook=here.webhook,
        log_format=here.log_format,
    )
    try:
        open_routes(settings.notices)
    except UsageError as error:
        # Their secrets are in its Pod too.
        log("degraded", level="warning", why=f"no notices are sent from here: {error}")
        return msgspec.structs.replace(settings, notices=here.notices)
    return settings

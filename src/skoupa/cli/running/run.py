"""`skoupa run`: the controller as a process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec

from skoupa import settings as configuration
from skoupa.cli.connect import run_async
from skoupa.cli.options import Connecting
from skoupa.cli.running.unnamed_settings import settings_to_run_by
from skoupa.clock import SystemClock
from skoupa.controller.backlogs.started import started_now
from skoupa.controller.process import run_process
from skoupa.errors import UsageError
from skoupa.install.policies import is_reviewed
from skoupa.kube.client import Client
from skoupa.kube.login import kubeconfig
from skoupa.ledger.store import Store
from skoupa.report.log import Log, Together
from skoupa.report.opinions import Insight
from skoupa.settings import Settings
from skoupa.web.serving import history_served
from skoupa.webhook.desk import desk


def run(
    *,
    connecting: Connecting,
    config: str | None,
    enforce: bool,
    accept_backlog: bool,
    ledger: str | None,
    assignments: tuple[str, ...],
) -> None:
    clock = SystemClock()
    started = started_now(clock)
    flags: dict[str, Any] = dict(_assignment(text) for text in assignments)
    if enforce:
        flags["mode"] = "enforce"
    if accept_backlog:
        flags["acceptBacklog"] = True
    if ledger:
        flags["ledger.dsn"] = ledger
    # Without a file there may be one in the cluster that gives what is missing.
    here = configuration.load(config, flags=flags, whole=config is not None)
    connection = kubeconfig.load(kubeconfig=connecting.kubeconfig, context=connecting.context)
    lines = Together(sys.stderr)
    log = Log(clock, form=here.log_format, stream=lines)

    async def main() -> None:
        settings, borrowed = here, False
        if config is None:
            found = await settings_to_run_by(connection, clock, flags=flags, log=log)
            if found is None:
                return
            settings, borrowed = found
        beside = partial(_beside, settings=settings, log=log)
        began = msgspec.structs.replace(started, borrowed=borrowed)
        await run_process(connection, clock, settings, log=log, beside=beside, started=began)

    try:
        run_async(main())
    finally:
        lines.flush()


@asynccontextmanager
async def _beside(
    client: Client, store: Store, insight: Insight, *, settings: Settings, log: Log
) -> AsyncIterator[str]:
    """What is served to people, and to the API server."""
    async with history_served(client, store, insight=insight, settings=settings, log=log) as address:
        if not is_reviewed(settings):
            yield address
            return
        async with _reviewing(client, settings=settings, log=log):
            yield address


@asynccontextmanager
async def _reviewing(client: Client, *, settings: Settings, log: Log) -> AsyncIterator[None]:
    try:
        from skoupa.webhook.serving import webhook_served  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError:
        why = "its certificate can't be made: install 'skoupa[encryption]', or set webhook.address to none"
        log("degraded", level="warning", why=f"policies are not reviewed: {why}")
        yield
        return
    async with (
        desk(client, settings) as reviewer,
        webhook_served(
            client, reviewer, settings=settings.webhook, namespace=settings.lease.namespace, log=log
        ),
    ):
        yield


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text} has no value", advice="write it as --set KEY=VALUE")
    return key.strip(), value

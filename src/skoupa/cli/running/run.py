"""`skoupa run`: the controller as a process."""

from __future__ import annotations

from functools import partial
from typing import Any

from skoupa import settings as configuration
from skoupa.cli.connect import run_async
from skoupa.cli.options import Connecting
from skoupa.clock import SystemClock
from skoupa.controller.process import run_process
from skoupa.errors import UsageError
from skoupa.kube.login import kubeconfig
from skoupa.report.log import Log
from skoupa.web.serving import history_served


def run(
    *,
    connecting: Connecting,
    config: str | None,
    enforce: bool,
    accept_backlog: bool,
    ledger: str | None,
    assignments: tuple[str, ...],
) -> None:
    flags: dict[str, Any] = dict(_assignment(text) for text in assignments)
    if enforce:
        flags["mode"] = "enforce"
    if accept_backlog:
        flags["acceptBacklog"] = True
    if ledger:
        flags["ledger.dsn"] = ledger
    settings = configuration.load(config, flags=flags)
    connection = kubeconfig.load(kubeconfig=connecting.kubeconfig, context=connecting.context)
    clock = SystemClock()
    log = Log(clock, form=settings.log_format)
    beside = partial(history_served, settings=settings, log=log)
    run_async(run_process(connection, clock, settings, log=log, beside=beside))


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text} has no value", advice="write it as --set KEY=VALUE")
    return key.strip(), value

"""Why a controller's history could not be had: each way in which the question can fail, with what to do about it.

Two may refuse: the API server, on the way, and the controller itself.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from skoupa import settings as configuration
from skoupa.errors import (
    ApiError,
    Forbidden,
    LedgerUnavailable,
    LedgerUnusable,
    NoController,
    NotErased,
    SkoupaError,
    Status,
    Unauthorized,
    UsageError,
    api_error,
)
from skoupa.install.history import PEOPLE_ROLE, PORT_NAME
from skoupa.ledger.opening import is_shared
from skoupa.web.shapes import SERVICE, is_ours

# What the API server says of a service that answers a TLS handshake with plain HTTP; Go has two sentences for it.
_PLAIN: Final = ("does not look like a TLS handshake", "HTTP response to HTTPS client")
_OR_LEDGER: Final = "or read the ledger itself with --ledger"


def speaks_no_tls(status: Status) -> bool:
    return status.code in {502, 503} and any(words in status.message for words in _PLAIN)


def ledger_here() -> str:
    """The file that `sweep`, and a controller that was started here, write to unless told otherwise; empty: there is none."""
    try:
        where = configuration.load(whole=False).ledger.dsn
    except UsageError:
        return ""
    path = Path(where).expanduser()
    return str(path) if where != "none" and not is_shared(where) and path.is_file() else ""


def _written_here() -> str:
    where = ledger_here()
    return (
        f", and so is what `skoupa sweep` deleted from here: --ledger {shlex.quote(where)}" if where else ""
    )


def explained(status: Status, *, namespace: str) -> SkoupaError:
    return _by_controller(status) if is_ours(status) else _on_the_way(status, namespace)


def _by_controller(status: Status) -> SkoupaError:
    said = status.message
    match status.reason:
        case "NoToken" | "Unauthorized":
            return Unauthorized(f"the controller does not know who you are: {said}", status=status)
        case "Forbidden":
            advice = f"ask for a role that grants this, {_OR_LEDGER}"
            return Forbidden(f"the controller does not show it: {said}", status=status, advice=advice)
        case "CannotAsk" if status.code == 403:
            return Forbidden(said, status=status)
        case "NoLedger":
            return LedgerUnusable(said, advice="there is nothing to look back at, and nothing to restore")
        case "UnknownPath":
            return LedgerUnusable(
                said, advice=f"it is older than this program: bring it up to date, {_OR_LEDGER}"
            )
        case "Sealed" | "BadRequest":
            return UsageError(said)
        case "NotErased":
            return NotErased(said)
        case "NotFound":
            return ApiError(said, status=status)
        case _:
            return LedgerUnavailable(f"the controller can't answer now: {said}")


def _on_the_way(status: Status, namespace: str) -> SkoupaError:
    if status.code == 404:
        return NoController(
            f"there is no controller of Skoupa in the namespace {namespace}",
            advice="say where it is with --skoupa-namespace or --context; one that runs outside of the cluster, or is not "
            f"installed, is looked back at with --ledger{_written_here()}",
        )
    if status.code == 403:
        return Forbidden(
            f"you may not ask the controller in {namespace}: {status.message}",
            status=status,
            advice=f"let somebody bind you to its Role: kubectl create rolebinding {PEOPLE_ROLE}-YOU -n {namespace} "
            f"--role={PEOPLE_ROLE} --user=YOU; {_OR_LEDGER}",
        )
    if status.code == 503 and "no endpoints available" in status.message:
        return NoController(
            f"no controller in the namespace {namespace} is ready to be asked",
            advice=f"see kubectl get pods -n {namespace}; one without the port {PORT_NAME} of its Service {SERVICE} is older "
            f"than this program: install it anew, {_OR_LEDGER}",
        )
    if status.code in {502, 503} and "trying to reach service" in status.message:
        return LedgerUnavailable(
            f"the controller in {namespace} does not answer the API server: {status.message}",
            advice=f"see kubectl get pods -n {namespace}, and whether a NetworkPolicy stands between, {_OR_LEDGER}",
        )
    return api_error(status, doing=f"ask the controller in {namespace}")

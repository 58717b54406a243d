"""Credential plugins: a program is started, told about the cluster, and answers with a token or a client certificate.

The protocol is client.authentication.k8s.io, v1 and v1beta1 (KEP-541). One call of `run` is one process; it never
outlives the call. Its answer is never shown, and of what it says on standard error an error repeats the end, without
secrets. Prompts have to reach a person: where standard error is a terminal, it is passed on as it comes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import msgspec

from skoupa.clock import Clock
from skoupa.errors import KubeconfigError
from skoupa.kube.login.connection import Connection, ExecAuth, Pem, header_text
from skoupa.kube.login.process import Process
from skoupa.kube.login.secret import Secret, from_wire, presentable
from skoupa.kube.login.tls import read

# A person who logs in through a browser needs minutes; a program that talks to nobody does not.
PATIENCE_WITH_PERSON = 300.0
PATIENCE = 60.0
_SECRET_NAME = re.compile(r"secret|token|passw|pwd|key|credential", re.IGNORECASE)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    token: Secret = Secret()
    certificate: Pem = Pem()
    key: Pem = Pem()
    expires: float | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: Secret | None = None
    client_certificate_data: Secret | None = None
    client_key_data: Secret | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


async def run(
    plugin: ExecAuth,
    *,
    connection: Connection,
    clock: Clock,
    environ: Mapping[str, str],
    patience: float | None = None,
) -> Answer:
    interactive = _interactive(plugin)
    watched = interactive or _is_terminal(sys.stderr)
    if patience is None:
        patience = PATIENCE_WITH_PERSON if watched else PATIENCE
    environment = {
        **environ,
        **{name: value.reveal() for name, value in plugin.env},
        "KUBERNETES_EXEC_INFO": _info(plugin, connection=connection, interactive=interactive),
    }
    program = _program(plugin, path=environ.get("PATH", os.defpath))
    process = Process(echo=watched)
    try:
        async with clock.timeout(patience):
            code = await process.run(program, plugin.args, environment=environment, terminal=interactive)
    except TimeoutError as error:
        raise plugin.origin.error(
            f"the plugin {plugin.command} gave no answer within {patience:g} s{_said(process, plugin)}",
            advice="run it by hand to see what it waits for",
        ) from error
    except OSError as error:
        raise plugin.origin.at("command").error(
            f"the plugin {plugin.command} can't be started ({error.strerror})",
            advice="check that it is a program for this machine and may be executed",
        ) from error
    if process.endless:
        raise plugin.origin.error(
            f"the plugin {plugin.command} answered far too much", advice="check its settings"
        )
    if code != 0:
        ended = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
        raise plugin.origin.error(
            f"the plugin {plugin.command} {ended}{_said(process, plugin)}",
            advice="log in again with the tool that it belongs to, or run it by hand",
        )
    return _answer(bytes(process.answer), plugin=plugin)


def _program(plugin: ExecAuth, *, path: str) -> str:
    found = plugin.command if os.sep in plugin.command else shutil.which(plugin.command, path=path)
    if found is None or not os.path.exists(found):  # noqa: PTH110 - a text path, to be executed
        hint = presentable(plugin.install_hint, limit=2000)
        raise plugin.origin.at("command").error(
            f"the plugin {plugin.command} is not installed",
            advice=hint or "install it, or give its full path",
        )
    return found


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # no such stream, or closed
        return False


def _interactive(plugin: ExecAuth) -> bool:
    if plugin.interactive_mode == "Never":
        return False
    terminal = _is_terminal(sys.stdin)
    if plugin.interactive_mode == "Always" and not terminal:
        raise plugin.origin.at("interactiveMode").error(
            f"the plugin {plugin.command} wants to ask something, and standard input is not a terminal",
            advice="run this from a terminal, or use credentials that need no person",
        )
    return terminal


def _info(plugin: ExecAuth, *, connection: Connection, interactive: bool) -> str:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": connection.server}
        if connection.tls_server_name:
            cluster["tls-server-name"] = connection.tls_server_name
        if connection.tls.insecure:
            cluster["insecure-skip-tls-verify"] = True
        if connection.tls.ca.given:
            cluster["certificate-authority-data"] = b64encode(read(connection.tls.ca).encode()).decode()
        if plugin.cluster_proxy_url:
            cluster["proxy-url"] = plugin.cluster_proxy_url.reveal()
        if connection.disable_compression:
            cluster["disable-compression"] = True
        if plugin.cluster_config is not None:
            cluster["config"] = plugin.cluster_config
        spec["cluster"] = cluster
    question = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    try:
        return msgspec.json.encode(question).decode()
    except (TypeError, ValueError, RecursionError):
        raise KubeconfigError(
            "the cluster's configuration for the plugin can't be written as JSON",
            file=connection.source,
            field="extensions",
            advice="use text keys, and neither aliases to itself nor binary values",
        ) from None


def _answer(data: bytes, *, plugin: ExecAuth) -> Answer:
    name = plugin.command
    manual = "check its settings, and that it is the right program"
    try:
        credential = msgspec.json.decode(data, type=_Credential, dec_hook=from_wire)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = str(error) if isinstance(error, msgspec.ValidationError) else "not JSON"
        raise plugin.origin.error(
            f"the plugin {name} did not answer with an ExecCredential ({problem})", advice=manual
        ) from None
    if credential.kind != "ExecCredential" or credential.api_version != plugin.api_version:
        got = (
            presentable(f"{credential.api_version} {credential.kind}".strip(), limit=100)
            or "nothing of the kind"
        )
        raise plugin.origin.at("apiVersion").error(
            f"the plugin {name} was asked for {plugin.api_version} ExecCredential and answered with {got}",
            advice="write the version that the plugin speaks, or update the plugin",
        )
    status = credential.status or _Status()
    token = status.token or Secret()
    certificate = status.client_certificate_data or Secret()
    key = status.client_key_data or Secret()
    if bool(certificate) != bool(key):
        raise plugin.origin.error(
            f"the plugin {name} answered with half of a certificate and key", advice=manual
        )
    if not token and not certificate:
        raise plugin.origin.error(
            f"the plugin {name} answered without credentials", advice="log in again, then retry"
        )
    header_text(token.reveal(), what=f"token of the plugin {name}", origin=plugin.origin)
    expires = status.expiration_timestamp
    return Answer(
        token=token,
        certificate=Pem(text=certificate, origin=plugin.origin) if certificate else Pem(),
        key=Pem(text=key, origin=plugin.origin) if key else Pem(),
        expires=expires.timestamp() if expires is not None else None,
    )


def _said(process: Process, plugin: ExecAuth) -> str:
    """The end of standard error, if any; what the plugin wrote on standard output may be quoted there."""
    known = _known_secrets(plugin)
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        status = msgspec.json.decode(process.answer, type=_Credential, dec_hook=from_wire).status or _Status()
        known += [text for text in (status.token, status.client_key_data) if text]
    text = presentable(process.said.decode(errors="replace"), secrets=known)
    return f", saying: {text}" if text else ""


def _known_secrets(plugin: ExecAuth) -> list[Secret]:
    """Values in the plugin's settings whose names say that they are secret (--client-secret=..., API_TOKEN)."""
    known = [value for name, value in plugin.env if _SECRET_NAME.search(name)]
    expected = False
    for arg in plugin.args:
        flag, _, value = arg.reveal().partition("=")
        if expected:
            known.append(arg)
        expected = bool(_SECRET_NAME.search(flag)) and flag.startswith("-") and not value
        if value and _SECRET_NAME.search(flag):
            known.append(Secret(value))
    return known

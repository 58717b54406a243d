"""`skoupa version`."""

from __future__ import annotations

import sys

import msgspec

from skoupa import __version__
from skoupa.cli.options import Connecting
from skoupa.kube.decoding import decode
from skoupa.kube.transport import Request


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str
    platform: str = ""


class Versions(
    msgspec.Struct, kw_only=True, tag_field="apiVersion", tag="skoupa.dev/v1alpha1", omit_defaults=True
):
    """What `-o json` prints."""

    client: str
    server: str = ""
    address: str = ""


def run(*, connecting: Connecting, client_only: bool, output: str) -> None:
    versions = Versions(client=__version__) if client_only else _with_server(connecting)
    if output == "json":
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(versions)).decode() + "\n")
        return
    sys.stdout.write(f"skoupa {versions.client}\n")
    if versions.server:
        sys.stdout.write(f"server {versions.server} at {versions.address}\n")


def _with_server(connecting: Connecting) -> Versions:
    # Not for who asks about the program alone: the HTTP client takes longer to import than all the rest.
    from skoupa.cli.connect import connected, run_async  # noqa: PLC0415

    async def ask() -> Versions:
        async with connected(connecting) as (client, connection):
            request = Request(path="/version", headers=client.headers(), repeatable=True)
            response = await client.ask(request, doing="ask for the version")
            found = decode(response.body, _ServerVersion, doing="ask for the version")
            return Versions(client=__version__, server=found.git_version, address=connection.server)

    return run_async(ask())

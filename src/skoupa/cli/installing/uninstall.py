"""`skoupa uninstall --check`: what is still there of Skoupa, and the commands that remove it."""

from __future__ import annotations

import sys
from typing import Final

import msgspec
import typer

from skoupa import names
from skoupa.cli.connect import connected, run_async
from skoupa.cli.exits import LEFTOVERS
from skoupa.cli.options import Connecting
from skoupa.cli.terminal.items import API_VERSION
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, Screen, render, screen_of
from skoupa.errors import UsageError
from skoupa.install.presence import Found, Presence, look, removal
from skoupa.kube.discovery import discover

_YOURS: Final = (
    f"Labels on your own objects ({names.TTL_LABEL}, {names.KEEP_LABEL}) are yours and stay. Without Skoupa they do "
    f"nothing, unless Kyverno's cleanup controller runs here: it obeys {names.TTL_LABEL} and knows no {names.KEEP_LABEL}.\n"
)


class Report(msgspec.Struct, rename="camel", kw_only=True):
    """What `-o json` prints."""

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: str = "Presence"
    found: tuple[Found, ...]
    unreadable: dict[str, str]


def run(*, connecting: Connecting, check: bool, namespaces: str, output: str) -> None:
    if not check:
        raise UsageError(
            "Skoupa does not delete itself",
            advice="run skoupa uninstall --check and use the commands that it prints",
        )
    only = tuple(word.strip() for word in namespaces.split(",") if word.strip())
    presence = run_async(_look(connecting, only))
    if output == "json":
        report = Report(found=presence.found, unreadable=dict(presence.gaps))
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")
    else:
        sys.stdout.write(text(presence, screen=screen_of(no_color=False)))
    for what, why in presence.gaps:
        say(f"could not look for {what} ({why})")
    if presence.found or presence.gaps:
        raise typer.Exit(LEFTOVERS)


async def _look(connecting: Connecting, only: tuple[str, ...]) -> Presence:
    home = connecting.namespace or names.COMPONENT
    async with connected(connecting) as (client, _):
        return await look(client, discovery=await discover(client), home=home, namespaces=only)


def text(presence: Presence, *, screen: Screen) -> str:
    if not presence.found:
        return "Nothing of Skoupa was found.\n"
    lines = [
        Line(
            cells=(f"{found.resource}/{found.name}", found.namespace or "-", found.meaning),
            paint="dim" if found.terminating else "",
            below=(f"is being deleted; waits for {', '.join(found.finalizers) or 'the server'}",)
            if found.terminating
            else (),
        )
        for found in presence.found
    ]
    table = render(("OBJECT", "NAMESPACE", "WITHOUT IT"), lines, screen=screen, texts=1)
    commands = "".join(f"    {command}\n" for command in removal(presence.found, presence.gaps))
    how = f"\nTo remove all of it, in this order:\n\n{commands}\n" if commands else "\n"
    return f"{table}{how}{_YOURS}"

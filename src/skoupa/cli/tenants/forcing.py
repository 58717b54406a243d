"""`skoupa tenant delete --force-finalizers`: takes finalizers of others off what a deleted Tenant waits for, one by one.

Only those that were shown and agreed to, with the caller's rights, and only where nothing has changed: each object is read and asked
about once more, its intent is in the ledger before the patch leaves, and the patch names the very state that was read. What a finalizer
kept somewhere else may be left there: whoever put it on did not clean up.
"""

from __future__ import annotations

import sys
from typing import Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.acting.guards import Guards
from skoupa.cli.acting.recording import recording
from skoupa.cli.options import Connecting
from skoupa.cli.tenants.plan import tell_gaps
from skoupa.cli.tenants.stuck import Look, Looking
from skoupa.cli.tenants.taking_off import Forced, take_off
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, render, screen_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import UsageError
from skoupa.expr.durations import render_duration
from skoupa.settings import Settings

TITLES: Final = ("OBJECT", "FINALIZER", "FOR", "WHY IT IS THE TENANT'S")
LEFT_TITLES: Final = ("OBJECT", "FINALIZER", "WHY IT STAYS ON")


class _Looked(msgspec.Struct, frozen=True):
    settings: Settings
    look: Look
    now: float


def force(
    *,
    connecting: Connecting,
    name: str,
    shortest: int,
    yes: bool,
    dry_run: bool,
    config: str | None,
    ledger: str | None,
) -> None:
    """Returns when all that were shown are off; ends the command where not."""
    guards = Guards(config, ledger=ledger, needed=not dry_run)

    async def look(world: World) -> _Looked:
        settings = await guards.settings(world)
        look = await Looking(world, name, settings, shortest=shortest).look()
        return _Looked(settings, look, world.now())

    first = in_cluster(look, connecting=connecting)
    settings, looked = first.settings, first.look
    _show(looked, now=first.now)
    sys.stdout.flush()
    tell_gaps(looked.gaps)
    refused = looked.refused or _not_here(settings)
    if dry_run:
        sys.stdout.write("No finalizer was taken off: this is a dry run.\n")
    if refused:
        would = "none would be taken off" if dry_run else "no finalizer was taken off"
        say(f"{would}: {refused}")
        raise typer.Exit(exits.REFUSED)
    if dry_run or not looked.stuck:
        raise typer.Exit(_code_of_look(looked))
    _ask(looked, settings, yes=yes)

    async def act(world: World) -> Forced:
        again = await guards.settings(world)
        if why := _not_here(again):
            say(f"no finalizer was taken off: {why}")
            raise typer.Exit(exits.REFUSED)
        looking = Looking(world, name, again, shortest=shortest)
        async with recording(again, world.client, cluster=world.cluster) as record:
            return await take_off(world, looking, looked, record, again)

    _end(in_cluster(act, connecting=connecting))


def _ask(looked: Look, settings: Settings, *, yes: bool) -> None:
    if settings.ledger.dsn == "none":
        raise UsageError(
            "what is forced is always written down, and the ledger is none", advice="name one with --ledger"
        )
    if not yes:
        number = len(looked.stuck)
        which = "this finalizer" if number == 1 else f"these {number} finalizers"
        confirm(
            f"Take {which} off? Whoever put them on has not cleaned up, and won't any more.",
            done="taken off",
            command="tenant delete --force-finalizers",
        )


def _not_here(settings: Settings) -> str:
    if settings.mode != "enforce":
        return "Skoupa only observes here (mode: observe), and changes nothing; where another configuration counts, name it with --config"
    if not settings.features.tenants:
        return "features.tenants is off here, so that nothing goes with Tenants"
    return ""


def _show(looked: Look, *, now: float) -> None:
    screen = screen_of(no_color=True)
    if looked.stuck:
        lines = [
            Line(
                cells=(
                    one.hanging.called,
                    one.finalizer,
                    render_duration(max(0, int(now - one.hanging.since))),
                    one.hanging.proof,
                )
            )
            for one in looked.stuck
        ]
        sys.stdout.write(render(TITLES, lines, screen=screen, texts=1))
    elif not looked.refused:
        sys.stdout.write(
            f"Nothing of the Tenant {looked.tenant.name} waits for a finalizer that may be taken off.\n"
        )
    if looked.left:
        lines = [Line(cells=(one.hanging.called, one.finalizer, one.why)) for one in looked.left]
        sys.stdout.write("\n" + render(LEFT_TITLES, lines, screen=screen, texts=1))


def _code_of_look(looked: Look) -> int:
    return exits.LEFTOVERS if looked.gaps or looked.holds_some else exits.DONE


def _end(forced: Forced) -> None:
    off = sum(one.what == "off" for one in forced.done)
    gone = sum(one.what == "gone" for one in forced.done)
    left = [one for one in forced.done if one.what in {"stays", "failed"}]
    sys.stdout.write(f"{off} taken off, {gone} off or gone already, {len(left)} left.\n")
    if off:
        say(f"written to {forced.ledger}: `skoupa history` finds it there with --ledger")
    if forced.interrupted:
        raise typer.Exit(exits.INTERRUPTED)
    if left and not off and all(one.denied for one in left):
        raise typer.Exit(exits.DENIED)
    if left or forced.gaps or forced.held:
        raise typer.Exit(exits.LEFTOVERS)

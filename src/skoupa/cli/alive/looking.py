"""`skoupa alive status`: how far it is, from Alive and the signs of life alone: no controller is asked."""

from __future__ import annotations

import sys

import msgspec
import typer

from skoupa.alive import waiting
from skoupa.alive.course import Course, course
from skoupa.alive.reading import Alive
from skoupa.cli import exits
from skoupa.cli.alive.preserved import with_preserved
from skoupa.cli.alive.report import AliveReport, check_file, lines, report, write_file
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import Work, World, in_cluster
from skoupa.clock import SystemClock
from skoupa.errors import ApiError, KubeconfigError, too_large
from skoupa.kinds.alive import CLUSTER_WIDE, Form, form_in


async def looked(world: World, form: Form = CLUSTER_WIDE) -> AliveReport:
    alive = await waiting.read(world.client, form)
    if alive is None:
        return report("absent", now=world.now())
    known = await waiting.signs(world.client)
    unread = (
        ()
        if known is not None
        else ("the Leases of participants may not be read: nobody knows who is alive",)
    )
    at = course(alive, known, now=world.now())
    outcome = "alive" if alive.since is None else "terminating"
    told = report(outcome, now=world.now(), alive=alive, at=at, warnings=unread)
    return await with_preserved(world, alive, told)


def show(told: AliveReport, *, form: TextForm, file: str | None) -> None:
    """Ends the command with the code of the outcome, where that is not 0. A report that is lost is no success."""
    lost = write_file(file, told) if file is not None else ""
    if form == "text":
        for line in lines(told):
            sys.stdout.write(f"{printable(line)}\n")
    else:
        output.write(msgspec.to_builtins(told), form)
    for warning in (*told.warnings, *([lost] if lost else ())):
        say(warning)
    sys.stdout.flush()
    if told.exit_code or lost:
        raise typer.Exit(told.exit_code or exits.FAILED)


class Seen:
    """What was seen of it last, for a report of an end that nobody has foreseen."""

    def __init__(self, alive: Alive | None = None) -> None:
        self.alive = alive
        self.at: Course | None = None


def asked(
    work: Work[AliveReport], *, connecting: Connecting, proceed: bool = False, seen: Seen | None = None
) -> AliveReport:
    """There is a report however it ends: also of a server that does not answer, or refuses, and where somebody interrupts it.

    `proceed`: that it does not answer is no failure. Only of a kubeconfig that can't be used at the very beginning there is none.
    """
    last = seen or Seen()

    def ended(outcome: str, why: str) -> AliveReport:
        return report(outcome, now=SystemClock().now(), alive=last.alive, at=last.at, why=why)

    try:
        return in_cluster(work, connecting=connecting)
    except waiting.NO_ANSWER as error:
        if too_large(error):
            return ended("failed", str(error))
        return ended("proceeded-unreachable" if proceed else "unreachable", str(error))
    except waiting.REFUSALS as error:
        if isinstance(error, KubeconfigError) and last.alive is None:
            raise
        return ended("denied", str(error))
    except ApiError as error:
        return ended("failed", str(error))
    except KeyboardInterrupt:
        return ended("interrupted", "what was begun goes on in the cluster; run it again to wait for it")


def run(*, connecting: Connecting, form: TextForm, file: str | None, namespace: str | None = None) -> None:
    if file is not None:
        check_file(file)
    meant = form_in(namespace or "")
    show(asked(lambda world: looked(world, meant), connecting=connecting), form=form, file=file)

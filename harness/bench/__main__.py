"""`python -m harness.bench`: runs the figures and writes the table; with `--only` just their rows of it.

make bench
.venv/bin/python -m harness.bench --only start-up,store
.venv/bin/python -m harness.bench --only unused --scale 0.1 --peer 'kor 0.6.8=/path/to/kor configmap'
.venv/bin/python -m harness.bench --peer kyverno='/path/to/cleanup-controller --kubeconfig $KUBECONFIG' --only backlog
"""

from __future__ import annotations

import argparse
import datetime as dt
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from harness.bench import figures, policies, policy_run, trust
from harness.bench.arena import HOME, arena
from harness.bench.course import Course, Figure
from harness.bench.subject import SKOUPA, Subject
from harness.bench.table import cells, render
from harness.bench.tenants import figures as tenants
from harness.bench.usage import figures as usage
from harness.controlplane import ControlPlane, Options
from skoupa.errors import SkoupaError

Result = Figure | tuple[Figure, ...]
FIGURES: dict[str, Callable[[Course], Awaitable[Result]]] = {
    "start-up": figures.start_up,
    "store": figures.store_memory,
    "idle": figures.idle_requests,
    "punctuality": figures.punctuality,
    "backlog": figures.backlog_rate,
    "ledger": trust.ledger,
    "trash": trust.trash,
    "history": trust.history,
    "restore": trust.restore,
    "policies-together": policies.together,
    # The last ones: what they make stays there, and would be in the way of the others.
    "policy-run": policy_run.one_run,
    "memory": figures.memory,
    # These have clusters of their own.
    "usage-embedded": usage.embedded,
    "usage-growth": usage.growth,
    "unused": usage.on_server,
    "tenants-embedded": tenants.embedded,
    "tenants": tenants.on_server,
}
# What can be asked of a controller of which only the command is known.
FOR_PEERS = ("punctuality", "backlog", "policies-together", "policy-run")
# And of a command that answers and ends, such as kor: only where it is named by --only, for a controller would never end.
FOR_COMMANDS = ("unused",)
SCALED = ("policy-run", "usage-embedded", "usage-growth", "unused", "tenants-embedded", "tenants")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"some of {', '.join(FIGURES)}")
    parser.add_argument(
        "--peer",
        action="append",
        type=_peer,
        default=[],
        metavar="NAME=COMMAND",
        help="another controller, same load; $KUBECONFIG and {port} in the command are filled in\n"
        f"(with --only {', '.join(FOR_COMMANDS)}: a command that answers once, and is timed)",
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help=f"a part of the usual sizes, for trying {', '.join(SCALED)}; nothing is written then",
    )
    parser.add_argument("--output", type=Path, default=Path("docs/benchmarks.md"))
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name] or list(FIGURES)
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    rows, complete = uvloop.run(_measure(wanted, options.peer, named=bool(options.only), scale=options.scale))
    if options.scale == 1:
        _write(options.output, rows, everything=not options.only)
        print(f"written to {options.output}")
    met = all(figure.met for subject, figure in rows if subject == SKOUPA.name)
    return 0 if met and complete else 1


def _write(output: Path, rows: list[tuple[str, Figure]], *, everything: bool) -> None:
    before = output.read_text(encoding="utf-8") if output.exists() else ""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    output.write_text(render(rows, day=today, before=before, everything=everything), encoding="utf-8")


def _peer(text: str) -> Subject:
    name, _, command = (part.strip() for part in text.partition("="))
    try:
        complete = bool(name and shlex.split(command))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no command: {error}") from error
    if not complete:
        raise argparse.ArgumentTypeError(
            f"{text!r} lacks a name or a command; write it as NAME=COMMAND, such as 'kyverno=/path/to/it --flag'"
        )
    return Subject(name, command)


def for_peers(wanted: list[str], *, named: bool) -> list[str]:
    """`named`: somebody asked for these very figures, and so knows what the command is."""
    return [name for name in wanted if name in FOR_PEERS or (named and name in FOR_COMMANDS)]


async def _measure(
    wanted: list[str], peers: list[Subject], *, named: bool, scale: float
) -> tuple[list[tuple[str, Figure]], bool]:
    """The rows, and whether everybody could be measured: that a peer could not costs nobody else's."""
    rows: list[tuple[str, Figure]] = []
    complete = True
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Options(audit=False)) as plane:
        async with arena(plane.access) as place:
            await place.namespace(HOME)
            for subject in (SKOUPA, *peers):
                asked = wanted if subject.own else for_peers(wanted, named=named)
                log = Path(folder) / f"{subject.name}.log"
                try:
                    rows += await _one(Course(place, subject, log=log, scale=scale), asked)
                except (TimeoutError, OSError, RuntimeError, SkoupaError):
                    if subject.own:
                        raise
                    complete = False
    return rows, complete


async def _one(course: Course, wanted: list[str]) -> list[tuple[str, Figure]]:
    rows: list[tuple[str, Figure]] = []
    name_of_it = course.subject.name
    for name in wanted:
        print(f"{name_of_it}: {name} …", file=sys.stderr, flush=True)
        try:
            found = await FIGURES[name](course)
        except (TimeoutError, OSError, RuntimeError, SkoupaError) as error:
            print(f"{name_of_it}: {name} failed: {error!r}\n{_tail(course.log)}", file=sys.stderr)
            raise
        for figure in found if isinstance(found, tuple) else (found,):
            print(f"  {'; '.join(cells(figure))}", file=sys.stderr, flush=True)
            rows.append((name_of_it, figure))
    return rows


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""


if __name__ == "__main__":
    sys.exit(main())

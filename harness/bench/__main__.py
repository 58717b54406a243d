"""`python -m harness.bench`: runs the figures and writes the table.

make bench
.venv/bin/python -m harness.bench --only start-up,store
.venv/bin/python -m harness.bench --peer kyverno='/path/to/cleanup-controller --kubeconfig $KUBECONFIG' --only backlog
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from harness.bench import figures, policies, policy_run, trust
from harness.bench.arena import HOME, Arena, arena
from harness.bench.course import Course, Figure
from harness.bench.subject import SKOUPA, Subject
from harness.bench.table import cells, render
from harness.controlplane import ControlPlane, Options

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
}
# What can be asked of a controller of which only the command is known.
FOR_PEERS = ("punctuality", "backlog", "policies-together", "policy-run")


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
        help="another controller, same load; $KUBECONFIG and {port} in the command are filled in",
    )
    parser.add_argument("--output", type=Path, default=Path("docs/benchmarks.md"))
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name] or list(FIGURES)
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    rows = uvloop.run(_measure(wanted, options.peer))
    if not options.only:
        options.output.write_text(render(rows), encoding="utf-8")
        print(f"written to {options.output}")
    return 0 if all(figure.met for subject, figure in rows if subject == SKOUPA.name) else 1


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


async def _measure(wanted: list[str], peers: list[Subject]) -> list[tuple[str, Figure]]:
    rows: list[tuple[str, Figure]] = []
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Options(audit=False)) as plane:
        async with arena(plane.access) as place:
            await place.namespace(HOME)
            for subject in (SKOUPA, *peers):
                rows += await _one(subject, wanted, place, Path(folder) / f"{subject.name}.log")
    return rows


async def _one(subject: Subject, wanted: list[str], place: Arena, log: Path) -> list[tuple[str, Figure]]:
    rows: list[tuple[str, Figure]] = []
    course = Course(place, subject, log=log)
    for name in wanted:
        if not subject.own and name not in FOR_PEERS:
            continue
        print(f"{subject.name}: {name} …", file=sys.stderr, flush=True)
        try:
            found = await FIGURES[name](course)
        except (TimeoutError, OSError, RuntimeError) as error:
            print(f"{subject.name}: {name} failed: {error!r}\n{_tail(log)}", file=sys.stderr)
            raise
        for figure in found if isinstance(found, tuple) else (found,):
            print(f"  {'; '.join(cells(figure))}", file=sys.stderr, flush=True)
            rows.append((subject.name, figure))
    return rows


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""


if __name__ == "__main__":
    sys.exit(main())

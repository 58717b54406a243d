"""The command behind `make cluster`: a control plane in the background to play with."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from harness.controlplane import binaries, keeper
from harness.controlplane.access import Access
from harness.controlplane.cluster import PROGRAMS as CONTROL_PLANE
from harness.controlplane.errors import ControlPlaneError
from harness.controlplane.options import Options
from harness.controlplane.programs import PROGRAMS

_HOME = Path(__file__).parents[2] / ".cache" / "cluster"
_EXAMPLES = """
examples:
  python -m harness.controlplane up              start a control plane that stays in the background
  eval "$(python -m harness.controlplane env)"   let kubectl in this shell use it
  python -m harness.controlplane down            stop it; its data is gone
  python -m harness.controlplane build kubectl   only provide a program, and print where it is
  python -m harness.controlplane up --feature-gate MutatingAdmissionPolicy=true \\
      --runtime-config admissionregistration.k8s.io/v1beta1=true
"""


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        match chosen.command:
            case "up":
                return _up(chosen.directory, _options(chosen))
            case "down":
                return _down(chosen.directory)
            case "status":
                return _status(chosen.directory)
            case "env":
                return _env(chosen.directory)
            case _:
                return _build(chosen.programs or CONTROL_PLANE)
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing was left behind", file=sys.stderr)
        return 130


def _up(home: Path, options: Options) -> int:
    running = keeper.find(home)
    if running is not None:
        print(f"A control plane is already running in {home}.")
    else:
        running = keeper.provide(home, options, while_used=False)
        print(f"Started etcd, kube-apiserver and kube-controller-manager in {home}.")
    _describe(running)
    print(_export(running))
    return 0


def _down(home: Path) -> int:
    if keeper.stop(home):
        print(f"Stopped the control plane in {home}. Its data is gone.")
    else:
        print(f"No control plane is running in {home}.")
    return 0


def _status(home: Path) -> int:
    running = keeper.find(home)
    if running is None:
        print(f"No control plane is running in {home}.")
        return 1
    ready = running.probe().ask("GET", "/readyz").status == 200
    print(f"A control plane is running in {home}, and is {'ready' if ready else 'not ready'}.")
    _describe(running)
    print(_export(running))
    return 0


def _env(home: Path) -> int:
    running = keeper.find(home)
    if running is None:
        print(f"No control plane is running in {home}. Start one with: up", file=sys.stderr)
        return 1
    print(_export(running))
    return 0


def _build(names: list[str] | tuple[str, ...]) -> int:
    found = binaries.Supply(environment=os.environ).provide(names, thorough=True)
    for name, path in found.items():
        print(f"{name}: {path}")
    return 0


def _describe(running: Access) -> None:
    print(f"  Kubernetes {running.version} at {running.url}")
    print(f"  logs and audit log in {running.directory}")


def _export(running: Access) -> str:
    return f"export KUBECONFIG={shlex.quote(str(running.kubeconfig))}"


def _options(chosen: argparse.Namespace) -> Options:
    return Options(
        feature_gates={name: value == "true" for name, value in chosen.feature_gate},
        runtime_config=dict(chosen.runtime_config),
    )


def _program(text: str) -> str:
    if text not in PROGRAMS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PROGRAMS)}")
    return text


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or value not in {"true", "false"}:
        raise argparse.ArgumentTypeError(f"{text!r} should look like Name=true or Name=false")
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m harness.controlplane",
        description="A real Kubernetes control plane as local processes. Nothing is scheduled: Pods stay Pending.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("up", "start one in the background, unless it runs already"),
        ("down", "stop it and remove its data"),
        ("status", "tell whether one runs (exit code 1: no)"),
        ("env", "print the line that points kubectl to it"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--directory",
            type=lambda path: Path(path).resolve(),
            default=_HOME,
            help="where its state lives (default: .cache/cluster of the repository)",
        )
        if name == "up":
            command.add_argument(
                "--feature-gate", type=_setting, action="append", default=[], metavar="NAME=true|false"
            )
            command.add_argument(
                "--runtime-config",
                type=_setting,
                action="append",
                default=[],
                metavar="GROUP/VERSION=true|false",
            )
    build = commands.add_parser(
        "build", help="only provide the programs", description="only provide the programs"
    )
    # Not `choices`: with nargs="*" argparse of Python 3.11 checks the empty list against them, too.
    build.add_argument(
        "programs", nargs="*", type=_program, metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`skoupa test`: policies against objects in files, with what is expected of each. Needs no cluster and asks nobody outside."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import msgspec
import typer

from skoupa import settings as configuration
from skoupa.cli import exits
from skoupa.cli.checking import junit
from skoupa.cli.checking.proving import Case, broken, prove
from skoupa.cli.checking.trials import KYVERNO_FILE, OWN_FILE, Trial, files_of, read_trials
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Screen, printable, screen_of
from skoupa.errors import UsageError


def run(
    *, folders: tuple[str, ...], junit_file: str | None, allow_calls: bool, no_color: bool, config: str | None
) -> None:
    settings = configuration.load(config).policies
    missing = next((folder for folder in folders if not Path(folder).exists()), None)
    if missing is not None:
        raise UsageError(f"{missing} is not there", advice=f"name a folder with {OWN_FILE} or {KYVERNO_FILE}")
    trials, cases = _read(folders)
    if not cases and not any(trial.expected or trial.rest_stays for trial in trials):
        advice = f"write a {OWN_FILE}, or results of policies that delete in a {KYVERNO_FILE}"
        raise UsageError(f"nothing is expected in {', '.join(folders)}", advice=advice)
    cases += prove(trials, settings=settings, allow_calls=allow_calls)
    errors = [case.error for case in cases if case.error is not None]
    alone = errors[0] if errors and len(cases) == 1 else None
    if alone is None:
        _print(trials, cases, screen_of(no_color=no_color))
    if junit_file is not None:
        junit.write(cases, junit_file)
    if alone is not None:
        raise alone
    failed = sum(bool(case.why) for case in cases)
    sys.stdout.write(f"\n{len(cases)} tests, {failed} failed.\n")
    if errors:
        raise typer.Exit(UsageError.exit_code)
    if failed:
        raise typer.Exit(exits.FAILED)


def _print(trials: list[Trial], cases: list[Case], screen: Screen) -> None:
    sys.stdout.writelines(f"{_line(case, screen)}\n" for case in cases)
    for trial in trials:
        for remark in trial.remarks:
            say(f"{trial.file}: {remark}")


def _read(folders: tuple[str, ...]) -> tuple[list[Trial], list[Case]]:
    """The tests, and a failed case for each file that is none."""
    trials: list[Trial] = []
    cases: list[Case] = []
    for file in dict.fromkeys(file for folder in folders for file in files_of(Path(folder))):
        try:
            trials += read_trials(file)
        except UsageError as error:
            cases.append(broken(str(file), error))
    return _told_apart(trials), cases


def _told_apart(trials: list[Trial]) -> list[Trial]:
    """Most of Kyverno's tests have one name: where several do, the file says which one failed."""
    often = {name for name, count in Counter(trial.name for trial in trials).items() if count > 1}
    return [
        msgspec.structs.replace(trial, name=f"{trial.file}: {trial.name}") if trial.name in often else trial
        for trial in trials
    ]


def _line(case: Case, screen: Screen) -> str:
    text = printable(f"{case.trial}: {case.policy}: {case.target} {case.expected}")
    if case.why:
        return screen.paint(f"FAILED  {text}, but {printable(case.why)}", "red")
    return f"{screen.paint('ok', 'green')}      {text}"

"""What `check` finds out about one policy, before anybody renders it; also the shape of `-o json` and `-o yaml`.

Public: `docs/policies.md` describes every field, and a test compares. Fields are added, never renamed. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from skoupa.cli.checking.company import Companion
from skoupa.cli.checking.rights import Right
from skoupa.cli.terminal.items import API_VERSION
from skoupa.cli.terminal.shape import Shape
from skoupa.expr.schedule_words import in_words
from skoupa.expr.schedules import Schedule
from skoupa.expr.usage_functions import USAGE_FUNCTIONS
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.runs.untold import texts
from skoupa.sim.content.manifests import Manifest

RUNS_SHOWN: Final = 5


class ToldProblem(Shape, frozen=True, kw_only=True):
    """A place in the manifest, what is wrong there, and what to write instead."""

    path: str
    what: str
    instead: str


class ToldSchedule(Shape, frozen=True, kw_only=True):
    """The schedule as written, in words, its time zone, and when it runs next."""

    text: str
    words: str
    zone: str
    next_runs: tuple[str, ...]


class ToldKind(Shape, frozen=True, kw_only=True):
    """A kind that is meant, where (empty: everywhere), and whether it may be listed, deleted and patched; null is not asked."""

    api_version: str
    kind: str
    namespace: str
    may_list: bool | None
    may_delete: bool | None
    may_patch: bool | None = None


class ToldPolicy(Shape, frozen=True, kw_only=True):
    """One policy: what is wrong with it, and what it means. `kinds` is null where kinds were not looked up.

    `asks` are the calls that it makes when it runs; `means` says why its runs delete nothing, or what a retention policy or a profile means.
    """

    file: str
    document: int
    kind: str
    namespace: str
    name: str
    valid: bool
    problems: tuple[ToldProblem, ...]
    cautions: tuple[ToldProblem, ...]
    schedule: ToldSchedule | None
    kinds: tuple[ToldKind, ...] | None
    asks: tuple[str, ...]
    means: tuple[str, ...] = ()


class ToldCompanion(Shape, frozen=True, kw_only=True):
    """An exception or shared context that stands beside the policies, and what is wrong with it."""

    file: str
    document: int
    kind: str
    namespace: str
    name: str
    valid: bool
    problems: tuple[ToldProblem, ...]
    cautions: tuple[ToldProblem, ...] = ()


class CheckDocument(Shape, frozen=True, kw_only=True):
    """What `check` prints."""

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["Check"] = "Check"
    now: str
    policies: tuple[ToldPolicy, ...]
    besides: tuple[ToldCompanion, ...] = ()
    warnings: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`rights` None: nobody looked which kinds there are; `kindless`: and nobody has to, since it names none."""

    manifest: Manifest
    namespace: str = ""
    problems: tuple[Problem, ...] = ()
    cautions: tuple[Problem, ...] = ()
    schedule: Schedule | None = None
    rights: tuple[Right, ...] | None = None
    asks: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    kindless: bool = False

    @property
    def valid(self) -> bool:
        return not self.problems

    @property
    def name(self) -> str:
        return str(self.manifest.body["metadata"].get("name") or "")


def next_runs(schedule: Schedule, now: float) -> list[float]:
    found: list[float] = []
    moment = schedule.following(now)
    while moment is not None and len(found) < RUNS_SHOWN:
        found.append(moment)
        moment = schedule.following(moment)
    return found


def calls_of(clauses: Clauses) -> tuple[str, ...]:
    """What a CleanupPolicy asks for when it runs."""
    found: list[str] = []
    for entry in clauses.context:
        if entry.api_call is not None and entry.api_call.service is not None:
            found.append(f"{entry.api_call.method} {entry.api_call.service.url}")
        elif entry.api_call is not None:
            found.append(f"{entry.api_call.method} {entry.api_call.url_path}")
        elif entry.global_reference is not None:
            found.append(f"GlobalContextEntry {entry.global_reference.name}")
    written = texts(msgspec.to_builtins((clauses.comparisons, clauses.context)))
    found += (function for function in USAGE_FUNCTIONS if f"{function}(" in written)
    return tuple(dict.fromkeys(found))


def told(finding: Finding, now: float) -> ToldPolicy:
    schedule = finding.schedule
    return ToldPolicy(
        **_read(finding),
        schedule=None
        if schedule is None
        else ToldSchedule(
            text=schedule.text,
            words=in_words(schedule),
            zone=schedule.zone_name or "UTC",
            next_runs=tuple(map(whole_seconds, next_runs(schedule, now))),
        ),
        kinds=None if finding.rights is None else tuple(map(_kind, finding.rights)),
        asks=finding.asks,
        means=finding.means,
    )


def told_companion(one: Companion) -> ToldCompanion:
    return ToldCompanion(**_read(one))


def _read(one: Finding | Companion) -> dict[str, Any]:
    """What is told of everything that was read: where it stands, what it is, and what is wrong with it."""
    return {
        "file": one.manifest.file,
        "document": one.manifest.document,
        "kind": one.manifest.kind,
        "namespace": one.namespace,
        "name": one.name,
        "valid": one.valid,
        "problems": tuple(map(_problem, one.problems)),
        "cautions": tuple(map(_problem, one.cautions)),
    }


def _problem(problem: Problem) -> ToldProblem:
    return ToldProblem(path=problem.path, what=problem.what, instead=problem.instead)


def _kind(right: Right) -> ToldKind:
    return ToldKind(
        api_version=right.resource.api_version,
        kind=right.resource.kind,
        namespace=right.namespace,
        may_list=right.may_list,
        may_delete=right.may_delete,
        may_patch=right.may_patch,
    )

"""Policies from files as far as they can be told without a cluster, and then with the kinds of one.

CEL is compiled once, for all of them together, in a process of its own: so that has to be done outside of an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa import names
from skoupa.admission.refused_kinds import refused_kinds
from skoupa.cli.checking.expressions import Compiled, compile_all
from skoupa.cli.checking.faults import fault_problems
from skoupa.cli.checking.findings import Finding, calls_of
from skoupa.cli.checking.sources import Sources
from skoupa.expr.durations import render_duration
from skoupa.kube.kinds import Discovery
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import Reading, read_policy
from skoupa.runs.book import account_problem
from skoupa.runs.calls.written import call_cautions, clause_problems, confinement_problems
from skoupa.settings import PolicySettings, seconds
from skoupa.sim.content.manifests import Manifest

_CONTEXT: Final = "spec.context["


class Read(msgspec.Struct, frozen=True):
    """A policy as far as it can be told without a cluster, and the settings by which it would run."""

    manifest: Manifest
    clauses: Clauses
    compiled: Compiled
    settings: PolicySettings


def read_all(found: Sources, settings: PolicySettings) -> list[Read]:
    """The clauses of each, also of one with other problems, and what compiling them says."""
    clauses: list[Clauses] = []
    for manifest in found.manifests:
        seen: list[Clauses] = []

        def note(found: Clauses, seen: list[Clauses] = seen) -> tuple[Problem, ...]:
            seen.append(found)
            return ()

        read_policy(manifest.body, check=note)
        clauses.append(seen[0] if seen else Clauses())
    return [
        Read(manifest, each, compiled, settings)
        for manifest, each, compiled in zip(found.manifests, clauses, compile_all(clauses), strict=True)
    ]


def judged(
    each: Read, *, namespace: str, discovery: Discovery | None = None
) -> tuple[Finding, Policy | None]:
    """What is wrong with it, and the policy where nothing is; `namespace` is where one that names none would go."""

    def check(clauses: Clauses) -> Iterator[Problem]:
        yield from clause_problems(clauses)
        yield from each.compiled.problems
        yield from confinement_problems(clauses, each.settings)
        yield from refused_kinds(each.manifest.body)

    reading: Reading = read_policy(
        each.manifest.body,
        discovery=discovery,
        check=check,
        minimum_seconds=int(seconds(each.settings.minimum_interval)),
        default_namespace=namespace,
    )
    needed = account_problem(reading.policy) if each.settings.require_service_account else None
    problems = (
        *dict.fromkeys(reading.problems),
        *fault_problems(each.manifest, reading.problems),
        *([needed] if needed is not None else ()),
    )
    policy = reading.policy if not problems else None
    finding = Finding(
        manifest=each.manifest,
        namespace=policy.namespace if policy is not None else "",
        problems=problems,
        cautions=_cautions(reading, each),
        schedule=policy.schedule if policy is not None else None,
        asks=(*calls_of(each.clauses), *each.compiled.asks),
        means=tuple(_means(policy, each.settings)) if policy is not None else (),
    )
    return finding, policy


def _means(policy: Policy, settings: PolicySettings) -> Iterator[str]:
    """Why the runs that are told delete nothing."""
    if policy.options.suspended:
        yield f"it is suspended ({names.SUSPEND_ANNOTATION}), so that it does not run"
    new = int(seconds(settings.observe_new)) if settings.observe_new is not None else 0
    own = policy.options.observe_seconds
    if span := max(own, new):
        said = names.OBSERVE_ANNOTATION if span == own else "policies.observeNew"
        yield f"for {render_duration(span)} after it is new or its spec changed it only reports ({said})"


def _cautions(reading: Reading, each: Read) -> tuple[Problem, ...]:
    """Without those of a call that is a problem already."""
    wrong = {problem.path for problem in reading.problems if problem.path.startswith(_CONTEXT)}
    return tuple(
        one
        for one in (*reading.warnings, *call_cautions(each.clauses, each.settings))
        if one.path not in wrong
    )

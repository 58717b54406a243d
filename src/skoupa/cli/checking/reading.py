"""Policies from files as far as they can be told without a cluster, and then with the kinds of one.

CEL is compiled once, for all of them together, in a process of its own: so that has to be done outside of an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from skoupa.cli.checking.expressions import Compiled, compile_all
from skoupa.cli.checking.findings import Finding, calls_of
from skoupa.cli.checking.sources import Sources
from skoupa.kube.kinds import Discovery
from skoupa.policy.expression_checks import jmespath_problems
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import Reading, read_policy
from skoupa.sim.content.manifests import Manifest


class Read(msgspec.Struct, frozen=True):
    """A policy as far as it can be told without a cluster; `minimum` seconds have to lie between two runs."""

    manifest: Manifest
    clauses: Clauses
    compiled: Compiled
    minimum: int


def read_all(found: Sources, minimum: int) -> list[Read]:
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
        Read(manifest, each, compiled, minimum)
        for manifest, each, compiled in zip(found.manifests, clauses, compile_all(clauses), strict=True)
    ]


def judged(
    each: Read, *, namespace: str, discovery: Discovery | None = None
) -> tuple[Finding, Policy | None]:
    """What is wrong with it, and the policy where nothing is; `namespace` is where one that names none would go."""

    def check(clauses: Clauses) -> Iterator[Problem]:
        yield from jmespath_problems(clauses)
        yield from each.compiled.problems

    reading: Reading = read_policy(
        each.manifest.body,
        discovery=discovery,
        check=check,
        minimum_seconds=each.minimum,
        default_namespace=namespace,
    )
    policy = reading.policy
    finding = Finding(
        manifest=each.manifest,
        namespace=policy.namespace if policy is not None else "",
        problems=reading.problems,
        cautions=reading.warnings,
        schedule=policy.schedule if policy is not None else None,
        asks=(*calls_of(each.clauses), *each.compiled.asks),
    )
    return finding, policy

"""Policies from files, folders and standard input, and what stands beside them and changes what they do.

What is neither is passed over in a folder, and told; in a file it is a mistake.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.cli.checking.company import is_company
from skoupa.cli.checking.trials import KYVERNO_FILE, OWN_FILE
from skoupa.errors import UsageError
from skoupa.kinds.retention import DEFINITIONS
from skoupa.policy.headings import definition_of
from skoupa.policy.problems import Problem
from skoupa.sim.content.manifests import Manifest, files_in, load, parse

STANDARD_INPUT: Final = "-"
RETENTION_KINDS: Final = frozenset(one.kind for one in DEFINITIONS)
_TESTS: Final = frozenset({KYVERNO_FILE, OWN_FILE})


class Sources(msgspec.Struct, frozen=True):
    """`company` are exceptions and shared context, `retention` policies and profiles of retention.

    `passed_over` counts by kind what was none of these nor a policy.
    """

    manifests: tuple[Manifest, ...]
    passed_over: dict[str, int]
    company: tuple[Manifest, ...] = ()
    retention: tuple[Manifest, ...] = ()

    @property
    def remark(self) -> str:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.passed_over.items()))
        return f"passed over, for they are no policies that delete: {counted}" if counted else ""

    @property
    def profiles(self) -> tuple[Manifest, ...]:
        """Those among `retention`: they teach, and take nothing."""
        return tuple(one for one in self.retention if one.kind == names.KIND_PROFILE_KIND)


def read_sources(paths: tuple[str, ...]) -> Sources:
    """Everything that may be a policy, in the order of the paths; there may be none where there is company."""
    if not paths:
        raise UsageError("there is no file", advice="write -f FILE, -f DIR or -f - for standard input")
    found: list[Manifest] = []
    company: list[Manifest] = []
    retention: list[Manifest] = []
    others: Counter[str] = Counter()
    for path in paths:
        for manifest in everything(path, faulty=True):
            if is_company(manifest.body):
                company.append(manifest)
            elif manifest.kind in RETENTION_KINDS:
                retention.append(manifest)
            elif path != STANDARD_INPUT and Path(path).is_dir() and not is_policy(manifest.body):
                others[manifest.kind] += 1
            else:
                found.append(manifest)
    if not found and not company and not retention:
        raise UsageError(f"there are no policies in {', '.join(paths)}", advice="check -f")
    return Sources(tuple(found), dict(others), tuple(company), tuple(retention))


def everything(path: str, *, faulty: bool = False) -> Iterator[Manifest]:
    """All objects, whatever they are; tests of policies that lie beside them in a folder are none.

    `faulty`: also those that no server would take, with what is wrong with them.
    """
    if path == STANDARD_INPUT:
        yield from parse(sys.stdin.read(), file="standard input", faulty=faulty)
    else:
        folder = Path(path).is_dir()
        files = [file for file in files_in(Path(path)) if not (folder and file.name in _TESTS)]
        yield from load(*files, faulty=faulty)


def is_policy(body: dict[str, Any]) -> bool:
    """Also one in a version that nobody knows, and cleanup rules in the form of the proposal: both have to be told of."""
    definition = definition_of(body)
    return not isinstance(definition, Problem) or definition.path != "kind"

"""What is wrong with the metadata of a manifest, told with the other problems of it, so that the other manifests are told of too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skoupa.policy.problems import Problem
from skoupa.sim.content.manifests import Manifest


def fault_problems(manifest: Manifest, known: Iterable[Problem]) -> Iterator[Problem]:
    """What no server takes of it, as far as it is not known already by its place."""
    told = {problem.path for problem in known}
    for fault in manifest.faults:
        if fault.path not in told:
            yield Problem(path=fault.path, what=fault.what, instead=fault.advice)

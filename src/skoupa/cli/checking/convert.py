"""`skoupa convert`: policies in their newer form, as YAML with what there is to know in comments.

The output can stand in the place of the input: what is no policy, or can't be said, is in it as it was. CEL that does not compile is never
written. Applies nothing, and talks to no cluster.
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.cli.checking.expressions import compile_all
from skoupa.cli.checking.sources import everything
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.yaml_text import written
from skoupa.cli.worlds import World, in_files
from skoupa.errors import UsageError
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.policy.converting.conversion import Converted, converted
from skoupa.policy.converting.rule_form import has_rules, policies_of
from skoupa.policy.policies import Clauses
from skoupa.policy.reading import read_policy
from skoupa.sim.content.manifests import Manifest
from skoupa.sim.state.kinds import BUILT_IN

_WIDTH: Final = 118


class Form(msgspec.Struct, frozen=True):
    """What one object became; a rule form becomes several."""

    manifest: Manifest
    made: Converted


def run(*, files: tuple[str, ...], sources: tuple[str, ...]) -> None:
    manifests = [manifest for path in files for manifest in everything(path)]
    if not manifests:
        raise UsageError(f"there are no objects in {', '.join(files)}", advice="check -f")
    discovery = _discovery(sources)
    forms = [Form(manifest, one) for manifest in manifests for one in _forms(manifest, discovery)]
    made = list(_compiled(forms))
    sys.stdout.write("---\n".join(_written(one) for one in made))
    changed = sum(one.changed for one in made)
    kept = sum(not one.changed and bool(one.remarks) for one in made)
    said = f"converted {changed} of {len(made)}"
    say(f"{said}; {kept} stay as they are, for the reasons in the comments" if kept else said)


def _discovery(sources: tuple[str, ...]) -> Discovery:
    """The kinds of Kubernetes, and those that the files define."""

    async def work(world: World) -> Discovery:
        return await discover(world.client)

    if not sources:
        return Discovery(resources=BUILT_IN)
    return in_files(work, sources=sources, now=time.time(), namespace="")


def _forms(manifest: Manifest, discovery: Discovery) -> Iterator[Converted]:
    if has_rules(manifest.body):
        yield from policies_of(manifest.body, discovery)
    else:
        yield converted(manifest.body, discovery)


def _compiled(forms: list[Form]) -> Iterator[Converted]:
    """CEL has limits of its own, such as how deep it may be nested: what goes over them stays as it was."""
    clauses = [_clauses(form.made) for form in forms]
    for form, compiled in zip(forms, compile_all(clauses), strict=True):
        if compiled.problems:
            reason = f"left as it is, for its CEL would not compile: {compiled.problems[0]}"
            yield Converted(body=form.manifest.body, remarks=(reason,))
        else:
            yield form.made


def _clauses(made: Converted) -> Clauses:
    reading = read_policy(made.body) if made.changed and made.body is not None else None
    return reading.policy.clauses if reading is not None and reading.policy is not None else Clauses()


def _written(made: Converted) -> str:
    remarks = "".join(
        f"# {line}\n" for remark in made.remarks for line in textwrap.wrap(remark, _WIDTH) or [""]
    )
    return remarks if made.body is None else remarks + written(made.body)

"""What stands beside policies in files and changes what they do: PolicyExceptions and GlobalContextEntries.

Read as far as files tell; CEL is compiled in a process of its own, so outside of an event loop. One that is wrong is a mistake here: in
a cluster a broken exception would let everything stay, and a broken entry would leave everything unclear. What is right and may yet
not mean what its writer thinks is a caution: an exception about a kind of policies that knows none lets nothing stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.cli.checking.expressions import compile_all
from skoupa.cli.checking.faults import fault_problems
from skoupa.errors import BadExpression, UsageError
from skoupa.expr import jmespath
from skoupa.expr.golang import go_duration
from skoupa.kinds.definition import Definition
from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kinds.policies.global_context import (
    GLOBAL_CONTEXT_ENTRY,
    ExternalCall,
    GlobalContextSpec,
    KubernetesResource,
)
from skoupa.kinds.reading import read
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.runs.calls.paths import check_namespace, read_path
from skoupa.runs.calls.shared_values import check_variables
from skoupa.sim.content.manifests import Manifest

_KINDS: Final = (POLICY_EXCEPTION, GLOBAL_CONTEXT_ENTRY)


class Companion(msgspec.Struct, frozen=True, kw_only=True):
    """One of them, with what is wrong; `exemption` is what an exception says, None for an entry."""

    manifest: Manifest
    namespace: str = ""
    exemption: Exemption | None = None
    problems: tuple[Problem, ...] = ()
    cautions: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        return str(self.manifest.body["metadata"].get("name") or "")

    @property
    def valid(self) -> bool:
        return not self.problems


def is_company(body: Mapping[str, Any]) -> bool:
    """By group and kind: Kyverno has PolicyExceptions of another group too, which deleting policies do not know."""
    return _definition(body) is not None


def read_company(manifests: Sequence[Manifest]) -> list[Companion]:
    found = list(map(_read, manifests))
    clauses = [Clauses(expressions=one.exemption.expressions if one.exemption else ()) for one in found]
    return [
        msgspec.structs.replace(one, problems=(*one.problems, *map(_of_exception, compiled.problems)))
        for one, compiled in zip(found, compile_all(clauses), strict=True)
    ]


def _definition(body: Mapping[str, Any]) -> Definition | None:
    group, _, _ = str(body.get("apiVersion") or "").rpartition("/")
    return next((one for one in _KINDS if (one.group, one.kind) == (group, body.get("kind"))), None)


def _read(manifest: Manifest) -> Companion:
    body = manifest.body
    definition = _definition(body) or POLICY_EXCEPTION
    problems = list(_version_problems(body, definition))
    problems += fault_problems(manifest, ())
    if definition is GLOBAL_CONTEXT_ENTRY:
        return Companion(manifest=manifest, problems=(*problems, *_entry_problems(body)))
    exemption = read_exemption(body)
    problems += (_placed(*_parted(text)) for text in exemption.problems)
    return Companion(
        manifest=manifest, namespace=exemption.namespace, exemption=exemption, problems=tuple(problems)
    )


def _version_problems(body: Mapping[str, Any], definition: Definition) -> Iterator[Problem]:
    known = [f"{definition.group}/{each.name}" for each in definition.versions]
    if body["apiVersion"] not in known:
        what = f"there is no {definition.kind} in {body['apiVersion']}"
        yield Problem(path="apiVersion", what=what, instead=f"write one of {', '.join(known)}")


def _entry_problems(body: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        spec = read(body.get("spec"), GlobalContextSpec, where="spec")
    except UsageError as error:
        yield _placed(error.message, error.advice)
        return
    if (spec.kubernetes_resource is None) == (spec.api_call is None):
        yield _problem("spec", "what it asks for is not clear", "write one of kubernetesResource and apiCall")
    if spec.kubernetes_resource is not None:
        yield from _listing_problems(spec.kubernetes_resource)
    if spec.api_call is not None:
        yield from _call_problems(spec.api_call)
    for index, projection in enumerate(spec.projections):
        try:
            jmespath.compile(projection.jmes_path)
        except BadExpression as error:
            yield _problem(f"spec.projections[{index}].jmesPath", error.message, error.advice)


def _call_problems(call: ExternalCall) -> Iterator[Problem]:
    interval = go_duration(call.refresh_interval)
    if not isinstance(interval, int) or interval <= 0:
        yield _problem("spec.apiCall.refreshInterval", "it is no duration", "write it like 10m")
    if (call.service is None) != bool(call.url_path):
        yield _problem("spec.apiCall", "where it asks is not clear", "write one of urlPath and service")
    if call.data and call.method != "POST":
        yield _problem(
            "spec.apiCall.data", "it is sent with POST only", "write method: POST, or leave it out"
        )
    try:
        check_variables(call)
    except UsageError as error:
        yield _problem("spec.apiCall", error.message, error.advice)
        return
    if call.url_path:
        yield from _told(lambda: read_path(call.url_path or "", method=call.method), "spec.apiCall.urlPath")


def _listing_problems(wanted: KubernetesResource) -> Iterator[Problem]:
    if not wanted.group and wanted.version != "v1":
        what = "only v1 is a version of the core group, which has no name"
        yield _problem("spec.kubernetesResource.group", what, "write the group of the kind")
    yield from _told(lambda: check_namespace(wanted.namespace or ""), "spec.kubernetesResource.namespace")


def _told(check: Callable[[], object], path: str) -> Iterator[Problem]:
    try:
        check()
    except UsageError as error:
        yield _problem(path, error.message, error.advice)


def _of_exception(problem: Problem) -> Problem:
    path = problem.path.replace("spec.conditions", "spec.matchConditions", 1)
    return msgspec.structs.replace(problem, path=path)


def _parted(text: str) -> tuple[str, str]:
    """What an exception says of itself, which is one text: what is wrong where, and what to write."""
    place, _, said = text.partition(": ")
    what, _, instead = said.partition(": ")
    return (f"{place}: {what}", instead) if instead else (text, "")


def _placed(message: str, instead: str) -> Problem:
    """With the place that the message begins with; what is missing as a whole has none."""
    place, _, what = message.partition(": ")
    return _problem(place, what, instead) if what and " " not in place else _problem("spec", message, instead)


def _problem(path: str, what: str, instead: str = "") -> Problem:
    return Problem(path=path, what=what, instead=instead or "mend it")

"""What an exception or shared context that stands beside policies may not mean, though nothing is wrong with it.

An exception that names no policy which knows exceptions lets nothing stay, and nobody would hear of it before something is gone. An
entry that asks for a kind that is not there has no value, so that what asks for it leaves everything where it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.cli.checking.company import Companion
from skoupa.errors import UsageError
from skoupa.expr.readings import quoted
from skoupa.expr.wildcards import has_wildcard
from skoupa.kinds.policies.context import ApiCall, ContextEntry
from skoupa.kinds.policies.global_context import GlobalContextSpec, KubernetesResource
from skoupa.kinds.reading import read
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.context_cautions import context_cautions
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.runs.calls.written import call_cautions
from skoupa.settings import PolicySettings

_OURS: Final = ("DeletingPolicy", "NamespacedDeletingPolicy")
_WITHOUT: Final = ("CleanupPolicy", "ClusterCleanupPolicy")
# Kyverno's others, which Skoupa does not run.
_OTHERS: Final = frozenset(
    f"{scope}{kind}Policy"
    for scope in ("", "Namespaced")
    for kind in ("Validating", "ImageValidating", "Mutating", "Generating")
)
_REFERENCES: Final = "spec.policyRefs"
_CALL: Final = "spec.context[0].apiCall"


def with_cautions(
    one: Companion, *, now: float, settings: PolicySettings, discovery: Discovery | None
) -> Companion:
    if one.exemption is not None:
        found = tuple(_of_exception(one.exemption, now))
    else:
        found = tuple(_of_entry(one, settings, discovery)) if one.valid else ()
    return msgspec.structs.replace(one, cautions=found)


def _of_exception(exemption: Exemption, now: float) -> Iterator[Problem]:
    for kind, name in sorted(exemption.policies or ()):
        if kind in _WITHOUT:
            what = f"a {kind} knows no exceptions, so that {quoted(name)} takes what it matches all the same"
            instead = "write exclude there, or the label skoupa.dev/keep on what is to stay"
            yield Problem(path=_REFERENCES, what=what, instead=instead)
        elif kind not in _OURS and kind not in _OTHERS:
            near = difflib.get_close_matches(kind.lower(), [one.lower() for one in _OURS], n=1)
            meant = next((one for one in _OURS if near and one.lower() == near[0]), "")
            instead = f"did you mean {meant}?" if meant else f"there are {' and '.join(_OURS)}"
            what = f"no policy is of the kind {quoted(kind)}, so that nothing stays by it"
            yield Problem(path=_REFERENCES, what=what, instead=instead)
        if has_wildcard(name):
            what = f"names are exact here, and no policy is called {quoted(name)}"
            yield Problem(path=_REFERENCES, what=what, instead="name each that is meant")
    if exemption.until is not None and exemption.until <= now:
        what = f"it ended at {whole_seconds(exemption.until)}, so that nothing stays by it any more"
        yield Problem(path="spec.expiresAt", what=what, instead="write a later time, or leave it out")


def _of_entry(one: Companion, settings: PolicySettings, discovery: Discovery | None) -> Iterator[Problem]:
    """The same that is said of such a call in the context of a policy of the whole cluster."""
    try:
        spec = read(one.manifest.body.get("spec"), GlobalContextSpec, where="spec")
    except UsageError:
        return
    wanted, call = spec.kubernetes_resource, spec.api_call
    path = "spec.kubernetesResource" if wanted is not None else "spec.apiCall"
    asked = ApiCall(url_path=_path(wanted)) if wanted is not None else ApiCall()
    if call is not None:
        asked = ApiCall(url_path=call.url_path, method=call.method, service=call.service)
    clauses = Clauses(context=(ContextEntry(name="asked", api_call=asked),))
    for found in (*context_cautions(clauses, discovery), *call_cautions(clauses, settings)):
        place = found.path.replace(_CALL, path, 1)
        place = place.removesuffix(".urlPath") if wanted is not None else place
        yield msgspec.structs.replace(found, path=place)


def _path(wanted: KubernetesResource) -> str:
    root = f"/apis/{wanted.group}/{wanted.version}" if wanted.group else f"/api/{wanted.version}"
    inside = f"/namespaces/{wanted.namespace}" if wanted.namespace else ""
    return f"{root}{inside}/{wanted.resource}"

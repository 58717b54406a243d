"""A kept manifest made ready to be created again: where it goes, what must not take it again, what will differ.

Pure. The label or annotation that let it go is taken off, unless a time to keep it for is given: then everything stays
as it was written and `skoupa.dev/keep` holds it. References to owners name uids, which are others now; a reference to
an owner that is not there would let the server's own collector take the object at once, so it is left out and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.expr.peers import janitor_expires, janitor_ttl, ttl_controller_ttl
from skoupa.expr.readings import After, At, Never, Problem, due_time
from skoupa.expr.ttl import kyverno_ttl
from skoupa.ledger.trash.contents import SECRETS, Kept
from skoupa.ledger.trash.manifests import Manifest
from skoupa.model.verdicts import Claim

# As whoever takes the least care reads them: which compat switches are on is not known here.
_TTL_KEYS: Final[Mapping[str, Callable[[str], After | At | Never | Problem]]] = {
    names.TTL_LABEL: kyverno_ttl,
    names.JANITOR_TTL_ANNOTATION: janitor_ttl,
    names.JANITOR_EXPIRES_ANNOTATION: janitor_expires,
    names.TTL_CONTROLLER_TTL_ANNOTATION: ttl_controller_ttl,
}
_ROLE_BINDINGS: Final = "rolebindings.rbac.authorization.k8s.io"
_DIFFERENCES: Final = {
    "jobs.batch": "it runs again, whether or not it was finished",
    "pods": "it starts anew, perhaps on another node",
    "serviceaccounts": "tokens that were issued for it before are not valid any more",
    "persistentvolumes": "what was stored in it is not in the trash",
    "nodes": "its kubelet has to register it anew",
}


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """`differs` says, in sentences, what will not be as before."""

    manifest: Manifest
    differs: tuple[str, ...] = ()


def made_ready(
    kept: Kept, *, claims: Iterable[Claim] = (), into: str = "", keep: str = "", now: float = 0.0
) -> Ready:
    """`claims` are those it went by itself; `into` another namespace; `keep` the value of a label to hold it with."""
    assert kept.manifest is not None
    manifest = dict(kept.manifest)
    metadata = dict(manifest["metadata"])
    manifest["metadata"] = metadata
    differs: list[str] = []
    if into and kept.namespaced and into != kept.namespace:
        metadata["namespace"] = into
        differs.append(f"it was in the namespace {kept.namespace}; what names it there does not find it")
        if kept.resource == _ROLE_BINDINGS:
            manifest, said = _moved_subjects(manifest, before=kept.namespace, into=into)
            differs += said
    differs += _let_live(metadata, claims, keep=keep, now=now)
    if kept.resource == SECRETS and kept.withheld:
        manifest["data"] = dict.fromkeys(kept.withheld, "")
        differs.append(f"without its values, which were not kept: {', '.join(kept.withheld)} are empty")
        if manifest.pop("immutable", None):
            differs.append("it is not immutable, so that its values can be written")
    if kept.left_out:
        differs.append(f"without the annotations {', '.join(kept.left_out)}")
    if kept.resource in _DIFFERENCES:
        differs.append(_DIFFERENCES[kept.resource])
    if kept.resource == "services" and (manifest.get("spec") or {}).get("type") == "LoadBalancer":
        differs.append("its load balancer is a new one, perhaps with another address")
    return Ready(manifest=manifest, differs=tuple(differs))


def relinked(manifest: Manifest, uids: Mapping[str, str | None]) -> tuple[Manifest, tuple[str, ...]]:
    """With the new uid of each owner; None is an owner that is not there: it is left out, and named in the answer."""
    metadata = manifest["metadata"]
    owners: list[dict[str, Any]] = metadata.get("ownerReferences") or []
    if not owners:
        return manifest, ()
    kept = []
    left_out = []
    for owner in owners:
        new = uids.get(str(owner.get("uid", "")))
        if new is None:
            left_out.append(f"{owner.get('kind')} {owner.get('name')}")
        else:
            kept.append({**owner, "uid": new})
    linked = {key: value for key, value in metadata.items() if key != "ownerReferences"}
    if kept:
        linked["ownerReferences"] = kept
    return {**manifest, "metadata": linked}, tuple(left_out)


def _let_live(metadata: dict[str, Any], claims: Iterable[Claim], *, keep: str, now: float) -> list[str]:
    if names.UNNEEDED_SINCE_ANNOTATION in (metadata.get("annotations") or {}):
        # Who brings it back needs it: since when nobody did does not count any more.
        marked = metadata.pop("annotations").items()
        left = {key: value for key, value in marked if key != names.UNNEEDED_SINCE_ANNOTATION}
        metadata |= {"annotations": left} if left else {}
    if keep:
        metadata["labels"] = {**(metadata.get("labels") or {}), names.KEEP_LABEL: keep}
        return [f"it is kept: {names.KEEP_LABEL}={keep}"]
    killing = {dict(claim.reason.facts).get("key", "") for claim in claims}
    if any(claim.mechanism == "ttl" for claim in claims):
        killing.update(_TTL_KEYS)
    said: list[str] = []
    for field in ("labels", "annotations"):
        written: dict[str, str] = metadata.get(field) or {}
        taken = [key for key in written if key in killing or _is_past(key, written[key], now)]
        if taken:
            left = {key: value for key, value in written.items() if key not in taken}
            metadata.pop(field)
            if left:
                metadata[field] = left
            said += (f"without {key}={written[key]}, by which it would go again" for key in taken)
    return said


def _is_past(key: str, value: str, now: float) -> bool:
    """A lifetime that is over from the start: what went along with something else would now go by itself, at once."""
    if key not in _TTL_KEYS:
        return False
    reading = _TTL_KEYS[key](value)
    return isinstance(reading, After | At) and due_time(reading, since=int(now)) <= now


def _moved_subjects(manifest: Manifest, *, before: str, into: str) -> tuple[Manifest, list[str]]:
    """A binding that names accounts of its old namespace would let those into the new one."""
    subjects: list[dict[str, Any]] = manifest.get("subjects") or []
    moved = [str(one.get("name")) for one in subjects if _is_account_in(one, before)]
    if not moved:
        return manifest, []
    found = [{**one, "namespace": into} if _is_account_in(one, before) else one for one in subjects]
    which = f"ServiceAccount{'s' * (len(moved) > 1)} {', '.join(moved)}"
    return {**manifest, "subjects": found}, [f"for the {which} of {into}, not of {before}"]


def _is_account_in(subject: Mapping[str, Any], namespace: str) -> bool:
    return subject.get("kind") == "ServiceAccount" and subject.get("namespace") == namespace

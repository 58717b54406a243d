"""Argo CD: an Application tells in its status what it deploys, and each object says whose it is.

What has left the repository is in the list too, marked for pruning: that it is tracked holds it no longer. An Application may
live in another cluster than what it deploys; then only the annotation on the object is there to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Found, Target, Use
from skoupa.usage.rules import Means
from skoupa.usage.tracking.values import Mark, Tracks, at, text, tracked

APPLICATION: Final = "argoproj.io/Application"
TRACKING_ID: Final = "argocd.argoproj.io/tracking-id"
# Argo CD's own label of old. Charts write it for other reasons.
INSTANCE: Final = "app.kubernetes.io/instance"
_HERE: Final = ("https://kubernetes.default.svc", "https://kubernetes.default.svc.cluster.local")
_PATH: Final = "status.resources[]"


def tracks(application: Mapping[str, Any]) -> Tracks:
    resources = at(application, "status", "resources")
    if not isinstance(resources, list):
        return Tracks(untold="it has not compared the cluster with its source yet")
    doubts = [] if all(map(_is_whole, resources)) else ["a part of its resources can't be read"]
    found = Found(uses=tuple(_uses(application, resources)))
    if at(application, "status", "operationState", "phase") == "Running":
        doubts.append("it is just deploying")
    if text(application, "status", "sync", "status") in {"", "Unknown"}:
        doubts.append("it does not know whether it is in step with its source")
    return Tracks(found=found, untold=", and ".join(doubts))


def _is_whole(resource: Any) -> bool:
    return bool(text(resource, "kind") and text(resource, "name"))


def _uses(application: Mapping[str, Any], resources: list[Any]) -> Iterator[Use]:
    # Objects of the same names may be there in another cluster; whether that is this one under another address nobody knows.
    here = text(application, "spec", "destination", "server") in _HERE or (
        text(application, "spec", "destination", "name") == "in-cluster"
    )
    otherwise = text(application, "spec", "destination", "namespace")
    for resource in resources:
        if not _is_whole(resource) or resource.get("requiresPruning") is True:
            continue
        group, kind = text(resource, "group"), text(resource, "kind")
        yield from tracked(
            f"{group}/{kind}" if group else kind,
            text(resource, "namespace") or otherwise,
            text(resource, "name"),
            at=_PATH,
            means=Means.MANAGES if here else Means.MENTIONS,
        )


def marks(kind: str, metadata: Metadata) -> Iterator[Mark]:
    told = (metadata.annotations or {}).get(TRACKING_ID, "")
    if told:
        application, _, rest = told.partition(":")
        # Who copies an object copies the annotation along, which then speaks of the other: Argo CD passes over it as well.
        if application and (not rest or _is_own(rest, kind, metadata)):
            namespace, _, name = application.rpartition("_")
            yield Mark(by=Target(APPLICATION, namespace or "*", name), at=f"annotation {TRACKING_ID}")
        return
    instance = (metadata.labels or {}).get(INSTANCE, "")
    if instance:
        yield Mark(by=Target(APPLICATION, "*", instance), at=f"label {INSTANCE}", hint=True)


def _is_own(told: str, kind: str, metadata: Metadata) -> bool:
    """What lives in no namespace has that written on it into which its Application deploys all the rest."""
    group, _, name = kind.rpartition("/")
    what, _, where = told.partition(":")
    namespace, _, called = where.partition("/")
    return what == f"{group}/{name}" and called == metadata.name and metadata.namespace in {"", namespace}

"""Kinds that look different in their versions: Events of both APIs, HorizontalPodAutoscalers of autoscaling/v1.

Stored is the newer form; what the older one cannot say is left out when it is shown, except that an
autoscaler's other metrics travel in an annotation, as on a real server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa.sim.state.catalogue import Shape

Body = dict[str, Any]

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_NEW_TO_OLD = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_OLD_TO_NEW = {old: new for new, old in _NEW_TO_OLD.items()}


def _core_event(stored: Body) -> Body:
    return {_NEW_TO_OLD.get(field, field): value for field, value in stored.items()}


def _stored_event(core: Body) -> Body:
    return {_OLD_TO_NEW.get(field, field): value for field, value in core.items()}


def _old_autoscaler(stored: Body) -> Body:
    spec = dict(stored.get("spec") or {})
    others = []
    for metric in spec.pop("metrics", None) or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if (metric.get("resource") or {}).get("name") == "cpu" and target.get("type") == "Utilization":
            spec["targetCPUUtilizationPercentage"] = target.get("averageUtilization")
        else:
            others.append(metric)
    shown = {**stored, "spec": spec}
    if others and "metadata" in stored:
        metadata = dict(stored["metadata"])
        annotations = dict(metadata.get("annotations") or {})
        metadata["annotations"] = annotations | {_METRICS: msgspec.json.encode(others).decode()}
        shown["metadata"] = metadata
    return shown


def _stored_autoscaler(old: Body) -> Body:
    spec = dict(old.get("spec") or {})
    metadata = dict(old.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    metrics = msgspec.json.decode(annotations.pop(_METRICS, "[]"))
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    return {**old, "metadata": metadata, "spec": spec}


CORE_EVENT = Shape(shown=_core_event, stored=_stored_event)
OLD_AUTOSCALER = Shape(shown=_old_autoscaler, stored=_stored_autoscaler)

"""Knative: services that scale to zero, so that no Pod may be there and all is still in use, and the ways of events."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import POD_SPEC
from skoupa.usage.custom.words import accounts, inside, of, said, secrets, shape, to
from skoupa.usage.rules import Part

_SERVING: Final = "serving.knative.dev"
_EVENTING: Final = "eventing.knative.dev"
_SOURCES: Final = "sources.knative.dev"
_MESSAGING: Final = "messaging.knative.dev"
_FLOWS: Final = "flows.knative.dev"


def _somewhere(*paths: str) -> tuple[Part, ...]:
    """A destination: `ref` says who, or `uri` where."""
    return said(*(f"{path}.ref" for path in paths), version_at="apiVersion", namespace_at="namespace")


_TRAFFIC: Final = shape(
    "traffic",
    to(f"{_SERVING}/Revision", "traffic[].revisionName"),
    to(f"{_SERVING}/Configuration", "traffic[].configurationName"),
)
_DEAD_LETTERS: Final = "spec.delivery.deadLetterSink"

RULES: Final = (
    of(f"{_SERVING}/Service", inside(POD_SPEC, "spec.template.spec"), inside(_TRAFFIC, "spec")),
    of(f"{_SERVING}/Configuration", inside(POD_SPEC, "spec.template.spec")),
    of(f"{_SERVING}/Revision", inside(POD_SPEC, "spec")),
    of(f"{_SERVING}/Route", inside(_TRAFFIC, "spec")),
    of(
        f"{_SERVING}/DomainMapping",
        said("spec.ref", version_at="apiVersion", namespace_at="namespace"),
        secrets("spec.tls.secretName"),
    ),
    of(
        f"{_EVENTING}/Broker",
        said("spec.config", version_at="apiVersion", namespace_at="namespace"),
        _somewhere(_DEAD_LETTERS),
    ),
    of(
        f"{_EVENTING}/Trigger",
        to(f"{_EVENTING}/Broker", "spec.broker"),
        said(
            "spec.brokerRef",
            otherwise=f"{_EVENTING}/Broker",
            version_at="apiVersion",
            namespace_at="namespace",
        ),
        _somewhere("spec.subscriber", _DEAD_LETTERS),
    ),
    of(f"{_MESSAGING}/Channel", _somewhere(_DEAD_LETTERS, "spec.subscribers[].delivery.deadLetterSink")),
    of(
        f"{_MESSAGING}/Subscription",
        said("spec.channel", version_at="apiVersion", namespace_at="namespace"),
        _somewhere("spec.subscriber", "spec.reply", _DEAD_LETTERS),
    ),
    of(
        f"{_FLOWS}/Sequence",
        said("spec.steps[].ref", version_at="apiVersion", namespace_at="namespace"),
        _somewhere("spec.reply", "spec.steps[].delivery.deadLetterSink"),
    ),
    of(
        f"{_FLOWS}/Parallel",
        _somewhere("spec.reply", "spec.branches[].(filter|subscriber|reply|delivery.deadLetterSink)"),
    ),
    *(
        of(f"{_SOURCES}/{kind}", _somewhere("spec.sink"), accounts("spec.serviceAccountName"))
        for kind in ("ApiServerSource", "PingSource", "IntegrationSource")
    ),
    of(f"{_SOURCES}/ContainerSource", _somewhere("spec.sink"), inside(POD_SPEC, "spec.template.spec")),
    of(
        f"{_SOURCES}/SinkBinding",
        _somewhere("spec.sink"),
        said("spec.subject", version_at="apiVersion", namespace_at="namespace"),
    ),
)

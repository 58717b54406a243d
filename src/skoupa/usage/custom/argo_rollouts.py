"""Argo Rollouts: a Deployment by another name, the Services and routes it shifts, and its analyses."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import POD_SPEC
from skoupa.usage.custom.words import inside, of, said, secrets, shape, to
from skoupa.usage.rules import Form, Means, Selection

_GROUP: Final = "argoproj.io"
_CANARY: Final = "spec.strategy.canary"
_ROUTING: Final = f"{_CANARY}.trafficRouting"
# Which of both it is says `clusterScope`.
_ANALYSES: Final = (f"{_GROUP}/AnalysisTemplate", f"{_GROUP}/ClusterAnalysisTemplate")
_ANALYSIS: Final = shape("analysis", *(to(kind, "templates[].templateName") for kind in _ANALYSES))
_METRICS: Final = shape(
    "metrics of an analysis",
    inside(POD_SPEC, "metrics[].provider.job.spec.template.spec"),
    secrets("metrics[].provider.datadog.secretRef.name", "args[].valueFrom.secretKeyRef.name"),
    *(to(kind, "templates[].templateName") for kind in _ANALYSES),
)

RULES: Final = (
    of(
        f"{_GROUP}/Rollout",
        inside(POD_SPEC, "spec.template.spec"),
        said("spec.workloadRef", otherwise="apps/Deployment", version_at="apiVersion", means=Means.MANAGES),
        (Selection(at="spec.selector", to="Pod", means=Means.MANAGES),),
        to(
            "Service",
            f"{_CANARY}.(canary|stable)Service",
            f"{_CANARY}.pingPong.(ping|pong)Service",
            "spec.strategy.blueGreen.(active|preview)Service",
            f"{_ROUTING}.(alb|smi).rootService",
        ),
        to("networking.k8s.io/Ingress", f"{_ROUTING}.alb.ingress", f"{_ROUTING}.nginx.stableIngress"),
        to("networking.k8s.io/Ingress", f"{_ROUTING}.nginx.stableIngresses[]", f"{_ROUTING}.alb.ingresses[]"),
        to(
            "networking.istio.io/VirtualService",
            f"{_ROUTING}.istio.(virtualService|virtualServices[]).name",
            # Or `name.namespace`, as a host of the cluster's DNS has it.
            form=Form.HOST,
        ),
        to("networking.istio.io/DestinationRule", f"{_ROUTING}.istio.destinationRule.name"),
        to("split.smi-spec.io/TrafficSplit", f"{_ROUTING}.smi.trafficSplitName"),
        to("traefik.io/TraefikService", f"{_ROUTING}.traefik.weightedTraefikServiceName"),
        inside(
            _ANALYSIS,
            f"{_CANARY}.analysis",
            f"{_CANARY}.steps[].analysis",
            "spec.strategy.blueGreen.(pre|post)PromotionAnalysis",
        ),
        *(to(kind, f"{_CANARY}.steps[].experiment.analyses[].templateName") for kind in _ANALYSES),
    ),
    of(f"{_GROUP}/AnalysisTemplate", inside(_METRICS, "spec")),
    of(f"{_GROUP}/ClusterAnalysisTemplate", inside(_METRICS, "spec"), cluster=True),
    of(f"{_GROUP}/AnalysisRun", inside(_METRICS, "spec")),
    of(
        f"{_GROUP}/Experiment",
        inside(POD_SPEC, "spec.templates[].template.spec"),
        to("Service", "spec.templates[].service.name"),
        secrets("spec.analyses[].args[].valueFrom.secretKeyRef.name"),
        *(to(kind, "spec.analyses[].templateName") for kind in _ANALYSES),
    ),
)

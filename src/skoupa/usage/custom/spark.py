"""Spark applications: drivers and executors that are Pods in pieces, with their configuration mounted by name."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CONTAINER, POD_SPEC, VOLUME
from skoupa.usage.custom.words import accounts, config_maps, inside, of, secrets, shape, to

_GROUP: Final = "sparkoperator.k8s.io"

# A driver has the `env` and `envFrom` of a container, and what else a Pod has.
_PART: Final = shape(
    "driver or executor",
    inside(CONTAINER, "", "sidecars[]", "initContainers[]"),
    config_maps("configMaps[].name"),
    secrets("secrets[].name", "envSecretKeyRefs{}.name"),
    accounts("serviceAccount"),
    to("scheduling.k8s.io/PriorityClass", "priorityClassName"),
    inside(POD_SPEC, "template.spec"),
)
_APPLICATION: Final = shape(
    "application",
    inside(_PART, "driver", "executor"),
    inside(VOLUME, "volumes[]"),
    config_maps("sparkConfigMap", "hadoopConfigMap"),
    secrets("imagePullSecrets[]", "(driverIngressOptions[]|sparkUIOptions).ingressTLS[].secretName"),
    to("scheduling.k8s.io/PriorityClass", "batchSchedulerOptions.priorityClassName"),
)

RULES: Final = (
    of(f"{_GROUP}/SparkApplication", inside(_APPLICATION, "spec")),
    of(f"{_GROUP}/ScheduledSparkApplication", inside(_APPLICATION, "spec.template")),
    of(f"{_GROUP}/SparkConnect"),
)

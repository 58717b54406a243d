"""Tekton: tasks that are Pods in pieces, pipelines of them, and the triggers that start them."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CLAIM_TEMPLATE, CONTAINER, POD_SPEC, VOLUME
from skoupa.usage.custom.words import accounts, inside, of, said, secrets, shape, to

_GROUP: Final = "tekton.dev"
_TRIGGERS: Final = "triggers.tekton.dev"
_TASK_KIND: Final = f"{_GROUP}/Task"

_TASK: Final = shape(
    "task",
    inside(CONTAINER, "steps[]", "sidecars[]", "stepTemplate"),
    inside(VOLUME, "volumes[]"),
    to(f"{_GROUP}/StepAction", "steps[].ref.name"),
)
_PIPELINE_TASK: Final = shape(
    "task of a pipeline",
    said("taskRef", otherwise=_TASK_KIND, version_at="apiVersion"),
    said("pipelineRef", otherwise=f"{_GROUP}/Pipeline", version_at="apiVersion"),
    inside(_TASK, "taskSpec"),
)
_PIPELINE: Final = shape("pipeline", inside(_PIPELINE_TASK, "tasks[]", "finally[]"))
# What a run is given as a workspace is a volume by its fields, and may be a claim that is made for it.
_WORKSPACE: Final = shape("workspace", inside(VOLUME, ""), inside(CLAIM_TEMPLATE, "volumeClaimTemplate"))
_POD: Final = shape(
    "pod template of a run",
    inside(VOLUME, "volumes[]"),
    secrets("imagePullSecrets[].name", "env[].valueFrom.secretKeyRef.name"),
    to("ConfigMap", "env[].valueFrom.configMapKeyRef.name"),
    to("scheduling.k8s.io/PriorityClass", "priorityClassName"),
    to("node.k8s.io/RuntimeClass", "runtimeClassName"),
)
_TRIGGER: Final = shape(
    "trigger",
    to(f"{_TRIGGERS}/TriggerBinding", "bindings[].ref"),
    to(f"{_TRIGGERS}/ClusterTriggerBinding", "bindings[].ref"),
    to(f"{_TRIGGERS}/TriggerTemplate", "template.ref"),
    said("interceptors[].ref", otherwise=f"{_TRIGGERS}/ClusterInterceptor", version_at="apiVersion"),
    accounts("serviceAccountName"),
    secrets("interceptors[].(github|gitlab|bitbucket).secretRef.secretName"),
)

RULES: Final = (
    of(_TASK_KIND, inside(_TASK, "spec")),
    of(f"{_GROUP}/ClusterTask", inside(_TASK, "spec"), cluster=True),
    of(f"{_GROUP}/StepAction", inside(CONTAINER, "spec")),
    of(f"{_GROUP}/Pipeline", inside(_PIPELINE, "spec")),
    of(
        f"{_GROUP}/TaskRun",
        said("spec.taskRef", otherwise=_TASK_KIND, version_at="apiVersion"),
        inside(_TASK, "spec.taskSpec", "status.taskSpec"),
        inside(_WORKSPACE, "spec.workspaces[]"),
        inside(_POD, "spec.podTemplate"),
        accounts("spec.serviceAccountName"),
    ),
    of(
        f"{_GROUP}/PipelineRun",
        said("spec.pipelineRef", otherwise=f"{_GROUP}/Pipeline", version_at="apiVersion"),
        inside(_PIPELINE, "spec.pipelineSpec", "status.pipelineSpec"),
        inside(_WORKSPACE, "spec.workspaces[]"),
        inside(_POD, "spec.(podTemplate|taskRunTemplate.podTemplate|taskRunSpecs[].podTemplate)"),
        # The names that v1beta1 has for the same.
        inside(_POD, "spec.taskRunSpecs[].taskPodTemplate"),
        accounts(
            "spec.(serviceAccountName|taskRunTemplate.serviceAccountName)",
            "spec.taskRunSpecs[].(serviceAccountName|taskServiceAccountName)",
        ),
    ),
    of(
        f"{_GROUP}/CustomRun",
        said("spec.customRef", version_at="apiVersion"),
        inside(_WORKSPACE, "spec.workspaces[]"),
        accounts("spec.serviceAccountName"),
    ),
    of(f"{_TRIGGERS}/Trigger", inside(_TRIGGER, "spec")),
    of(
        f"{_TRIGGERS}/EventListener",
        inside(_TRIGGER, "spec.triggers[]", "spec.triggerGroups[]"),
        to(f"{_TRIGGERS}/Trigger", "spec.triggers[].triggerRef"),
        accounts("spec.serviceAccountName"),
        inside(POD_SPEC, "spec.resources.kubernetesResource.spec.template.spec"),
    ),
    # Made of manifests with holes in them, which only a walk can read.
    of(f"{_TRIGGERS}/TriggerTemplate"),
)

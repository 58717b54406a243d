"""Argo Workflows: templates that are Pods in pieces, and artifacts with a Secret for each store.

A finished Workflow keeps what it names: it can be retried. What it ran with is stored in its status.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CLAIM_TEMPLATE, CONTAINER, VOLUME
from skoupa.usage.custom.words import accounts, config_maps, inside, of, secrets, shape, to

_GROUP: Final = "argoproj.io"
# Which of both it is says `clusterScope`; to keep one too many does no harm.
_TEMPLATES: Final = (f"{_GROUP}/WorkflowTemplate", f"{_GROUP}/ClusterWorkflowTemplate")

_STORE: Final = shape(
    "store of artifacts",
    secrets(
        "artifactory.(username|password)Secret.name",
        "azure.accountKeySecret.name",
        "gcs.serviceAccountKeySecret.name",
        "git.(username|password|sshPrivateKey)Secret.name",
        "hdfs.(krbCCache|krbKeytab)Secret.name",
        "http.auth.basicAuth.(username|password)Secret.name",
        "http.auth.clientCert.(clientCert|clientKey)Secret.name",
        "http.auth.oauth2.(clientID|clientSecret|tokenURL)Secret.name",
        "oss.(accessKey|secretKey)Secret.name",
        "s3.(accessKey|secretKey|sessionToken|ca)Secret.name",
        "s3.encryptionOptions.serverSideCustomerKeySecret.name",
    ),
    config_maps("hdfs.krbConfigConfigMap.name"),
    accounts("artifactGC.serviceAccountName"),
)
_ARGUMENTS: Final = shape(
    "arguments",
    inside(_STORE, "artifacts[]"),
    config_maps("parameters[].valueFrom.configMapKeyRef.name"),
)
_CALL: Final = shape(
    "call of a template",
    *(to(kind, "templateRef.name") for kind in _TEMPLATES),
    inside(_ARGUMENTS, "arguments"),
)
_STEP: Final = shape("step", inside(_CALL, "", "hooks{}"))
_LOCKS: Final = config_maps("synchronization.(semaphore|semaphores[]).configMapKeyRef.name")
_TEMPLATE: Final = shape(
    "template",
    inside(CONTAINER, "container", "script", "sidecars[]", "initContainers[]", "containerSet.containers[]"),
    inside(VOLUME, "volumes[]"),
    inside(_ARGUMENTS, "inputs", "outputs"),
    inside(_STORE, "archiveLocation", "data.source.artifactPaths", "resource.manifestFrom.artifact"),
    inside(_STEP, "steps[][]", "dag.tasks[]"),
    accounts("serviceAccountName", "executor.serviceAccountName"),
    to("scheduling.k8s.io/PriorityClass", "priorityClassName"),
    secrets("http.headers[].valueFrom.secretKeyRef.name"),
    config_maps("memoize.cache.configMap.name"),
    _LOCKS,
)
_WORKFLOW: Final = shape(
    "workflow",
    inside(_ARGUMENTS, "arguments"),
    inside(_TEMPLATE, "templates[]", "templateDefaults"),
    inside(_CALL, "hooks{}"),
    inside(VOLUME, "volumes[]"),
    inside(CLAIM_TEMPLATE, "volumeClaimTemplates[]"),
    accounts("serviceAccountName", "executor.serviceAccountName", "artifactGC.serviceAccountName"),
    secrets("imagePullSecrets[].name"),
    config_maps("artifactRepositoryRef.configMap"),
    to("scheduling.k8s.io/PriorityClass", "podPriorityClassName"),
    *(to(kind, "workflowTemplateRef.name") for kind in _TEMPLATES),
    _LOCKS,
)

RULES: Final = (
    of(
        f"{_GROUP}/Workflow",
        inside(_WORKFLOW, "spec", "status.storedWorkflowTemplateSpec"),
        inside(_TEMPLATE, "status.storedTemplates{}"),
        # Its status tells every node that ran, by thousands.
        walked=("spec",),
    ),
    of(f"{_GROUP}/WorkflowTemplate", inside(_WORKFLOW, "spec")),
    of(f"{_GROUP}/ClusterWorkflowTemplate", inside(_WORKFLOW, "spec"), cluster=True),
    of(f"{_GROUP}/CronWorkflow", inside(_WORKFLOW, "spec.workflowSpec")),
)

"""Batch and training jobs: Kubeflow, Volcano, JobSet, Ray, LeaderWorkerSet, Kueue. All of them have pod templates somewhere."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CLAIM_SPEC, CLAIM_TEMPLATE, CONTAINER, POD_SPEC
from skoupa.usage.custom.words import inside, of, said, secrets, shape, to

_PRIORITY: Final = "scheduling.k8s.io/PriorityClass"
_KUBEFLOW: Final = "kubeflow.org"
_TRAINER: Final = "trainer.kubeflow.org"
_RAY: Final = "ray.io"
_KUEUE: Final = "kueue.x-k8s.io"
_VOLCANO_QUEUE: Final = "scheduling.volcano.sh/Queue"
_JOB_SET: Final = shape("job set", inside(POD_SPEC, "replicatedJobs[].template.spec.template.spec"))
_RAY_CLUSTER: Final = shape(
    "ray cluster",
    inside(POD_SPEC, "headGroupSpec.template.spec", "workerGroupSpecs[].template.spec"),
    inside(CONTAINER, "autoscalerOptions"),
    secrets(
        "authOptions.secretName",
        "gcsFaultToleranceOptions.(redisUsername|redisPassword).valueFrom.secretKeyRef.name",
    ),
    to("PersistentVolumeClaim", "gcsFaultToleranceOptions.storage.claimName"),
)
_VOLCANO_JOB: Final = shape(
    "volcano job",
    inside(POD_SPEC, "tasks[].template.spec"),
    inside(CLAIM_SPEC, "volumes[].volumeClaim"),
    to("PersistentVolumeClaim", "volumes[].volumeClaimName"),
    to(_PRIORITY, "priorityClassName"),
    to(_VOLCANO_QUEUE, "queue"),
)
_FRAMEWORKS: Final = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MXJob": "mxReplicaSpecs",
}

RULES: Final = (
    *(
        of(
            f"{_KUBEFLOW}/{kind}",
            inside(POD_SPEC, f"spec.{field}{{}}.template.spec"),
            to(_PRIORITY, "spec.runPolicy.schedulingPolicy.priorityClass"),
            to(_VOLCANO_QUEUE, "spec.runPolicy.schedulingPolicy.queue"),
        )
        for kind, field in _FRAMEWORKS.items()
    ),
    of(f"{_KUBEFLOW}/Notebook", inside(POD_SPEC, "spec.template.spec")),
    of(
        f"{_TRAINER}/TrainJob",
        said("spec.runtimeRef", otherwise=f"{_TRAINER}/ClusterTrainingRuntime", group_at="apiGroup"),
        # In one release or the other.
        inside(POD_SPEC, "spec.podTemplateOverrides[].spec", "spec.podSpecOverrides[]"),
        secrets(
            "spec.(datasetConfig|modelConfig.input|modelConfig.output|initializer.dataset|initializer.model).secretRef.name"
        ),
    ),
    of(f"{_TRAINER}/TrainingRuntime", inside(_JOB_SET, "spec.template.spec")),
    of(f"{_TRAINER}/ClusterTrainingRuntime", inside(_JOB_SET, "spec.template.spec"), cluster=True),
    of("batch.volcano.sh/Job", inside(_VOLCANO_JOB, "spec")),
    of("batch.volcano.sh/CronJob", inside(_VOLCANO_JOB, "spec.jobTemplate.spec")),
    of("flow.volcano.sh/JobTemplate", inside(_VOLCANO_JOB, "spec")),
    of(
        "flow.volcano.sh/JobFlow",
        to("flow.volcano.sh/JobTemplate", "spec.flows[].name"),
        inside(_VOLCANO_JOB, "spec.flows[].patch.jobSpec"),
    ),
    of(
        "scheduling.volcano.sh/PodGroup",
        to(_PRIORITY, "spec.priorityClassName"),
        to(_VOLCANO_QUEUE, "spec.queue"),
    ),
    of("jobset.x-k8s.io/JobSet", inside(_JOB_SET, "spec")),
    of(
        "leaderworkerset.x-k8s.io/LeaderWorkerSet",
        inside(POD_SPEC, "spec.leaderWorkerTemplate.(leader|worker)Template.spec"),
        inside(CLAIM_TEMPLATE, "spec.leaderWorkerTemplate.volumeClaimTemplates[]"),
    ),
    of(f"{_RAY}/RayCluster", inside(_RAY_CLUSTER, "spec")),
    of(
        f"{_RAY}/RayJob",
        inside(_RAY_CLUSTER, "spec.rayClusterSpec"),
        inside(POD_SPEC, "spec.submitterPodTemplate.spec"),
        to(f"{_RAY}/RayCluster", 'spec.clusterSelector."ray.io/cluster"'),
    ),
    of(f"{_RAY}/RayCronJob", inside(_RAY_CLUSTER, "spec.jobTemplate.rayClusterSpec")),
    of(f"{_RAY}/RayService", inside(_RAY_CLUSTER, "spec.rayClusterConfig")),
    of(
        f"{_KUEUE}/Workload",
        inside(POD_SPEC, "spec.podSets[].template.spec"),
        to(f"{_KUEUE}/LocalQueue", "spec.queueName"),
        to(_PRIORITY, "spec.priorityClassName"),
    ),
    of(f"{_KUEUE}/LocalQueue", to(f"{_KUEUE}/ClusterQueue", "spec.clusterQueue")),
    of(
        f"{_KUEUE}/ClusterQueue",
        to(f"{_KUEUE}/ResourceFlavor", "spec.resourceGroups[].flavors[].name"),
        to(f"{_KUEUE}/AdmissionCheck", "spec.admissionChecks[]"),
        to(f"{_KUEUE}/Cohort", "spec.(cohort|cohortName)"),
        cluster=True,
    ),
)

"""How batch and training jobs of others end: Spark, Kubeflow, JobSet, Ray, Volcano, Kueue and AppWrapper."""

from __future__ import annotations

from typing import Final

from skoupa.usage.finishing.rules import (
    Caution,
    Condition,
    Field,
    FinishRule,
    OwnTtl,
    Present,
    TimeAt,
    TimeOf,
    ended,
    failed,
    succeeded,
)

_TTL: Final = OwnTtl(at="spec.ttlSecondsAfterFinished")

SPARK_APPLICATION: Final = FinishRule(
    kind="sparkoperator.k8s.io/SparkApplication",
    # After SUBMISSION_FAILED, SUCCEEDING and FAILING it may be run again; UNKNOWN is no end.
    signs=(
        succeeded(Field("status.applicationState.state", ("COMPLETED",))),
        failed(Field("status.applicationState.state", ("FAILED",))),
    ),
    times=(TimeAt(at="status.terminationTime"),),
    started=("status.lastSubmissionAttemptTime",),
    own_ttl=(OwnTtl(at="spec.timeToLiveSeconds"),),
)


def _training(kind: str) -> FinishRule:
    return FinishRule(
        kind=f"kubeflow.org/{kind}",
        # Suspended and Restarting are no ends.
        signs=(succeeded(Condition("Succeeded")), failed(Condition("Failed"))),
        times=(TimeAt(at="status.completionTime"), TimeOf()),
        started=("status.startTime",),
        own_ttl=(OwnTtl(at="spec.runPolicy.ttlSecondsAfterFinished"),),
        cautions=(
            Caution(holds=False, why="spec.runPolicy.cleanPodPolicy says which of its Pods are gone already"),
        ),
    )


TRAINING_JOBS: Final = tuple(
    map(_training, ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob"))
)

TRAIN_JOB: Final = FinishRule(
    kind="trainer.kubeflow.org/TrainJob",
    signs=(succeeded(Condition("Complete")), failed(Condition("Failed"))),
    times=(TimeOf(),),
)

JOB_SET: Final = FinishRule(
    kind="jobset.x-k8s.io/JobSet",
    signs=(succeeded(Condition("Completed")), failed(Condition("Failed"))),
    times=(TimeOf(),),
    own_ttl=(_TTL,),
)

_RAY_COMPLETE: Final = Field("status.jobDeploymentStatus", ("Complete",))
RAY_JOB: Final = FinishRule(
    kind="ray.io/RayJob",
    signs=(
        # Complete is how the deployment ended; how the job did stands beside it.
        succeeded(_RAY_COMPLETE, Field("status.jobStatus", ("SUCCEEDED",))),
        failed(_RAY_COMPLETE, Field("status.jobStatus", ("FAILED",))),
        failed(Field("status.jobDeploymentStatus", ("Failed",))),
        ended(_RAY_COMPLETE),
    ),
    # One with a schedule runs again.
    unless=(Present("spec.schedule"),),
    times=(TimeAt(at="status.endTime"),),
    started=("status.startTime",),
    own_ttl=(OwnTtl(at=_TTL.at, when=(Present("spec.shutdownAfterJobFinishes"),)),),
    cautions=(
        Caution(
            holds=False, why="its own time ends the RayCluster, which goes with the RayJob at the latest"
        ),
    ),
)

VOLCANO_JOB: Final = FinishRule(
    kind="batch.volcano.sh/Job",
    # Aborted may be resumed; Aborting, Completing, Restarting and Terminating are on their way.
    signs=(
        succeeded(Field("status.state.phase", ("Completed",))),
        failed(Field("status.state.phase", ("Failed", "Terminated"))),
    ),
    times=(TimeAt(at="status.state.lastTransitionTime"),),
    own_ttl=(_TTL,),
)

KUEUE_WORKLOAD: Final = FinishRule(
    kind="kueue.x-k8s.io/Workload",
    signs=(
        succeeded(Condition("Finished", reasons=("Succeeded",))),
        failed(Condition("Finished", reasons=("Failed",))),
        ended(Condition("Finished")),
    ),
    times=(TimeOf(),),
)

APP_WRAPPER: Final = FinishRule(
    kind="workload.codeflare.dev/AppWrapper",
    signs=(
        succeeded(Field("status.phase", ("Succeeded", "Completed"))),
        failed(Field("status.phase", ("Failed",))),
    ),
)

RULES: Final = (
    SPARK_APPLICATION,
    *TRAINING_JOBS,
    TRAIN_JOB,
    JOB_SET,
    RAY_JOB,
    VOLCANO_JOB,
    KUEUE_WORKLOAD,
    APP_WRAPPER,
)

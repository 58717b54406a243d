"""How runs of workflows, pipelines and analyses end: Argo and Tekton."""

from __future__ import annotations

from typing import Final

from skoupa.usage.finishing.rules import (
    Absent,
    Caution,
    Condition,
    Field,
    FinishRule,
    OwnTtl,
    Test,
    TimeAt,
    TimeOf,
    ended,
    failed,
    succeeded,
)

_PHASE: Final = "status.phase"


def _strategy(at: str, *also: Test, success: str, error: str = "") -> tuple[OwnTtl, ...]:
    """What is said of an end of its sort comes before what holds for all."""
    sorts = (("secondsAfterFailure", "Failed"), (error, "Error"), ("secondsAfterSuccess", success))
    return (
        *(OwnTtl(at=f"{at}.{name}", when=(*also, Field(_PHASE, (phase,)))) for name, phase in sorts if name),
        OwnTtl(at=f"{at}.secondsAfterCompletion", when=also),
    )


WORKFLOW: Final = FinishRule(
    kind="argoproj.io/Workflow",
    # A retry sets the phase back to Running.
    signs=(
        succeeded(Field(_PHASE, ("Succeeded",))),
        failed(Field(_PHASE, ("Failed", "Error"))),
    ),
    times=(TimeAt(at="status.finishedAt"),),
    started=("status.startedAt",),
    own_ttl=(
        *_strategy("spec.ttlStrategy", success="Succeeded", error="secondsAfterError"),
        # What a WorkflowTemplate brings along.
        *_strategy(
            "status.storedWorkflowTemplateSpec.ttlStrategy",
            Absent("spec.ttlStrategy"),
            success="Succeeded",
            error="secondsAfterError",
        ),
    ),
    cautions=(
        Caution(
            label="workflows.argoproj.io/workflow-archiving-status",
            values=("Pending",),
            why="it waits for the archive (label workflows.argoproj.io/workflow-archiving-status=Pending)",
        ),
    ),
)

_ANALYSIS: Final = (
    succeeded(Field(_PHASE, ("Successful",))),
    failed(Field(_PHASE, ("Failed", "Error"))),
    ended(Field(_PHASE, ("Inconclusive",))),
)

ANALYSIS_RUN: Final = FinishRule(
    kind="argoproj.io/AnalysisRun",
    signs=_ANALYSIS,
    # Before Rollouts 1.7 only the measurements had times.
    times=(
        TimeAt(at="status.completedAt"),
        TimeAt(at="status.metricResults[].measurements[].finishedAt"),
    ),
    started=("status.startedAt",),
    own_ttl=_strategy("spec.ttlStrategy", success="Successful"),
)

EXPERIMENT: Final = FinishRule(
    kind="argoproj.io/Experiment",
    signs=_ANALYSIS,
    times=(TimeOf(type="Progressing", status="False"),),
)

_SIGNED: Final = Caution(
    finalizer="chains.tekton.dev",
    until="chains.tekton.dev/signed",
    values=("true", "failed"),
    why="Tekton Chains has not signed it yet (finalizer chains.tekton.dev, annotation chains.tekton.dev/signed)",
)
_STORED: Final = Caution(
    finalizer="results.tekton.dev",
    until="results.tekton.dev/stored",
    values=("true",),
    why="Tekton Results has not stored it yet (finalizer results.tekton.dev, annotation results.tekton.dev/stored)",
)
_PRUNED: Final = Caution(
    holds=False, why="a pruner of the Tekton operator, where one is set up, may be earlier"
)


def _tekton(kind: str) -> FinishRule:
    return FinishRule(
        kind=f"tekton.dev/{kind}",
        signs=(succeeded(Condition("Succeeded")), failed(Condition("Succeeded", "False"))),
        times=(TimeAt(at="status.completionTime"), TimeOf()),
        started=("status.startTime",),
        cautions=(_SIGNED, _STORED, _PRUNED),
    )


RULES: Final = (WORKFLOW, ANALYSIS_RUN, EXPERIMENT, *map(_tekton, ("PipelineRun", "TaskRun", "CustomRun")))

"""How the built-in kinds end: Pods, Jobs and certificate signing requests."""

from __future__ import annotations

from typing import Final

from skoupa.usage.finishing.rules import (
    Caution,
    Condition,
    Field,
    FinishRule,
    Latest,
    OwnTtl,
    Present,
    TimeAt,
    TimeOf,
    failed,
    succeeded,
)

_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_ENDS: Final = tuple(TimeAt(at=f"status.{name}[].state.terminated.finishedAt") for name in _LISTS)

POD: Final = FinishRule(
    kind="Pod",
    signs=(
        succeeded(Field("status.phase", ("Succeeded",))),
        failed(Field("status.phase", ("Failed",))),
    ),
    times=(
        # One container may end long before its Pod, so this counts only once all of them have.
        Latest(_ENDS, every=_ENDS[0].at),
        # Evicted, or its node was lost: some may still be said to run.
        Latest((*_ENDS, TimeOf(type="DisruptionTarget")), when=(Condition("DisruptionTarget"),)),
        # An init container failed, and no other ever began.
        Latest((_ENDS[1],), when=(Present(f"status.{_LISTS[1]}[].state.terminated.exitCode"),)),
        # The kubelet refused it as it came: nothing ran, and it ended when it started. The condition Ready is not asked: of
        # a Pod that was never ready it tells the start, days before an image that can't be pulled lets it fail.
        TimeAt(at="status.startTime", unless=tuple(f"status.{name}[]" for name in _LISTS)),
    ),
    started=("status.startTime",),
    cautions=(
        Caution(
            finalizer="batch.kubernetes.io/job-tracking",
            why="its Job has not counted it yet (finalizer batch.kubernetes.io/job-tracking)",
        ),
    ),
)

JOB: Final = FinishRule(
    kind="batch/Job",
    # SuccessCriteriaMet and FailureTarget come before the end, Suspended is none.
    signs=(succeeded(Condition("Complete")), failed(Condition("Failed"))),
    times=(TimeOf(), TimeAt(at="status.completionTime")),
    started=("status.startTime",),
    own_ttl=(OwnTtl(at="spec.ttlSecondsAfterFinished"),),
)

CERTIFICATE_SIGNING_REQUEST: Final = FinishRule(
    kind="certificates.k8s.io/CertificateSigningRequest",
    signs=(
        # Approved and without a certificate it still waits for its signer.
        succeeded(Condition("Approved"), Present("status.certificate")),
        failed(Condition("Denied")),
        failed(Condition("Failed")),
    ),
    times=(TimeOf(field="lastUpdateTime"), TimeOf()),
    cautions=(
        Caution(
            holds=False, why="kube-controller-manager deletes it about an hour after it was decided upon"
        ),
    ),
)

RULES: Final = (POD, JOB, CERTIFICATE_SIGNING_REQUEST)

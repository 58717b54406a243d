"""Jobs and their Pods as a real server and kube-controller-manager write them: when they have finished."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.resources import PODS, Resource
from skoupa.kube.timestamps import whole_seconds
from skoupa.usage.finishing import Doubt, Finish, Outcome, shipped
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
CONTAINER = {"name": "work", "image": "example.invalid/work"}
Reading = tuple[Any, Finish | Doubt | None]


async def readings(client: Client, resource: Resource, namespace: str) -> list[Reading]:
    kind = f"{resource.group}/{resource.kind}".lstrip("/")
    view = shipped().view(kind)
    assert view is not None
    listed = await everything(client, resource, view, scope=Scope(namespace=namespace))
    return [(found, shipped().finish(kind, found)) for found in listed.items]


async def only(client: Client, resource: Resource, namespace: str) -> Reading | None:
    return next(iter(await readings(client, resource, namespace)), None)


async def make_job(client: Client, namespace: str, **spec: Any) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    body = {"metadata": {"name": "report"}, "spec": {"backoffLimit": 0, "template": template, **spec}}
    await client.create(JOBS, body, namespace=namespace)


async def end_pod(client: Client, namespace: str, *, phase: str, code: int) -> str:
    """As a kubelet would; the name of the Pod."""
    found = await eventually(lambda: only(client, PODS, namespace), what="no Pod")
    assert found is not None
    pod, unfinished = found
    assert unfinished is None
    ended = whole_seconds(pod.metadata.creation_timestamp.timestamp() + 1)
    state = {"terminated": {"exitCode": code, "reason": "Ended", "finishedAt": ended}}
    status = {
        "phase": phase,
        "startTime": whole_seconds(pod.metadata.creation_timestamp.timestamp()),
        "containerStatuses": [
            {**CONTAINER, "imageID": "", "ready": False, "restartCount": 0, "state": state},
        ],
    }
    name: str = pod.metadata.name
    await client.merge_patch(PODS, name, {"status": status}, namespace=namespace, subresource="status")
    return name


@pytest.mark.parametrize(
    ("phase", "code", "outcome"),
    [("Succeeded", 0, Outcome.SUCCEEDED), ("Failed", 1, Outcome.FAILED)],
)
async def test_a_job_and_its_pod_have_finished_when_the_server_says_so(
    admin: Client, namespace: str, phase: str, code: int, outcome: Outcome
) -> None:
    await make_job(admin, namespace, ttlSecondsAfterFinished=3600)
    begun = await eventually(lambda: only(admin, JOBS, namespace), what="no Job")
    assert begun is not None
    assert begun[1] is None
    pod = await end_pod(admin, namespace, phase=phase, code=code)

    async def job_ended() -> Finish | None:
        _, found = (await readings(admin, JOBS, namespace))[0]
        return found if isinstance(found, Finish) else None

    job = await eventually(job_ended, what="the Job does not finish")
    assert job is not None
    assert job.outcome is outcome
    assert job.at is not None
    assert job.own_ttl == 3600

    async def pod_counted() -> Finish | None:
        (_, found), *_ = [
            one for one in await readings(admin, PODS, namespace) if one[0].metadata.name == pod
        ]
        return found if isinstance(found, Finish) and not found.held_by else None

    # Before that its Job held it by a finalizer.
    counted = await eventually(pod_counted, what="the Pod is never counted")
    assert counted is not None
    assert counted.outcome is outcome
    assert counted.at is not None
    assert counted.at <= job.at
    assert counted.at_from == "status.containerStatuses[].state.terminated.finishedAt"


async def test_a_suspended_job_has_not_finished(admin: Client, namespace: str) -> None:
    await make_job(admin, namespace, suspend=True)

    async def suspended() -> bool:
        (job,) = [job for job, _ in await readings(admin, JOBS, namespace)]
        return any(one.type_ == "Suspended" and one.status_ == "True" for one in conditions(job))

    await eventually(suspended, what="the Job is not suspended")
    assert [found for _, found in await readings(admin, JOBS, namespace)] == [None]


def conditions(job: Any) -> list[Any]:
    return list(job.status_.conditions_ or []) if job.status_ else []

"""What stories about `skoupa.dev/ttl-after` are made of: Jobs that finish, workloads that name ConfigMaps, and the mark."""

from __future__ import annotations

from typing import Any

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.timestamps import whole_seconds
from tests.unit.controller.stage import DEPLOYMENTS, REPLICA_SETS, SECRETS, SHOP, Play, Stage, owned_by

JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
CRON_JOBS = Resource(group="batch", version="v1", plural="cronjobs", kind="CronJob", namespaced=True)
KINDS = (JOBS, CRON_JOBS, DEPLOYMENTS, REPLICA_SETS, SECRETS)
ON: dict[str, Any] = {"retention": True}


def after(value: str) -> dict[str, str]:
    return {names.TTL_AFTER_LABEL: value}


def template(config: str) -> dict[str, Any]:
    """A Pod template that mounts a ConfigMap."""
    volume = {"name": "config", "configMap": {"name": config}}
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}], "volumes": [volume]},
    }


async def workload(
    stage: Stage,
    name: str,
    config: str,
    *,
    resource: Resource = DEPLOYMENTS,
    replicas: int = 1,
    owner: dict[str, Any] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [owned_by(owner)]
    body = {
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(config),
        },
    }
    made = await stage.people.create(resource, body, namespace=SHOP)
    await stage.settle()
    return made


async def roll_out(stage: Stage, name: str, config: str, *, resource: Resource = DEPLOYMENTS) -> None:
    patch = {"spec": {"template": template(config)}}
    await stage.people.merge_patch(resource, name, patch, namespace=SHOP)
    await stage.settle()


async def remove(stage: Stage, name: str, *, resource: Resource) -> None:
    found = next(
        one for one in stage.cluster.objects(resource, namespace=SHOP) if one["metadata"]["name"] == name
    )
    await stage.people.delete(
        resource, name, namespace=SHOP, uid=found["metadata"]["uid"], propagation="Background"
    )
    await stage.settle()


async def job(stage: Stage, name: str, value: str, *, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": after(value)}
    if owner is not None:
        metadata["ownerReferences"] = [owned_by(owner)]
    body = {"metadata": metadata, "spec": {"template": template("elsewhere")}}
    made = await stage.people.create(JOBS, body, namespace=SHOP)
    await stage.settle()
    return made


async def end(stage: Stage, name: str, *, how: str = "Complete") -> None:
    """The Job ends now."""
    now = whole_seconds(stage.clock.now())
    condition = {"type": how, "status": "True", "lastTransitionTime": now}
    await _status(stage, name, {"conditions": [condition], "startTime": now, "completionTime": now})


async def resume(stage: Stage, name: str) -> None:
    await _status(stage, name, {"conditions": None, "completionTime": None})


async def _status(stage: Stage, name: str, status: dict[str, Any]) -> None:
    await stage.people.merge_patch(JOBS, name, {"status": status}, namespace=SHOP, subresource="status")
    await stage.settle()


def mark_of(stage: Stage, name: str, *, resource: Resource = CONFIG_MAPS) -> str | None:
    found = next(
        one for one in stage.cluster.objects(resource, namespace=SHOP) if one["metadata"]["name"] == name
    )
    marked: str | None = (found["metadata"].get("annotations") or {}).get(names.UNNEEDED_SINCE_ANNOTATION)
    return marked


def patches(play: Play, name: str) -> list[float]:
    """When something was written onto it."""
    return [at for at, request in play.sent("PATCH") if request.path.endswith(f"/{name}")]


def said(play: Play, name: str) -> str:
    """Everything that is said of it now."""
    knowledge = play.engine.knowledge
    row = next(row for row in knowledge.store if row.name == name)
    verdict = knowledge.verdict(row, play.client.clock.now())
    return "; ".join(str(one) for one in (*(hold.reason for hold in verdict.holds), *verdict.notes))


async def relabel(stage: Stage, name: str, value: str | None, *, resource: Resource = CONFIG_MAPS) -> None:
    """Another time on it; None takes the label off."""
    patch = {"metadata": {"labels": {names.TTL_AFTER_LABEL: value}}}
    await stage.people.merge_patch(resource, name, patch, namespace=SHOP)
    await stage.settle()

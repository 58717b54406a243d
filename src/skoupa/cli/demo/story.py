"""The messy little cluster and the people in it: teams, a CI system, preview environments, forgotten things.

`opening` is what is there at the start; `live` is what goes on: CI runs leave objects behind, previews are opened,
labels are changed, cancelled and extended. The same seed tells the same story.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from skoupa import names
from skoupa.cli.demo.customer import customers
from skoupa.cli.demo.farewell import kind
from skoupa.cli.demo.rollouts import retention
from skoupa.cli.demo.rules import HOUR, rules
from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from skoupa.kube.timestamps import whole_seconds

JOBS: Final = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
TEAMS: Final = ("shop", "blog", "search")
_PAUSE_SECONDS: Final = (4 * 60.0, 16 * 60.0)


def opening(now: float) -> list[dict[str, Any]]:
    """What is there when the curtain rises, with ages."""
    objects = [
        _object("v1", "Namespace", name, age=90 * 24 * HOUR, now=now) for name in (*TEAMS, "ci", "skoupa")
    ]
    objects += [
        _object("v1", "Namespace", "preview-17", age=2 * HOUR, now=now, ttl="6h"),
        _object("v1", "ConfigMap", "feature-flags", namespace="preview-17", age=2 * HOUR, now=now),
        _object("v1", "Namespace", "preview-12", age=20 * HOUR, now=now, ttl="1d"),
        _object(
            "v1", "ConfigMap", "test-data", namespace="preview-12", age=19 * HOUR, now=now, keep="2026-01-02T060000Z"
        ),
        _object("v1", "ConfigMap", "half-a-day", namespace="shop", age=1 * HOUR, now=now, ttl="12hours"),
        _object("v1", "ConfigMap", "rollback-notes", namespace="shop", age=3 * HOUR, now=now, ttl="5h", keep="true"),
        _object(
            "v1", "ConfigMap", "export-job", namespace="search", age=1 * HOUR, now=now, ttl="4h",
            finalizers=["backup.example/upload"],
        ),
    ]  # fmt: skip
    for team in TEAMS:
        objects += workload(team, "web", now=now, age=30 * 24 * HOUR)
        objects.append(_object("v1", "ConfigMap", "settings", namespace=team, age=40 * 24 * HOUR, now=now))
    return [*objects, *kind(), *rules(), *retention(now), *customers(now)]


def workload(namespace: str, name: str, *, now: float, age: float) -> list[dict[str, Any]]:
    """A Deployment with its ReplicaSet and two Pods, owned as on a real cluster."""
    deployment = _object("apps/v1", "Deployment", name, namespace=namespace, age=age, now=now)
    replica_set = _object(
        "apps/v1", "ReplicaSet", f"{name}-5d4f8c", namespace=namespace, age=age, now=now, owner=deployment
    )
    pods = [
        _object(
            "v1", "Pod", f"{name}-5d4f8c-{tail}", namespace=namespace, age=age, now=now, owner=replica_set
        )
        for tail in ("k2xqz", "w8n4b")
    ]
    return [deployment, replica_set, *pods]


def _object(
    api_version: str,
    kind: str,
    name: str,
    *,
    age: float,
    now: float,
    namespace: str = "",
    ttl: str = "",
    keep: str = "",
    finalizers: list[str] | None = None,
    owner: dict[str, Any] | None = None,
) -> dict[str, Any]:
    labels = {key: value for key, value in ((names.TTL_LABEL, ttl), (names.KEEP_LABEL, keep)) if value}
    number = random.Random(f"{kind}/{namespace}/{name}").getrandbits(128)  # noqa: S311 - a story, not a secret
    text = f"{number:032x}"
    metadata: dict[str, Any] = {
        "name": name,
        "uid": f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}",
        "creationTimestamp": whole_seconds(now - age),
        "labels": labels,
    }
    if namespace:
        metadata["namespace"] = namespace
    if finalizers:
        metadata["finalizers"] = finalizers
    if owner:
        metadata["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


class Life:
    """People at work. `tell` hears what they do."""

    def __init__(self, client: Client, *, seed: int, tell: Callable[[str], None]) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._random = random.Random(seed)  # noqa: S311 - a story, not a secret
        self._tell = tell
        self._count = 0

    async def live(self) -> None:
        deeds = (
            self._ci_run,
            self._ci_run,
            self._ci_run,
            self._preview,
            self._cancel,
            self._extend,
            self._keep,
        )
        while True:
            await self._clock.sleep(self._random.uniform(*_PAUSE_SECONDS))
            deed = self._random.choice(deeds)
            try:
                await deed()
            except SkoupaError:
                continue  # what they wanted to touch was gone a moment before

    async def _ci_run(self) -> None:
        self._count += 1
        number = 100 + self._count
        ttl = self._random.choice(("30m", "1h", "2h", "3h"))
        labels = {names.TTL_LABEL: ttl}
        job = await self._client.create(
            JOBS, {"metadata": {"name": f"build-{number}", "labels": labels}}, namespace="ci"
        )
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job["metadata"]["name"],
            "uid": job["metadata"]["uid"],
            "controller": True,
        }
        pod = {"metadata": {"generateName": f"build-{number}-", "ownerReferences": [owner]}}
        await self._client.create(PODS, pod, namespace="ci")
        artifact = {"metadata": {"name": f"build-{number}-artifacts", "labels": labels}}
        await self._client.create(CONFIG_MAPS, artifact, namespace="ci")
        self._tell(f"CI ran build-{number}: a Job, its Pod and a ConfigMap, to go after {ttl}")

    async def _preview(self) -> None:
        self._count += 1
        name = f"preview-{20 + self._count}"
        ttl = self._random.choice(("2h", "4h", "8h"))
        await self._client.create(NAMESPACES, {"metadata": {"name": name, "labels": {names.TTL_LABEL: ttl}}})
        for part in ("database", "frontend", "feature-flags"):
            await self._client.create(CONFIG_MAPS, {"metadata": {"name": part}}, namespace=name)
        self._tell(f"somebody opened {name} for {ttl}")

    async def _some_labelled(self, *, besides: str = "") -> tuple[str, dict[str, str]] | None:
        """Any but those that have this ttl already."""
        found = await everything(
            self._client, CONFIG_MAPS, METADATA, scope=Scope(namespace="ci", labels=names.TTL_LABEL)
        )
        free = [
            item
            for item in found.items
            if names.KEEP_LABEL not in (labels := item.metadata.labels or {})
            and labels.get(names.TTL_LABEL) != besides
        ]
        if not free:
            return None
        chosen = self._random.choice(free).metadata
        return chosen.name, chosen.labels or {}

    async def _label(self, name: str, labels: dict[str, str | None]) -> None:
        await self._client.merge_patch(CONFIG_MAPS, name, {"metadata": {"labels": labels}}, namespace="ci")

    async def _cancel(self) -> None:
        chosen = await self._some_labelled()
        if chosen:
            await self._label(chosen[0], {names.TTL_LABEL: None})
            self._tell(f"somebody took the label off {chosen[0]}: no ttl any more")

    async def _extend(self) -> None:
        longest = "8h"
        chosen = await self._some_labelled(besides=longest)
        if chosen:
            await self._label(chosen[0], {names.TTL_LABEL: longest})
            self._tell(f"somebody extended {chosen[0]} from {chosen[1][names.TTL_LABEL]} to {longest}")

    async def _keep(self) -> None:
        chosen = await self._some_labelled()
        if chosen:
            await self._label(chosen[0], {names.KEEP_LABEL: "true"})
            self._tell(f"somebody keeps {chosen[0]}")

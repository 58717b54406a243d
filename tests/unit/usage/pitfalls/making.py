"""Small clusters with one question each: is this object needed? For `skoupa unused` and for a running controller alike.

A Case has the object that is asked about, whatever decides about it, and another object of its kind that nothing needs: an answer that
spares everything would else pass for a right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec

from tests.unit.cli.worlds import obj

SHOP, ELSEWHERE = "shop", "elsewhere"
WANTED, LEFT = "wanted", "left"
OLD = "2026-04-01T12:00:00Z"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`of` is the object that is asked about, `by` what decides; `left` is of the same kind and needed by nobody.

    `kept`: it has to stay. `unreadable` are kinds, as kubectl names them, that who asks may not list. `reported`: only a report
    answers like this, where a controller waits (for an end, for the time to pass).
    """

    pitfall: int
    rule: str
    of: Mapping[str, Any]
    by: tuple[Mapping[str, Any], ...] = ()
    kept: bool = True
    left: Mapping[str, Any] | None = None
    unreadable: tuple[str, ...] = ()
    reported: bool = False

    def __str__(self) -> str:
        return f"pitfall {self.pitfall}: {self.rule}"

    @property
    def other(self) -> Mapping[str, Any]:
        """Like it, under another name and without any marks."""
        if self.left is not None:
            return self.left
        plain = deepcopy(dict(self.of))
        plain["metadata"] = {"name": LEFT, "creationTimestamp": OLD}
        if "namespace" in self.of["metadata"]:
            plain["metadata"]["namespace"] = self.of["metadata"]["namespace"]
        plain.pop("type", None)
        return plain

    @property
    def objects(self) -> tuple[Mapping[str, Any], ...]:
        places = [obj("Namespace", name, created=OLD) for name in (SHOP, ELSEWHERE)]
        return (*places, self.of, self.other, *self.by)


def old(kind: str, name: str, *, api: str = "v1", namespace: str = SHOP, **rest: Any) -> dict[str, Any]:
    return obj(kind, name, api=api, namespace=namespace, **{"created": OLD, **rest})


def config(name: str = WANTED, **rest: Any) -> dict[str, Any]:
    return old("ConfigMap", name, **rest)


def secret(name: str = WANTED, **rest: Any) -> dict[str, Any]:
    return old("Secret", name, **rest)


def claim(name: str) -> dict[str, Any]:
    return old("PersistentVolumeClaim", name, spec={"resources": {"requests": {"storage": "1Gi"}}})


def spec(**pod: Any) -> dict[str, Any]:
    """A PodSpec; `container` are fields of its one container."""
    container = {"name": "main", "image": "main", **pod.pop("container", {})}
    return {"containers": [container], **pod}


def template(**pod: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec(**pod)}


def mounting(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


MOUNTED = mounting(configMap={"name": WANTED})


def workload(
    kind: str, name: str = "web", *, pod: Mapping[str, Any] = MOUNTED, **rest: Any
) -> dict[str, Any]:
    metadata = {key: rest.pop(key) for key in ("uid", "owners") if key in rest}
    api = "batch/v1" if kind == "Job" else "apps/v1"
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "web"}}}
    return old(kind, name, api=api, **metadata, spec={**selector, "template": template(**pod), **rest})


def cron_job(**rest: Any) -> dict[str, Any]:
    job = {"spec": {"template": template(**MOUNTED)}}
    return old(
        "CronJob", "nightly", api="batch/v1", spec={"schedule": "0 1 * * *", "jobTemplate": job, **rest}
    )


def pod(name: str = "pod", *, phase: str = "Running", **rest: Any) -> dict[str, Any]:
    metadata = {key: rest.pop(key) for key in ("owners", "labels", "annotations") if key in rest}
    return old("Pod", name, **metadata, spec=spec(**rest), status={"phase": phase})


def custom(api: str, kind: str, name: str = "custom", **spec_: Any) -> dict[str, Any]:
    return old(kind, name, api=api, spec=spec_)


def owned_by(api: str, kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": True}]

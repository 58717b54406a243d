"""What a deployer in the cluster tracks is in use: records of Helm, Applications of Argo CD, and what becomes of them."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.unit.controller.retaining.scene import KINDS, ON, after, remove, said
from tests.unit.controller.stage import ALL_VERBS, MINUTE, SECRETS, SHOP, Stage, definition, story

pytestmark = pytest.mark.unit

APPLICATIONS = Resource(
    group="argoproj.io",
    version="v1alpha1",
    plural="applications",
    kind="Application",
    namespaced=True,
    verbs=ALL_VERBS,
)
BY_HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": SHOP}


async def record(stage: Stage, revision: int, *names: str) -> None:
    """A release of Helm that deployed these ConfigMaps."""
    documents = [f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n" for name in names]
    release = {"name": "web", "namespace": SHOP, "manifest": "---\n".join(["", *documents])}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    labels = {"owner": "helm", "name": "web", "status": "deployed", "version": str(revision)}
    body = {
        "metadata": {"name": f"sh.helm.release.v1.web.v{revision}", "labels": labels},
        "type": "helm.sh/release.v1",
        "data": {"release": packed},
    }
    await stage.people.create(SECRETS, body, namespace=SHOP)
    await stage.settle()


@story(also=KINDS, features=ON)
async def test_what_the_newest_release_of_helm_deployed_stays_and_what_it_left_behind_goes(
    stage: Stage,
) -> None:
    play = await stage.play()
    await record(stage, 1, "config")
    await stage.make("config", labels=after("unused-5m"), annotations=BY_HELM)
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "Release shop/sh.helm.release.v1.web.v1 uses it (the manifest of the release)" in said(
        play, "config"
    )
    await record(stage, 2, "other")
    await stage.label("sh.helm.release.v1.web.v1", resource=SECRETS, status="superseded")
    await stage.later(4 * MINUTE)
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_when_the_release_itself_is_gone_nobody_knows_and_it_stays(stage: Stage) -> None:
    play = await stage.play()
    await record(stage, 1, "config")
    await stage.make("config", labels=after("unused-5m"), annotations=BY_HELM)
    await stage.later(MINUTE)
    await remove(stage, "sh.helm.release.v1.web.v1", resource=SECRETS)
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "the Helm release shop/web tracks it" in said(play, "config")


def application(*, pruned: bool) -> dict[str, Any]:
    resource = {
        "kind": "ConfigMap",
        "namespace": SHOP,
        "name": "config",
        **({"requiresPruning": True} if pruned else {}),
    }
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": "web"},
        "spec": {"destination": {"server": "https://kubernetes.default.svc", "namespace": SHOP}},
        "status": {"resources": [resource], "sync": {"status": "Synced"}},
    }


@story(also=KINDS, features=ON)
async def test_what_an_application_lists_stays_until_it_is_to_be_pruned(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(APPLICATIONS))
    await stage.later(1)
    play = await stage.play()
    made = await stage.people.create(APPLICATIONS, application(pruned=False), namespace=SHOP)
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "Application shop/web uses it (status.resources[])" in said(play, "config")
    changed = {**application(pruned=True), "metadata": made["metadata"]}
    await stage.people.replace(APPLICATIONS, changed, namespace=SHOP)
    await stage.later(6 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_a_kind_that_comes_later_is_read_before_anything_goes(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(2 * MINUTE)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(APPLICATIONS))
    await stage.later(1)
    await stage.people.create(APPLICATIONS, application(pruned=False), namespace=SHOP)
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "Application shop/web uses it" in said(play, "config")


@story(also=KINDS, features=ON, namespaces=["shop"])
async def test_where_only_some_namespaces_are_read_what_could_point_out_of_others_holds(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "only those in the namespaces of the settings are read" in said(play, "config")


@story(
    also=KINDS,
    features=ON,
    namespaces=["shop"],
    usage={
        "ignoreKinds": [
            "deployments.apps",
            "replicasets.apps",
            "jobs.batch",
            "cronjobs.batch",
            "configmaps",
            "*.helm.sh",
        ]
    },
)
async def test_and_does_not_where_the_settings_waive_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(7 * MINUTE)
    assert not stage.there("config"), said(play, "config")

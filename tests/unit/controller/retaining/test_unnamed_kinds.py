"""What a policy takes that names no kinds: what is made to be used, and nothing that works by itself, though others may point at it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from skoupa.kinds.definition import document
from skoupa.kinds.retention.profile import KIND_PROFILE, KIND_PROFILES
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.content import manifests
from tests.unit.controller.retaining.scene import KINDS, ON, said, workload
from tests.unit.controller.retaining.test_policies import ALSO, defined, kinds, policy
from tests.unit.controller.stage import DAY, DEPLOYMENTS, MINUTE, Stage, story
from tests.unit.usage.pitfalls.making import custom

pytestmark = pytest.mark.unit

Manifest = dict[str, Any]

WORKING = [
    custom("helm.toolkit.fluxcd.io/v2", "HelmRelease", chart={"spec": {"chart": "web"}}),
    custom("kustomize.toolkit.fluxcd.io/v1", "Kustomization", path="./web"),
    custom("gateway.networking.k8s.io/v1", "Gateway", gatewayClassName="lb"),
    custom("networking.istio.io/v1", "VirtualService", hosts=["web"]),
    custom("velero.io/v1", "Schedule", schedule="0 1 * * *"),
    custom("ray.io/v1", "RayCluster", rayVersion="2"),
    custom("tekton.dev/v1", "Pipeline", tasks=[]),
    # A backup, that goes only where its kind is named.
    custom("snapshot.storage.k8s.io/v1", "VolumeSnapshot", source={"persistentVolumeClaimName": "data"}),
]
IDLE = custom("cert-manager.io/v1", "Issuer", selfSigned={})


def brought(stage: Stage, *objects: Manifest) -> None:
    for one in objects:
        one["metadata"]["creationTimestamp"] = stage.time(-DAY)
    stage.cluster.load(manifests.parse(yaml.safe_dump_all(objects), file="the test"))


def there(stage: Stage, one: Manifest) -> bool:
    served = stage.cluster.plane.catalogue.of_kind(api_version=one["apiVersion"], kind=one["kind"])
    assert served is not None
    return bool(stage.cluster.objects(served.resource))


@pytest.mark.parametrize("cluster", [True, False])
@story(also=ALSO, features=ON)
async def test_what_works_stays_and_what_is_left_over_goes(stage: Stage, cluster: bool) -> None:  # noqa: FBT001
    brought(stage, *WORKING, IDLE)
    await defined(stage)
    await stage.play()
    await stage.make("config")
    await policy(stage, "all", cluster=cluster, after={"unused": "10m"}, keepNewest={"count": 0})
    await stage.later(30 * MINUTE)
    assert [one["kind"] for one in WORKING if not there(stage, one)] == []
    assert "config" not in stage.found()
    assert not there(stage, IDLE)


@story(also=ALSO, features=ON)
async def test_also_where_their_kind_is_named_and_it_says_so(stage: Stage) -> None:
    release = WORKING[0]
    brought(stage, release)
    await defined(stage)
    play = await stage.play()
    await policy(stage, "releases", match=kinds("HelmRelease"), after={"created": "10m"})
    await stage.later(30 * MINUTE)
    assert there(stage, release)
    assert "there for themselves" in said(play, "custom")


@story(also=(*KINDS, DEPLOYMENTS), features=ON)
async def test_a_profile_that_says_what_a_kind_uses_makes_no_garbage_of_what_works(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(KIND_PROFILE))
    brought(stage, custom("example.com/v1", "Training"))
    await defined(stage)
    profile: dict[str, Any] = {
        "apiVersion": KIND_PROFILES.api_version,
        "kind": KIND_PROFILES.kind,
        "metadata": {"name": "training"},
        "spec": {
            "kind": "example.com/Training",
            "uses": [{"path": "spec.server", "kind": "apps/Deployment"}],
        },
    }
    await stage.people.create(KIND_PROFILES, profile)
    await stage.play()
    await workload(stage, "web", "config")
    await policy(stage, "all", cluster=True, after={"unused": "10m"})
    await policy(stage, "deployments", cluster=True, match=kinds("Deployment"), after={"unused": "10m"})
    await stage.later(30 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)

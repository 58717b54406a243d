"""What others use of what a tenant had stays and is told; what nobody can tell of waits."""

from __future__ import annotations

import pytest

from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.unit.controller.stage import ALL_VERBS, MINUTE, PRIORITIES, Stage, story
from tests.unit.controller.tenancy.town import (
    BINDINGS,
    KINDS,
    ON,
    RBAC,
    VOLUMES,
    city,
    gone,
    leave,
    lives,
    make,
    ready,
    status,
    things_of,
)

pytestmark = pytest.mark.unit

CRON_JOBS = Resource(
    group="batch", version="v1", plural="cronjobs", kind="CronJob", namespaced=True, verbs=ALL_VERBS
)


async def bind(stage: Stage, name: str, role: str) -> None:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    await stage.people.create(BINDINGS, {"metadata": {"name": name}, "roleRef": reference})


@story(also=KINDS, features=ON)
async def test_what_somebody_else_uses_stays_and_does_not_keep_the_tenant(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    volume = {"metadata": {"name": "elses"}, "spec": {"storageClassName": "111111-fast"}}
    await stage.people.create(VOLUMES, volume)
    await bind(stage, "222222-lent", "111111-admin")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == {"StorageClass/111111-fast", "ClusterRole/111111-admin"}
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON, tenants={"grace": "1h"})
async def test_who_goes_along_is_nobody_else(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    await bind(stage, "222222-lent", "111111-admin")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await leave(stage, "222222")
    await stage.later(70 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert things_of(stage, "222222") == set()


@story(also=KINDS, features=ON)
async def test_why_it_stays_is_in_the_status(stage: Stage) -> None:
    await city(stage, "111111")
    await bind(stage, "elses", "111111-admin")
    stuck = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(BINDINGS, "111111-admin", stuck)
    await gone(stage, "111111")
    said = status(stage, "111111")
    assert said["kept"] == [
        "ClusterRole 111111-admin: ClusterRoleBinding elses uses it, which is not of the Tenant"
    ]
    assert said["remaining"] == [{"kind": f"clusterrolebindings.{RBAC}", "count": 1}]


@story(also=KINDS, features=ON)
async def test_what_nobody_can_tell_of_waits_and_goes_once_it_is_known(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        500,
        when=lambda asked: asked.verb == "list" and asked.path.endswith("/clusterrolebindings"),
        times=None,
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"ClusterRole/111111-admin", "ClusterRoleBinding/111111-admin"}
    assert lives(stage, "111111")
    assert "clusterrolebindings" in ready(stage, "111111")["message"]
    assert "whether somebody else uses it is not known" in status(stage, "111111")["blockers"][0]
    stage.cluster.faults.clear()
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_somebody_begins_to_use_while_it_is_held_stays_too(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
    await stage.settle()
    await make(stage, BRAKES, "stop", spec={"scope": {"policy": "Tenant/111111"}})
    await gone(stage, "111111")
    assert "StorageClass/111111-fast" in things_of(stage, "111111")
    volume = {"metadata": {"name": "elses"}, "spec": {"storageClassName": "111111-fast"}}
    await stage.people.create(VOLUMES, volume)
    await stage.later(5 * MINUTE)
    await stage.remove("stop", resource=BRAKES)
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"StorageClass/111111-fast"}
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_nobody_uses_any_more_goes_while_the_tenant_is_there(stage: Stage) -> None:
    await city(stage, "111111")
    await bind(stage, "elses", "111111-admin")
    stuck = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(PRIORITIES, "111111-high", stuck)
    await gone(stage, "111111")
    assert things_of(stage, "111111") == {"PriorityClass/111111-high", "ClusterRole/111111-admin"}
    await stage.remove("elses", resource=BINDINGS)
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"PriorityClass/111111-high"}
    assert "kept" not in status(stage, "111111")


@story(also=KINDS, features=ON, tenants={"keepUsed": False})
async def test_where_the_setting_says_so_use_keeps_nothing(stage: Stage) -> None:
    await city(stage, "111111")
    await bind(stage, "elses", "111111-admin")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == set()


@story(also=(*KINDS, CRON_JOBS), features=ON)
async def test_who_makes_pods_uses_what_their_template_names_while_there_are_none(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    pod = {"template": {"spec": {"priorityClassName": "111111-high", "containers": []}}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": pod}}
    body = {"metadata": {"name": "nightly"}, "spec": spec}
    await stage.people.create(CRON_JOBS, body, namespace="222222-default")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == {"PriorityClass/111111-high"}
    assert not lives(stage, "111111")

"""What was seen kept goes on holding on a real server: through a new version, a lost right, a kind not served any more."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import SECRETS, People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_rights import EVENTS, OWN
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import definition, owned_by

pytestmark = pytest.mark.cluster

KEPT = {names.KEEP_LABEL: "true"}


def widgets(people: People, version: str) -> Resource:
    group = f"{people.namespace}.example"
    return Resource(group=group, version=version, plural="widgets", kind="Widget", namespaced=True)


async def defined(people: People) -> None:
    """Stored as v1beta1, which alone is served; with a kept object whose owner is a ConfigMap that is overdue."""
    beta = widgets(people, "v1beta1")
    body = definition(beta)
    (version,) = body["spec"]["versions"]
    body["spec"]["versions"] = [version, {**version, "name": "v1", "served": False, "storage": False}]
    await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    owner = await people.make("owner")

    async def served() -> bool:
        try:
            await people.make("deed", resource=beta, labels=KEPT, ownerReferences=[owned_by(owner)])
        except SkoupaError:
            return False
        return True

    await eventually(served, what="the new kind to be served")
    # A kind that nobody has heard of yet holds nothing: it is watched once something of it went.
    await people.make("first", "1s", resource=beta)
    await people.gone("first", resource=beta)


async def serve(people: People, **served: bool) -> None:
    name = widgets(people, "v1").qualified
    found: dict[str, Any] = await people.client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
    versions = [
        {**version, "served": served.get(version["name"], False)} for version in found["spec"]["versions"]
    ]
    await people.client.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, name, {"spec": {"versions": versions}})


async def held(process: Skoupa, people: People) -> None:
    """Its owner stays for it."""
    await people.label("owner", ttl="1s")
    said = await process.says("held", namespace=people.namespace, name="owner")
    assert f"{people.namespace}/deed, which is kept" in said["why"]


async def stays(people: People, *, bystander: Resource = CONFIG_MAPS) -> None:
    """What is due later than the owner, and nobody holds, has gone: the owner had its chance."""
    name = f"bystander-{secrets.token_hex(4)}"

    async def made() -> bool:
        try:
            await people.make(name, "3s", resource=bystander)
        except SkoupaError:
            return False
        return True

    await eventually(made, what="the kind to be served")
    await people.gone(name, resource=bystander)
    assert await people.there("owner")


async def test_another_version_of_a_kind_does_not_end_what_a_kept_object_holds(
    sweeping: Skoupa, people: People
) -> None:
    await defined(people)
    await held(sweeping, people)
    await serve(people, v1beta1=True, v1=True)
    await stays(people, bystander=widgets(people, "v1"))
    await serve(people, v1=True)
    await stays(people, bystander=widgets(people, "v1"))
    assert await people.there("deed", resource=widgets(people, "v1"))
    await people.label("deed", resource=widgets(people, "v1"), keep=None)
    await people.gone("owner")


async def test_a_definition_that_serves_no_version_stays_with_the_kept_objects_in_it(
    sweeping: Skoupa, people: People
) -> None:
    beta = widgets(people, "v1beta1")
    await defined(people)
    await held(sweeping, people)
    await serve(people)
    await people.label(beta.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1s")
    await sweeping.says("held", name=beta.qualified)
    await stays(people)
    assert await people.there(beta.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await serve(people, v1beta1=True)

    async def there_again() -> bool:
        try:
            return await people.there("deed", resource=beta)
        except SkoupaError:
            return False

    await eventually(there_again, what="the kind to be served again")
    await people.label("deed", resource=beta, keep=None)
    await people.gone("owner", seconds=60)
    await people.gone(beta.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, seconds=60)


async def test_a_right_to_read_that_is_lost_does_not_end_what_a_kept_object_holds(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    user = f"sweeper-{secrets.token_hex(4)}"
    boss = people.client
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [("list watch delete", "", "configmaps namespaces"), EVENTS])
    right = await grant(boss, user, [("list watch", "", "secrets")])
    process = await yard.started(program=IMPATIENT, kubeconfig=plane.kubeconfig_for(user=user))
    owner = await people.make("owner", resource=CONFIG_MAPS)
    await people.make("deed", resource=SECRETS, labels=KEPT, ownerReferences=[owned_by(owner)])
    await held(process, people)
    await right.revoke()
    await process.says("can't be read any more", seconds=90)
    await stays(people)
    assert await people.there("deed", resource=SECRETS)
    await grant(boss, user, [("list watch", "", "secrets")])
    await people.label("deed", resource=SECRETS, keep=None)
    await people.gone("owner", seconds=75)


@pytest.mark.parametrize("kind", ["namespaces", "secrets"])
async def test_a_right_to_read_that_was_lost_holds_in_the_next_process_too(
    plane: ControlPlane, people: People, yard: Yard, kind: str
) -> None:
    user = f"sweeper-{secrets.token_hex(4)}"
    boss, seeing = people.client, [("list watch", "", kind)]
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [("list watch delete", "", "configmaps"), EVENTS])
    right = await grant(boss, user, seeing)
    config = plane.kubeconfig_for(user=user)
    owner = await people.make("owner")
    if kind == "secrets":
        await people.make("deed", resource=SECRETS, labels=KEPT, ownerReferences=[owned_by(owner)])
    else:
        await people.label(people.namespace, resource=NAMESPACES, keep="true")
    process = await yard.started(program=IMPATIENT, kubeconfig=config)
    await people.label("owner", ttl="1s")
    await process.says("held", namespace=people.namespace, name="owner")
    await right.revoke()
    await process.says("can't be read any more", seconds=90)
    process.end()

    process = await yard.started(program=IMPATIENT, kubeconfig=config)
    said = await process.says("can't be read any more")
    assert said["kinds"] == kind
    assert await process.metric('skoupa_blind_kinds{state="lost"}') == 1
    code = "keeps-behind" if kind == "secrets" else "feed-behind"

    async def stands() -> bool:
        return await process.metric(f'skoupa_holds{{reason="{code}"}}') >= 1

    await eventually(stands, what="it to be held")
    assert await people.there("owner")
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    if kind == "secrets":
        await people.label("deed", resource=SECRETS, keep=None)
    await grant(boss, user, seeing)
    await people.gone("owner", seconds=75)

"""What we may do, asked of the real authorizer: seldom, and right."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access as ControlPlaneAccess
from harness.faultproxy import Answer, FaultProxy, Rule
from skoupa.errors import Forbidden
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.login.connection import TokenAuth
from skoupa.kube.login.secret import Secret
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, LEASES, PODS, Resource
from tests.cluster.reaching import connected, connection_to, eventually, new_namespace, token_of

pytestmark = pytest.mark.cluster

RBAC = "rbac.authorization.k8s.io"
RULES_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def rbac(kind: str) -> Resource:
    return Resource(
        group=RBAC,
        version="v1",
        plural=f"{kind.lower()}s",
        kind=kind,
        namespaced=not kind.startswith("Cluster"),
    )


class Granted:
    """A user, and the roles that bind it; `everywhere` takes them away again at the end."""

    def __init__(self, admin: Client, user: str) -> None:
        self._admin = admin
        self.user = user
        self._everywhere: list[tuple[Resource, str, str]] = []

    async def grant(
        self, verbs: list[str], resources: list[str], *, namespace: str = "", **rule: Any
    ) -> None:
        prefix = "" if namespace else "Cluster"
        name = f"{self.user}-{secrets.token_hex(3)}"
        rules = [{"verbs": verbs, "apiGroups": [""], "resources": resources, **rule}]
        subjects = [{"apiGroup": RBAC, "kind": "User", "name": self.user}]
        bodies: dict[str, dict[str, Any]] = {
            f"{prefix}Role": {"rules": rules},
            f"{prefix}RoleBinding": {
                "roleRef": {"apiGroup": RBAC, "kind": f"{prefix}Role", "name": name},
                "subjects": subjects,
            },
        }
        for kind, body in bodies.items():
            made = await self._admin.create(
                rbac(kind), {"metadata": {"name": name}, **body}, namespace=namespace
            )
            if not namespace:
                self._everywhere.append((rbac(kind), name, made["metadata"]["uid"]))

    async def revoke_everywhere(self) -> None:
        for resource, name, uid in self._everywhere:
            await self._admin.delete(resource, name, uid=uid, propagation="Background")
        self._everywhere.clear()


@asynccontextmanager
async def somebody(plane: ControlPlaneAccess, admin: Client) -> AsyncIterator[tuple[Granted, Client]]:
    granted = Granted(admin, f"user-{secrets.token_hex(4)}")
    try:
        async with connected(plane.kubeconfig_for(user=granted.user)) as client:
            yield granted, client
    finally:
        await granted.revoke_everywhere()


async def effective(client: Client, verb: str, resource: Resource, **where: str) -> Access:
    """The rights, asked anew until the authorizer knows of the grant."""
    access = Access(client, clock=client.clock)

    async def known() -> bool:
        access.forget()
        return await access.may(verb, resource, **where)

    await eventually(known, what=f"the grant to {verb} {resource.plural} is in force")
    return access


async def test_a_right_in_one_namespace_is_none_in_another_and_none_everywhere(
    control_plane: ControlPlaneAccess, admin: Client, namespace: str
) -> None:
    async with somebody(control_plane, admin) as (granted, client), new_namespace(admin) as other:
        await granted.grant(["get", "list", "delete"], ["configmaps"], namespace=namespace)
        access = await effective(client, "delete", CONFIG_MAPS, namespace=namespace)
        assert await access.may("list", CONFIG_MAPS, namespace=namespace)
        assert not await access.may("watch", CONFIG_MAPS, namespace=namespace)
        assert not await access.may("delete", PODS, namespace=namespace)
        assert not await access.may("delete", LEASES, namespace=namespace), "another group is another kind"
        assert not await access.may("delete", CONFIG_MAPS, namespace=other)
        assert not await access.may("delete", CONFIG_MAPS)
        # The answers are true: the server lets through and refuses accordingly.
        await everything(client, CONFIG_MAPS, METADATA, scope=Scope(namespace=namespace))
        with pytest.raises(Forbidden):
            await everything(client, CONFIG_MAPS, METADATA)


async def test_a_cluster_wide_right_holds_everywhere_and_in_each_namespace(
    control_plane: ControlPlaneAccess, admin: Client, namespace: str
) -> None:
    async with somebody(control_plane, admin) as (granted, client):
        await granted.grant(["*"], ["pods"])
        access = await effective(client, "deletecollection", PODS)
        assert await access.may("delete", PODS)
        assert await access.may("delete", PODS, namespace=namespace)
        assert not await access.may("delete", CONFIG_MAPS)


async def test_an_administrator_may_everything(admin: Client, namespace: str) -> None:
    access = Access(admin, clock=admin.clock)
    assert await access.may("delete", CONFIG_MAPS)
    assert await access.may("impersonate", LEASES, namespace=namespace, name="x")


async def test_a_right_on_named_objects_is_no_right_on_the_others(
    control_plane: ControlPlaneAccess, admin: Client, namespace: str
) -> None:
    async with somebody(control_plane, admin) as (granted, client):
        await granted.grant(["delete"], ["configmaps"], namespace=namespace, resourceNames=["mine", "ours"])
        access = await effective(client, "delete", CONFIG_MAPS, namespace=namespace, name="mine")
        assert await access.may("delete", CONFIG_MAPS, namespace=namespace, name="ours")
        assert not await access.may("delete", CONFIG_MAPS, namespace=namespace, name="theirs")
        assert not await access.may("delete", CONFIG_MAPS, namespace=namespace)


async def test_answers_are_kept_until_a_changed_grant_makes_them_forgotten(
    control_plane: ControlPlaneAccess, admin: Client, namespace: str
) -> None:
    async with somebody(control_plane, admin) as (granted, client):
        access = Access(client, clock=client.clock)
        assert not await access.may("list", PODS)
        await granted.grant(["list"], ["pods"])
        (await effective(client, "list", PODS)).forget()
        assert not await access.may("list", PODS), "the old answer is kept"
        access.forget()
        assert await access.may("list", PODS)
        await granted.revoke_everywhere()
        assert await access.may("list", PODS), "the old answer is kept"

        async def taken_away() -> bool:
            access.forget()
            return not await access.may("list", PODS)

        await eventually(taken_away, what="the right is gone")


async def test_an_answer_that_has_grown_old_is_asked_for_again(
    control_plane: ControlPlaneAccess, admin: Client, proxy: FaultProxy
) -> None:
    async with connected(proxy) as client:
        access = Access(client, clock=client.clock, fresh_seconds=0.2)
        await access.may("list", PODS)

        async def asked_twice() -> bool:
            await access.may("list", PODS)
            return len(proxy.requests) >= 2

        await eventually(asked_twice, what="a second review")


async def test_one_review_answers_for_every_kind_and_verb_in_a_namespace(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    access = Access(through_proxy, clock=through_proxy.clock)
    for resource in (CONFIG_MAPS, PODS, LEASES):
        for verb in ("get", "list", "watch", "delete", "patch"):
            assert await access.may(verb, resource, namespace=namespace)
            assert await access.may(verb, resource)
    assert [request.path for request in proxy.requests] == [RULES_REVIEWS] * 2


def incomplete(*rules: dict[str, list[str]]) -> Answer:
    status = {
        "resourceRules": list(rules),
        "nonResourceRules": [],
        "incomplete": True,
        "evaluationError": "webhook authorizer does not support user rule resolution",
    }
    review = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "status": status}
    return Answer(201, msgspec.json.encode(review))


async def test_where_the_rules_are_incomplete_one_access_review_decides_and_is_kept(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    listed = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    proxy.script(Rule(incomplete(listed), path=RULES_REVIEWS, times=None))
    access = Access(through_proxy, clock=through_proxy.clock)
    assert await access.may("get", PODS, namespace=namespace)
    assert [request.path for request in proxy.requests] == [RULES_REVIEWS], (
        "what is listed needs no second question"
    )
    for _ in range(3):
        assert await access.may("delete", PODS, namespace=namespace)
    assert [request.path for request in proxy.requests] == [RULES_REVIEWS, ACCESS_REVIEWS]
    access.forget()
    assert await access.may("delete", PODS, namespace=namespace)
    assert [request.path for request in proxy.requests[2:]] == [RULES_REVIEWS, ACCESS_REVIEWS]


async def test_where_the_rules_are_incomplete_the_access_review_may_also_say_no(
    control_plane: ControlPlaneAccess, admin: Client, proxy: FaultProxy, namespace: str
) -> None:
    """Asked as a ServiceAccount with its token: the proxy passes a token on."""
    token = await token_of(admin, namespace)
    proxy.script(Rule(incomplete(), path=RULES_REVIEWS, times=None))
    connection = msgspec.structs.replace(connection_to(proxy), auth=TokenAuth(token=Secret(token)))
    async with connected(connection) as client:
        access = Access(client, clock=client.clock)
        assert not await access.may("delete", PODS, namespace=namespace)
        assert not await access.may("delete", PODS)
    assert [request.path for request in proxy.requests] == [RULES_REVIEWS, ACCESS_REVIEWS] * 2

"""Rights: what somebody may do, and what the server says to those who may not."""

from __future__ import annotations

from skoupa.kube.access import Access
from skoupa.kube.login.secret import Secret
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.kube.reviews import Ask, Caller, may, whose
from tests.contract.arena import Arena, Grant, Object
from tests.contract.expecting import document, refused, status_of
from tests.contract.kinds import DEPLOYMENTS, SECRETS, deployment
from tests.contract.registry import rule
from tests.contract.sabotage import always, but, edit, misspeak, wrap

REVIEWS = "/apis/authorization.k8s.io/v1"


def attributes(**more: str) -> Object:
    return {"spec": {"resourceAttributes": more}}


@rule(broken_by=misspeak("state.access._forbidden"))
async def who_may_not_is_told_what_was_missing(arena: Arena) -> None:
    """A request without the right is a 403 that names user, verb, kind, group and place."""
    user = await arena.as_user(Grant(verbs=("get",), resources=("configmaps",)))
    await arena.config_map("one")
    await user.client.get(CONFIG_MAPS, "one", view=METADATA, namespace=arena.namespace)
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    answer = await arena.ask("DELETE", path, transport=user.transport)
    said = status_of(answer, code=403, reason="Forbidden")
    assert said.message == (
        f'configmaps "one" is forbidden: User "{user.name}" cannot delete resource "configmaps" '
        f'in API group "" in the namespace "{arena.namespace}"'
    )
    assert said.details == {"name": "one", "kind": "configmaps"}
    answer = await arena.ask("GET", DEPLOYMENTS.path(), transport=user.transport)
    said = status_of(answer, code=403, reason="Forbidden")
    assert said.message == (
        f'deployments.apps is forbidden: User "{user.name}" cannot list resource "deployments" '
        'in API group "apps" at the cluster scope'
    )


@rule(broken_by=edit("cluster.verb_of", lambda verb: verb.replace("watch", "list")))
async def every_verb_is_a_right_of_its_own(arena: Arena) -> None:
    """Getting, listing, watching, deleting and deleting a collection are granted apart."""
    user = await arena.as_user(
        Grant(verbs=("list",), resources=("secrets",)), Grant(verbs=("delete",), resources=("configmaps",))
    )
    many, one = SECRETS.path(namespace=arena.namespace), SECRETS.path(namespace=arena.namespace, name="x")

    async def code(method: str, path: str, **query: str) -> int:
        answer = await arena.ask(method, path, query=query, transport=user.transport)  # type: ignore[arg-type]
        return answer.status

    assert await code("GET", many) == 200
    assert await code("GET", many, watch="1", timeoutSeconds="1") == 403
    assert await code("GET", one) == 403
    assert await code("DELETE", one) == 403
    configs = CONFIG_MAPS.path(namespace=arena.namespace)
    assert await code("DELETE", configs) == 403
    assert await code("DELETE", f"{configs}/absent") == 404


@rule(
    broken_by=wrap(
        "state.access._covers", lambda covers: lambda right, ask: covers(but(right, names=()), ask)
    )
)
async def a_right_can_be_for_one_name(arena: Arena) -> None:
    """A right with resource names holds for these names only."""
    user = await arena.as_user(Grant(verbs=("get",), resources=("configmaps",), names=("mine",)))
    await arena.config_map("mine")
    await arena.config_map("other")
    await user.client.get(CONFIG_MAPS, "mine", view=METADATA, namespace=arena.namespace)
    call = user.client.get(CONFIG_MAPS, "other", view=METADATA, namespace=arena.namespace)
    await refused(call, code=403, reason="Forbidden")


@rule(broken_by=wrap("server.calls._name_asked_for", lambda _: lambda place, _query: place.name))
async def a_right_for_one_name_lists_that_name(arena: Arena) -> None:
    """Who may list one name may do so with a field selector on it, and nothing beyond."""
    user = await arena.as_user(Grant(verbs=("list",), resources=("configmaps",), names=("mine",)))
    await arena.config_map("mine")

    async def code(**query: str) -> int:
        path = CONFIG_MAPS.path(namespace=arena.namespace)
        return (await arena.ask("GET", path, transport=user.transport, query=query)).status

    assert await code(fieldSelector="metadata.name=mine") == 200
    assert await code(fieldSelector="metadata.name=other") == 403
    assert await code() == 403


@rule(
    broken_by=wrap(
        "state.access._covers", lambda covers: lambda right, ask: covers(but(right, namespaces=()), ask)
    )
)
async def a_right_in_a_namespace_ends_there(arena: Arena) -> None:
    """A right in one namespace holds neither in another nor for all of them."""
    other = await arena.new_namespace()
    user = await arena.as_user(Grant(verbs=("list",), resources=("configmaps",)))

    async def code(namespace: str) -> int:
        return (
            await arena.ask("GET", CONFIG_MAPS.path(namespace=namespace), transport=user.transport)
        ).status

    assert [await code(place) for place in (arena.namespace, other, "")] == [200, 403, 403]


@rule(
    broken_by=wrap(
        "state.access._covers", lambda covers: lambda right, ask: covers(right, but(ask, subresource=""))
    )
)
async def a_subresource_is_a_right_of_its_own(arena: Arena) -> None:
    """The right to change a kind is none to change its status."""
    user = await arena.as_user(Grant(verbs=("patch",), resources=("deployments.apps",)))
    await arena.create(DEPLOYMENTS, deployment("web"))
    patch = {"metadata": {"labels": {"a": "b"}}}
    await user.client.merge_patch(DEPLOYMENTS, "web", patch, namespace=arena.namespace)
    call = user.client.merge_patch(
        DEPLOYMENTS, "web", {"status": {}}, namespace=arena.namespace, subresource="status"
    )
    said = await refused(call, code=403, reason="Forbidden")
    assert 'cannot patch resource "deployments/status"' in said.message


@rule(broken_by=always("server.reviews._access", {"allowed": True}))
async def one_right_can_be_asked_for(arena: Arena) -> None:
    """A SelfSubjectAccessReview tells whether one thing is allowed."""
    user = await arena.as_user(Grant(verbs=("get", "delete"), resources=("deployments.apps",)))
    for asked, expected in (
        (attributes(verb="delete", group="apps", resource="deployments", namespace=arena.namespace), True),
        (attributes(verb="delete", group="apps", resource="deployments"), False),
        (attributes(verb="delete", resource="deployments", namespace=arena.namespace), False),
        (attributes(verb="create", group="apps", resource="deployments", namespace=arena.namespace), False),
    ):
        path = f"{REVIEWS}/selfsubjectaccessreviews"
        answer = document(await arena.ask("POST", path, body=asked, transport=user.transport))
        assert answer["kind"] == "SelfSubjectAccessReview"
        assert answer["status"]["allowed"] is expected, asked


@rule(broken_by=always("state.access.Access.rules", []))
async def all_rights_can_be_asked_for(arena: Arena) -> None:
    """A SelfSubjectRulesReview lists the rights in a namespace, cluster-wide ones included."""
    user = await arena.as_user(
        Grant(verbs=("delete",), resources=("configmaps",)),
        Grant(verbs=("list",), resources=("namespaces",), everywhere=True),
        Grant(verbs=("get",), resources=("secrets",), names=("mine",)),
    )
    access = Access(user.client, clock=arena.clock)
    rules = await access.rules(arena.namespace)
    assert not rules.incomplete
    assert rules.grants("delete", CONFIG_MAPS) is True
    assert rules.grants("list", NAMESPACES) is True
    assert rules.grants("get", SECRETS, "mine") is True
    assert rules.grants("get", SECRETS, "other") is False
    assert rules.grants("create", CONFIG_MAPS) is False
    everywhere = await access.rules()
    assert everywhere.grants("list", NAMESPACES) is True
    assert everywhere.grants("delete", CONFIG_MAPS) is False
    assert await access.may("delete", CONFIG_MAPS, namespace=arena.namespace)
    assert not await access.may("delete", CONFIG_MAPS)


@rule(
    broken_by=wrap(
        "server.reviews._rules", lambda rules: lambda plane, user, _: rules(plane, user, {"namespace": "x"})
    )
)
async def a_rules_review_needs_a_namespace(arena: Arena) -> None:
    """A SelfSubjectRulesReview without a namespace is a bad request."""
    path = f"{REVIEWS}/selfsubjectrulesreviews"
    answer = await arena.ask("POST", path, body={"spec": {}})
    said = status_of(answer, code=400, reason="BadRequest")
    assert said.message == "no namespace on request"


@rule(broken_by=always("server.reviews._access", {"allowed": True}))
async def rights_of_others_can_be_asked_for(arena: Arena) -> None:
    """A SubjectAccessReview tells what somebody else may do."""
    user = await arena.as_user(Grant(verbs=("get",), resources=("secrets",)))
    caller = Caller(username=user.name, groups=("system:authenticated",))
    for verb, namespace, expected in (
        ("get", arena.namespace, True),
        ("get", "", False),
        ("delete", arena.namespace, False),
    ):
        ask = Ask(verb=verb, resource="secrets", namespace=namespace)
        assert await may(arena.client, caller, ask) is expected, ask


@rule(broken_by=always("server.reviews._authentication", {"authenticated": True, "user": {"username": "x"}}))
async def a_token_that_nobody_issued_is_nobodys(arena: Arena) -> None:
    """A TokenReview does not know it, and refuses a question without any."""
    assert await whose(arena.client, Secret("ey.made.up")) is None
    answer = await arena.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body={"spec": {}})
    said = status_of(answer, code=400, reason="BadRequest")
    assert said.message == "token is required for TokenReview in authentication"

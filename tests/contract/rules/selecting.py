"""Selectors: which objects a list has."""

from __future__ import annotations

from skoupa.kube.resources import CONFIG_MAPS, PODS
from tests.contract.arena import Arena
from tests.contract.expecting import refused
from tests.contract.kinds import JOBS, SECRETS, pod, secret
from tests.contract.registry import rule
from tests.contract.rules.listing import names_of
from tests.contract.sabotage import always, swap, wrap


@rule(broken_by=always("server.selecting.parse_labels", None))
async def labels_select_objects(arena: Arena) -> None:
    """Every form of label selector selects what Kubernetes says it selects."""
    for name, labels in {
        "a": {"app": "web", "tier": "1"},
        "b": {"app": "web", "tier": "2"},
        "c": {"app": "db"},
        "d": {},
        "e": {"app": ""},
    }.items():
        await arena.create(SECRETS, secret(name, labels=labels))
    for selector, expected in {
        "app=web": "ab",
        "app==web": "ab",
        "app!=web": "cde",
        "app": "abce",
        "!app": "d",
        "app in (web,db)": "abc",
        "app notin (web)": "cde",
        "app=": "e",
        "app=web,tier=2": "b",
        "tier notin (1, 2),app": "ce",
        " app = web , tier != 1 ": "b",
        "tier>1": "b",
        "tier<2": "a",
    }.items():
        listed = names_of(await arena.listed(SECRETS, labelSelector=selector))
        assert "".join(listed) == expected, (selector, listed)


@rule(broken_by=always("server.selecting.parse_labels", None))
async def a_malformed_label_selector_is_refused(arena: Arena) -> None:
    """A label selector that does not parse is a bad request, for lists and for watches."""
    for selector in ("a=b=c", "a in b", "a,,b", "=a", "a in (x", "a=no spaces please", "!"):
        said = await refused(arena.listed(SECRETS, labelSelector=selector), code=400, reason="BadRequest")
        assert "unable to parse requirement" in said.message or "found" in said.message, said.message
    async with arena.watching(SECRETS, labelSelector="a in b") as watch:
        assert watch.status == 400


@rule(broken_by=always("server.selecting.parse_fields", None))
async def fields_select_objects(arena: Arena) -> None:
    """Name and namespace can be selected of any kind, with =, == and !=."""
    for name in ("a", "b", "c"):
        await arena.create(SECRETS, secret(name))
    for selector, expected in {
        "metadata.name=b": "b",
        "metadata.name==b": "b",
        "metadata.name!=b": "ac",
        f"metadata.namespace={arena.namespace}": "abc",
        "metadata.namespace=elsewhere": "",
        "metadata.name!=a,metadata.name!=b": "c",
        "type=Opaque": "abc",
        "type!=Opaque": "",
    }.items():
        listed = names_of(await arena.listed(SECRETS, fieldSelector=selector))
        assert "".join(listed) == expected, (selector, listed)
    everywhere = await arena.listed(
        SECRETS, namespace="", fieldSelector=f"metadata.namespace={arena.namespace},metadata.name=a"
    )
    assert names_of(everywhere) == ["a"]


@rule(broken_by=swap("server.selecting._IN_HEADER", {"status.phase"}))
async def pods_can_be_selected_by_their_phase(arena: Arena) -> None:
    """Pods can be selected by status.phase and spec.nodeName."""
    await arena.create_pod(pod("waiting"))
    await arena.create_pod(pod("done"))
    await arena.client.merge_patch(
        PODS, "done", {"status": {"phase": "Succeeded"}}, namespace=arena.namespace, subresource="status"
    )
    assert names_of(await arena.listed(PODS, fieldSelector="status.phase=Succeeded")) == ["done"]
    assert names_of(await arena.listed(PODS, fieldSelector="status.phase!=Succeeded")) == ["waiting"]
    assert names_of(await arena.listed(PODS, fieldSelector="spec.nodeName=")) == ["done", "waiting"]
    assert names_of(await arena.listed(PODS, fieldSelector="spec.nodeName=there")) == []


@rule(broken_by=always("server.selection.refusal", "no"))
async def a_field_that_can_not_be_selected_is_refused(arena: Arena) -> None:
    """Fields that a kind does not offer for selection are a bad request; the words differ from kind to kind."""
    said = await refused(arena.listed(PODS, fieldSelector="spec.color=red"), code=400, reason="BadRequest")
    assert "field label not supported: spec.color" in said.message
    said = await refused(arena.listed(CONFIG_MAPS, fieldSelector="data=x"), code=400, reason="BadRequest")
    assert '"data" is not a known field selector: only "metadata.name", "metadata.namespace"' in said.message
    said = await refused(arena.listed(JOBS, fieldSelector="spec.x=1"), code=400, reason="BadRequest")
    assert 'field label "spec.x" not supported for Job' in said.message
    await refused(arena.listed(PODS, fieldSelector="nonsense"), code=400, reason="BadRequest")


@rule(
    broken_by=wrap(
        "server.selecting.parse_fields",
        lambda parse: lambda text, *, resource, **_: parse(text, resource=resource),
    )
)
async def custom_kinds_are_selected_by_name_and_chosen_fields(arena: Arena) -> None:
    """Custom kinds offer their name, their namespace and what their definition lists as selectable."""
    custom = await arena.own_custom_kind(selectable=[".spec.color"])
    for name, color in {"a": "red", "b": "blue"}.items():
        await arena.create(custom, {"metadata": {"name": name}, "spec": {"color": color}})
    assert names_of(await arena.listed(custom, fieldSelector="spec.color=red")) == ["a"]
    assert names_of(await arena.listed(custom, fieldSelector="metadata.name=b")) == ["b"]
    said = await refused(arena.listed(custom, fieldSelector="spec.size=1"), code=400, reason="BadRequest")
    assert "field label not supported: spec.size" in said.message

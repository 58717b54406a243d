"""Secrets and policies: who writes a policy of a namespace finds out no value by it, and no text ever has one."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import EVENTS
from tests.unit.controller.braking import many
from tests.unit.controller.policies import KINDS, bring_policies, cleanup, deleting, matching
from tests.unit.controller.stage import HOUR, MINUTE, SECRETS, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

VALUE = "hunter2-and-more"
ENCODED = base64.b64encode(VALUE.encode()).decode()
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PATH = f"/api/v1/namespaces/{SHOP}/secrets/login"
WITH_SECRETS = (SECRETS,)
ALLOWED = {"allowSecretsInNamespacedPolicies": True}
MINE = matching(names=["web-*"])
SECRET_MATCH = {"any": [{"resources": {"kinds": ["Secret"], "names": ["login"]}}]}


async def scene(stage: Stage) -> Play:
    await bring_policies(stage)
    stage.old(many(2))
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "login",
            "annotations": {APPLIED: msgspec.json.encode({"data": {"password": ENCODED}}).decode()},
        },
        "data": {"password": ENCODED},
    }
    await stage.people.create(SECRETS, body, namespace=SHOP)
    return await stage.play()


def nowhere_told(stage: Stage, play: Play) -> None:
    """Neither value stands in any text that anybody could read."""
    texts = [msgspec.json.encode(play.lines).decode(), play.metrics.exposition().decode()]
    for kind in (EVENTS, *KINDS.values(), GLOBAL_CONTEXT_ENTRIES):
        for found in stage.cluster.objects(kind):
            told = {key: value for key, value in found.items() if key != "spec"}
            texts.append(msgspec.json.encode(told).decode())
    assert len(texts) > 4
    for text in texts:
        assert VALUE not in text
        assert ENCODED not in text


def asking(jmes_path: str) -> dict[str, Any]:
    context = [{"name": "found", "apiCall": {"urlPath": PATH, "jmesPath": jmes_path}}]
    return {
        "context": context,
        "conditions": {"all": [{"key": "{{ found }}", "operator": "Equals", "value": True}]},
    }


FIRST_LETTER = "starts_with(base64_decode(data.password), 'h')"
# Quotes what it is about in its error.
STUMBLES = "parse_json(base64_decode(data.password))"


@story(also=WITH_SECRETS)
async def test_a_policy_of_a_namespace_is_refused_secrets_by_path(stage: Stage) -> None:
    play = await scene(stage)
    await cleanup(stage, namespace=SHOP, schedule="0 * * * *", match=MINE, **asking(FIRST_LETTER))
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 2
    assert "may not look at the values of Secrets" in play.told("held")[0]["why"]
    assert not [seen for seen in play.sent("GET") if seen[1].path == PATH]
    nowhere_told(stage, play)


@story(also=WITH_SECRETS, policies=ALLOWED)
async def test_the_operator_may_let_policies_of_a_namespace_look_at_secrets(stage: Stage) -> None:
    play = await scene(stage)
    await cleanup(stage, namespace=SHOP, schedule="0 * * * *", match=MINE, **asking(FIRST_LETTER))
    await stage.until(HOUR + MINUTE)
    assert not stage.found()
    nowhere_told(stage, play)


@story(also=WITH_SECRETS)
async def test_errors_of_a_policy_of_the_cluster_quote_no_secret(stage: Stage) -> None:
    play = await scene(stage)
    await cleanup(stage, schedule="0 * * * *", **asking(STUMBLES))
    looks = f"size(json.unmarshal(string(base64.decode(resource.Get('v1', 'secrets', '{SHOP}', 'login').data.password)))) > 0"
    await deleting(stage, f"object.metadata.name.startsWith('web') && {looks}")
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 2
    held = [line["why"] for line in play.told("held")]
    assert len(held) == 4
    assert all("not shown of a Secret" in why for why in held)
    nowhere_told(stage, play)


@story(also=WITH_SECRETS)
async def test_cel_of_a_policy_of_a_namespace_is_refused_secrets(stage: Stage) -> None:
    play = await scene(stage)
    looks = (
        "resource.Get('v1', 'secrets', 'login').data.password != ''",
        "resource.List('v1', 'secrets').items.size() > 0",
    )
    for number, look in enumerate(looks):
        await deleting(
            stage,
            f"object.metadata.name.startsWith('web') && {look}",
            name=f"cel-{number}",
            namespace=SHOP,
        )
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 2
    assert len(play.told("held")) == 4
    assert all("may not look at the values of Secrets" in line["why"] for line in play.told("held"))


@story(also=WITH_SECRETS)
async def test_shared_context_about_secrets_is_refused_as_well(stage: Stage) -> None:
    play = await scene(stage)
    kind = GLOBAL_CONTEXT_ENTRIES
    spec = {"kubernetesResource": {"version": "v1", "resource": "secrets", "namespace": SHOP}}
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "logins"}}
    await stage.people.create(kind, {**head, "spec": spec})
    context = [{"name": "found", "globalReference": {"name": "logins", "jmesPath": "length(@)"}}]
    conditions = {"all": [{"key": "{{ found }}", "operator": "GreaterThan", "value": 0}]}
    await cleanup(
        stage, namespace=SHOP, schedule="0 * * * *", match=MINE, context=context, conditions=conditions
    )
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 2
    assert "may not look at the values of Secrets" in play.told("held")[0]["why"]


def about(key: str, *, value: Any = True) -> dict[str, Any]:
    return {"conditions": {"all": [{"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": value}]}}


@pytest.mark.parametrize(
    "key",
    [
        "starts_with(base64_decode(target.data.password), 'h')",
        "contains(to_string(target), 'h')",
        "length(target.data) == `1`",
    ],
)
def test_conditions_on_the_values_of_a_matched_secret_have_no_answer(key: str) -> None:
    @story(also=WITH_SECRETS)
    async def told(stage: Stage) -> None:
        play = await scene(stage)
        await cleanup(stage, namespace=SHOP, schedule="0 * * * *", match=SECRET_MATCH, **about(key))
        await stage.until(HOUR + MINUTE)
        assert stage.there("login", SECRETS)
        found = await stage.people.get(CLEANUP_POLICIES, "tidy", namespace=SHOP, view=WHOLE)
        # Nothing that is counted depends on the value.
        assert found["status"]["lastRun"] == {"matched": 1, "deleted": 0, "held": 0, "failed": 1}
        assert len(play.told("held")) == 1
        nowhere_told(stage, play)

    told()


@story(also=WITH_SECRETS)
async def test_cel_on_the_values_of_a_matched_secret_has_no_answer(stage: Stage) -> None:
    play = await scene(stage)
    for number, look in enumerate(("has(object.data.password)", "string(object.data.password) > 'a'")):
        await deleting(stage, look, name=f"c-{number}", namespace=SHOP, resource="secrets")
    await stage.until(HOUR + MINUTE)
    assert stage.there("login", SECRETS)
    for number in range(2):
        found = await stage.people.get(
            NAMESPACED_DELETING_POLICIES, f"c-{number}", namespace=SHOP, view=WHOLE
        )
        assert found["status"]["lastRun"]["failed"] == 1
    nowhere_told(stage, play)


@story(also=WITH_SECRETS)
async def test_what_kubectl_wrote_beside_is_hidden_but_there(stage: Stage) -> None:
    await scene(stage)
    annotation = f'target.metadata.annotations."{APPLIED}"'
    spied = about(f"contains({annotation} || '', '{ENCODED}')")
    absent = about(f"{annotation} || ''", value="")
    for number, condition in enumerate((spied, absent)):
        await cleanup(
            stage, f"spy-{number}", namespace=SHOP, schedule="0 * * * *", match=SECRET_MATCH, **condition
        )
    await stage.until(HOUR + MINUTE)
    assert stage.there("login", SECRETS)


@story(also=WITH_SECRETS)
async def test_metadata_and_type_of_secrets_are_open_to_policies_of_a_namespace(stage: Stage) -> None:
    await scene(stage)
    await cleanup(
        stage,
        namespace=SHOP,
        schedule="0 * * * *",
        match=SECRET_MATCH,
        **about("target.type", value="Opaque"),
    )
    await stage.until(HOUR + MINUTE)
    assert not stage.there("login", SECRETS)

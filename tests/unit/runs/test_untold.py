"""What an error tells of a policy whose reader may not read what Skoupa reads: the expression and the trouble, no value."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.errors import NotFound, SkoupaError, Status, UsageError
from skoupa.expr.cel.messages import ListResources, Question
from skoupa.expr.cel.pool import Pool
from skoupa.runs.calls.hosts import AllowedHosts
from skoupa.runs.calls.protocol import NOTHING
from skoupa.runs.calls.questions import PolicyBroker
from skoupa.runs.untold import trouble
from tests.unit.policy.world import cleanup, deleting
from tests.unit.runs.calls.asking import staged
from tests.unit.runs.evaluating import Table, ask, evaluation, outcomes, thing, whys

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

STOLEN = "hunter2-topsecret"
MAPS = "/api/v1/namespaces/shop/configmaps"
LIST = {"items": [{"metadata": {"name": "vault"}, "data": {"password": STOLEN}}]}
TAKE = {"name": "stolen", "apiCall": {"urlPath": MAPS, "jmesPath": "items[0].data.password"}}
KINDS = ("CleanupPolicy", "ClusterCleanupPolicy")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool(clock=SystemClock()) as shared:
        yield shared


async def why(key: str, *more: dict[str, Any], kind: str = "CleanupPolicy", **fields: Any) -> str:
    """Why a Pod with these fields stays, and what is told of the run as a whole."""
    condition = {"key": key, "operator": "Equals", "value": "x"}
    context = [TAKE, *more]
    policy = cleanup({"kinds": ["Pod"]}, conditions={"all": [condition]}, context=context, scope=kind)
    missing = NotFound(f"GET {MAPS}/{STOLEN}: {STOLEN} not found", status=Status(code=404))
    asked = evaluation(policy, calls=Table({f"GET {MAPS}": LIST, f"GET {MAPS}/{STOLEN}": missing}))
    found = await ask(asked, thing("web", **fields))
    assert outcomes(found) == ["unclear"]
    return "\n".join([*whys(found), *asked.troubles])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_value_that_a_call_brought_is_not_quoted(kind: str) -> None:
    told = await why("{{ time_add(stolen, '1h') }}", kind=kind)
    assert STOLEN not in told
    assert "conditions.all[0]: time_add(stolen, '1h'): " in told
    assert "time_add can't work with what it gets" in told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "entry",
    [
        {"variable": {"jmesPath": "time_add(stolen, '1h')"}},
        {"variable": {"value": {"{{ stolen }}": "1"}, "jmesPath": "time_add(keys(@)[0], '1h')"}},
        {"apiCall": {"urlPath": f"{MAPS}/{{{{ stolen }}}}"}},
        {"apiCall": {"urlPath": MAPS, "jmesPath": "time_add(items[0].data.password, '1h')"}},
        {"apiCall": {"urlPath": MAPS, "jmesPath": 'items[0].data."{{ stolen }}"'}},
        {"variable": {"jmesPath": 'request."{{ stolen }}"'}},
        {"variable": {"jmesPath": "`{{ stolen }}`"}},
    ],
)
async def test_nor_is_it_in_the_trouble_of_another_entry(entry: dict[str, Any], kind: str) -> None:
    told = await why("{{ second }}", {"name": "second", **entry}, kind=kind)
    assert STOLEN not in told
    assert "context entry second: " in told


async def test_a_path_that_variables_make_tells_what_kind_of_trouble_it_is() -> None:
    told = await why("{{ second }}", {"name": "second", "apiCall": {"urlPath": f"{MAPS}/{{{{ stolen }}}}"}})
    assert "there is no such object" in told


async def test_advice_does_not_name_a_host_that_was_made_of_a_value() -> None:
    hosts = AllowedHosts(("checks.shop",), plain_http=False)
    with pytest.raises(UsageError, match="policies may not call") as refused:
        hosts.destination(f"https://{STOLEN}.example/x")
    told = trouble(refused.value)
    assert STOLEN not in told
    assert "its host to policies.allowedHosts" in told


async def test_a_policy_of_a_namespace_does_not_quote_the_object_either() -> None:
    told = await why("{{ time_add(target.data.pin, '1h') }}", data={"pin": STOLEN})
    assert STOLEN not in told
    assert "time_add(target.data.pin, '1h')" in told


async def test_what_stands_in_the_policy_is_told() -> None:
    told = await why("{{ target.data.pin }}")
    assert "target.data is not there: write a default" in told
    assert "not shown" not in told


async def test_a_policy_of_the_cluster_that_asks_nobody_quotes_the_object() -> None:
    condition = {"key": "{{ time_add(target.data.pin, '1h') }}", "operator": "Equals", "value": "x"}
    policy = cleanup({"kinds": ["Pod"]}, conditions={"all": [condition]})
    (found,) = whys(await ask(evaluation(policy), thing("web", data={"pin": "soon"})))
    assert '"soon"' in found


class Maps:
    """Answers with the ConfigMaps, for CEL."""

    async def answer(self, question: Question) -> bytes:
        assert isinstance(question, ListResources)
        return msgspec.json.encode(LIST)


PASSWORD = "resource.List('v1', 'configmaps').items[0].data.password"


async def cel(pool: Pool, expression: str, *, kind: str = "NamespacedDeletingPolicy", **about: Any) -> str:
    policy = deleting({"resources": ["pods"]}, scope=kind)
    written = [{"name": "old", "expression": expression}], [{"name": "stolen", "expression": PASSWORD}]
    policy["spec"]["conditions"], policy["spec"]["variables"] = written
    if kind == "DeletingPolicy":
        for one in (*written[0], *written[1]):
            one["expression"] = one["expression"].replace("'configmaps')", "'configmaps', 'shop')")
    asked = evaluation(policy, pool=pool, **({"calls": Table(broker=Maps())} | about))
    found = await ask(asked, thing("web", spec={"nodeName": "n1"}))
    assert outcomes(found) == ["unclear"], whys(found)
    return "\n".join([*whys(found), *asked.troubles])


@pytest.mark.parametrize("kind", ["NamespacedDeletingPolicy", "DeletingPolicy"])
@pytest.mark.parametrize(
    "expression",
    [
        f"image({PASSWORD} + ' !!').registry() == ''",
        "image(variables.stolen + ' !!').registry() == ''",
        f"object.spec[{PASSWORD}] == ''",
        "object.spec[variables.stolen] == ''",
        "int(variables.stolen) == 1",
        "json.unmarshal(variables.stolen).a == 1",
        "quantity(variables.stolen).isGreaterThan(quantity('1'))",
        "ip(variables.stolen).family() == 4",
        "url(variables.stolen).getHost() == ''",
        "timestamp(variables.stolen) < timestamp('2026-01-01T00:00:00Z')",
    ],
)
async def test_cel_does_not_quote_what_it_was_answered(pool: Pool, expression: str, kind: str) -> None:
    told = await cel(pool, expression, kind=kind)
    assert STOLEN not in told
    assert "condition old" in told


async def test_cel_tells_what_quotes_nothing_and_what_stands_in_the_policy(pool: Pool) -> None:
    assert "condition old looks at 'hostName', which is not there" in await cel(
        pool, "object.spec.hostName == ''"
    )
    told = await cel(pool, "timestamp(variables.stolen) < timestamp('2026-01-01T00:00:00Z')")
    assert "reads a text as a timestamp that is none" in told
    assert "takes more than 10,000 steps" in await cel(
        pool,
        "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "
        "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, e > 0)))))",
    )


async def test_cel_tells_that_secrets_and_services_are_not_for_it(pool: Pool) -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        told = await cel(pool, "resource.List('v1', 'secrets').items == []", calls=calls)
        assert (
            "resource.List: a policy of a namespace may not look at the values of Secrets: use a policy"
            in told
        )
        told = await cel(pool, "http.Get('https://x.example').statusCode == 1", calls=calls)
        assert "http: a policy of a namespace may not call services: use a policy" in told


async def test_cel_tells_why_it_got_no_answer(pool: Pool) -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        told = await cel(pool, "resource.Get('v1', 'nodes', 'n1').data.pin == ''", calls=calls)
        assert (
            "condition old has no answer: resource.Get: it is refused: use a policy of the whole cluster"
            in told
        )
        told = await cel(pool, "resource.List('v1', 'wigdets').items == []", calls=calls)
        assert "resource.List: there is no such kind" in told
        assert "wigdets" not in told
        with pytest.raises(SkoupaError):
            await calls.broker.answer(ListResources(api_version="v1", resource="x", namespace="shop"))
        assert isinstance(calls.broker, PolicyBroker)
        assert calls.troubles is not NOTHING


async def test_cel_tells_that_an_entry_of_global_context_is_not_there(pool: Pool) -> None:
    """By its name where the policy writes it; one that is made of what was read is not quoted."""
    async with staged() as stage:
        calls = await stage.calls("")
        told = await cel(pool, "globalContext.Get('prices') == null", kind="DeletingPolicy", calls=calls)
        assert "globalContext.Get: there is no GlobalContextEntry prices: make it, or check the name" in told
        named = "globalContext.Get(object.metadata.name + '-prices') == null"
        told = await cel(pool, named, kind="DeletingPolicy", calls=calls)
        assert "globalContext.Get: there is no such GlobalContextEntry: make it, or check the name" in told

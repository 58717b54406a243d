"""What a cleanup policy says of objects: match, conditions in their order, and who stays unclear."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.errors import BadExpression, BadReply
from skoupa.policy.kyverno_filters import parse_filters
from skoupa.runs.evaluation import without_dependents
from tests.unit.policy.test_seed_policies import POLICY
from tests.unit.policy.world import cleanup, excluding, kind, read
from tests.unit.runs.evaluating import Moment, ask, evaluation, outcomes, thing, whys

pytestmark = pytest.mark.unit

PODS = {"kinds": ["Pod"]}
WEB = {"key": "{{ target.metadata.labels.app }}", "operator": "Equals", "value": "web"}


def conditions(**blocks: Any) -> dict[str, Any]:
    return cleanup(PODS, conditions=blocks)


async def test_match_and_exclude_decide_where_there_are_no_conditions() -> None:
    policy = cleanup(PODS, **excluding({"names": ["keep-*"]}))
    found = await ask(evaluation(policy), thing("web"), thing("keep-me"))
    assert outcomes(found) == ["claimed", "left"]
    assert [one.metadata.name for one in found] == ["web", "keep-me"]
    assert outcomes(await ask(evaluation(policy), thing(), what="ConfigMap")) == ["left"]


async def test_an_object_alone_is_judged_like_one_of_a_page() -> None:
    asked = evaluation(conditions(all=[WEB]))
    raw = msgspec.json.encode(thing(labels={"app": "web"}))
    assert (await asked.one(kind("Pod"), raw)).outcome == "claimed"
    assert (await asked.one(kind("Pod"), msgspec.Raw(raw))).outcome == "claimed"


async def test_all_of_all_and_one_of_any_must_hold() -> None:
    small = {"key": "{{ target.metadata.labels.size }}", "operator": "Equals", "value": "s"}
    old = {"key": "{{ target.metadata.labels.age }}", "operator": "GreaterThan", "value": 3}
    policy = conditions(all=[WEB], any=[small, old])
    labels = (
        {"app": "web", "size": "s", "age": "1"},
        {"app": "web", "size": "l", "age": "4"},
        {"app": "web", "size": "l", "age": "1"},
        {"app": "db", "size": "s", "age": "4"},
    )
    found = await ask(evaluation(policy), *(thing(f"p{n}", labels=one) for n, one in enumerate(labels)))
    assert outcomes(found) == ["claimed", "claimed", "left", "left"]


@pytest.mark.parametrize("blocks", [{}, {"any": []}, {"all": []}, {"any": None, "all": None}])
async def test_empty_conditions_are_met(blocks: dict[str, Any]) -> None:
    assert outcomes(await ask(evaluation(cleanup(PODS, conditions=blocks)), thing())) == ["claimed"]


async def test_what_an_expression_looks_at_and_is_not_there_keeps_that_object_alone() -> None:
    found = await ask(
        evaluation(conditions(all=[WEB])),
        thing("a", labels={"app": "web"}),
        thing("b", labels={"size": "s"}),
        thing("c", labels={"app": "web"}),
    )
    assert outcomes(found) == ["claimed", "unclear", "claimed"]
    assert "target.metadata.labels.app: target.metadata.labels.app is not there" in whys(found)[1]
    assert "ClusterCleanupPolicy/old" in whys(found)[1]


async def test_what_is_decided_is_not_asked_further() -> None:
    absent = {"key": "{{ target.nothing }}", "operator": "Equals", "value": 1}
    false = {"key": 1, "operator": "Equals", "value": 2}
    true = {"key": 1, "operator": "Equals", "value": 1}
    rows = {
        "left": [{"all": [false, absent]}, {"all": [false], "any": [absent]}],
        "claimed": [{"any": [true, absent]}],
        "unclear": [{"all": [absent, false]}, {"any": [absent, true]}, {"any": [false, absent]}],
    }
    for outcome, written in rows.items():
        for blocks in written:
            assert outcomes(await ask(evaluation(conditions(**blocks)), thing())) == [outcome], blocks


async def test_the_kind_is_what_was_listed_whatever_the_items_say() -> None:
    is_pod = {
        "key": "{{ target.kind }} {{ target.apiVersion }}",
        "operator": "Equals",
        "value": "Deployment apps/v1",
    }
    policy = cleanup({"kinds": ["Deployment"]}, conditions={"all": [is_pod]})
    told = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert outcomes(await ask(evaluation(policy), thing(**told), thing(), what="Deployment")) == [
        "claimed",
        "claimed",
    ]


async def test_request_names_the_object() -> None:
    here = {"key": "{{ request.namespace }}/{{ request.name }}", "operator": "Equals", "value": "shop/web"}
    assert outcomes(await ask(evaluation(conditions(all=[here])), thing(), thing("db"))) == [
        "claimed",
        "left",
    ]


async def test_images_are_taken_apart_and_one_that_is_none_keeps_its_object_alone() -> None:
    public = {
        "key": "{{ images.containers.*.registry }}",
        "operator": "AnyIn",
        "value": ["docker.io"],
    }
    asked = evaluation(conditions(any=[public]))

    def pod(name: str, image: str) -> dict[str, Any]:
        return thing(name, spec={"containers": [{"name": "c", "image": image}]})

    found = await ask(asked, pod("a", "nginx"), pod("b", "images.example/x/y"), pod("c", "NOT AN IMAGE"))
    assert outcomes(found) == ["claimed", "left", "unclear"]
    assert asked.needs_bodies


async def test_time_is_that_of_the_run() -> None:
    old = {
        "key": "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}",
        "operator": "GreaterThan",
        "value": "24h",
    }
    found = await ask(
        evaluation(conditions(all=[old])),
        thing(creationTimestamp="2025-12-30T23:59:59Z"),
        thing(creationTimestamp="2025-12-31T00:00:01Z"),
    )
    assert outcomes(found) == ["claimed", "left"]


async def test_the_same_object_gets_the_same_chance_in_every_judgement_of_a_moment() -> None:
    half = {"key": "{{ random('[01]') }}", "operator": "Equals", "value": "1"}
    objects = [thing(f"p{number}") for number in range(40)]
    first = outcomes(await ask(evaluation(conditions(all=[half])), *objects))
    again = outcomes(await ask(evaluation(conditions(all=[half])), *reversed(objects)))
    later = outcomes(await ask(evaluation(conditions(all=[half]), clock=Moment(1e9)), *objects))
    assert first == again[::-1] != later
    assert {"claimed", "left"} == set(first)


@pytest.mark.parametrize(
    ("key", "bodies"),
    [
        ("{{ target.metadata.labels.app }}", False),
        ("{{ target.kind }}", False),
        ("{{ request.name }}", False),
        ("{{ time_now_utc() }}", False),
        ("{{ target.spec.x || '' }}", True),
        ("{{ target }}", True),
        ("{{ target.{{ request.name }} }}", True),
        ("{{ images }}", True),
        ("{{ from_context }}", True),
        ("{{ other }}", False),
    ],
)
async def test_bodies_are_needed_only_where_something_looks_further_than_metadata(
    *, key: str, bodies: bool
) -> None:
    context = [
        {"name": "from_context", "variable": {"value": "{{ target.spec.x }}"}},
        {"name": "other", "variable": {"value": "{{ target.metadata.name }}"}},
    ]
    condition = {"key": key, "operator": "Equals", "value": "x"}
    asked = evaluation(cleanup(PODS, conditions={"all": [condition]}, context=context))
    await asked.begin()
    assert asked.needs_bodies is bodies


async def test_a_value_that_can_t_be_meant_is_told_when_a_run_begins() -> None:
    wrong = {"key": "{{ nope( }}", "operator": "Equals", "value": 1}
    with pytest.raises(BadExpression):
        await evaluation(conditions(all=[wrong])).begin()
    context = [{"name": "pods", "variable": {"jmesPath": "items["}}]
    with pytest.raises(BadExpression, match="context entry pods"):
        await evaluation(cleanup(PODS, context=context)).begin()


async def test_what_can_t_be_read_is_unclear_and_the_others_go_on() -> None:
    page = b'{"items":[{"metadata":{"name":"a","namespace":"shop","uid":"1","labels":[]}},5,{"metadata":{"name":"b"}}]}'
    found = await evaluation(cleanup(PODS)).page(kind("Pod"), page)
    assert outcomes(found) == ["unclear", "unclear", "claimed"]
    assert (found[0].metadata.name, found[0].metadata.uid) == ("a", "1")
    assert "could not be read, so ClusterCleanupPolicy/old says nothing of it" in whys(found)[0]


async def test_a_page_that_is_no_list_is_a_bad_reply() -> None:
    for broken in (b"", b"[]", b'{"items": 5}', b"\xff{"):
        with pytest.raises(BadReply, match="can't be read"):
            await evaluation(cleanup(PODS)).page(kind("Pod"), broken)
    assert await evaluation(cleanup(PODS)).page(kind("Pod"), b'{"items": null}') == []


async def test_what_kyverno_leaves_alone_is_left_with_the_entry() -> None:
    filters = parse_filters("[Pod,shop,*] [Node,*,*]")
    found = await ask(evaluation(cleanup(PODS), filters=filters), thing(), thing(namespace="lab"))
    assert outcomes(found) == ["left", "claimed"]
    assert "[Pod,shop,*]" in whys(found)[0]


async def test_unknown_labels_of_namespaces_claim_nothing_and_are_told_once() -> None:
    policy = cleanup({**PODS, "namespaceSelector": {"matchLabels": {"team": "a"}}})
    asked = evaluation(policy, namespaces=None)
    assert outcomes(await ask(asked, thing(), thing("db"))) == ["left", "left"]
    assert len(asked.troubles) == 1
    assert "namespaceSelector" in asked.troubles[0]
    known = evaluation(policy, namespaces={"shop": {"team": "a"}})
    assert outcomes(await ask(known, thing(), thing(namespace="lab"))) == ["claimed", "left"]
    assert known.troubles == ()
    assert evaluation(cleanup(PODS), namespaces=None).troubles == ()


async def test_a_wildcard_leaves_what_is_made_again() -> None:
    policy = cleanup({"kinds": ["*"]})
    found = await ask(evaluation(policy), thing("kube-root-ca.crt"), thing(), what="ConfigMap")
    assert outcomes(found) == ["left", "claimed"]
    assert outcomes(await ask(evaluation(policy), thing(namespace=""), what="Node")) == ["left"]


async def test_what_goes_with_its_owner_is_left_to_the_collector_under_a_wildcard() -> None:
    def owned(name: str, owner: str) -> dict[str, Any]:
        return thing(
            name,
            ownerReferences=[
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"u-{owner}"}
            ],
        )

    raw = cleanup({"kinds": ["*"]})
    asked = evaluation(raw)
    found = [
        *await ask(asked, thing("set"), what="ReplicaSet"),
        *await ask(asked, owned("mine", "set"), owned("other", "gone"), thing("bare")),
    ]
    assert outcomes(found) == ["claimed"] * 4
    settled = without_dependents(read(raw), found)
    assert outcomes(settled) == ["claimed", "left", "claimed", "claimed"]
    assert "it goes with its owner set" in whys(settled)[1]
    orphaning = read(cleanup({"kinds": ["*"]}, deletionPropagationPolicy="Orphan"))
    assert without_dependents(orphaning, found) == found


async def test_whoever_names_a_kind_gets_all_of_it() -> None:
    raw = cleanup({"kinds": ["ReplicaSet", "Pod"]})
    asked = evaluation(raw)
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "u-set"}]
    found = [
        *await ask(asked, thing("set"), what="ReplicaSet"),
        *await ask(asked, thing("mine", ownerReferences=owners)),
    ]
    assert outcomes(without_dependents(read(raw), found)) == ["claimed", "claimed"]


async def test_an_owner_that_stays_takes_nothing_along() -> None:
    raw = cleanup({"kinds": ["*"]}, conditions={"all": [WEB]})
    asked = evaluation(raw)
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "u-set"}]
    found = [
        *await ask(asked, thing("set", labels={}), what="ReplicaSet"),
        *await ask(asked, thing("mine", labels={"app": "web"}, ownerReferences=owners)),
    ]
    assert outcomes(found) == ["unclear", "claimed"]
    assert outcomes(without_dependents(read(raw), found)) == ["unclear", "claimed"]


async def test_what_is_told_of_a_secret_quotes_nothing_of_it() -> None:
    def asks(key: str, context: Any = ()) -> dict[str, Any]:
        condition = {"key": key, "operator": "Equals", "value": 1}
        return cleanup({"kinds": ["Secret"]}, conditions={"all": [condition]}, context=list(context))

    entry = {"name": "x", "variable": {"value": "{{ parse_json(target.data.key) }}"}}
    secret = thing(data={"key": "hunter2"})
    for policy, told in (
        (asks("{{ parse_json(target.data.key) }}"), "conditions.all[0] has no answer"),
        (asks("{{ x }}", [entry]), "context entry x has no value"),
        (asks("{{ target.data.{{ target.data.key }} }}"), "conditions.all[0] has no answer"),
    ):
        found = await ask(evaluation(policy), secret, what="Secret")
        assert outcomes(found) == ["unclear"]
        assert told in whys(found)[0]
        assert "hunter2" not in whys(found)[0]
        assert "more is not shown of a Secret" in whys(found)[0]
    found = await ask(evaluation(asks("{{ target.a }}")), {"metadata": {"labels": "hunter2"}}, what="Secret")
    assert "hunter2" not in whys(found)[0]


async def test_long_pages_make_room_for_others() -> None:
    clock = Moment()
    await ask(evaluation(conditions(all=[WEB]), clock=clock), *(thing(f"p{n}") for n in range(10)))
    assert clock.pauses == 20


async def test_ten_thousand_names_are_no_trouble() -> None:
    names = [f"p{number}" for number in range(10_000)]
    found = await ask(evaluation(cleanup({**PODS, "names": names})), thing("p9999"), thing("p10000"))
    assert outcomes(found) == ["claimed", "left"]


async def test_the_policy_of_the_proposal_runs_as_written() -> None:
    found = await ask(
        evaluation(POLICY),
        thing("example", namespace="default"),
        thing("other", namespace="default"),
        thing("example", namespace="shop"),
    )
    assert outcomes(found) == ["claimed", "left", "left"]

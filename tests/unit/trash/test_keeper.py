"""Before something goes it is kept whole, with what goes along, or it does not go."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from skoupa.facts.rows import Row, uid_text
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.ledger.rows import FOUND_GONE, Body, Unkept
from skoupa.ledger.trash.bulk import MANY
from skoupa.ledger.trash.contents import NotKept
from skoupa.ledger.trash.keeper import Keeper, OnFailure
from skoupa.model.reasons import render
from skoupa.model.verdicts import Hold
from skoupa.sim.faults import asking
from tests.unit.cli.worlds import NOON, config_map, obj
from tests.unit.trash.keeping import KEY, Shop, claim, in_shop, opened

pytestmark = pytest.mark.unit

VALUE = "hunter2-and-more"
ENCODED = base64.b64encode(VALUE.encode()).decode()


def owned_by(kind: str, name: str, uid: str, *, api: str = "v1", controller: bool = False) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": controller}


def secret(**annotations: str) -> dict[str, Any]:
    return obj(
        "Secret",
        "login",
        namespace="shop",
        annotations={"team": "payments", **annotations},
        type="Opaque",
        data={"password": ENCODED},
    )


def readable(bodies: tuple[Body, ...] | Unkept | Hold) -> bytes:
    import zlib

    assert isinstance(bodies, tuple)
    return b"".join(zlib.decompress(body.data) if body.form == "json+zlib" else body.data for body in bodies)


def test_one_object_is_read_alone_and_kept_without_server_fields() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("secrets", "login")
        shop.wire.asked.clear()
        [kept] = opened(await shop.keeper(KEY).keep(row, claim()), row, KEY)
        assert shop.wire.asked == {("get", "secrets"): 1}
        assert kept.manifest is not None
        assert kept.manifest["data"] == {"password": ENCODED}
        assert kept.manifest["metadata"].keys() == {"name", "namespace", "annotations"}
        assert kept.withheld == ()

    in_shop(work, secret())


def test_without_a_key_a_secret_leaves_its_keys_and_nothing_that_carries_its_values() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("secrets", "login")
        bodies = await shop.keeper().keep(row, claim())
        [kept] = opened(bodies, row)
        assert kept.withheld == ("password",)
        assert kept.manifest is not None
        assert "data" not in kept.manifest
        assert kept.manifest["type"] == "Opaque"
        assert kept.manifest["metadata"]["annotations"] == {"team": "payments"}
        assert set(kept.left_out) == {"applied", "packed", "plain"}
        for spelt in (VALUE, ENCODED):
            assert spelt.encode() not in readable(bodies)

    applied = f'{{"data":{{"password":"{ENCODED}"}}}}'
    in_shop(work, secret(applied=applied, plain=f"it is {VALUE}", packed="x" * 300))


def applied(field: str, written: str) -> str:
    """As kubectl writes down what it was given."""
    return f'{{"kind":"Secret","metadata":{{"name":"login"}},"{field}":{{"password":"{written}"}}}}\n'


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (VALUE, applied("stringData", VALUE)),
        ("p&ss<w>rd", applied("stringData", r"p\u0026ss\u003cw\u003erd")),
        ('quo"te', applied("stringData", r"quo\"te")),
        ("new-one", applied("data", base64.b64encode(b"the-old-one").decode())),
    ],
)
@pytest.mark.parametrize("key", ["kubectl.kubernetes.io/last-applied-configuration", "tool.example/copy"])
def test_without_a_key_no_copy_of_a_secret_is_kept_however_it_is_spelt_and_old(
    value: str, copy: str, key: str
) -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("secrets", "login")
        [kept] = opened(await shop.keeper().keep(row, claim()), row)
        assert kept.manifest is not None
        assert kept.manifest["metadata"]["annotations"] == {"team": "payments"}
        assert kept.left_out == (key,)
        [whole] = opened(await shop.keeper(KEY).keep(row, claim()), row, KEY)
        assert whole.left_out == ()

    assert len(copy) < 200
    encoded = base64.b64encode(value.encode()).decode()
    in_shop(work, {**secret(**{key: copy}), "data": {"password": encoded}})


def test_without_a_key_a_value_is_found_in_an_annotation_as_json_spells_it() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("secrets", "login")
        [kept] = opened(await shop.keeper().keep(row, claim()), row)
        assert set(kept.left_out) == {"go", "json"}

    encoded = base64.b64encode(b'a&b"c').decode()
    hints = {"go": r'it is "a\u0026b\"c"', "json": r'it is "a&b\"c"'}
    in_shop(work, {**secret(**hints), "data": {"password": encoded}})


def test_who_may_list_and_not_get_keeps_all_the_same_and_is_refused_once() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("configmaps", "a")
        shop.wire.refuse["get", "configmaps"] = 403
        shop.wire.asked.clear()
        keeper = shop.keeper()
        for _ in range(3):
            [kept, *_] = opened(await keeper.keep(row, claim("Orphan")), row)
            assert kept.name == "a"
        assert shop.wire.asked == {("get", "configmaps"): 1, ("list", "configmaps"): 3}

    in_shop(work, config_map("a"))


def test_many_of_a_kind_are_read_in_pages_and_one_that_changed_meanwhile_alone() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("configmaps", f"c{number}") for number in range(2 * MANY)]
        keeper = shop.keeper()
        shop.wire.asked.clear()
        await keeper.prepare(rows)
        assert shop.wire.asked == {("list", "configmaps"): 1}
        await shop.client.merge_patch(CONFIG_MAPS, "c3", {"data": {"new": "1"}}, namespace="shop")
        rows[3] = await shop.row("configmaps", "c3")
        shop.wire.asked.clear()
        for row in rows:
            [kept] = opened(await keeper.keep(row, claim("Orphan")), row)
            assert kept.manifest is not None
            assert kept.name == row.name
            assert ("new" in kept.manifest.get("data", {})) is (row.name == "c3")
        assert shop.wire.asked["get", "configmaps"] == 1

    in_shop(work, *(config_map(f"c{number}") for number in range(2 * MANY)))


def test_few_are_not_read_in_pages_and_a_page_that_fails_costs_nothing() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("configmaps", f"c{number}") for number in range(MANY)]
        keeper = shop.keeper()
        shop.wire.asked.clear()
        await keeper.prepare(rows[:-1])
        assert not shop.wire.asked
        shop.wire.refuse["list", "configmaps"] = 500
        await keeper.prepare(rows)
        del shop.wire.refuse["list", "configmaps"]
        assert opened(await keeper.keep(rows[0], claim("Orphan")), rows[0])[0].name == "c0"

    in_shop(work, *(config_map(f"c{number}") for number in range(MANY)))


def test_what_is_gone_or_another_one_by_now_is_not_kept() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("configmaps", "a")
        uid = (await shop.client.get(CONFIG_MAPS, "a", namespace="shop", view=_whole()))["metadata"]["uid"]
        await shop.client.delete(CONFIG_MAPS, "a", namespace="shop", uid=uid, propagation="Background")
        assert await shop.keeper().keep(row, claim()) == Unkept(FOUND_GONE)
        await shop.client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="shop")
        assert await shop.keeper().keep(row, claim()) == Unkept(FOUND_GONE)

    in_shop(work, config_map("a"))


def test_what_is_on_its_way_is_not_kept_because_what_goes_along_may_be_gone_already() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("namespaces", "shop")
        assert len(opened(await shop.keeper().keep(row, claim()), row)) == 2
        found = await shop.client.get(NAMESPACES, "shop", view=_whole())
        uid = found["metadata"]["uid"]
        await shop.client.delete(NAMESPACES, "shop", uid=uid, propagation="Background")
        assert (await shop.client.get(NAMESPACES, "shop", view=_whole()))["metadata"]["deletionTimestamp"]
        assert await shop.keeper().keep(row, claim()) == Unkept(FOUND_GONE)

    blocked = config_map("a")
    blocked["metadata"]["finalizers"] = ["example.com/wait"]
    in_shop(work, obj("Namespace", "shop"), blocked)


def _whole() -> Any:
    from skoupa.kube.objects import WHOLE

    return WHOLE


def test_a_kind_that_is_off_is_not_read_at_all() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("configmaps", "a")
        shop.wire.asked.clear()
        assert await shop.keeper(off=frozenset({"configmaps"})).keep(row, claim()) == ()
        assert not shop.wire.asked

    in_shop(work, config_map("a"))


def test_data_that_can_not_be_kept_is_held_for_a_while_and_other_things_go_with_a_word_about_it() -> None:
    async def work(shop: Shop) -> None:
        rows = {kind: await shop.row(kind, "a") for kind in ("configmaps", "services")}
        for kind in rows:
            shop.wire.refuse["get", kind] = shop.wire.refuse["list", kind] = 500
        held = await shop.keeper().keep(rows["configmaps"], claim())
        assert isinstance(held, Hold)
        assert held.reason.code == "not-in-trash"
        assert "refused by the test" in dict(held.reason.facts)["why"]
        assert held.until is not None
        assert held.until > NOON
        unkept = await shop.keeper().keep(rows["services"], claim())
        assert isinstance(unkept, Unkept)
        assert "refused by the test" in unkept.why
        assert isinstance(await shop.keeper(on_failure="hold").keep(rows["services"], claim()), Hold)
        going = await shop.keeper(on_failure="continue").keep(rows["configmaps"], claim())
        assert isinstance(going, Unkept)

    in_shop(work, config_map("a"), obj("Service", "a", namespace="shop", spec={"ports": [{"port": 80}]}))


@pytest.mark.parametrize(
    "answer", [f'{{"data":{{"password":"{ENCODED}', f'{{"data":{{"password":"{ENCODED}"}}}}']
)
def test_half_an_answer_holds_it_and_is_not_quoted(answer: str) -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("secrets", "login")
        shop.wire.instead["get", "secrets"] = answer.encode()
        held = await shop.keeper().keep(row, claim())
        assert isinstance(held, Hold)
        assert ENCODED not in str(held)

    in_shop(work, secret())


def test_an_object_that_is_too_large_is_held_and_the_setting_is_named() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("configmaps", "a")
        held = await shop.keeper(object_bytes=100).keep(row, claim())
        assert isinstance(held, Hold)
        assert "trash.maxObjectBytes" in dict(held.reason.facts)["why"]

    in_shop(work, config_map("a", data={"a": "x" * 200}))


OWNER = obj(
    "Pod",
    "owner",
    namespace="shop",
    uid="00000000-0000-0000-0000-000000000001",
    spec={"containers": []},
)
OTHER = obj(
    "Pod",
    "other",
    namespace="shop",
    uid="00000000-0000-0000-0000-000000000009",
    spec={"containers": []},
)
CHILD = config_map(
    "child",
    uid="00000000-0000-0000-0000-000000000002",
    owners=[owned_by("Pod", "owner", "00000000-0000-0000-0000-000000000001")],
)
GRANDCHILD = obj(
    "Secret",
    "grandchild",
    namespace="shop",
    data={"password": ENCODED},
    owners=[owned_by("ConfigMap", "child", "00000000-0000-0000-0000-000000000002")],
)
SHARED = config_map(
    "shared",
    owners=[
        owned_by("Pod", "owner", "00000000-0000-0000-0000-000000000001"),
        owned_by("Pod", "other", "00000000-0000-0000-0000-000000000009"),
    ],
)


def test_what_is_owned_is_kept_along_down_the_chain_but_not_what_another_owner_keeps() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("pods", "owner")
        bodies = await shop.keeper().keep(row, claim())
        assert isinstance(bodies, tuple)
        assert {body.part for body in bodies} == {
            "",
            "configmaps/shop/child",
            "secrets/shop/grandchild",
        }
        assert ENCODED.encode() not in readable(bodies)
        assert len(opened(await shop.keeper().keep(row, claim("Orphan")), row)) == 1

    in_shop(work, OWNER, OTHER, CHILD, GRANDCHILD, SHARED)


JOB_UID, POD_UID = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"


def test_what_hangs_on_something_that_is_made_again_is_kept_and_that_itself_is_not() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("jobs.batch", "build")
        bodies = await shop.keeper().keep(row, claim())
        assert isinstance(bodies, tuple)
        assert {body.part for body in bodies} == {"", "configmaps/shop/settings"}

    in_shop(
        work,
        obj("Job", "build", namespace="shop", api="batch/v1", uid=JOB_UID, spec={}),
        obj(
            "Pod",
            "build-x",
            namespace="shop",
            uid=POD_UID,
            spec={"containers": []},
            owners=[owned_by("Job", "build", JOB_UID, api="batch/v1", controller=True)],
        ),
        config_map("settings", owners=[owned_by("Pod", "build-x", POD_UID)]),
    )


def test_nobody_looks_for_what_hangs_on_a_config_map_unless_something_is_known_to() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("configmaps", "owner")
        shop.wire.asked.clear()
        assert len(opened(await shop.keeper().keep(row, claim()), row)) == 1
        assert shop.wire.asked == {("get", "configmaps"): 1}
        keeper = shop.keeper(named=lambda one: one.uid == row.uid)
        assert [kept.name for kept in opened(await keeper.keep(row, claim()), row)] == ["owner", "child"]

    uid = "00000000-0000-0000-0000-000000000001"
    child = config_map("child", owners=[owned_by("ConfigMap", "owner", uid)])
    in_shop(work, config_map("owner", uid=uid), child)


def pods(number: int) -> list[dict[str, Any]]:
    return [obj("Pod", f"p{one}", namespace="shop", spec={"containers": []}) for one in range(number)]


def test_one_look_around_serves_many_deletions_in_a_namespace() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("pods", f"p{number}") for number in range(5)]
        keeper = shop.keeper()
        shop.wire.asked.clear()
        for row in rows:
            await keeper.keep(row, claim())
        assert shop.wire.asked["list", "services"] == 1

    in_shop(work, *pods(5))


def test_a_look_from_before_an_object_was_made_does_not_count_for_it() -> None:
    async def work(shop: Shop) -> None:
        keeper = shop.keeper()
        await keeper.keep(await shop.row("pods", "p0"), claim())
        await shop.clock.sleep(3)
        made = await shop.client.create(
            PODS, {"metadata": {"name": "new"}, "spec": {"containers": []}}, namespace="shop"
        )
        await shop.clock.sleep(2)
        child = config_map("child", owners=[owned_by("Pod", "new", made["metadata"]["uid"])])
        await shop.client.create(CONFIG_MAPS, child, namespace="shop")
        row = await shop.row("pods", "new")
        assert [kept.name for kept in opened(await keeper.keep(row, claim()), row)] == ["new", "child"]

    in_shop(work, *pods(1))


def test_what_was_made_since_the_last_look_is_kept_too() -> None:
    async def work(shop: Shop) -> None:
        keeper = shop.keeper()
        await shop.clock.sleep(60)
        await keeper.keep(await shop.row("pods", "p0"), claim())
        await shop.clock.sleep(2)
        row = await shop.row("pods", "p1")
        late = config_map("late", owners=[owned_by("Pod", "p1", uid_text(row.uid))])
        await shop.client.create(CONFIG_MAPS, late, namespace="shop")
        assert [kept.name for kept in opened(await keeper.keep(row, claim()), row)] == ["p1", "late"]

    in_shop(work, *pods(2))


def test_a_look_that_took_long_says_that_it_may_have_missed_what_was_made_meanwhile() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("pods", "p0")
        shop.cluster.faults.delay(4, when=asking(verb="list", kind="services"), times=1)
        bodies = await shop.keeper().keep(row, claim())
        [kept] = opened(bodies, row)
        # So it is of nearly every owner: that is not worth a mark on each of them.
        assert isinstance(bodies, tuple)
        assert not any(body.partly for body in bodies)
        assert kept.unknown == (
            "what was made in the last 4 seconds that may go along: the look around was before that",
        )

    in_shop(work, *pods(1))


def test_a_kind_whose_list_does_not_answer_is_waited_for_once_in_a_while_and_named() -> None:
    async def work(shop: Shop) -> None:
        for number in range(40):
            made = {"metadata": {"name": f"ns-{number}"}}
            await shop.client.create(NAMESPACES, made)
            pod = {"metadata": {"name": "p"}, "spec": {"containers": []}}
            await shop.client.create(PODS, pod, namespace=f"ns-{number}")
        rows = [await shop.row("pods", "p", namespace=f"ns-{number}") for number in range(40)]
        shop.cluster.faults.delay(600, when=asking(verb="list", kind="services"), times=None)
        keeper, began = shop.keeper(), shop.clock.now()
        told = [opened(found, row) for found, row in zip(await _all_kept(keeper, rows), rows, strict=True)]
        assert shop.clock.now() - began <= 6
        silent = "services that may go along: the server did not answer within 5 seconds"
        assert all(silent in own.unknown for [own] in told)
        await shop.clock.sleep(20)
        shop.wire.asked.clear()
        await keeper.keep(rows[0], claim())
        assert shop.wire.asked["list", "services"] == 0
        await shop.clock.sleep(60)
        await keeper.keep(rows[0], claim())
        assert shop.wire.asked["list", "services"] == 1

    in_shop(work)


async def _all_kept(keeper: Keeper, rows: list[Row]) -> list[tuple[Body, ...] | Unkept | Hold]:
    return list(await asyncio.gather(*(keeper.keep(row, claim()) for row in rows)))


def test_reading_ahead_gives_up_soon_on_a_list_that_does_not_answer() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("configmaps", f"c{number}") for number in range(MANY)]
        keeper, began = shop.keeper(), shop.clock.now()
        shop.cluster.faults.delay(600, when=asking(verb="list", kind="configmaps"), times=None)
        for _ in range(3):
            await keeper.prepare(rows)
        assert shop.clock.now() - began <= 6
        [kept] = opened(await keeper.keep(rows[0], claim()), rows[0])
        assert kept.manifest is not None

    in_shop(work, *(config_map(f"c{number}") for number in range(MANY)))


def test_an_object_that_can_not_be_read_in_time_is_held_and_others_of_its_kind_do_not_wait_for_it() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("configmaps", name) for name in ("a", "b")]
        shop.cluster.faults.delay(600, when=asking(verb="get", kind="configmaps"), times=None)
        keeper, began = shop.keeper(), shop.clock.now()
        for row in rows:
            held = await keeper.keep(row, claim())
            assert isinstance(held, Hold)
            assert "did not answer within 10 seconds" in dict(held.reason.facts)["why"]
        assert shop.clock.now() - began <= 11

    in_shop(work, config_map("a"), config_map("b"))


def test_what_goes_along_and_can_not_be_read_is_named_and_holds_nothing() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("pods", "owner")
        for kind in ("secrets", "services"):
            shop.wire.refuse["list", kind] = 403
        shop.wire.refuse["list", "ingresses.networking.k8s.io"] = 500
        keeper = shop.keeper(on_failure="hold")
        [kept, child] = opened(await keeper.keep(row, claim()), row)
        assert child.name == "child"
        refused, broken = sorted(kept.unknown, reverse=True)
        assert refused == "secrets, services that may go along: no permission to list them"
        assert broken.startswith("ingresses.networking.k8s.io that may go along: ")
        # Who has no right is not asked again at once, whatever else is read anew.
        await shop.clock.sleep(60)
        shop.wire.asked.clear()
        [again, *_] = opened(await keeper.keep(row, claim()), row)
        assert again.unknown == kept.unknown
        assert shop.wire.asked["list", "configmaps"] == 1
        assert shop.wire.asked["list", "secrets"] == 0

    in_shop(work, OWNER, CHILD)


def test_an_owner_in_no_namespace_is_kept_with_what_it_owns_anywhere() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("stacks.shop.example", "one")
        bodies = await shop.keeper().keep(row, claim())
        assert isinstance(bodies, tuple)
        assert {body.part for body in bodies} == {
            "",
            "configmaps/shop/a",
            "configmaps/lab/b",
            "clusterroles.rbac.authorization.k8s.io/c",
        }

    link = owned_by("Stack", "one", "00000000-0000-0000-0000-0000000000aa", api="shop.example/v1")
    in_shop(
        work,
        STACKS,
        obj("Stack", "one", api="shop.example/v1", uid="00000000-0000-0000-0000-0000000000aa"),
        config_map("a", owners=[link]),
        config_map("b", namespace="lab", owners=[link]),
        obj("ClusterRole", "c", api="rbac.authorization.k8s.io/v1", owners=[link], rules=[]),
    )


STACKS = obj(
    "CustomResourceDefinition",
    "stacks.shop.example",
    api="apiextensions.k8s.io/v1",
    spec={
        "group": "shop.example",
        "scope": "Cluster",
        "names": {"kind": "Stack", "plural": "stacks", "singular": "stack"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
)


def test_what_was_read_ahead_and_did_not_go_is_let_go_of_after_a_minute() -> None:
    async def work(shop: Shop) -> None:
        rows = [await shop.row("configmaps", f"c{number}") for number in range(MANY)]
        keeper = shop.keeper()
        await keeper.prepare(rows)
        await shop.clock.sleep(90)
        await keeper.prepare([])
        shop.wire.asked.clear()
        await keeper.keep(rows[0], claim())
        assert shop.wire.asked == {("get", "configmaps"): 1}

    in_shop(work, *(config_map(f"c{number}") for number in range(MANY)))


def test_a_namespace_goes_although_some_of_it_can_not_be_read_and_says_what() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("namespaces", "shop")
        shop.wire.refuse["list", "secrets"] = 403
        gap = Gap(group="metrics.example", version="v1", why="the service is down")
        shop.discovery = Discovery(resources=shop.discovery.resources, gaps=(gap,))
        [kept, *rest] = opened(await shop.keeper().keep(row, claim()), row)
        assert [one.name for one in rest] == ["a"]
        assert set(kept.unknown) == {
            "secrets that may go along: no permission to list them",
            "kinds of metrics.example/v1 that may go along: the service is down",
        }

    in_shop(work, obj("Namespace", "shop"), config_map("a"), secret())


def test_a_namespace_is_kept_with_what_is_in_it_but_for_what_comes_back_by_itself() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("namespaces", "shop")
        bodies = await shop.keeper().keep(row, claim("Orphan"))
        assert isinstance(bodies, tuple)
        assert {body.part for body in bodies} == {"", "configmaps/shop/a", "secrets/shop/login"}

    in_shop(
        work,
        obj("Namespace", "shop"),
        config_map("a"),
        config_map("kube-root-ca.crt"),
        secret(),
        obj("Event", "e", namespace="shop", involvedObject={}),
        config_map("elsewhere", namespace="lab"),
    )


def test_more_than_is_kept_of_one_deletion_holds_it() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("namespaces", "shop")
        for keeper in (shop.keeper(parts=2), shop.keeper(together_bytes=300)):
            held = await keeper.keep(row, claim())
            assert isinstance(held, Hold)
            assert "trash.maxObjects, trash.maxBytes" in dict(held.reason.facts)["why"]
        some = opened(await shop.keeper(parts=2, on_failure="continue").keep(row, claim()), row)
        assert len(some) == 3
        assert "more goes along" in some[0].unknown[0]

    in_shop(work, obj("Namespace", "shop"), *(config_map(f"c{number}") for number in range(5)))


def test_what_is_not_kept_has_its_kind_and_place_beside_it_so_that_only_who_may_read_that_is_told() -> None:
    async def work(shop: Shop) -> None:
        namespace, pod = await shop.row("namespaces", "shop"), await shop.row("pods", "owner")
        shop.wire.refuse["list", "services"] = 403
        keeper = shop.keeper(object_bytes=1000, on_failure="continue")
        [own, *_] = opened(await keeper.keep(namespace, claim()), namespace)
        too_large, refused = (gap for gap in own.gaps if isinstance(gap, NotKept))
        assert too_large.what == "secrets/shop/huge goes along"
        assert [(gap.resource, gap.namespace) for gap in (too_large, refused)] == [
            ("secrets", "shop"),
            ("services", "shop"),
        ]
        shop.wire.refuse["get", "secrets"] = 500
        [own, *_] = opened(await shop.keeper().keep(pod, claim()), pod)
        gaps = {gap.resource: gap for gap in own.gaps if isinstance(gap, NotKept)}
        assert gaps["secrets"].what == "secrets/huge that may go along"
        assert {gap.namespace for gap in gaps.values()} == {"shop"}

    owner = "00000000-0000-4000-8000-00000000000a"
    in_shop(
        work,
        obj("Namespace", "shop"),
        obj("Pod", "owner", namespace="shop", uid=owner, spec={"containers": []}),
        obj(
            "Secret",
            "huge",
            namespace="shop",
            owners=[owned_by("Pod", "owner", owner)],
            annotations={f"a{number}": "x" * 200 for number in range(10)},
        ),
    )


@pytest.mark.parametrize("on_failure", ["hold-data", "hold", "continue"])
def test_what_goes_along_and_is_too_large_holds_as_if_it_went_by_itself(on_failure: OnFailure) -> None:
    async def work(shop: Shop) -> None:
        pod = await shop.row("pods", "owner")
        kept = await shop.keeper(object_bytes=1000, on_failure=on_failure).keep(pod, claim())
        assert isinstance(kept, Hold) is (on_failure != "continue")
        if isinstance(kept, Hold):
            assert "configmaps/shop/huge goes along: it has" in render(kept.reason)

    owner = "00000000-0000-4000-8000-00000000000a"
    in_shop(
        work,
        obj("Namespace", "shop"),
        obj("Pod", "owner", namespace="shop", uid=owner, spec={"containers": []}),
        obj(
            "ConfigMap",
            "huge",
            namespace="shop",
            owners=[owned_by("Pod", "owner", owner)],
            data={"k": "v" * 5000},
        ),
    )

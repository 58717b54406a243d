"""`pause`, `brakes`, `brakes release`: what they write and say; and that `plan`, `explain` and `sweep` obey Brakes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa import names
from skoupa.cli.braking import brakes, pause, release
from skoupa.cli.braking.pause import read_scope
from skoupa.errors import Forbidden, Status, UsageError
from skoupa.install.roles import sweep_role
from skoupa.kinds import definitions
from skoupa.kinds.brake import BRAKES, EVERYTHING, BrakeSpec, Scope, manifest
from skoupa.kinds.definition import document
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.tenant import TENANT
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.state.access import Rule
from tests.unit.cli.policies import cleaning
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, granting, installed, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def bare(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    """A town without the kind."""
    town = Town(skoupa, monkeypatch)
    for module in (pause, brakes, release):
        monkeypatch.setattr(module, "in_cluster", town._in_cluster)
    return town.holding(obj("Namespace", "shop"))


@pytest.fixture
def town(bare: Town) -> Town:
    async def install() -> None:
        async with bare.cluster:
            client = Client(bare.cluster, bare.clock)
            for definition in definitions():
                await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
            for _ in range(200):
                await asyncio.sleep(0)

    asyncio.run(install())
    return bare


def pulled(town: Town, name: str, **spec: Any) -> None:
    asyncio.run(
        Client(town.cluster, town.clock).create(
            BRAKES, manifest(name, BrakeSpec(scope=Scope(**spec), reason="the audit"))
        )
    )


def found(town: Town) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in town.cluster.objects(BRAKES)}


def test_pause_without_a_scope_stops_everything_and_says_how_to_release_it(town: Town) -> None:
    said = town("pause", "--reason", "the storage is down")
    assert said.code == 0, said.err
    assert said.out == (
        "Nothing goes any more: Brake pause-all\nTo release it: skoupa brakes release pause-all\n"
    )
    assert "no controller has answered yet" in said.err
    assert found(town)["pause-all"]["spec"] == {"scope": {"all": True}, "reason": "the storage is down"}


def test_pause_narrows_by_its_parts_and_ends_by_itself(town: Town) -> None:
    said = town("pause", "ns/shop", "kind/pods", "--for", "2h")
    assert said.code == 0, said.err
    assert "Nothing of ns/shop kind/pods goes any more until" in said.out
    (made,) = found(town).values()
    assert made["metadata"]["name"] == "pause-ns-shop-kind-pods"
    assert made["spec"] == {
        "scope": {"namespace": "shop", "kind": "pods"},
        "until": "2026-05-01T14:00:00Z",
    }


def test_pausing_the_same_again_changes_its_end_and_keeps_one_brake(town: Town) -> None:
    assert town("pause", "ns/shop", "--for", "2h", "--reason", "first").code == 0
    assert town("pause", "ns/shop").code == 0
    (made,) = found(town).values()
    assert made["spec"] == {"scope": {"namespace": "shop"}, "reason": "first"}


def test_a_pause_never_shortens_one_that_is_there(town: Town) -> None:
    assert town("pause", "--reason", "the storage is down").code == 0
    before = found(town)["pause-all"]["spec"]
    said = town("pause", "--for", "10m", "--reason", "a quick look")
    assert said.code == 0, said.err
    assert said.out.startswith("Nothing goes any more: Brake pause-all\n"), "it does not end in ten minutes"
    assert "pause-all was there and holds longer than that, so it was left as it is" in said.err
    assert {name: one["spec"] for name, one in found(town).items()} == {"pause-all": before}
    assert town("pause", "ns/shop", "--for", "2h").code == 0
    assert "left as it is" in town("pause", "ns/shop", "--for", "1h").err
    assert found(town)["pause-ns-shop"]["spec"]["until"] == "2026-05-01T14:00:00Z"
    assert town("pause", "ns/shop", "--for", "3h").code == 0
    assert found(town)["pause-ns-shop"]["spec"]["until"] == "2026-05-01T15:00:00Z"


def test_a_pause_leaves_a_change_freeze_of_the_same_scope_as_it_is(town: Town) -> None:
    pulled(town, "pause-all", all=True)
    freeze = {"schedule": {"from": "0 16 * * 5", "to": "0 8 * * 1", "timeZone": "UTC"}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(BRAKES, "pause-all", {"spec": freeze}))
    said = town("pause", "--for", "10m")
    assert said.code == 0, said.err
    brakes = found(town)
    assert brakes["pause-all"]["spec"]["schedule"] == freeze["schedule"]
    assert brakes["pause-all-2"]["spec"]["until"] == "2026-05-01T12:10:00Z"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("shop",), '"shop" is no scope: write all'),
        (("ns/",), "is no scope"),
        (("all", "ns/shop"), '"all" is no scope'),
        (("ns/shop", "all"), "it goes alone: leave it out, or leave out the others"),
        (("ns/a", "ns/b"), "ns is given twice"),
        (("mechanism/tll",), "mechanism"),
        (("ns/Shop_1",), "namespace"),
        (("ns/Shop_1",), '"Shop_1" is none: write the name of one namespace: small letters, digits and -'),
        ((f"ns/{'a' * 64}",), "63 at most"),
        (("--for", "soon"), "is no duration"),
        (("--for", "0"), "give more than nothing"),
        (("--until", "2020-01-01"), "is past"),
        (("--until", "17:00", "--for", "2h"), "can't go together"),
    ],
)
def test_a_pause_that_can_not_be_meant_writes_nothing(town: Town, args: tuple[str, ...], told: str) -> None:
    said = town("pause", *args)
    assert said.code == 2
    assert told in said.sentence
    assert not found(town)


def test_a_pause_of_a_namespace_that_is_not_there_says_that_it_holds_nothing_yet(town: Town) -> None:
    said = town("pause", "ns/shpo")
    assert said.code == 0
    assert said.out == (
        "Nothing is held now: there is no namespace shpo. What comes is held: Brake pause-ns-shpo\n"
        "To release it: skoupa brakes release pause-ns-shpo\n"
    )
    assert (
        "the Brake holds nothing now: there is no namespace shpo"
        in town("pause", "ns/shpo", "-o", "json").err
    )
    assert "holds nothing" not in town("pause", "ns/shop", "-o", "json").err


def test_a_pause_of_a_kind_that_is_not_there_is_refused_with_the_nearest_one(town: Town) -> None:
    said = town("pause", "kind/podz")
    assert said.code == 2
    assert "there is no kind podz in this cluster: did you mean pod" in said.sentence
    assert "--force" in said.sentence
    assert not found(town)
    assert town("pause", "kind/pods").code == 0


@pytest.mark.parametrize(
    ("named", "nearest"),
    [
        ("old-pod", "did you mean old-pods?"),
        ("shop/old-pods", "did you mean old-pods?"),
        ("zzz", "there are 2"),
    ],
)
def test_a_policy_that_is_not_there_is_refused_with_the_nearest(town: Town, named: str, nearest: str) -> None:
    town.holding(*policy_definitions())
    town.holding(cleaning("old-pods"), cleaning("q", namespace="shop"))
    said = town("pause", f"policy/{named}")
    assert said.code == 2
    assert f"there is no policy {named} in this cluster: {nearest}" in said.sentence
    assert "--force" in said.sentence
    assert found(town) == {}
    forced = town("pause", f"policy/{named}", "--force")
    assert forced.code == 0
    assert forced.out.startswith(f"Nothing is held now: there is no policy {named} in this cluster.")


def test_one_policy_is_not_called_several(town: Town) -> None:
    town.holding(*policy_definitions())
    town.holding(cleaning("old-pods"))
    said = town("pause", "policy/zzz")
    assert "there is 1 (`skoupa plan -A` names it)" in said.sentence


@pytest.mark.parametrize("named", ["q", "Q", "shop/q", "CleanupPolicy/shop/q", "old-pods"])
def test_a_policy_that_is_there_is_paused_by_the_end_of_its_name(town: Town, named: str) -> None:
    town.holding(*policy_definitions())
    town.holding(cleaning("old-pods"), cleaning("q", namespace="shop"))
    said = town("pause", f"policy/{named}")
    assert said.code == 0
    assert said.out.startswith(f"Nothing of policy/{named} goes any more")


@pytest.mark.parametrize("named", ["rollouts", "shop/rollouts", "RetentionPolicy/shop/rollouts", "tidy"])
def test_a_retention_policy_is_paused_by_its_name_like_any_other(town: Town, named: str) -> None:
    town.holding(*policy_definitions())
    spec = {"match": {"any": [{"resources": {"kinds": ["Job"]}}]}, "after": {"finished": "1h"}}
    town.holding(
        cleaning("old-pods"),
        obj("RetentionPolicy", "rollouts", namespace="shop", api="skoupa.dev/v1alpha1", spec=spec),
        obj("ClusterRetentionPolicy", "tidy", api="skoupa.dev/v1alpha1", spec=spec),
    )
    said = town("pause", f"policy/{named}")
    assert said.code == 0, said.err
    assert said.out.startswith(f"Nothing of policy/{named} goes any more")
    assert "did you mean rollouts?" in town("pause", "policy/rollout").sentence
    assert "there are 3 (" in town("pause", "policy/zzz").sentence


@pytest.mark.parametrize("named", ["Tenant/111111", "111111"])
def test_what_goes_with_one_tenant_is_paused_by_its_name(town: Town, named: str) -> None:
    town.holding(*policy_definitions(), document(TENANT))
    town.holding(obj("Tenant", "111111", api="tenant.kubezoo.io/v1alpha1", spec={}))
    said = town("pause", f"policy/{named}")
    assert said.code == 0, said.err
    assert said.out.startswith(f"Nothing of policy/{named} goes any more")
    refused = town("pause", "policy/Tenant/111112")
    assert refused.code == 2
    assert "did you mean 111111?" in refused.sentence


@pytest.mark.parametrize("mechanism", ["ttl", "policies", "retention", "tenants"])
def test_the_help_of_pause_names_each_mechanism_by_which_something_goes(town: Town, mechanism: str) -> None:
    assert town("pause", f"mechanism/{mechanism}").code == 0
    assert f"mechanism/{mechanism}" in town("pause", "--help").out
    assert f"mechanism/{mechanism}" in town("pause", "shop").sentence


def test_who_may_not_list_policies_can_pause_one(town: Town) -> None:
    town.holding(*policy_definitions())
    town.cluster.allow_only("ann", [Rule(verbs=("create", "get"), resources=(BRAKES.qualified,))])
    town.user = "ann"
    assert town("pause", "policy/q").code == 0
    assert found(town)


def test_a_pause_of_a_kind_that_comes_later_has_to_be_forced(town: Town) -> None:
    said = town("pause", "kind/widgets.shop.example", "--force")
    assert said.code == 0, said.err
    assert said.out.startswith("Nothing is held now: there is no kind widgets.shop.example in this cluster.")
    (made,) = found(town).values()
    assert made["spec"]["scope"] == {"kind": "widgets.shop.example"}


def test_who_may_only_create_brakes_is_not_told_that_no_controller_answers(town: Town) -> None:
    granting(Rule(verbs=("create",), resources=("brakes.skoupa.dev",)))(town.cluster)
    town.user = "bob"
    said = town("pause")
    assert said.code == 0, said.err
    assert "whether it is obeyed can't be seen without the right to get brakes.skoupa.dev" in said.err
    assert "no controller has answered" not in said.err
    again = town("pause")
    assert again.code == 6
    assert "there is a Brake pause-all already" in again.err
    assert "ask for the right to get and patch brakes.skoupa.dev" in again.sentence


def test_without_the_kind_every_command_says_how_to_get_it(bare: Town) -> None:
    for args in (("pause",), ("brakes",), ("brakes", "release", "x", "--yes")):
        said = bare(*args)
        assert said.code == 2
        assert said.sentence == (
            "this cluster has no kind brakes.skoupa.dev: `skoupa install | kubectl apply -f -` "
            "(with the options of your installation) brings it"
        )


def test_who_may_not_create_brakes_is_told_which_right_is_missing(town: Town) -> None:
    granting(Rule(verbs=("get",), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = town("pause")
    assert said.code == 6
    assert "ask for the right to create brakes.skoupa.dev" in said.sentence


def test_brakes_shows_what_stands_still(town: Town) -> None:
    assert town("brakes").out == "No Brakes: nothing stands still.\n"
    pulled(town, "stop", namespace="shop")
    said = town("brakes")
    assert said.out.splitlines()[0].split() == ["NAME", "SCOPE", "STATE", "HELD", "SINCE", "UNTIL", "REASON"]
    assert said.out.splitlines()[1].split() == ["stop", "ns/shop", "holds", "the", "audit"]
    assert town("brakes", "-o", "name").out == "brake.skoupa.dev/stop\n"
    document = town.document("brakes")
    assert (document["apiVersion"], document["kind"]) == ("skoupa.dev/v1alpha1", "BrakeList")
    (item,) = document["items"]
    assert item["spec"]["scope"] == {"namespace": "shop"}
    assert "managedFields" not in item["metadata"]


def test_a_brake_whose_end_is_past_is_over(town: Town) -> None:
    pulled(town, "stop", namespace="shop")
    ended = {"spec": {"until": "2026-05-01T11:30:00Z"}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(BRAKES, "stop", ended))
    assert town("brakes").out.splitlines()[1].split() == [
        "stop", "ns/shop", "over", "2026-05-01", "11:30", "the", "audit",
    ]  # fmt: skip


def test_release_needs_a_yes_where_nobody_can_be_asked(town: Town) -> None:
    pulled(town, "stop", all=True)
    said = town("brakes", "release", "stop")
    assert said.code == 5
    assert "release needs --yes" in said.err
    assert found(town)


@pytest.mark.parametrize("stopped", ["uid-1:600", "uid-2:60", ""])
def test_release_lets_go_nothing_but_what_was_shown_before_the_question(
    town: Town, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    pulled(town, "share", policy="tidy")
    client = Client(town.cluster, town.clock)

    def now_stops(run: str) -> None:
        patch = {"metadata": {"annotations": {names.STOPPED_RUN_ANNOTATION: run or None}}}
        asyncio.run(client.merge_patch(BRAKES, "share", patch))

    now_stops("uid-1:60")
    monkeypatch.setattr(release, "confirm", lambda *_, **__: now_stops(stopped))
    said = town("brakes", "release", "share")
    assert said.code == 2
    assert "the Brake share is not the one any more that was shown" in said.err
    assert set(found(town)) == {"share"}
    assert names.RELEASED_BY_ANNOTATION not in (found(town)["share"]["metadata"].get("annotations") or {})


def test_a_brake_that_was_pulled_again_under_its_name_is_not_released_with_the_one_before(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled(town, "stop", namespace="shop")

    def again(*_: Any, **__: Any) -> None:
        client, uid = Client(town.cluster, town.clock), found(town)["stop"]["metadata"]["uid"]
        asyncio.run(client.delete(BRAKES, "stop", uid=uid, propagation="Background"))
        pulled(town, "stop", all=True)

    monkeypatch.setattr(release, "confirm", again)
    said = town("brakes", "release", "stop")
    assert said.code == 2
    assert "not the one any more that was shown: stop (all): the audit" in said.err
    assert set(found(town)) == {"stop"}


@pytest.mark.parametrize("word", ["", " ", "brake.skoupa.dev/"])
def test_release_of_nothing_is_refused_and_not_asked_of_the_server(town: Town, word: str) -> None:
    pulled(town, "stop", all=True)
    said = town("brakes", "release", word, "--yes")
    assert said.code == 2
    assert "is no name of a Brake: `skoupa brakes` shows them" in said.sentence
    assert set(found(town)) == {"stop"}


def test_release_deletes_the_brake(town: Town) -> None:
    pulled(town, "stop", all=True)
    said = town("brakes", "release", "brake.skoupa.dev/stop", "--yes")
    assert said.code == 0, said.err
    assert said.out == "stop (all): the audit\nreleased stop\n"
    assert not found(town)


def test_release_names_other_brakes_that_go_on_holding_the_same(town: Town) -> None:
    pulled(town, "share", policy="tidy")
    pulled(town, "weekend", all=True)
    pulled(town, "pause-tidy", policy="tidy")
    pulled(town, "pause-shop", namespace="shop")
    said = town("brakes", "release", "share", "--yes")
    assert said.code == 0, said.err
    assert "the Brake weekend (all) goes on holding it" in said.err
    assert "the Brake pause-tidy (policy/tidy) goes on holding it" in said.err
    assert "pause-shop" not in said.err


def test_who_may_not_delete_a_brake_leaves_no_word_of_having_released_it(town: Town) -> None:
    pulled(town, "stop", all=True)
    pulled(town, "weekend", all=True)
    earlier = {"metadata": {"annotations": {"skoupa.dev/released-by": "kim"}}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(BRAKES, "weekend", earlier))
    granting(Rule(verbs=("get", "list", "patch"), resources=("brakes.skoupa.dev",)))(town.cluster)
    town.user = "bob"
    for name in ("stop", "weekend"):
        said = town("brakes", "release", name, "--yes")
        assert said.code == 6
        assert "ask for the right to delete brakes.skoupa.dev" in said.err
    signed = {name: one["metadata"].get("annotations") for name, one in found(town).items()}
    assert signed == {"stop": None, "weekend": {"skoupa.dev/released-by": "kim"}}


def test_of_several_those_that_were_released_before_one_failed_are_told(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second", "third"):
        pulled(town, name, all=True)
    delete = Client.delete

    async def refusing(self: Client, resource: Any, name: str, **how: Any) -> Any:
        if name == "second":
            raise Forbidden("not this one", status=Status(code=403, message="not this one"))
        return await delete(self, resource, name, **how)

    monkeypatch.setattr(Client, "delete", refusing)
    said = town("brakes", "release", "first", "second", "third", "--yes")
    assert said.code == 6
    assert said.out.endswith("released first\n")
    assert "delete brakes.skoupa.dev" in said.err
    assert set(found(town)) == {"second", "third"}


def test_release_of_a_brake_that_nobody_lets_go_says_what_to_do(town: Town) -> None:
    pulled(town, "stop", all=True)
    patch = {"metadata": {"finalizers": ["skoupa.dev/brake"]}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(BRAKES, "stop", patch))
    said = town("brakes", "release", "stop", "--yes")
    assert said.code == 3
    assert "no controller has let it go" in said.err
    assert "kubectl patch brake stop --type=merge" in said.err
    (left,) = found(town).values()
    assert left["metadata"]["annotations"]["skoupa.dev/released-by"]


@pytest.mark.parametrize("name", ["first-start", "mass-labels-1777630000"])
def test_release_of_a_backlog_that_nobody_lets_go_says_to_start_a_controller(town: Town, name: str) -> None:
    """Without its finalizer the Brake goes, and the backlog stays held by what the controller wrote down."""
    pulled(town, name, mechanism="ttl", policy=name)
    patch = {"metadata": {"finalizers": ["skoupa.dev/brake"]}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(BRAKES, name, patch))
    said = town("brakes", "release", name, "--yes")
    assert said.code == 3
    assert f"the Brake {name} is deleted, but no controller has let it go" in said.err
    assert "start one that enforces" in said.err
    assert "skoupa run --enforce --accept-backlog" in " ".join(said.err.split())
    assert "kubectl patch" not in said.err


def test_release_of_a_brake_that_is_not_there(town: Town) -> None:
    said = town("brakes", "release", "nosuch", "--yes")
    assert said.code == 2
    assert said.sentence == "there is no Brake nosuch: `skoupa brakes` lists them"


def test_plan_and_explain_say_what_a_brake_holds_and_sweep_leaves_it(town: Town) -> None:
    town.holding(config_map("a", "1h"), config_map("b", "1h", namespace="default"))
    pulled(town, "stop", namespace="shop")
    document = town.document("plan", "-A")
    reasons = {item["name"]: [hold["reason"]["text"] for hold in item["holds"]] for item in document["items"]}
    assert reasons == {"a": ["brake stop: the audit"], "b": []}
    assert "held by: brake stop: the audit" in town("explain", "cm/a", "-n", "shop").out
    assert town("sweep", "-A", "--yes").code == 0
    assert town.find(CONFIG_MAPS, "a") is not None
    assert town.find(CONFIG_MAPS, "b", namespace="default") is None


def test_plan_tells_that_brakes_can_not_be_read_and_sweep_refuses(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    kinds = ("configmaps", "namespaces")
    granting(Rule(verbs=("get", "list", "delete"), resources=kinds))(town.cluster)
    town.user = "bob"
    said = town("plan", "configmaps", "-n", "shop")
    assert "whether a Brake holds any of it is not known: no permission: list brakes.skoupa.dev" in said.err
    swept = town("sweep", "configmaps", "-n", "shop", "--yes")
    assert swept.code == 5
    assert "which Brakes there are is not known, so nothing goes" in swept.err
    assert town.find(CONFIG_MAPS, "a") is not None


@pytest.mark.parametrize("missing", ["list", "watch"])
def test_who_sweeps_by_hand_and_may_not_read_brakes_is_told_what_to_grant(town: Town, missing: str) -> None:
    """As a Role in the namespace grants the rest; Brakes are in none."""
    town.holding(config_map("a", "1h"))
    own = Rule(verbs=("get", "list", "delete"), resources=("configmaps", "namespaces"), namespaces=("shop",))
    town.holding(installed())
    some = tuple(verb for verb in ("get", "list", "watch") if verb != missing)
    brakes, settings = sweep_role()["rules"]
    reading = Rule(
        verbs=tuple(settings["verbs"]), resources=("configmaps",), names=tuple(settings["resourceNames"])
    )
    granting(own, reading, Rule(verbs=some, resources=("brakes.skoupa.dev",)))(town.cluster)
    town.user = "bob"
    said = town("sweep", "configmaps", "-n", "shop", "--yes")
    assert said.code == 5
    assert f"no permission: {missing} brakes.skoupa.dev" in said.err
    assert (
        "kubectl create clusterrolebinding skoupa-sweep-YOU --clusterrole=skoupa-sweep --user=YOU" in said.err
    )
    assert town.find(CONFIG_MAPS, "a") is not None
    granting(own, reading, Rule(verbs=tuple(brakes["verbs"]), resources=("brakes.skoupa.dev",)))(town.cluster)
    assert town("sweep", "configmaps", "-n", "shop", "--yes").code == 0
    assert town.find(CONFIG_MAPS, "a") is None


def test_a_scope_is_read_as_it_is_shown() -> None:
    assert read_scope(()) == read_scope(("all",)) == EVERYTHING
    assert read_scope(("namespace/shop", "mechanism/ttl")) == Scope(namespace="shop", mechanism="ttl")
    assert read_scope(("policy/shop/old-pods",)) == Scope(policy="shop/old-pods")
    with pytest.raises(UsageError):
        read_scope(("pods",))


def test_the_list_says_of_a_brake_that_there_is_no_such_kind_and_names_the_nearest(town: Town) -> None:
    pulled(town, "typo", kind="Deploymnt")
    pulled(town, "right", kind="deployments.apps")
    said = town("brakes")
    assert said.code == 0, said.err
    assert said.out.count("holds nothing now") == 1
    assert "there is no kind Deploymnt in this cluster: did you mean deployment" in said.out

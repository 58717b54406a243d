"""What of Kyverno is found in a cluster, and the steps that follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.migrating.clusters import Migrating, codes, deployment, filters, lease, webhook
from tests.unit.cli.worlds import config_map

pytestmark = pytest.mark.unit


def commands(found: dict[str, Any], way: str) -> list[str]:
    return [step["command"] for step in found[way] if step["command"]]


def test_a_living_kyverno_is_told_with_its_release_and_its_flags(town: Migrating) -> None:
    args = ["--ttlReconciliationInterval=5m", "--v=2"]
    env = [{"name": "TZ", "value": "Europe/Athens"}]
    town.holding(lease(), deployment(replicas=3, args=args, env=env))
    kyverno = town.document()["kyverno"]
    assert (kyverno["state"], kyverno["leases"]) == ("alive", ["kyverno"])
    (controller,) = kyverno["controllers"]
    assert controller == {
        "namespace": "kyverno",
        "name": "kyverno-cleanup-controller",
        "image": "reg.kyverno.io/kyverno/cleanup-controller:v1.19.1",
        "version": "v1.19.1",
        "replicas": 3,
        "flags": args,
        "timeZone": "Europe/Athens",
        "serviceAccount": "kyverno-cleanup-controller",
    }


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        ([], "absent"),
        ([lease()], "alive"),
        ([lease(renewed="2026-05-01T11:00:00.000000Z")], "stopped"),
        ([lease(holder="")], "stopped"),
        ([deployment(replicas=0)], "stopped"),
        ([deployment(name="other-cleanup-controller", image="shop/janitor:1")], "absent"),
        ([deployment(name="mine", image="mirror:5000/kyverno/cleanup-controller@sha256:abc")], "stopped"),
    ],
)
def test_whether_it_lives_is_known_by_its_lease(
    town: Migrating, objects: list[dict[str, Any]], state: str
) -> None:
    assert town.holding(*objects).document()["kyverno"]["state"] == state


def test_another_release_is_remarked_upon(town: Migrating) -> None:
    town.holding(lease(), deployment(image="reg.kyverno.io/kyverno/cleanup-controller:v1.12.5"))
    assert "Kyverno v1.12.5 runs here" in town().err
    assert "runs here" not in town.holding().document()["warnings"][0].replace(
        "Kyverno v1.12.5 runs here", ""
    )


def test_filters_without_a_twin_count_for_skoupa_alone(town: Migrating) -> None:
    town.holding(lease(), filters("[Event,*,*] [Node,*,*] [Node/?*,*,*] [*/*,kube-system,*]"))
    found = town.document()
    assert len(found["kyverno"]["filters"]) == 4
    assert codes(found) == ["plain-filter"]
    assert "[Event,*,*]" in found["differences"][0]["kyverno"]


@pytest.mark.parametrize(
    ("args", "variable", "expected"),
    [
        (["--protectManagedResources"], "", ["managed-by-kyverno"]),
        (["--protectManagedResources=true"], "", ["managed-by-kyverno"]),
        (["--protectManagedResources=false"], "true", []),
        ([], "true", ["managed-by-kyverno"]),
        ([], "", []),
    ],
)
def test_what_kyverno_protects_by_a_flag_is_told(
    town: Migrating, args: list[str], variable: str, expected: list[str]
) -> None:
    env = [{"name": "FLAG_PROTECT_MANAGED_RESOURCES", "value": variable}]
    found = town.holding(lease(), deployment(args=args, env=env)).document()
    assert codes(found) == expected
    said = " ".join(step["what"] for step in found["over"])
    assert ("protect: {selectors: [app.kubernetes.io/managed-by=kyverno]}" in said) is bool(expected)


def test_kyverno_stops_before_skoupa_acts(town: Migrating) -> None:
    hooks = ["kyverno-cleanup-validating-webhook-cfg", "kyverno-ttl-validating-webhook-cfg"]
    town.holding(lease(), deployment(replicas=2), *(webhook(name, failure="Fail") for name in hooks))
    found = town.document()
    assert commands(found, "over") == [
        "skoupa install --mode observe | kubectl apply -f -",
        "skoupa plan -A",
        "kubectl scale deployment kyverno-cleanup-controller -n kyverno --replicas=0",
        "kubectl wait pods -n kyverno -l app.kubernetes.io/component=cleanup-controller --for=delete --timeout=2m",
        f"kubectl delete validatingwebhookconfiguration {' '.join(hooks)}",
        "skoupa install --mode enforce | kubectl apply -f -",
        "skoupa brakes release kyverno-alive",
    ]


def test_skoupa_stops_before_kyverno_acts_again(town: Migrating) -> None:
    found = town.holding(lease(), deployment(replicas=2)).document()
    assert commands(found, "back") == [
        'skoupa pause all --reason "back to Kyverno"',
        "skoupa install --mode observe | kubectl apply -f -",
        "kubectl scale deployment kyverno-cleanup-controller -n kyverno --replicas=2",
        "skoupa uninstall --check",
    ]


def test_what_kyverno_would_take_on_its_return_is_counted(town: Migrating) -> None:
    town.holding(
        lease(), config_map("kept", "10m", labels={"skoupa.dev/keep": "true"}), config_map("odd", "1.5h")
    )
    found = town.document()
    told = [step["what"] for step in found["back"] if "go as soon as it" in step["what"]]
    assert len(told) == 1
    assert "of the objects above 2 go" in told[0]
    assert any("compat: {kyvernoTtl: true}" in step["what"] for step in found["over"])
    assert "skoupa install --mode enforce --config skoupa.yaml | kubectl apply -f -" in commands(
        found, "over"
    )


def test_without_kyverno_there_is_nothing_to_stop(town: Migrating) -> None:
    found = town.document()
    assert not any(
        "kubectl scale" in command for command in commands(found, "over") + commands(found, "back")
    )
    assert "Kyverno's cleanup controller is not there." in town().out


def test_a_deployment_that_can_not_be_seen_is_taken_to_be_where_the_lease_is(town: Migrating) -> None:
    found = town.holding(lease(namespace="policies")).document()
    scale = "kubectl scale deployment kyverno-cleanup-controller -n policies --replicas=0"
    assert scale in commands(found, "over")


def test_kinds_that_kyverno_may_not_delete_are_told(town: Migrating, monkeypatch: pytest.MonkeyPatch) -> None:
    async def may(*_: object) -> bool:
        return False

    monkeypatch.setattr("skoupa.cli.migrating.labels.may", may)
    (label,) = town.holding(lease(), deployment(), config_map("a", "4h")).document()["labels"]
    assert (label["kyverno"]["goesAt"], codes(label)) == (None, ["kyverno-may-not"])

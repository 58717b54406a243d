"""What would go again with a Tenant that is being deleted does not come back, whatever would keep it; all else does."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.state.access import Rule
from tests.unit.cli.test_tenant import tenant
from tests.unit.cli.worlds import ASKING, config_map, installed, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE, LEFTOVERS, outcomes, restored
from tests.unit.trash.test_company import into_lab

pytestmark = pytest.mark.unit

GOING = {"deletionTimestamp": "2026-05-01T11:50:00Z"}
HIGH = "priorityclasses"
ON = installed("mode: enforce\nfeatures: {tenants: true}\n")


def high(name: str, **labels: str) -> dict[str, Any]:
    return obj("PriorityClass", name, api="scheduling.k8s.io/v1", value=1, labels=labels)


def gone(memory: Memory, *objects: dict[str, Any], settings: dict[str, Any] = ON) -> list[str]:
    """They went with their tenant; the ids of their rows."""
    memory.holding(document(TENANT), obj("Namespace", "skoupa"), settings, *objects)
    return [
        memory.delete(
            f"{one['kind'].lower()}",
            one["metadata"]["name"],
            namespace=one["metadata"].get("namespace", ""),
            mechanism="tenants",
        )
        for one in objects
    ]


@pytest.mark.parametrize("how", [(), ("--keep-for", "7d")])
def test_what_a_tenant_that_is_being_deleted_would_take_again_is_refused(
    memory: Memory, how: tuple[str, ...]
) -> None:
    entry_id, other = gone(memory, high("111111-high"), high("222222-high"))
    memory.holding(tenant(**GOING), tenant("222222"))
    said = memory("restore", entry_id, *how, "--yes")
    assert said.code == LEFTOVERS
    words = " ".join(said.out.split())
    assert "the Tenant 111111 is being deleted and would take it again, whatever label keeps it" in words
    assert "0 of 1 restored." in words
    assert outcomes(restored(memory, entry_id, other, *how, code=LEFTOVERS)) == {
        "111111-high": "refused",
        "222222-high": "restored",
    }


def test_what_is_in_a_namespace_of_such_a_tenant_comes_back_elsewhere_alone(memory: Memory) -> None:
    memory.holding(obj("Namespace", "111111-shop"))
    (entry_id,) = gone(memory, config_map("a", namespace="111111-shop"))
    memory.holding(tenant(**GOING))
    (found,) = restored(memory, entry_id, code=LEFTOVERS)
    assert found["outcome"]["what"] == "refused"
    assert found["outcome"]["text"].endswith("when that is over, or --into another namespace")
    assert outcomes(restored(memory, entry_id, *into_lab(memory))) == {"a": "restored"}
    assert memory.find(CONFIG_MAPS, "a", namespace="lab") is not None


def test_a_namespace_by_its_label_is_such_a_tenants_too(memory: Memory) -> None:
    label = {"example.org/tenant": "111111"}
    rule = "tenants: {byName: false, namespaceLabel: example.org/tenant}"
    settings = installed(f"mode: enforce\nfeatures: {{tenants: true}}\n{rule}\n")
    (entry_id,) = gone(memory, obj("Namespace", "blue", labels=label), settings=settings)
    memory.holding(tenant(**GOING))
    found = restored(memory, entry_id, code=LEFTOVERS)
    assert outcomes(found) == {"blue": "refused"}


@pytest.mark.parametrize(
    "there",
    [
        tenant(),
        tenant(finalizers=["somebody.else/x"], **GOING),
        tenant("1111", **GOING),
    ],
    ids=["lives", "was let go", "is refused"],
)
def test_a_tenant_that_takes_nothing_is_no_obstacle(memory: Memory, there: dict[str, Any]) -> None:
    (entry_id,) = gone(memory, high("111111-high"))
    memory.holding(there)
    # Nobody takes it, so nothing has to keep it.
    assert outcomes(restored(memory, entry_id)) == {"111111-high": "restored"}


def test_what_is_shared_comes_back(memory: Memory) -> None:
    (entry_id,) = gone(memory, high("111111-high", **{"skoupa.dev/shared": "true"}))
    memory.holding(tenant(**GOING))
    assert outcomes(restored(memory, entry_id)) == {"111111-high": "restored"}


def test_who_may_not_know_of_tenants_is_told_that_where_it_matters(memory: Memory) -> None:
    memory.holding(obj("Namespace", "shop"))
    ids = gone(memory, high("111111-high"), config_map("a", namespace="shop"))
    memory.holding(tenant(**GOING))
    rules = [ASKING, Rule(verbs=("*",), resources=("configmaps", "priorityclasses.scheduling.k8s.io"))]
    memory.cluster.allow_only("ann", rules)
    memory.user = "ann"
    first, second = (memory("restore", one, "--yes") for one in ids)
    assert (first.code, second.code) == (DONE, DONE)
    assert "whether a Tenant that is being deleted would take it again is not known" in first.err
    assert "Tenant" not in second.err

"""Ids by which too much would be meant are refused, with what is wrong with them."""

from __future__ import annotations

import pytest

from skoupa.settings import Protect, TenantSettings
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.tenant import Tenant

pytestmark = pytest.mark.unit


def tenant(name: str, written: object = None) -> Tenant:
    return Tenant(name=name, uid=f"uid-{name}", written_id=written)


def refused(
    name: str, *others: str, written: object = None, protect: Protect | None = None, **settings: object
) -> str:
    all_of_them = [tenant(one) for one in (name, *others)]
    return refusal(
        tenant(name, written),
        Ids(all_of_them),
        settings=TenantSettings(**settings),  # type: ignore[arg-type]
        protect=protect or Protect(),
    )


@pytest.mark.parametrize(
    "name", ["111111", "team-a", "abcdef", "a1b2c3", "tenant-of-somebody", "1111111", "00000a"]
)
def test_an_id_of_the_usual_form_is_taken(name: str) -> None:
    assert refused(name) == ""


@pytest.mark.parametrize(
    "name", ["", "a-", "-aaaaa", "aaaaa-", "abcde--", "AAAAAA", "κύπρος", "11.*11", "a.b.c.d"]
)
def test_what_can_not_stand_in_front_of_a_name_is_refused(name: str) -> None:
    assert "can't be the beginning of names" in refused(name)


@pytest.mark.parametrize("name", ["1", "kube", "team", "12345"])
def test_a_short_one_is_refused(name: str) -> None:
    assert "shortestId" in refused(name) or "belong to the cluster itself" in refused(name)


@pytest.mark.parametrize("name", ["kube-s", "kube-system", "system", "system-x", "openshift-a"])
def test_what_begins_as_the_cluster_s_own_is_refused(name: str) -> None:
    assert "belong to the cluster itself" in refused(name)


@pytest.mark.parametrize("name", ["cluster", "global", "leader", "workload", "endpoint", "metrics"])
def test_what_means_something_that_every_cluster_has_is_refused(name: str) -> None:
    assert "which is protected" in refused(name)


@pytest.mark.parametrize(
    "name", ["calico", "cilium", "longhorn", "external", "tigera", "cattle", "velero", "kyverno", "kubezoo"]
)
def test_what_means_something_that_many_clusters_run_is_refused(name: str) -> None:
    assert "which is protected" in refused(name)


def test_what_begins_as_kubernetes_is_refused() -> None:
    """kubernetes-dashboard is nobody's."""
    assert "belong to the cluster itself" in refused("kubernetes")


def test_what_the_operator_protects_refuses_too() -> None:
    assert refused("prod-eu", protected=("prod-eu-gateway",))
    assert refused("prod-eu", protect=Protect(namespaces=("prod-eu-core",)))
    assert refused("prod-eu", protect=Protect(names=("PriorityClass/prod-eu-high",)))
    assert not refused("prod-eu", protected=("prod-eugene",))


@pytest.mark.parametrize("name", ["storage", "networking", "scheduling", "certificates", "flowcontrol"])
def test_one_that_groups_of_the_server_begin_with_is_refused(name: str) -> None:
    """Whatever stands between: with a dot all objects of storage.k8s.io would be those of a tenant called storage."""
    assert "belongs to the cluster itself" in refused(name, separator=".")
    assert refused(name) == ""


def test_one_that_begins_as_another_with_its_separator_refuses_both() -> None:
    assert "Tenant team-a-one" in refused("team-a", "team-a-one")
    assert "Tenant team-a" in refused("team-a-one", "team-a")
    assert refused("111111", "1111112") == "", "the separator tells them apart"


@pytest.mark.parametrize("written", [None, 0, "", 111111, "111111"])
def test_a_written_id_that_says_the_same_is_taken(written: object) -> None:
    assert refused("111111", written=written) == ""


@pytest.mark.parametrize("written", [222222, "222222", "0111111", True, ["111111"], {"id": 1}, 1.5])
def test_a_written_id_that_says_something_else_is_refused(written: object) -> None:
    assert "is not its name" in refused("111111", written=written)


def test_without_any_convention_nothing_says_what_belongs_to_it() -> None:
    assert "tenants.byName" in refused("111111", by_name=False)
    assert refused("any", by_name=False, namespace_label="capsule.clastix.io/tenant") == ""


def test_one_among_very_many_is_asked_about_quickly_and_exactly() -> None:
    many = [f"tenant-{number:05d}" for number in range(20_000)]
    ids = Ids(tenant(one) for one in (*many, "other-a", "other-a-b", "other-ab"))

    def said(name: str) -> str:
        return refusal(tenant(name), ids, settings=TenantSettings(), protect=Protect())

    assert not any(map(said, many))
    assert "Tenant other-a-b" in said("other-a")
    assert "Tenant other-a" in said("other-a-b")
    assert said("other-ab") == ""

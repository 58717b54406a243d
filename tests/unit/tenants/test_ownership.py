"""The rule of ownership: exact, anchored, and never two owners at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.settings import Protect, TenantSettings
from skoupa.sim.state.kinds import BUILT_IN
from skoupa.tenants.ids import KNOWN, Ids, refusal
from skoupa.tenants.ownership import Belongs, Candidate, Disputed, Ownership, StandsFor
from skoupa.tenants.tenant import Tenant

pytestmark = pytest.mark.unit

SETTINGS = TenantSettings()
CLASSES = Resource(
    group="storage.k8s.io", version="v1", plural="storageclasses", kind="StorageClass", namespaced=False
)
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
ROLES = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterroles",
    kind="ClusterRole",
    namespaced=False,
)
NODES = Resource(version="v1", plural="nodes", kind="Node", namespaced=False)


def tenants(*names: str) -> list[Tenant]:
    return [Tenant(name=one, uid=f"uid-{one}") for one in names]


def ownership(*names: str, settings: TenantSettings = SETTINGS) -> Ownership:
    return Ownership(settings, tenants(*names))


def owner(found: Belongs | Disputed | None) -> str:
    return found.tenant if isinstance(found, Belongs) else ""


@pytest.mark.parametrize(
    "name",
    [
        "1111112-foo",
        "111111",
        "111111-",
        "x-111111-foo",
        "11111-1-foo",
        "111111.foo",
        "111111_foo",
        "kube-system",
    ],
)
def test_a_name_that_only_looks_alike_is_nobodys(name: str) -> None:
    assert ownership("111111").of(Candidate(resource=CLASSES, name=name)) is None


def test_of_a_definition_the_group_counts_and_not_the_name() -> None:
    rule = ownership("111111")

    def of(name: str, resource: Resource = CUSTOM_RESOURCE_DEFINITIONS) -> str:
        return owner(rule.of(Candidate(resource=resource, name=name)))

    assert of("foos.111111-example.com") == "111111"
    assert of("111111-foos.example.com") == ""
    assert of("foos.111111x.io") == ""
    assert of("foos.x.111111-example.com") == ""
    assert of("foos.111111-") == ""
    assert of("v1.111111-example.com", API_SERVICES) == "111111"
    assert of("111111-v1.example.com", API_SERVICES) == ""


def test_an_object_of_a_tenants_kind_is_the_tenants_whatever_its_name() -> None:
    kind = Resource(group="111111-x.io", version="v1", plural="foos", kind="Foo", namespaced=False)
    rule = ownership("111111", "222222")
    assert owner(rule.of(Candidate(resource=kind, name="any"))) == "111111"
    assert isinstance(rule.of(Candidate(resource=kind, name="222222-any")), Disputed)


@pytest.mark.parametrize("group", ["snapshot.storage.k8s.io", "storage.k8s.io", "node.kubernetes.io"])
def test_a_group_of_kubernetes_is_nobodys(group: str) -> None:
    settings = TenantSettings(separator=".")
    rule = ownership("snapshot", "storage", "node", settings=settings)
    kind = Resource(group=group, version="v1", plural="foos", kind="Foo", namespaced=False)
    assert rule.of(Candidate(resource=kind, name="any")) is None
    assert rule.of(Candidate(resource=CUSTOM_RESOURCE_DEFINITIONS, name=f"foos.{group}")) is None
    assert not rule.is_own_group(group.partition(".")[0], group)
    mine = Candidate(resource=CUSTOM_RESOURCE_DEFINITIONS, name="foos.storage.example.com")
    assert owner(rule.of(mine)) == "storage"


def test_machines_are_nobodys() -> None:
    assert ownership("111111").of(Candidate(resource=NODES, name="111111-a")) is None


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("kubezoo-tenant-quota-111111", "111111"),
        ("kubezoo-tenant-quota-1111112", ""),
        ("kubezoo-tenant-quota-111111-x", ""),
        ("kubezoo-tenant-quota-", ""),
        ("tenant-quota-111111", ""),
    ],
)
def test_of_kubezoos_quotas_each_is_of_the_one_tenant_that_it_names(name: str, whose: str) -> None:
    quotas = Resource(
        group="quota.kubezoo.io",
        version="v1alpha1",
        plural="clusterresourcequotas",
        kind="ClusterResourceQuota",
        namespaced=False,
    )
    found = Candidate(resource=quotas, name=name)
    assert owner(ownership("111111", "222222").of(found)) == whose
    assert ownership("111111", settings=TenantSettings(by_name=False, owners=True)).of(found) is None
    classes = Candidate(resource=CLASSES, name=name)
    assert ownership("111111", "222222").of(classes) is None, "of that kind alone"


def test_the_addresses_of_services_are_nobodys() -> None:
    """An id that begins as they do can be one where the separator is a dot."""
    addresses = Resource(
        group="networking.k8s.io", version="v1", plural="ipaddresses", kind="IPAddress", namespaced=False
    )
    rule = ownership("10.96.0", settings=TenantSettings(separator="."))
    assert rule.of(Candidate(resource=addresses, name="10.96.0.1")) is None


def test_what_the_server_makes_by_itself_is_nobodys() -> None:
    labels = {"kube-aggregator.kubernetes.io/automanaged": "true"}
    found = Candidate(resource=API_SERVICES, name="v1.111111-x.example", labels=labels)
    assert ownership("111111").of(found) is None


@pytest.mark.parametrize(
    "label", ["kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged"]
)
def test_no_label_of_the_server_takes_an_object_out_of_sight(label: str) -> None:
    """Whoever copies a role of the server copies its labels."""
    found = Candidate(resource=ROLES, name="111111-copied", labels={label: "rbac-defaults"})
    assert owner(ownership("111111").of(found)) == "111111"


@pytest.mark.parametrize("name", ["cluster-admin", "system:node", "kube-x", "workload-high", "mine"])
def test_a_label_or_an_owner_gives_nobody_what_is_the_clusters_own(name: str) -> None:
    settings = TenantSettings(object_label="x/tenant", owners=True, protected=("mine",))
    rule = ownership("111111", settings=settings)
    by_label = Candidate(resource=ROLES, name=name, labels={"x/tenant": "111111"})
    by_owner = Candidate(resource=ROLES, name=name, owners=("uid-111111",))
    for found in (by_label, by_owner):
        whose = rule.of(found)
        assert isinstance(whose, Disputed)
        assert "the cluster's own" in whose.why


def test_what_is_in_a_namespace_that_is_nobodys_is_nobodys_too() -> None:
    rule = ownership("111111", "222222")
    labels = {"kubezoo.io/tenant": "222222"}
    rule.learn(Candidate(resource=NAMESPACES, name="111111-shop", labels=labels))
    assert rule.in_namespace("111111-shop") != {"111111"}
    claim = StandsFor(namespace="111111-shop", name="data", bound=True)
    for name in ("pvc-1", "111111-pv"):
        found = rule.of(Candidate(resource=VOLUMES, name=name, stands_for=claim))
        assert isinstance(found, Disputed)


@pytest.mark.parametrize(
    ("name", "namespace", "bound", "whose"),
    [
        ("pvc-1", "111111-default", True, "111111"),
        ("pvc-1", "111111-default", False, ""),
        ("pvc-1", "1111112-default", True, ""),
        ("pvc-1", "shop", True, ""),
        ("111111-a", "111111-default", True, "111111"),
        ("111111-a", "shop", True, "disputed"),
        ("111111-a", "222222-default", True, "disputed"),
        ("222222-a", "111111-default", True, "disputed"),
        ("222222-a", "111111-default", False, "disputed"),
    ],
)
def test_a_volume_is_of_who_claims_it(name: str, namespace: str, *, bound: bool, whose: str) -> None:
    claim = StandsFor(namespace=namespace, name="data", bound=bound)
    found = ownership("111111", "222222").of(Candidate(resource=VOLUMES, name=name, stands_for=claim))
    assert ("disputed" if isinstance(found, Disputed) else owner(found)) == whose


def test_a_label_that_names_another_than_the_name_does_makes_it_nobodys() -> None:
    settings = TenantSettings(namespace_label="example.org/tenant")
    rule = ownership("111111", "222222", settings=settings)

    def of(name: str, value: str) -> Belongs | Disputed | None:
        return rule.of(Candidate(resource=NAMESPACES, name=name, labels={"example.org/tenant": value}))

    assert owner(of("shop", "111111")) == "111111"
    assert owner(of("111111-shop", "111111")) == "111111"
    assert isinstance(of("111111-shop", "222222"), Disputed)
    assert isinstance(of("111111-shop", "333333"), Disputed), "also where that one is no Tenant"
    assert of("shop", "333333") is None
    assert of("shop", "") is None
    assert rule.of(Candidate(resource=CLASSES, name="fast", labels={"example.org/tenant": "111111"})) is None


def test_where_the_name_stands_in_the_key_whoever_it_names_has_it_and_two_make_it_nobodys() -> None:
    """As hierarchical namespaces write it: on each Namespace, for each that is above it."""
    tree = "{tenant}.tree.hnc.x-k8s.io/depth"
    rule = ownership("solar", "wind", settings=TenantSettings(by_name=False, namespace_label=tree))

    def of(*above: str, name: str = "shop") -> Belongs | Disputed | None:
        labels = {f"{one}.tree.hnc.x-k8s.io/depth": str(depth) for depth, one in enumerate(above)}
        return rule.of(Candidate(resource=NAMESPACES, name=name, labels=labels))

    found = of("shop", "solar", "company")
    assert isinstance(found, Belongs)
    assert found == Belongs(
        tenant="solar", proof="its label solar.tree.hnc.x-k8s.io/depth says so", lasting=False
    )
    assert isinstance(of("solar", "wind"), Disputed)
    assert of("company") is None
    assert of("solarium", "x.solar", "") is None
    assert isinstance(of("solar", name="kube-system"), Disputed), "the cluster's own"
    odd = {"solar.tree.hnc.x-k8s.io/depths": "1", "solar.tree.hnc.x-k8s.io": "1", tree: "solar"}
    assert rule.of(Candidate(resource=NAMESPACES, name="shop", labels=odd)) is None
    labels = {"solar.tree.hnc.x-k8s.io/depth": "1"}
    assert rule.of(Candidate(resource=CLASSES, name="fast", labels=labels)) is None
    rule = ownership("solar", settings=TenantSettings(by_name=False, object_label="vcluster-{tenant}"))
    assert owner(rule.of(Candidate(resource=CLASSES, name="fast", labels={"vcluster-solar": ""}))) == "solar"


def test_kubezoos_own_label_that_names_another_makes_it_nobodys() -> None:
    rule = ownership("111111", "222222")

    def of(value: str) -> Belongs | Disputed | None:
        return rule.of(
            Candidate(resource=NAMESPACES, name="111111-shop", labels={"kubezoo.io/tenant": value})
        )

    assert owner(of("111111")) == "111111"
    assert isinstance(of("222222"), Disputed)
    assert isinstance(of("gone"), Disputed)


def test_by_owner_only_what_has_the_tenant_itself_as_one() -> None:
    rule = ownership("acme", "other", settings=TenantSettings(by_name=False, owners=True))
    assert owner(rule.of(Candidate(resource=NAMESPACES, name="shop", owners=("uid-acme",)))) == "acme"
    assert rule.of(Candidate(resource=NAMESPACES, name="acme-shop")) is None
    two = Candidate(resource=NAMESPACES, name="shop", owners=("uid-acme", "uid-other"))
    assert isinstance(rule.of(two), Disputed)


_PART = st.text("ab1-.", min_size=1, max_size=6)
_IDS = st.lists(st.text("ab1-", min_size=1, max_size=8), min_size=1, max_size=6, unique=True)
_KINDS = [one for one in BUILT_IN if not one.namespaced]


@given(
    ids=_IDS,
    names=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "-", "--"]), _PART), max_size=20),
)
def test_what_one_tenant_may_take_is_nobody_elses_and_nothing_protected(
    ids: list[str], names: list[tuple[int, str, str]]
) -> None:
    settings = TenantSettings(shortest_id=2)
    all_of_them = tenants(*ids)
    rule = Ownership(settings, all_of_them)
    taken = {
        one.name: refusal(one, Ids(all_of_them), settings=settings, protect=Protect()) == ""
        for one in all_of_them
    }
    called = [f"{ids[number % len(ids)]}{between}{rest}" for number, between, rest in names]
    for name in (*called, *KNOWN):
        claimants = [one for one in ids if name.startswith(f"{one}-") and len(name) > len(one) + 1]
        for resource in (CLASSES, NAMESPACES):
            found = rule.of(Candidate(resource=resource, name=name))
            whose = owner(found)
            if not whose or not taken[whose]:
                continue
            assert claimants == [whose], "nobody else could claim it"
            assert name not in KNOWN


@given(ids=_IDS, rest=_PART, kind=st.sampled_from(_KINDS))
def test_every_kind_is_claimed_by_its_prefix_alone(ids: list[str], rest: str, kind: Resource) -> None:
    rule = ownership(*ids)
    found = rule.of(Candidate(resource=kind, name=f"zz{ids[0]}-{rest}"))
    assert found is None
    found = rule.of(Candidate(resource=kind, name=f"{ids[0]}z{rest}"))
    others = [one for one in ids if f"{ids[0]}z{rest}".startswith(f"{one}-")]
    assert found is None or others

"""For tenants, conventions and objects by chance: what one may take no convention gives to another, and the cluster's own nobody.

The rule is written here once more, in other words: whoever any convention points at. What exactly one tenant is pointed at for is its
own, as long as nothing speaks against that; so nothing is taken twice, and nothing that is somebody's is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.settings import Protect, TenantSettings
from skoupa.sim.state.kinds import BUILT_IN
from skoupa.tenants.ids import KNOWN, Ids, refusal
from skoupa.tenants.ownership import NEVER, Belongs, Candidate, Ownership, StandsFor
from skoupa.tenants.tenant import Tenant

pytestmark = pytest.mark.unit

KUBEZOO = "kubezoo.io/tenant"
BY_NAMESPACE, BY_OBJECT = "example.org/place", "example.org/thing"
# Of hierarchical namespaces the key says whose they are.
BY_TREE = "{tenant}.tree.example.org/depth"
# Ids that begin alike, and some that no Tenant should have.
POOL = (
    "111111",
    "1111112",
    "111111-a",
    "team-a",
    "team-ab",
    "team-a-b",
    "11111",
    "kube-s",
    "system",
    "cert",
    "solar1",
    "kubezoo",
)
RESTS = ("", "a", "a-b", "-a", "b.example", "2-x", ".example", "system", "manager")
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
# KubeZoo calls one of these after each tenant.
QUOTAS = Resource(
    group="quota.kubezoo.io",
    version="v1alpha1",
    plural="clusterresourcequotas",
    kind="ClusterResourceQuota",
    namespaced=False,
)
DEFINITIONS = (CUSTOM_RESOURCE_DEFINITIONS, API_SERVICES)
# Those of which nothing but names, labels and owners says anything.
KINDS = [
    one
    for one in BUILT_IN
    if not one.namespaced
    and one.qualified not in {kind.qualified for kind in (*DEFINITIONS, NAMESPACES, VOLUMES)}
]


def custom(group: str) -> Resource:
    return Resource(group=group, version="v1", plural="foos", kind="Foo", namespaced=False)


texts = st.builds(
    lambda before, one, between, rest: f"{before}{one}{between}{rest}",
    st.sampled_from(["", "", "", "x-"]),
    st.sampled_from([*POOL, "shop", "pvc"]),
    st.sampled_from(["-", "-", ".", "--", ""]),
    st.sampled_from(RESTS),
) | st.sampled_from(sorted(KNOWN))
values = st.sampled_from([*POOL, "nobody", ""])
labels = st.dictionaries(
    st.sampled_from([KUBEZOO, BY_NAMESPACE, BY_OBJECT, names.TENANT_LABEL])
    | st.sampled_from(POOL).map(lambda one: BY_TREE.replace("{tenant}", one)),
    values,
    max_size=2,
)
owners = st.lists(st.sampled_from([f"uid-{one}" for one in POOL] + ["uid-else"]), max_size=2).map(tuple)
conventions = st.builds(
    TenantSettings,
    by_name=st.sampled_from([True, True, False]),
    separator=st.sampled_from(["-", "-", ".", "-t-"]),
    shortest_id=st.sampled_from([2, 6]),
    namespace_label=st.sampled_from(["", BY_NAMESPACE, BY_TREE]),
    object_label=st.sampled_from(["", BY_OBJECT, BY_TREE]),
    owners=st.booleans(),
    protected=st.sampled_from([(), ("shop", "111111-a")]),
)
namespaces = st.builds(Candidate, resource=st.just(NAMESPACES), name=texts, labels=labels, owners=owners)
claims = st.builds(StandsFor, namespace=texts, name=st.just("data"), bound=st.booleans())
objects = st.one_of(
    namespaces,
    st.builds(Candidate, resource=st.sampled_from(KINDS), name=texts, labels=labels, owners=owners),
    st.builds(
        Candidate,
        resource=st.sampled_from(DEFINITIONS),
        name=texts.map(lambda group: f"foos.{group}"),
        labels=labels,
        owners=owners,
    ),
    st.builds(Candidate, resource=texts.map(custom), name=texts, labels=labels, owners=owners),
    st.builds(
        Candidate,
        resource=st.just(QUOTAS),
        name=texts.map(lambda text: f"kubezoo-tenant-quota-{text}")
        | st.sampled_from(POOL).map(lambda one: f"kubezoo-tenant-quota-{one}"),
        labels=labels,
        owners=owners,
    ),
    st.builds(
        Candidate, resource=st.just(VOLUMES), name=texts, labels=labels, owners=owners, stands_for=claims
    ),
)


class Rule:
    """The conventions in other words than those of the code."""

    def __init__(self, settings: TenantSettings, ids: Sequence[str], places: Sequence[Candidate]) -> None:
        self.settings = settings
        self.ids = ids
        self.places = {one.name: one for one in places}

    def named(self, text: str) -> set[str]:
        if not self.settings.by_name:
            return set()
        prefixes = {one: one + self.settings.separator for one in self.ids}
        return {one for one, prefix in prefixes.items() if text.startswith(prefix) and text != prefix}

    def grouped(self, group: str) -> set[str]:
        """Those of Kubernetes could be meant where the separator is a dot."""
        of_kubernetes = group in {one.group for one in BUILT_IN} or group.endswith(
            (".k8s.io", ".kubernetes.io")
        )
        return set() if of_kubernetes else self.named(group)

    def quota_of(self, found: Candidate) -> set[str]:
        meant = {one for one in self.ids if found.name == f"kubezoo-tenant-quota-{one}"}
        return meant if self.settings.by_name and found.resource == QUOTAS else set()

    def pointed_at(self, found: Candidate) -> set[str]:
        if found.resource in DEFINITIONS:
            by_name = self.grouped(found.name.split(".", 1)[1])
        else:
            by_name = self.named(found.name) | self.grouped(found.resource.group) | self.quota_of(found)
        said = self.labelled(found)
        by_owner = (
            {one for one in self.ids if f"uid-{one}" in found.owners} if self.settings.owners else set()
        )
        claim = found.stands_for
        by_claim = self.place(claim.namespace) if claim is not None and claim.bound else set()
        return by_name | said | by_owner | by_claim

    def labelled(self, found: Candidate) -> set[str]:
        key = self.key(found)
        if key == BY_TREE:
            return {one for one in self.ids if key.replace("{tenant}", one) in found.labels}
        return {found.labels.get(key, "")} & set(self.ids)

    def key(self, found: Candidate) -> str:
        of_places = found.resource == NAMESPACES
        return self.settings.namespace_label if of_places else self.settings.object_label

    def place(self, name: str) -> set[str]:
        found = self.places.get(name)
        return self.named(name) if found is None else self.pointed_at(found)

    def is_the_clusters(self, name: str) -> bool:
        first = name.replace(":", "-").split("-", 1)[0]
        own = {"kube", "kubernetes", "system", "openshift"}
        return first in own or name in KNOWN or name in self.settings.protected

    def objects(self, found: Candidate, tenant: str) -> bool:
        """Whether something speaks against the one that is pointed at."""
        if found.resource not in DEFINITIONS and self.is_the_clusters(found.name):
            return True
        if found.labels.get(KUBEZOO, tenant) != tenant or found.labels.get(self.key(found), "") not in {
            "",
            tenant,
        }:
            return True
        claim = found.stands_for
        if claim is None:
            return False
        place = self.places.get(claim.namespace)
        return self.place(claim.namespace) != {tenant} or (place is not None and self.objects(place, tenant))

    def whose(self, found: Candidate) -> str:
        if (found.resource.group, found.resource.kind) in NEVER:
            return ""
        pointed = self.pointed_at(found)
        if len(pointed) != 1:
            return ""
        (tenant,) = pointed
        return "" if self.objects(found, tenant) else tenant


def built(settings: TenantSettings, ids: Sequence[str], places: Sequence[Candidate]) -> Ownership:
    ownership = Ownership(settings, [Tenant(name=one, uid=f"uid-{one}") for one in ids])
    for one in places:
        ownership.learn(one)
    return ownership


def owner(ownership: Ownership, found: Candidate) -> str:
    whose = ownership.of(found)
    return whose.tenant if isinstance(whose, Belongs) else ""


@given(
    settings=conventions,
    ids=st.lists(st.sampled_from(POOL), min_size=1, max_size=5, unique=True),
    places=st.lists(namespaces, max_size=4, unique_by=lambda one: one.name),
    found=objects,
)
def test_an_object_is_whose_all_conventions_point_at_and_nobody_elses(
    settings: TenantSettings, ids: list[str], places: list[Candidate], found: Candidate
) -> None:
    rule = Rule(settings, ids, places)
    if found.resource == NAMESPACES:
        # There is one of each name.
        rule.places[found.name] = found
    elif found.stands_for is not None and places:
        # Most claims are in Namespaces that there are.
        rule.places.setdefault(found.stands_for.namespace, places[0])
        rule.places = {name: _called(one, name) for name, one in rule.places.items()}
    ownership = built(settings, ids, tuple(rule.places.values()))
    assert owner(ownership, found) == rule.whose(found)


def _called(place: Candidate, name: str) -> Candidate:
    return Candidate(resource=NAMESPACES, name=name, labels=place.labels, owners=place.owners)


@given(
    settings=conventions,
    ids=st.lists(st.sampled_from(POOL), min_size=2, max_size=5, unique=True),
    places=st.lists(namespaces, max_size=4, unique_by=lambda one: one.name),
    found=objects,
)
def test_what_one_may_take_no_other_could_have_taken_in_its_place(
    settings: TenantSettings, ids: list[str], places: list[Candidate], found: Candidate
) -> None:
    """Whoever would claim it where there were no other Tenants: with all of them it is that one's, or nobody's."""
    everybody = Ids(Tenant(name=one, uid=f"uid-{one}") for one in ids)
    taken = {
        one
        for one in ids
        if not refusal(Tenant(name=one, uid=f"uid-{one}"), everybody, settings=settings, protect=Protect())
    }
    whose = owner(built(settings, ids, places), found)
    alone = {one for one in ids if owner(built(settings, [one], places), found) == one}
    assert whose == "" or alone == {whose}
    if whose in taken and found.resource not in DEFINITIONS:
        assert found.name not in KNOWN | set(settings.protected)
        assert not found.name.startswith(("kube-", "system:", "system-", "openshift-"))


@given(
    settings=conventions,
    ids=st.lists(st.sampled_from(POOL), min_size=1, max_size=5, unique=True),
    name=st.sampled_from(sorted(KNOWN)),
    resource=st.sampled_from(KINDS),
    rest=st.tuples(labels, owners),
)
def test_what_is_called_as_the_clusters_own_is_nobodys_by_any_convention(
    settings: TenantSettings,
    ids: list[str],
    name: str,
    resource: Resource,
    rest: tuple[dict[str, str], tuple[str, ...]],
) -> None:
    found = Candidate(resource=resource, name=name, labels=rest[0], owners=rest[1])
    assert owner(built(settings, ids, ()), found) == ""

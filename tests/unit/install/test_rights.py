"""The one table of rights: it follows the Interests, and grants nothing that could change or read an object."""

from __future__ import annotations

import msgspec
import pytest

from skoupa import names
from skoupa.admission.built_in import CLUSTER_WIDE
from skoupa.controller.knowledge import KEPT, mechanisms_of
from skoupa.install.alive import alive_rights
from skoupa.install.kinds import DEFAULT_KINDS, DeletableKind
from skoupa.install.retention import retention_rights
from skoupa.install.rights import (
    ASK,
    DELETE,
    DELETE_TENANTS,
    HOME,
    LABEL_TENANTS,
    READ,
    REPORT,
    Right,
    rights,
)
from skoupa.install.tenants import KINDS, tenant_rights
from skoupa.judge.mechanism import Interest
from skoupa.kinds.tenant import NEVER_LABELLED
from skoupa.settings import Features, Settings, TenantSettings

pytestmark = pytest.mark.unit

TTL = (*(one for mechanism in mechanisms_of(Settings()) for one in mechanism.interests()), KEPT)


def granted(*interests: Interest, kinds: tuple[DeletableKind, ...] = DEFAULT_KINDS) -> tuple[Right, ...]:
    return rights(interests, kinds=kinds, lease="skoupa")


def verbs_of(found: tuple[Right, ...], *roles: str) -> set[str]:
    return {verb for right in found if right.role in roles for verb in right.verbs}


def of_others(found: tuple[Right, ...]) -> tuple[Right, ...]:
    return tuple(right for right in found if right.group != names.SKOUPA_GROUP)


def test_on_objects_of_others_there_is_list_watch_and_delete_and_nothing_else() -> None:
    found = of_others(granted(*TTL))
    assert verbs_of(found, READ) == {"list", "watch"}
    assert verbs_of(found, DELETE) == {"delete"}
    assert verbs_of(found, REPORT) == {"create"}
    assert {right.resources for right in found if right.role == REPORT} == {("events",)}


def test_about_others_it_is_asked_who_they_are_and_what_they_may_and_only_where_history_is_served() -> None:
    found = [right for right in granted(*TTL) if right.role == ASK]
    assert {(right.group, right.resources, right.verbs) for right in found} == {
        ("authentication.k8s.io", ("tokenreviews",), ("create",)),
        ("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    }
    assert not any(right.namespaced for right in found)
    without = rights(TTL, kinds=DEFAULT_KINDS, lease="skoupa", asks=False)
    assert not [right for right in without if right.role == ASK]


def test_brakes_are_read_made_and_told_about_but_never_deleted() -> None:
    found = [right for right in granted(*TTL) if right.group == names.SKOUPA_GROUP]
    verbs = {plural: set[str]() for right in found for plural in right.resources}
    for right in found:
        assert not right.namespaced, "no Role can grant what is in no namespace"
        for plural in right.resources:
            verbs[plural] |= set(right.verbs)
    assert verbs == {
        "brakes": {"list", "watch", "create", "update", "patch"},
        "brakes/status": {"update", "patch"},
        "brakes/finalizers": {"update"},
    }


def test_get_and_writes_are_for_the_own_lease_and_state_only() -> None:
    for right in of_others(granted(*TTL)):
        if {"get", "update", "patch"} & set(right.verbs):
            assert right.role == HOME
            assert right.names in {("skoupa",), ("skoupa-state",)}


def test_no_right_escalates() -> None:
    dangerous = {"*", "bind", "escalate", "impersonate", "deletecollection"}
    assert not dangerous & verbs_of(granted(*TTL), READ, REPORT, DELETE, ASK, HOME)


def test_an_interest_in_some_kinds_reads_just_these() -> None:
    found = granted(Interest(kinds=("jobs.batch", "pods", "cronjobs.batch")))
    read = {(right.group, right.resources) for right in found if right.role == READ and right.namespaced}
    assert read == {("batch", ("jobs", "cronjobs")), ("", ("pods",))}


def test_a_mechanism_that_deletes_nothing_needs_no_right_to_delete() -> None:
    assert not verbs_of(granted(Interest(verbs=("list", "watch"))), DELETE)
    without = Settings(features=Features(ttl=False))
    assert not verbs_of(granted(*(i for m in mechanisms_of(without) for i in m.interests()), KEPT), DELETE)


def test_of_the_kinds_an_operator_grants_only_those_that_a_mechanism_lets_go_are_used() -> None:
    found = granted(Interest(kinds=("jobs.batch",), verbs=("list", "watch", "delete")))
    assert [right.resources for right in found if right.role == DELETE] == [("jobs",)]


def test_with_retention_what_may_go_may_be_marked_and_nothing_else_is_patched() -> None:
    settings = Settings(features=Features(retention=True))
    found = of_others(granted(*(i for m in mechanisms_of(settings) for i in m.interests()), KEPT))
    assert verbs_of(found, READ) == {"list", "watch"}
    marked = {right.resources for right in found if "patch" in right.verbs and right.role == DELETE}
    deleted = {right.resources for right in found if "delete" in right.verbs}
    assert marked == deleted != set()
    assert "patch" not in verbs_of(of_others(granted(*TTL)), READ, REPORT, DELETE)


def test_every_right_says_what_it_is_for() -> None:
    assert all(right.why for right in granted(*TTL))


@pytest.mark.parametrize(
    "plural", ["secrets", "namespaces", "persistentvolumeclaims", "persistentvolumes", "serviceaccounts"]
)
def test_what_holds_data_or_credentials_or_takes_much_along_is_not_in_the_shipped_list(plural: str) -> None:
    assert plural not in {kind.plural for kind in DEFAULT_KINDS}


def test_kinds_of_retention_are_read_and_told_of_where_retention_is_on_and_never_changed() -> None:
    found = list(retention_rights(Settings(features=Features(retention=True))))
    kinds = {"clusterretentionpolicies", "kindprofiles", "retentionpolicies"}
    read = {(right.resources[0], right.verbs) for right in found if right.role == READ}
    assert read == {*((kind, ("list", "watch")) for kind in kinds), ("resourcequotas", ("list",))}
    written = {(right.resources[0], right.verbs) for right in found if right.role == REPORT}
    assert written == {(f"{kind}/status", ("patch",)) for kind in kinds}
    assert all(right.why for right in found)
    assert not list(retention_rights(Settings()))


def test_a_role_in_a_namespace_grants_what_is_in_namespaces() -> None:
    found = retention_rights(Settings(features=Features(retention=True)))
    inside = {right.resources[0] for right in found if right.namespaced}
    assert inside == {"retentionpolicies", "retentionpolicies/status", "resourcequotas"}


def test_alive_is_never_deleted_by_skoupa_and_where_it_is_off_it_is_only_let_go() -> None:
    found = list(alive_rights(Settings(features=Features(alive=True))))
    assert not {verb for right in found for verb in right.verbs} & {
        "delete",
        "deletecollection",
        "signal",
        "*",
    }
    changed = {right.resources[0] for right in found if right.role == REPORT}
    assert changed == {"alives", "alives/status"}
    assert not list(alive_rights(Settings()))
    [left] = alive_rights(Settings(mode="enforce"))
    assert (left.resources, left.names, left.verbs) == (("alives",), ("cluster",), ("get", "patch"))


def test_with_tenants_the_servers_own_kinds_in_no_namespace_may_go_but_for_machines() -> None:
    built_in = {(group, plural) for group, plural, _ in CLUSTER_WIDE}
    machines = {"componentstatuses", "nodes", "csinodes", "volumeattachments", "resourceslices"}
    networks = {"ipaddresses", "servicecidrs"}
    granted = {(group, plural) for group, plurals in KINDS for plural in plurals}
    assert {pair for pair in built_in if pair[1] not in machines | networks} <= granted
    assert not {plural for _, plural in granted} & (machines | networks)
    on = Settings(mode="enforce", features=Features(tenants=True))
    assert not list(tenant_rights(Settings()))
    assert not list(tenant_rights(msgspec.structs.replace(on, namespaces=("shop",))))
    assert {right.verbs for right in tenant_rights(on) if right.role == DELETE_TENANTS} == {("delete",)}


def test_a_label_for_tenants_is_a_right_of_its_own_and_never_one_on_roles_or_what_stands_in_the_way() -> None:
    on = Settings(mode="enforce", features=Features(tenants=True))
    labelling = msgspec.structs.replace(on, tenants=TenantSettings(label=names.TENANT_LABEL))
    assert not [right for right in tenant_rights(on) if right.role == LABEL_TENANTS]
    found = [right for right in tenant_rights(labelling) if right.role == LABEL_TENANTS]
    assert {right.verbs for right in found} == {("patch",)}
    granted = {(right.group, plural) for right in found for plural in right.resources}
    assert {("", "namespaces"), ("", "persistentvolumes"), ("storage.k8s.io", "storageclasses")} <= granted
    assert not {group for group, _ in granted} & NEVER_LABELLED
    observing = msgspec.structs.replace(labelling, mode="observe")
    assert not [right for right in tenant_rights(observing) if right.role == LABEL_TENANTS]

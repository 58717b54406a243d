"""What is the server's is not kept, what somebody wrote is, and stripping twice is stripping once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from skoupa.ledger.trash.manifests import comes_back, stripped, without_addresses
from skoupa.ledger.trash.server_fields import ADDRESSES, RULES
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit

KINDS = {resource.qualified: resource for resource in BUILT_IN}


def an_object(resource: Resource, **rest: Any) -> dict[str, Any]:
    metadata = {
        "name": "web",
        "uid": "u-1",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 3,
        "managedFields": [{"manager": "kubectl"}],
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "selfLink": "/x",
        **rest.pop("metadata", {}),
    }
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **rest}


def test_every_kind_loses_what_the_server_writes_into_its_metadata() -> None:
    found = stripped(an_object(CONFIG_MAPS, data={"a": "b"}), CONFIG_MAPS)
    assert found == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web"},
        "data": {"a": "b"},
    }


def test_items_of_a_list_get_the_kind_that_the_list_leaves_out() -> None:
    found = stripped({"metadata": {"name": "web"}}, KINDS["deployments.apps"])
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")


def test_finalizers_of_a_deletion_go_and_those_of_others_stay() -> None:
    both = {"finalizers": ["foregroundDeletion", "shop.example/guard", "orphan"]}
    found = stripped(an_object(CONFIG_MAPS, metadata=both), CONFIG_MAPS)
    assert found["metadata"]["finalizers"] == ["shop.example/guard"]
    only = {"finalizers": ["foregroundDeletion"]}
    assert "finalizers" not in stripped(an_object(CONFIG_MAPS, metadata=only), CONFIG_MAPS)["metadata"]
    near = {"finalizers": ["orphanage.example/guard"]}
    assert stripped(an_object(CONFIG_MAPS, metadata=near), CONFIG_MAPS)["metadata"]["finalizers"]


def test_a_status_stays_where_the_kind_has_no_such_subresource() -> None:
    plain = Resource(group="shop.example", version="v1", plural="widgets", kind="Widget", namespaced=True)
    served = Resource(
        group="shop.example",
        version="v1",
        plural="widgets",
        kind="Widget",
        namespaced=True,
        subresources=("status",),
    )
    widget = an_object(plain, status={"size": 3})
    assert stripped(widget, plain)["status"] == {"size": 3}
    assert "status" not in stripped(widget, served)


def test_a_namespace_loses_the_finalizer_of_its_spec_and_with_it_the_spec() -> None:
    assert "spec" not in stripped(an_object(NAMESPACES, spec={"finalizers": ["kubernetes"]}), NAMESPACES)


def test_a_pod_loses_its_node_and_the_token_that_was_injected_and_nothing_else() -> None:
    mounts = [
        {"name": "kube-api-access-x7", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
        {"name": "data", "mountPath": "/data"},
    ]
    spec = {
        "nodeName": "n1",
        "priority": 0,
        "ephemeralContainers": [{"name": "debug"}],
        "containers": [{"name": "a", "volumeMounts": mounts}, {"name": "b", "volumeMounts": mounts[:1]}],
        "volumes": [{"name": "kube-api-access-x7", "projected": {}}, {"name": "data", "emptyDir": {}}],
    }
    assert stripped(an_object(PODS, spec=spec), PODS)["spec"] == {
        "containers": [{"name": "a", "volumeMounts": mounts[1:]}, {"name": "b"}],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }


def test_a_job_loses_selector_and_labels_that_name_its_uid_unless_somebody_chose_them() -> None:
    jobs = KINDS["jobs.batch"]
    marks = {"batch.kubernetes.io/controller-uid": "u-1", "controller-uid": "u-1", "job-name": "web"}
    spec = {
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}},
        "template": {"metadata": {"labels": {**marks, "app": "web"}}, "spec": {}},
    }
    job = an_object(jobs, metadata={"labels": marks}, spec=spec)
    found = stripped(job, jobs)
    assert found["spec"] == {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}}
    assert "labels" not in found["metadata"]
    chosen = an_object(jobs, spec={**spec, "manualSelector": True})
    assert stripped(chosen, jobs)["spec"] == {**spec, "manualSelector": True}


def test_an_account_loses_its_own_tokens_only_and_a_token_its_value() -> None:
    accounts, secrets = KINDS["serviceaccounts"], KINDS["secrets"]
    account = an_object(accounts, secrets=[{"name": "web-token-abcde"}, {"name": "webhook-token-abcde"}])
    assert stripped(account, accounts)["secrets"] == [{"name": "webhook-token-abcde"}]
    token = an_object(secrets, type="kubernetes.io/service-account-token", data={"token": "eA=="})
    assert "data" not in stripped(token, secrets)
    assert "data" in stripped(an_object(secrets, type="Opaque", data={"token": "eA=="}), secrets)


def test_a_volume_keeps_the_name_of_its_claim_and_loses_its_uid() -> None:
    volumes = KINDS["persistentvolumes"]
    claim = {"namespace": "shop", "name": "data", "uid": "u-2", "resourceVersion": "9"}
    found = stripped(an_object(volumes, spec={"claimRef": claim}), volumes)
    assert found["spec"]["claimRef"] == {"namespace": "shop", "name": "data"}


def test_a_service_gives_up_its_addresses_only_when_asked_and_a_headless_one_never() -> None:
    services = KINDS["services"]
    spec = {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ports": [{"port": 80, "nodePort": 30080}]}
    service = stripped(an_object(services, spec=spec), services)
    assert service["spec"] == spec
    assert without_addresses(service, "services")["spec"] == {"ports": [{"port": 80}]}
    headless = stripped(an_object(services, spec={"clusterIP": "None", "clusterIPs": ["None"]}), services)
    assert without_addresses(headless, "services") == headless


@pytest.mark.parametrize(
    ("kind", "owner", "spec", "again"),
    [
        ("pods", "ReplicaSet", {}, True),
        ("replicasets.apps", "Deployment", {"replicas": 3}, True),
        ("replicasets.apps", "Deployment", {"replicas": 0}, False),
        ("pods", "Widget", {}, False),
        ("jobs.batch", "CronJob", {}, False),
        ("events", "", {}, True),
        ("configmaps", "", {}, False),
    ],
)
def test_what_a_controller_makes_again_is_known(
    *, kind: str, owner: str, spec: dict[str, Any], again: bool
) -> None:
    owners = [{"kind": owner, "name": "o", "uid": "u", "controller": True}] if owner else []
    found = {"kind": KINDS[kind].kind, "metadata": {"name": "x", "ownerReferences": owners}, "spec": spec}
    assert comes_back(found, kind) is again


def test_every_kind_that_a_rule_names_exists() -> None:
    assert {rule.kind for rule in (*RULES, *ADDRESSES)} - {""} <= KINDS.keys()


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "metadata",
                    "labels",
                    "annotations",
                    "finalizers",
                    "template",
                    "volumes",
                    "containers",
                    "volumeMounts",
                    "name",
                    "ports",
                    "nodePort",
                    "clusterIP",
                    "selector",
                    "job-name",
                    "claimRef",
                    "uid",
                    "status",
                    "secrets",
                    "data",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
_manifests = st.dictionaries(
    st.sampled_from(["spec", "status", "data", "secrets", "type"]), _values, max_size=4
).flatmap(
    lambda rest: st.dictionaries(
        st.sampled_from(["uid", "labels", "annotations", "finalizers", "generation"]), _values, max_size=4
    ).map(lambda meta: {**rest, "metadata": {**meta, "name": "web"}})
)


@given(manifest=_manifests, resource=st.sampled_from(BUILT_IN))
def test_stripping_twice_is_stripping_once_and_changes_nothing_it_was_given(
    manifest: dict[str, Any], resource: Resource
) -> None:
    before = copy.deepcopy(manifest)
    once = stripped(manifest, resource)
    assert manifest == before
    assert stripped(once, resource) == once
    assert once["metadata"]["name"] == "web"
    bare = without_addresses(once, resource.qualified)
    assert without_addresses(bare, resource.qualified) == bare

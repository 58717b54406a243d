"""What the built-in kinds mean by their references, where a table alone does not show it."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.usage.found import Choice, Found
from skoupa.usage.rules import Means
from tests.unit.usage.by_the_tables import READINGS, listed, pod, targets

pytestmark = pytest.mark.unit


def test_a_pod_that_has_run_uses_nothing_any_more() -> None:
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    running, done, failed, pending = listed(
        "Pod", *(pod(phase=phase, volumes=volumes) for phase in ("Running", "Succeeded", "Failed", "Pending"))
    )
    assert ("ConfigMap", "shop", "settings") in targets(running)
    assert targets(pending) == targets(running)
    assert done == failed == Found()
    assert READINGS.from_manifest("Pod", pod(phase="Failed", volumes=volumes)) == Found()


def test_a_pod_without_an_account_runs_as_default() -> None:
    (found,) = listed("Pod", pod(containers=[]))
    assert targets(found) == {("ServiceAccount", "shop", "default")}


def test_an_ephemeral_volume_has_a_claim_that_is_named_for_pod_and_volume() -> None:
    (found,) = listed(
        "Pod",
        pod(volumes=[{"name": "scratch", "ephemeral": {}}, {"name": "other", "emptyDir": {}}]),
    )
    assert ("PersistentVolumeClaim", "shop", "web-scratch") in targets(found)
    assert ("PersistentVolumeClaim", "shop", "web-other") not in targets(found)


def test_the_claims_of_a_stateful_set_are_its_own_for_every_ordinal() -> None:
    claims = [{"metadata": {"name": "data"}}, {"metadata": {"name": "log"}}]
    manifest = {
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"volumeClaimTemplates": claims},
    }
    (found,) = listed("apps/StatefulSet", manifest)
    assert targets(found) == {
        ("PersistentVolumeClaim", "shop", "data-db-#"),
        ("PersistentVolumeClaim", "shop", "log-db-#"),
    }


def test_a_volume_names_secrets_in_other_namespaces_and_without_one_in_any() -> None:
    volume = {
        "metadata": {"name": "pv"},
        "spec": {
            "csi": {
                "nodeStageSecretRef": {"name": "a", "namespace": "storage"},
                "nodePublishSecretRef": {"name": "b"},
            },
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data"},
        },
    }
    (found,) = listed("PersistentVolume", volume)
    assert targets(found) == {
        ("Secret", "storage", "a"),
        ("Secret", "*", "b"),
        ("PersistentVolumeClaim", "shop", "data"),
    }
    assert {use.means for use in found.uses if use.target.name == "data"} == {Means.CONCERNS}


def test_what_a_template_becomes_may_be_anything() -> None:
    key = "csi.storage.k8s.io/node-stage-secret"
    parameters = {f"{key}-name": "${pvc.annotations['team']}-key", f"{key}-namespace": "${pvc.namespace}"}
    (found,) = listed("storage.k8s.io/StorageClass", {"metadata": {"name": "fast"}, "parameters": parameters})
    assert targets(found) == {("Secret", "*", "*-key")}


def test_who_is_bound_is_an_account_only_where_it_is_one() -> None:
    subjects = [
        {"kind": "ServiceAccount", "name": "builder", "namespace": "ci"},
        {"kind": "ServiceAccount", "name": "here"},
        {"kind": "User", "name": "system:serviceaccount:ops:runner"},
        {"kind": "User", "name": "jane"},
        {"kind": "Group", "name": "builders"},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "edit"}
    binding: dict[str, Any] = {
        "metadata": {"name": "b", "namespace": "shop"},
        "subjects": subjects,
        "roleRef": role,
    }
    (found,) = listed("rbac.authorization.k8s.io/RoleBinding", binding)
    assert targets(found) == {
        ("rbac.authorization.k8s.io/Role", "shop", "edit"),
        ("ServiceAccount", "ci", "builder"),
        ("ServiceAccount", "shop", "here"),
        ("ServiceAccount", "ops", "runner"),
    }
    binding["roleRef"] = {**role, "kind": "ClusterRole"}
    (found,) = listed("rbac.authorization.k8s.io/RoleBinding", binding)
    assert ("rbac.authorization.k8s.io/ClusterRole", "", "edit") in targets(found)


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, "apps/Deployment"),
        ({"kind": "ReplicationController", "apiVersion": "v1"}, "ReplicationController"),
        ({"kind": "Deployment"}, "*/Deployment"),
        ({}, "*"),
    ],
)
def test_a_kind_is_what_the_reference_says_and_otherwise_open(reference: dict[str, str], kind: str) -> None:
    spec = {"scaleTargetRef": {"name": "web", **reference}}
    (found,) = listed(
        "autoscaling/HorizontalPodAutoscaler",
        {"metadata": {"name": "h", "namespace": "shop"}, "spec": spec},
    )
    (use,) = found.uses
    assert (use.target.kind, use.target.name, use.means) == (kind, "web", Means.MANAGES)


def test_a_network_policy_is_about_pods_here_and_in_the_namespaces_that_it_selects() -> None:
    spec = {
        "podSelector": {},
        "ingress": [
            {"from": [{"podSelector": {"matchLabels": {"app": "a"}}}]},
            {"from": [{"namespaceSelector": {"matchLabels": {"team": "x"}}}]},
            {"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "b"}}}]},
            {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
        ],
    }
    (found,) = listed(
        "networking.k8s.io/NetworkPolicy", {"metadata": {"name": "n", "namespace": "shop"}, "spec": spec}
    )
    chosen = {(one.namespace, one.selector, one.namespaces) for one in found.choices}
    assert chosen == {("shop", "", ""), ("shop", "app=a", ""), ("*", "", "team=x"), ("*", "app=b", "")}
    assert {one.means for one in found.choices} == {Means.CONCERNS}


def test_pods_near_others_may_be_meant_in_namespaces_that_are_listed() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]},
    }
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term,
                {**term, "namespaces": ["one", "two"], "namespaceSelector": {"matchLabels": {"t": "x"}}},
            ]
        }
    }
    (found,) = listed("Pod", pod(affinity=affinity))
    chosen = {(one.namespace, one.selector, one.namespaces) for one in found.choices}
    assert chosen == {
        ("shop", "app in (a,b)", ""),
        ("one", "app in (a,b)", ""),
        ("two", "app in (a,b)", ""),
        ("*", "app in (a,b)", "t=x"),
    }


def test_a_service_without_a_selector_selects_nothing_and_a_budget_with_an_empty_one_everything() -> None:
    metadata = {"name": "s", "namespace": "shop"}
    specs: list[dict[str, Any]] = [{"selector": {}}, {"selector": None}, {}]
    for spec in specs:
        (found,) = listed("Service", {"metadata": metadata, "spec": spec})
        assert not [one for one in found.choices if one.kind == "Pod"]
    (found,) = listed("policy/PodDisruptionBudget", {"metadata": metadata, "spec": {"selector": {}}})
    assert found.choices == (
        Choice(kind="Pod", namespace="shop", selector="", at="spec.selector", means=Means.MANAGES),
    )


def test_the_parameters_of_an_admission_policy_may_be_of_any_kind() -> None:
    spec: dict[str, Any] = {"policyName": "p", "paramRef": {"name": "limits", "namespace": "ops"}}
    kind = "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding"
    (found,) = listed(kind, {"metadata": {"name": "b"}, "spec": spec})
    assert ("*", "ops", "limits") in targets(found)
    spec["paramRef"] = {"selector": {"matchLabels": {"limits": "yes"}}}
    (found,) = listed(kind, {"metadata": {"name": "b"}, "spec": spec})
    assert [(one.kind, one.namespace, one.selector) for one in found.choices] == [("*", "*", "limits=yes")]


def test_networks_may_be_written_as_a_list_or_as_json() -> None:
    key, kind = "k8s.v1.cni.cncf.io/networks", "k8s.cni.cncf.io/NetworkAttachmentDefinition"
    for text in ("a,infra/b@eth1", '[{"name": "a"}, {"name": "b", "namespace": "infra"}]'):
        manifest = pod()
        manifest["metadata"]["annotations"] = {key: text}
        (found,) = listed("Pod", manifest)
        assert {(target, name) for target, _, name in targets(found)} >= {(kind, "a"), (kind, "b")}
    manifest["metadata"]["annotations"] = {key: "[{oops"}
    (found,) = listed("Pod", manifest)
    assert (kind, "*", "*") in targets(found)


def test_a_service_needs_the_endpoints_that_somebody_wrote_for_it() -> None:
    metadata = {"name": "legacy", "namespace": "shop"}
    (found,) = listed("Service", {"metadata": metadata, "spec": {"clusterIPs": ["10.0.0.7"]}})
    assert targets(found) == {
        ("Endpoints", "shop", "legacy"),
        ("networking.k8s.io/IPAddress", "", "10.0.0.7"),
    }
    (chosen,) = found.choices
    assert (chosen.kind, chosen.selector) == (
        "discovery.k8s.io/EndpointSlice",
        "kubernetes.io/service-name=legacy",
    )


def test_what_other_controllers_keep_in_a_revision_is_walked() -> None:
    metadata = {"name": "db-1", "namespace": "shop"}
    template = {"spec": {"containers": [{"envFrom": [{"secretRef": {"name": "password"}}]}]}}
    for data in (
        {"spec": {"template": template}},
        {"podTemplate": template},
        {"any": {"secretName": "password"}},
    ):
        (found,) = listed("apps/ControllerRevision", {"metadata": metadata, "data": data})
        assert ("Secret", "shop", "password") in targets(found)
    (found,) = listed(
        "apps/ControllerRevision", {"metadata": metadata, "data": {"spec": {"template": template}}}
    )
    assert {use.at for use in found.uses if use.target.kind == "Secret"} == {
        "data.spec.template.spec.containers[].envFrom[].secretRef.name"
    }


TEMPLATE = {"spec": {"containers": [{"envFrom": [{"configMapRef": {"name": "settings", "optional": True}}]}]}}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("apps/Deployment", {"replicas": 0, "template": TEMPLATE}),
        ("apps/ReplicaSet", {"replicas": 0, "template": TEMPLATE}),
        ("batch/CronJob", {"suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}),
        ("batch/Job", {"suspend": True, "template": TEMPLATE}),
    ],
)
def test_what_runs_no_pod_now_uses_what_its_template_names_even_if_it_is_optional(
    kind: str, spec: dict[str, Any]
) -> None:
    (found,) = listed(kind, {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
    assert ("ConfigMap", "shop", "settings") in targets(found)


def test_a_finished_job_uses_what_its_template_names_until_it_is_gone() -> None:
    status = {"conditions": [{"type": "Complete", "status": "True"}]}
    metadata = {"name": "j", "namespace": "shop"}
    (found,) = listed("batch/Job", {"metadata": metadata, "spec": {"template": TEMPLATE}, "status": status})
    assert ("ConfigMap", "shop", "settings") in targets(found)


def test_an_account_uses_the_secrets_that_its_pods_pull_images_with() -> None:
    account = {
        "metadata": {"name": "builder", "namespace": "shop"},
        "imagePullSecrets": [{"name": "registry"}],
        "secrets": [{"name": "builder-token"}],
    }
    (found,) = listed("ServiceAccount", account)
    assert targets(found) == {("Secret", "shop", "registry"), ("Secret", "shop", "builder-token")}


def test_the_token_of_an_account_keeps_the_account() -> None:
    annotations = {"kubernetes.io/service-account.name": "builder"}
    (found,) = listed(
        "Secret", {"metadata": {"name": "token", "namespace": "shop", "annotations": annotations}}
    )
    assert targets(found) == {("ServiceAccount", "shop", "builder")}


def test_an_ingress_is_told_secrets_of_other_namespaces_by_annotations() -> None:
    annotations = {
        "nginx.ingress.kubernetes.io/auth-secret": "ops/users",
        "nginx.ingress.kubernetes.io/auth-tls-secret": "authorities",
        "nginx.ingress.kubernetes.io/auth-url": "http://auth.ops.svc.cluster.local/check",
        "alb.ingress.kubernetes.io/auth-idp-oidc": '{"issuer": "https://a", "secretName": "oidc"}',
        "traefik.ingress.kubernetes.io/router.middlewares": "ops-strip-prefix@kubernetescrd",
    }
    metadata = {"name": "site", "namespace": "shop", "annotations": annotations}
    (found,) = listed("networking.k8s.io/Ingress", {"metadata": metadata})
    assert targets(found) == {
        ("Secret", "ops", "users"),
        ("Secret", "shop", "authorities"),
        ("Service", "ops", "auth"),
        ("Secret", "shop", "oidc"),
        ("traefik.io/Middleware", "ops", "strip-prefix"),
        ("traefik.io/Middleware", "ops-strip", "prefix"),
    }

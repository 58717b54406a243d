"""`skoupa unused` over manifests and clusters in memory: exactly the leftovers, and never what could not be judged."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from skoupa.cli.looking.unused_document import NotJudgedItem, Size, UnreadKeys, UnusedDocument, UnusedItem
from skoupa.kube.resources import Resource
from skoupa.sim.state.access import Rule
from skoupa.usage.leftovers.questions import QUESTIONS
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import KEEP, Town, config_map, granting, obj

pytestmark = pytest.mark.unit

NOON = "2026-05-01T12:00:00Z"
SHOP = obj("Namespace", "shop")
WIDGETS = Resource(
    group="shop.example",
    version="v1",
    plural="widgets",
    kind="Widget",
    namespaced=True,
    singular="widget",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)


class Files:
    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._folder = folder
        self._skoupa = skoupa

    def holding(self, *objects: Mapping[str, Any]) -> Files:
        text = yaml.safe_dump_all([dict(one) for one in objects])
        (self._folder / "all.yaml").write_text(text, encoding="utf-8")
        return self

    def unused(self, *args: str) -> Said:
        return self._skoupa("unused", "--from", str(self._folder), "--now", NOON, *args, env={"TZ": "UTC"})

    def items(self, *args: str) -> list[dict[str, Any]]:
        said = self.unused(*args, "-o", "json")
        assert said.code == 0, said.err
        items: list[dict[str, Any]] = json.loads(said.out)["items"]
        return items

    def names(self, *args: str) -> list[str]:
        return [f"{item['kind']}/{item['name']}" for item in self.items(*args)]


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


def template(*, labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": dict(labels or {"app": "web"})},
        "spec": {"containers": [{"name": "web", "image": "web"}], **spec},
    }


def mounting(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "configMap": {"name": name}}]}


def workload(
    kind: str, name: str, pod: Mapping[str, Any], *, api: str = "apps/v1", **spec: Any
) -> dict[str, Any]:
    selector = {"matchLabels": pod["metadata"]["labels"]}
    return obj(kind, name, api=api, namespace="shop", spec={"selector": selector, "template": pod, **spec})


def pod(
    name: str, *, labels: Mapping[str, str] | None = None, phase: str = "Running", **spec: Any
) -> dict[str, Any]:
    body = template(labels=labels, **spec)["spec"]
    return obj("Pod", name, namespace="shop", labels=labels, spec=body, status={"phase": phase})


def secret(name: str, type_: str = "Opaque", **rest: Any) -> dict[str, Any]:
    return obj("Secret", name, namespace="shop", type=type_, **rest)


def test_what_nothing_uses_is_told_with_reason_age_and_size(files: Files) -> None:
    files.holding(
        SHOP,
        config_map("used"),
        config_map("left", created="2026-04-01T12:00:00Z", data={"a": "b"}),
        workload("Deployment", "web", template(**mounting("used"))),
    )
    (item,) = files.items("configmaps")
    assert (item["kind"], item["namespace"], item["name"]) == ("ConfigMap", "shop", "left")
    assert item["reason"]["code"] == "unused"
    assert item["confidence"] == "proved"
    assert item["created"] == "2026-04-01T12:00:00Z"
    assert item["size"]["bytes"] == len('{"a":"b"}')
    table = files.unused("configmaps").out
    assert "left" in table
    assert "30d" in table
    assert "1 of 2 objects are needed by nobody." in table


# What kor and others of its kind call unused, and is not.


def test_a_config_map_of_a_deployment_with_no_replicas_is_used(files: Files) -> None:
    files.holding(SHOP, config_map("c"), workload("Deployment", "web", template(**mounting("c")), replicas=0))
    assert files.names("configmaps") == []


def test_a_config_map_of_an_old_replica_set_is_what_a_rollback_needs(files: Files) -> None:
    uid = "aaaaaaaa-0000-0000-0000-000000000001"
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}
    deployment = workload("Deployment", "web", template(**mounting("new")))
    deployment["metadata"]["uid"] = uid
    old = workload("ReplicaSet", "web-1", template(**mounting("old")), replicas=0)
    old["metadata"]["ownerReferences"] = [owner]
    files.holding(SHOP, config_map("old"), config_map("new"), config_map("older"), deployment, old)
    assert files.names("configmaps") == ["ConfigMap/older"]


def test_a_config_map_of_a_suspended_cron_job_is_used(files: Files) -> None:
    job = {"spec": {"template": template(**mounting("c"))}}
    cron = obj(
        "CronJob",
        "nightly",
        api="batch/v1",
        namespace="shop",
        spec={"schedule": "0 1 * * *", "suspend": True, "jobTemplate": job},
    )
    files.holding(SHOP, config_map("c"), cron)
    assert files.names("configmaps") == []


@pytest.mark.parametrize(
    "spec",
    [
        {"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]},
        {"initContainers": [{"name": "i", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]},
        {"ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "s"}}]}]},
        {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]},
        {"volumes": [{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]},
        {"volumes": [{"name": "v", "secret": {"secretName": "s", "optional": True}}]},
        {"imagePullSecrets": [{"name": "s"}]},
    ],
    ids=["init-envFrom", "init-env", "ephemeral", "projected", "csi", "optional", "pull"],
)  # fmt: skip
def test_a_secret_that_only_a_template_names_is_used(files: Files, spec: dict[str, Any]) -> None:
    files.holding(SHOP, secret("s"), secret("left"), workload("StatefulSet", "db", template(**spec)))
    assert files.names("secrets") == ["Secret/left"]


def test_a_secret_of_a_service_account_of_a_gateway_and_of_an_ingress_is_used(files: Files) -> None:
    files.holding(
        SHOP,
        secret("pull"), secret("gate"), secret("tls"), secret("left"),
        obj("ServiceAccount", "web", namespace="shop", imagePullSecrets=[{"name": "pull"}]),
        obj("Ingress", "web", api="networking.k8s.io/v1", namespace="shop", spec={"tls": [{"secretName": "tls"}]}),
        obj(
            "Gateway",
            "web",
            api="gateway.networking.k8s.io/v1",
            namespace="infra",
            spec={"listeners": [{"tls": {"certificateRefs": [{"name": "gate", "namespace": "shop"}]}}]},
        ),
    )  # fmt: skip
    assert files.names("secrets") == ["Secret/left"]
    # Also for who looks into one namespace: a Gateway may be in another.
    assert files.names("secrets", "-n", "shop") == ["Secret/left"]


def test_a_secret_that_a_certificate_makes_would_only_be_made_again(files: Files) -> None:
    spec = {"secretName": "tls", "issuerRef": {"name": "ca"}}
    files.holding(
        SHOP, secret("tls"), obj("Certificate", "c", api="cert-manager.io/v1", namespace="shop", spec=spec)
    )
    assert files.names("secrets") == []


def test_a_claim_of_a_stateful_set_that_has_shrunk_is_wanted_and_others_are_not(files: Files) -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    files.holding(
        SHOP,
        workload("StatefulSet", "db", template(), replicas=0, volumeClaimTemplates=claims),
        *(
            obj("PersistentVolumeClaim", name, namespace="shop", spec={"resources": {"requests": {"storage": "5Gi"}}})
            for name in ("data-db-7", "data-other-0", "data-db-x")
        ),
    )  # fmt: skip
    assert files.names("pvc") == ["PersistentVolumeClaim/data-db-x", "PersistentVolumeClaim/data-other-0"]
    assert {item["size"]["capacity"] for item in files.items("pvc")} == {"5Gi"}


def test_a_service_account_bound_in_another_namespace_is_used_and_its_namesake_is_not(files: Files) -> None:
    """kor looks at the name of a subject alone."""
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}
    files.holding(
        SHOP,
        obj("ServiceAccount", "robot", namespace="shop"),
        obj("ServiceAccount", "robot", namespace="blog"),
        obj("Role", "reader", api="rbac.authorization.k8s.io/v1", namespace="blog", rules=[]),
        obj(
            "RoleBinding",
            "robot",
            api="rbac.authorization.k8s.io/v1",
            namespace="blog",
            subjects=[subject],
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        ),
    )
    assert [(one["namespace"], one["name"]) for one in files.items("serviceaccounts", "-A")] == [
        ("blog", "robot")
    ]
    assert files.names("rolebindings", "roles", "-A") == []
    assert files.names("serviceaccounts", "-n", "shop") == []


def test_a_role_and_a_cluster_role_of_the_same_name_are_told_apart(files: Files) -> None:
    """kor does not look at the kind of a roleRef."""
    rbac = "rbac.authorization.k8s.io"
    files.holding(
        SHOP,
        obj("Role", "reader", api=f"{rbac}/v1", namespace="shop", rules=[]),
        obj("ClusterRole", "reader", api=f"{rbac}/v1", rules=[]),
        obj(
            "RoleBinding",
            "b",
            api=f"{rbac}/v1",
            namespace="shop",
            subjects=[{"kind": "User", "name": "ann"}],
            roleRef={"apiGroup": rbac, "kind": "ClusterRole", "name": "reader"},
        ),
    )
    assert files.names("roles", "clusterroles", "rolebindings", "-A") == ["Role/reader"]


def test_bindings_budgets_and_autoscalers_that_are_about_nothing(files: Files) -> None:
    rbac = "rbac.authorization.k8s.io"

    def binding(name: str, role: str, *subjects: dict[str, str]) -> dict[str, Any]:
        ref = {"apiGroup": rbac, "kind": "ClusterRole", "name": role}
        return obj(
            "RoleBinding", name, api=f"{rbac}/v1", namespace="shop", subjects=list(subjects), roleRef=ref
        )

    def scaler(name: str, kind: str, target: str) -> dict[str, Any]:
        ref = {"apiVersion": "apps/v1", "kind": kind, "name": target}
        return obj(
            "HorizontalPodAutoscaler",
            name,
            api="autoscaling/v2",
            namespace="shop",
            spec={"scaleTargetRef": ref},
        )

    def budget(name: str, app: str) -> dict[str, Any]:
        spec = {"selector": {"matchLabels": {"app": app}}}
        return obj("PodDisruptionBudget", name, api="policy/v1", namespace="shop", spec=spec)

    files.holding(
        SHOP,
        workload("Deployment", "web", template(), replicas=0),
        binding("no-role", "gone", {"kind": "User", "name": "ann"}),
        binding("no-account", "view", {"kind": "ServiceAccount", "name": "gone", "namespace": "shop"}),
        binding(
            "default-account", "view", {"kind": "ServiceAccount", "name": "default", "namespace": "shop"}
        ),
        binding("for-a-group", "view", {"kind": "Group", "name": "staff"}),
        binding("for-nobody", "view"),
        scaler("scaled", "Deployment", "web"),
        scaler("not-scaled", "Deployment", "gone"),
        budget("zero-replicas", "web"),
        budget("gone", "gone"),
        obj(
            "NetworkPolicy",
            "deny-all",
            api="networking.k8s.io/v1",
            namespace="shop",
            spec={"podSelector": {}},
        ),
        obj(
            "NetworkPolicy",
            "gone",
            api="networking.k8s.io/v1",
            namespace="shop",
            spec={"podSelector": {"matchLabels": {"app": "gone"}}},
        ),
    )
    assert files.names("-n", "shop") == [
        "HorizontalPodAutoscaler/not-scaled",
        "NetworkPolicy/gone",
        "PodDisruptionBudget/gone",
        "RoleBinding/for-nobody",
        "RoleBinding/no-account",
        "RoleBinding/no-role",
    ]


def test_services_with_nothing_behind_them(files: Files) -> None:
    def service(name: str, **spec: Any) -> dict[str, Any]:
        return obj("Service", name, namespace="shop", spec=spec)

    def slice_of(name: str, *, ready: bool) -> dict[str, Any]:
        endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}]
        labels = {"kubernetes.io/service-name": name}
        return obj(
            "EndpointSlice",
            f"{name}-1",
            api="discovery.k8s.io/v1",
            namespace="shop",
            labels=labels,
            endpoints=endpoints,
        )

    files.holding(
        SHOP,
        workload("Deployment", "asleep", template(labels={"app": "asleep"}), replicas=0),
        pod("done", labels={"app": "done"}, phase="Succeeded"),
        service("asleep", selector={"app": "asleep"}),
        service("done", selector={"app": "done"}),
        slice_of("done", ready=False),
        service("gone", selector={"app": "gone"}),
        service("outside", type="ExternalName", externalName="example.com"),
        service("by-hand"),
        slice_of("by-hand", ready=True),
        # As plain manifests have it, and where whoever wrote them asked for no copies.
        service("by-hand-of-old"),
        obj("Endpoints", "by-hand-of-old", namespace="shop", subsets=[{"addresses": [{"ip": "10.0.0.1"}]}]),
        service("by-nobody"),
        service("behind-an-ingress", selector={"app": "gone"}),
        obj(
            "Ingress",
            "web",
            api="networking.k8s.io/v1",
            namespace="shop",
            spec={"defaultBackend": {"service": {"name": "behind-an-ingress"}}},
        ),
        obj(
            "Ingress",
            "dead",
            api="networking.k8s.io/v1",
            namespace="shop",
            spec={"defaultBackend": {"service": {"name": "nowhere"}}},
        ),
    )
    assert files.names("services", "ingresses") == [
        "Ingress/dead",
        "Service/by-nobody",
        "Service/done",
        "Service/gone",
    ]


def test_a_custom_workload_that_sleeps_is_behind_its_service_and_its_budget(files: Files) -> None:
    sleeping = obj(
        "CloneSet",
        "asleep",
        api="apps.kruise.io/v1alpha1",
        namespace="shop",
        spec={"replicas": 0, "template": template(labels={"app": "asleep"})},
    )
    rollout = obj(
        "Rollout",
        "dozing",
        api="argoproj.io/v1alpha1",
        namespace="shop",
        spec={"replicas": 0, "template": template(labels={"app": "dozing"})},
    )
    files.holding(
        SHOP,
        sleeping,
        rollout,
        *(
            obj("Service", app, namespace="shop", spec={"selector": {"app": app}})
            for app in ("asleep", "dozing", "gone")
        ),
    )
    assert files.names("services") == ["Service/gone"]


def test_the_priority_class_that_counts_where_none_is_named_is_used(files: Files) -> None:
    files.holding(
        SHOP,
        obj("PriorityClass", "usual", api="scheduling.k8s.io/v1", value=1, globalDefault=True),
        obj("PriorityClass", "left", api="scheduling.k8s.io/v1", value=2),
        obj("PriorityClass", "named", api="scheduling.k8s.io/v1", value=3),
        workload("Deployment", "web", template(priorityClassName="named"), replicas=0),
    )
    assert files.names("priorityclasses", "-A") == ["PriorityClass/left"]


def test_pods_behind_no_service_are_told_only_where_pods_are_asked_for(files: Files) -> None:
    uid = "aaaaaaaa-0000-0000-0000-000000000001"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid, "controller": True}
    owned = pod("owned", labels={"app": "api"})
    owned["metadata"]["ownerReferences"] = [owner]
    files.holding(
        SHOP,
        obj(
            "ReplicaSet",
            "r",
            api="apps/v1",
            namespace="shop",
            uid=uid,
            spec={"selector": {"matchLabels": {"app": "api"}}},
        ),
        owned,
        pod("behind", labels={"app": "web"}),
        pod("alone", labels={"app": "x"}),
        pod("over", labels={"app": "x"}, phase="Failed"),
        obj("Service", "web", namespace="shop", spec={"selector": {"app": "web"}}),
    )
    assert files.names("pods") == ["Pod/alone", "Pod/owned"]
    assert files.names() == []


def test_volumes_leases_namespaces_and_definitions(files: Files) -> None:
    def volume(name: str, phase: str) -> dict[str, Any]:
        return obj("PersistentVolume", name, spec={"capacity": {"storage": "1Gi"}}, status={"phase": phase})

    def lease(name: str, renewed: str) -> dict[str, Any]:
        spec = {"renewTime": renewed, "leaseDurationSeconds": 15}
        return obj("Lease", name, api="coordination.k8s.io/v1", namespace="shop", spec=spec)

    def definition(kind: str) -> dict[str, Any]:
        plural = f"{kind.lower()}s"
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }
        return obj(
            "CustomResourceDefinition",
            f"{plural}.shop.example",
            api="apiextensions.k8s.io/v1",
            spec={
                "group": "shop.example",
                "names": {
                    "kind": kind,
                    "plural": plural,
                    "singular": kind.lower(),
                    "listKind": f"{kind}List",
                },
                "scope": "Namespaced",
                "versions": [version],
            },
        )

    files.holding(
        SHOP,
        obj("Namespace", "empty"),
        obj("ConfigMap", "kube-root-ca.crt", namespace="empty"),
        volume("bound", "Bound"),
        volume("released", "Released"),
        lease("living", "2026-05-01T11:59:55.000000Z"),
        lease("stale", "2026-04-01T11:59:55.000000Z"),
        definition("Widget"),
        definition("Gadget"),
        obj("Widget", "w", api="shop.example/v1", namespace="shop"),
    )
    found = {f"{item['kind']}/{item['name']}": item for item in files.items("-A")}
    assert list(found) == [
        "CustomResourceDefinition/gadgets.shop.example",
        "Namespace/empty",
        "PersistentVolume/released",
        "Lease/stale",
    ]
    assert found["PersistentVolume/released"]["reason"]["facts"] == {"phase": "Released"}
    assert found["Lease/stale"]["reason"]["facts"] == {"since": "2026-04-01T11:59:55Z"}


def test_what_is_never_garbage_is_not_told(files: Files) -> None:
    files.holding(
        SHOP,
        config_map("kube-root-ca.crt"),
        config_map("dashboard", labels={"grafana_dashboard": "1"}),
        secret("token", "kubernetes.io/service-account-token"),
        secret(
            "sh.helm.release.v1.web.v1",
            "helm.sh/release.v1",
            labels={"owner": "helm", "status": "superseded"},
        ),
        obj("ServiceAccount", "default", namespace="shop"),
    )
    assert files.names("-n", "shop") == []


def test_what_helm_deployed_stays_while_its_record_can_t_be_found(files: Files) -> None:
    by_helm = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
    files.holding(SHOP, config_map("c", annotations=by_helm), config_map("left"))
    assert files.names("configmaps") == ["ConfigMap/left"]


def test_an_owner_that_lives_keeps_and_one_that_is_gone_does_not(files: Files) -> None:
    uid = "aaaaaaaa-0000-0000-0000-000000000001"

    def owned(name: str, by: str) -> dict[str, Any]:
        return config_map(name, owners=[{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": by}])

    files.holding(
        SHOP,
        obj("Job", "j", api="batch/v1", namespace="shop", uid=uid, spec={"template": template()}),
        owned("kept", uid),
        owned("orphan", uid.replace("a", "b")),
    )
    assert files.names("configmaps") == ["ConfigMap/orphan"]


def test_a_custom_kind_without_rules_is_searched_and_that_is_said(files: Files) -> None:
    widget = obj(
        "Widget",
        "w",
        api="shop.example/v1",
        namespace="shop",
        spec={"credentials": {"secretRef": {"name": "s"}}},
    )
    files.holding(SHOP, secret("s"), secret("left"), widget)
    (item,) = files.items("secrets")
    assert item["name"] == "left"
    assert item["confidence"] == "walked"
    assert item["walkedKinds"] == ["shop.example/Widget"]
    assert "search through shop.example/Widget" in files.unused("secrets").out


def test_what_is_protected_or_kept_is_counted_and_left_out(files: Files) -> None:
    files.holding(
        SHOP,
        config_map("kept", labels={KEEP: "true"}),
        config_map("system", namespace="kube-system"),
        config_map("left"),
    )
    document = json.loads(files.unused("configmaps", "-A", "-o", "json").out)
    assert [item["name"] for item in document["items"]] == ["left"]
    assert document["protected"] == 2
    assert "2 protected ones left out" in files.unused("configmaps", "-A").out
    assert "1 protected one left out" in files.unused("configmaps", "-n", "shop").out


def test_selectors_ages_groups_and_exit_codes(files: Files) -> None:
    files.holding(
        SHOP,
        config_map("old", created="2026-01-01T00:00:00Z", labels={"team": "a"}),
        # A mark that was copied from another object.
        config_map(
            "young",
            created="2026-04-30T00:00:00Z",
            annotations={"skoupa.dev/unneeded-since": "2026-04-28T12:00:00Z"},
        ),
        secret("old", created="2026-01-01T00:00:00Z"),
        config_map(
            "elsewhere",
            namespace="blog",
            created="2026-04-01T00:00:00Z",
            annotations={"skoupa.dev/unneeded-since": "2026-04-28T12:00:00Z"},
        ),
    )
    assert files.names("-n", "shop", "--older-than", "30d") == ["ConfigMap/old", "Secret/old"]
    assert files.names("-A", "-l", "team=a") == ["ConfigMap/old"]
    by_kind = files.unused("cm,secrets", "-A", "--group-by", "kind").out
    assert [line for line in by_kind.splitlines() if line.endswith(")")] == ["ConfigMap (3)", "Secret (1)"]
    by_namespace = files.unused("cm,secrets", "-A", "--group-by", "namespace").out
    assert [line for line in by_namespace.splitlines() if line.endswith(")")] == ["blog (1)", "shop (3)"]
    assert "3d ago" in files.unused("cm", "-A", "-o", "wide").out
    since = {item["name"]: item["unneededSince"] for item in files.items("cm", "-A")}
    assert since == {"elsewhere": "2026-04-28T12:00:00Z", "old": None, "young": None}
    assert files.unused("cm", "-A", "-o", "name").out.splitlines() == [
        "configmap/blog/elsewhere",
        "configmap/shop/old",
        "configmap/shop/young",
    ]
    assert files.unused("cm", "-A", "--fail-over", "2").code == 5
    assert files.unused("cm", "-A", "--fail-over", "3").code == 0
    assert files.unused("cm", "-A", "--detailed-exitcode").code == 10
    assert files.unused("pvc", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("deployments",), "there for themselves"),
        (("confgmaps",), "did you mean configmaps"),
        (("-l", "a in b"), "no label selector"),
        (("--older-than", "2days"), "--older-than"),
    ],
)
def test_what_can_t_be_meant_is_told_with_what_to_write(
    files: Files, args: tuple[str, ...], told: str
) -> None:
    said = files.holding(SHOP).unused(*args)
    assert said.code == 2
    assert told in said.sentence


# What could not be read.


def everything_but(*kinds: str) -> tuple[Rule, ...]:
    """The right to read all kinds of this test but these."""
    readable = {
        "namespaces", "configmaps", "secrets", "pods", "deployments.apps", "replicasets.apps", "statefulsets.apps",
        "daemonsets.apps", "jobs.batch", "cronjobs.batch", "replicationcontrollers", "podtemplates",
        "controllerrevisions.apps", "widgets.shop.example",
    }  # fmt: skip
    return (Rule(verbs=("list", "get"), resources=tuple(sorted(readable - set(kinds)))),)


def test_nothing_is_called_unused_while_a_kind_that_may_use_it_can_t_be_read(town: Town) -> None:
    town.holding(
        SHOP,
        config_map("used"),
        config_map("left"),
        workload("Deployment", "web", template(**mounting("used"))),
    )
    assert [item["name"] for item in town.document("unused", "configmaps", "-A")["items"]] == ["left"]
    granting(Rule(verbs=("list", "get")), user="ann")(town.cluster)
    town.user = "ann"
    assert [item["name"] for item in town.document("unused", "configmaps", "-A")["items"]] == ["left"]
    granting(*everything_but("cronjobs.batch"))(town.cluster)
    town.user = "bob"
    document = town.document("unused", "configmaps", "-A", code=4)
    assert document["items"] == []
    assert [item["name"] for item in document["notJudged"]] == ["left"]
    assert "cronjobs.batch" in {gap["what"] for gap in document["notJudged"][0]["unread"]}
    said = town("unused", "configmaps", "-A")
    assert said.code == 4
    assert "1 not judged" in said.out
    assert "cronjobs.batch" in said.err
    assert "no permission to list them" in said.err


def test_kinds_that_the_settings_waive_need_not_be_readable(town: Town, tmp_path: Path) -> None:
    town.holding(SHOP, config_map("left"))
    granting(*everything_but("cronjobs.batch"))(town.cluster)
    town.user = "bob"
    unread = town.document("unused", "configmaps", "-A", code=4)["gaps"]
    waived = [gap["what"] for gap in unread]
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump({"usage": {"ignoreKinds": waived}}), encoding="utf-8")
    document = town.document("unused", "configmaps", "-A", "--config", str(config))
    assert [item["name"] for item in document["items"]] == ["left"]
    assert {gap["what"] for gap in document["waived"]} == set(waived)
    assert "usage.ignoreKinds" in town("unused", "configmaps", "-A", "--config", str(config)).err


def test_a_kind_that_the_settings_waive_need_not_be_understood(town: Town, tmp_path: Path) -> None:
    town.cluster.install(WIDGETS)
    spec = {"values": "secret: |\n" + "x" * 300_000}
    town.holding(
        SHOP, config_map("left"), obj("Widget", "w", api=WIDGETS.api_version, namespace="shop", spec=spec)
    )
    document = town.document("unused", "configmaps", "-A", code=4)
    assert document["items"] == []
    assert "Widget shop/w" in document["notJudged"][0]["doubts"][0]
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump({"usage": {"ignoreKinds": ["widgets.shop.example"]}}), encoding="utf-8")
    document = town.document("unused", "configmaps", "-A", "--config", str(config))
    assert [item["name"] for item in document["items"]] == ["left"]
    assert [gap["what"] for gap in document["waived"]] == ["widgets.shop.example"]
    said = town("unused", "configmaps", "-A", "--config", str(config)).err
    assert "not understood, and need not be (usage.ignoreKinds): widgets.shop.example" in said


def test_a_namespace_is_not_empty_where_the_settings_waive_what_may_be_in_it(
    town: Town, tmp_path: Path
) -> None:
    town.cluster.install(WIDGETS)
    town.holding(SHOP, obj("Widget", "w", api=WIDGETS.api_version, namespace="shop"))
    granting(*everything_but("widgets.shop.example"))(town.cluster)
    town.user = "bob"
    unread = [gap["what"] for gap in town.document("unused", "namespaces", code=4)["gaps"]]
    assert "widgets.shop.example" in unread
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump({"usage": {"ignoreKinds": unread}}), encoding="utf-8")
    document = town.document("unused", "namespaces", "--config", str(config), code=4)
    assert [item["name"] for item in document["items"]] == []
    told = {one["name"]: one["unread"] for one in document["notJudged"]}
    assert "widgets.shop.example" in {gap["what"] for gap in told["shop"]}


def test_a_group_whose_kinds_the_server_can_t_tell_may_use_anything(town: Town) -> None:
    town.cluster.install(WIDGETS)
    town.holding(SHOP, config_map("left"))
    assert len(town.document("unused", "configmaps", "-A")["items"]) == 1
    town.cluster.discovery.stale.add(WIDGETS.group)
    document = town.document("unused", "configmaps", "-A", code=4)
    assert document["items"] == []
    assert document["gaps"][0]["what"].startswith("the kinds of shop.example")


def test_who_may_not_read_what_was_asked_for_is_told_so(town: Town) -> None:
    town.holding(SHOP, config_map("left"))
    granting(user="eve")(town.cluster)
    town.user = "eve"
    said = town("unused", "configmaps", "-A")
    assert said.code == 6
    assert said.out == ""


def test_what_was_made_a_moment_ago_is_not_judged_yet(town: Town) -> None:
    town.holding(SHOP, config_map("new", created=NOON), config_map("left"))
    assert [item["name"] for item in town.document("unused", "configmaps", "-A")["items"]] == ["left"]


# Keys.


def env(name: str, key: str) -> dict[str, Any]:
    value = {"valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}
    return {"containers": [{"name": "c", "image": "i", "env": [{"name": "E", **value}]}]}


def test_keys_that_nothing_reads_are_told_where_they_are_asked_for_and_apart(files: Files) -> None:
    data = {"read": "1", "mounted": "2", "left": "3"}
    mounted = {"name": "v", "configMap": {"name": "some", "items": [{"key": "mounted", "path": "m"}]}}
    files.holding(
        SHOP,
        config_map("some", data=data),
        config_map("all", data=data),
        config_map("unused", data=data),
        secret("some", data={"a": "eA==", "b": "eA=="}),
        workload("Deployment", "env", template(**env("some", "read"))),
        workload("Deployment", "mount", template(volumes=[mounted])),
        workload("Deployment", "part-of-all", template(**env("all", "read"))),
        workload("Deployment", "whole", template(**mounting("all"))),
        pod(
            "p",
            volumes=[{"name": "v", "secret": {"secretName": "some", "items": [{"key": "a", "path": "a"}]}}],
        ),
    )
    document = json.loads(files.unused("cm,secrets", "--keys", "-o", "json").out)
    assert [(one["kind"], one["name"], one["keys"]) for one in document["keys"]] == [
        ("ConfigMap", "some", ["left"]),
        ("Secret", "some", ["b"]),
    ]
    assert [item["name"] for item in document["items"]] == ["unused"]
    assert "eA==" not in json.dumps(document)
    assert "ConfigMap shop/some: nothing reads left of it (proved)" in files.unused("cm", "--keys").out
    assert files.unused("cm", "--keys", "-o", "name").out.splitlines() == ["configmap/shop/unused"]
    assert "keys" not in json.loads(files.unused("cm", "-o", "json").out)


def test_who_uses_an_object_in_a_way_that_names_no_keys_reads_them_all(files: Files) -> None:
    widget = obj(
        "Widget", "w", api="shop.example/v1", namespace="shop", spec={"configMapRef": {"name": "some"}}
    )
    files.holding(
        SHOP,
        config_map("some", data={"a": "1", "b": "2"}),
        workload("Deployment", "d", template(**env("some", "a"))),
        widget,
    )
    assert json.loads(files.unused("cm", "--keys", "-o", "json").out)["keys"] == []


# Who deploys it.


def test_what_an_application_of_argo_names_is_in_use(files: Files) -> None:
    resources = [{"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "tracked"}]
    application = obj(
        "Application",
        "web",
        api="argoproj.io/v1alpha1",
        namespace="argocd",
        spec={"destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"}},
        status={"resources": resources, "sync": {"status": "Synced"}},
    )
    files.holding(SHOP, config_map("tracked"), config_map("left"), application)
    assert files.names("configmaps", "-n", "shop") == ["ConfigMap/left"]


def test_what_a_release_of_helm_names_is_in_use_and_what_it_no_more_names_is_not(files: Files) -> None:
    manifest = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: named\n"
    release = json.dumps({"name": "web", "namespace": "shop", "manifest": manifest}).encode()
    packed = base64.b64encode(base64.b64encode(gzip.compress(release))).decode()
    record = secret(
        "sh.helm.release.v1.web.v2",
        "helm.sh/release.v1",
        labels={"owner": "helm", "name": "web", "status": "deployed"},
        data={"release": packed},
    )
    # As every server tells it.
    record["metadata"]["managedFields"] = [
        {"manager": "helm", "operation": "Update", "fieldsV1": {"f:data": {}}}
    ]
    by_helm = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
    files.holding(
        SHOP,
        record,
        config_map("named", annotations=by_helm),
        config_map("no-more-named", annotations=by_helm),
    )
    assert files.names("configmaps", "-n", "shop") == ["ConfigMap/no-more-named"]


def test_an_object_that_can_t_be_understood_holds_what_it_may_use(files: Files) -> None:
    odd = workload("Deployment", "odd", template())
    odd["spec"]["template"]["spec"]["volumes"] = "none"
    files.holding(SHOP, config_map("c"), odd)
    said = files.unused("configmaps")
    assert said.code == 4
    assert "not understood: Deployment shop/odd" in said.err
    assert "1 not judged" in said.out


def test_every_field_and_word_of_the_document_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "output.md").read_text(encoding="utf-8")
    for shape in (UnusedDocument, UnusedItem, UnreadKeys, NotJudgedItem, Size):
        for field in msgspec.structs.fields(shape):
            assert f"`{field.encode_name}`" in text, f"{shape.__name__}.{field.encode_name} is not documented"
    assert "`Unused`" in text
    assert "`proved`" in text
    assert "`walked`" in text


def test_every_question_is_in_the_guide() -> None:
    text = (Path(__file__).parents[3] / "docs" / "unused.md").read_text(encoding="utf-8")
    missing = [kind for kind in QUESTIONS if kind.rpartition("/")[2] not in text]
    assert missing == []


# One object.


def test_explain_says_who_needs_an_object_where_it_is_asked_for(town: Town) -> None:
    town.holding(
        SHOP,
        config_map("used"),
        config_map("left"),
        config_map("kube-root-ca.crt"),
        workload("Deployment", "web", template(**mounting("used"))),
    )
    document = town.document("explain", "cm/used", "cm/left", "cm/kube-root-ca.crt", "-n", "shop", "--users")
    used, left, known = (item["neededBy"] for item in document["items"])
    assert used["answer"] == "needed"
    (need,) = used["needs"]
    assert (need["how"], need["kind"], need["name"]) == ("user", "apps/Deployment", "web")
    assert need["at"] == "spec.template.spec.volumes[].configMap.name"
    assert (left["answer"], left["confidence"]) == ("unneeded", "proved")
    assert known["needs"][0]["how"] == "never"
    words = town("explain", "cm/used", "cm/left", "-n", "shop", "--users").out
    assert "used by: Deployment shop/web (spec.template.spec.volumes[].configMap.name)" in words
    assert "needed by nobody (proved)" in words
    assert "neededBy" not in town.document("explain", "cm/used", "-n", "shop")["items"][0]


def test_explain_shows_the_way_up_to_what_stands_for_itself_the_shortest_first(town: Town) -> None:
    def owned(by: Mapping[str, Any], **more: Any) -> list[dict[str, Any]]:
        known = {field: by[field] for field in ("apiVersion", "kind")}
        return [{**known, "name": by["metadata"]["name"], "uid": by["metadata"]["uid"], **more}]

    deployment = workload("Deployment", "web", template())
    deployment["metadata"]["uid"] = "aaaaaaaa-0000-0000-0000-000000000001"
    replicas = workload("ReplicaSet", "web-1", template(**mounting("used")))
    replicas["metadata"] |= {
        "uid": "aaaaaaaa-0000-0000-0000-000000000002",
        "ownerReferences": owned(deployment),
    }
    running = pod("web-1-x", labels={"tier": "front"}, **mounting("used"))
    running["metadata"]["ownerReferences"] = owned(replicas)
    town.holding(SHOP, config_map("used"), deployment, replicas, running)
    item = town.document("explain", "cm/used", "-n", "shop", "--users")["items"][0]
    ways = [
        [(one["how"], one["name"]) for one in (need, *need["chain"])]
        for need in item["neededBy"]["needs"]
        if need["how"] == "user"
    ]
    assert ways == [
        [("user", "web-1"), ("owner", "web")],
        [("user", "web-1-x"), ("owner", "web-1"), ("owner", "web")],
    ]
    words = town("explain", "cm/used", "-n", "shop", "--users").out
    assert "used by: ReplicaSet shop/web-1 (spec.template.spec.volumes[].configMap.name)" in words
    assert "owned by: Deployment shop/web, lives" in words


def test_explain_says_what_an_object_is_good_for_that_nobody_points_at(town: Town) -> None:
    town.holding(
        SHOP,
        workload("Deployment", "web", template(labels={"app": "web"})),
        obj("Service", "web", namespace="shop", spec={"selector": {"app": "web"}}),
        obj("Service", "left", namespace="shop", spec={"selector": {"app": "gone"}}),
    )
    asked = ("service/web", "service/left", "deployment/web")
    document = town.document("explain", *asked, "-n", "shop", "--users")
    web, left, deployment = (item["neededBy"] for item in document["items"])
    assert (web["answer"], web["needs"][0]["how"]) == ("needed", "work")
    assert left["answer"] == "unneeded"
    assert deployment["answer"] == "needed"
    assert "needed: something is behind it" in town("explain", "service/web", "-n", "shop", "--users").out


def test_explain_says_what_it_could_not_read(town: Town) -> None:
    town.holding(SHOP, config_map("left"))
    granting(*everything_but("cronjobs.batch"))(town.cluster)
    town.user = "bob"
    item = town.document("explain", "cm/left", "-n", "shop", "--users")["items"][0]
    assert item["neededBy"]["answer"] == "unknown"
    assert "cronjobs.batch" in {gap["what"] for gap in item["neededBy"]["unread"]}

"""`skoupa unused`: what is named only in a text, and Pods that are still to be made, are not forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kube.resources import Resource
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import obj
from tests.unit.controller.stage import definition

pytestmark = pytest.mark.unit

LEFT = "left"
GEARS = Resource(group="shop.example", version="v1", plural="gears", kind="Gear", namespaced=True)


class Unused:
    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._file = folder / "all.yaml"
        self._skoupa = skoupa

    def said(self, *objects: dict[str, Any], where: str = "-A") -> Said:
        around = [obj("Namespace", "shop"), obj("Namespace", "prod"), secret(LEFT), secret("else", "prod")]
        self._file.write_text(yaml.safe_dump_all([*around, *objects]), encoding="utf-8")
        return self._skoupa("unused", *where.split(), "--from", str(self._file), "-o", "name")

    def __call__(self, *objects: dict[str, Any]) -> set[str]:
        return {line.split()[0].rpartition("/")[2] for line in self.said(*objects).out.splitlines()}


@pytest.fixture
def unused(tmp_path: Path, skoupa: Shell) -> Unused:
    return Unused(tmp_path, skoupa)


def made(version: str, kind: str, name: str, namespace: str = "shop", **fields: Any) -> dict[str, Any]:
    annotations = fields.pop("annotations", {})
    metadata: dict[str, Any] = {"name": name, "annotations": annotations}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def secret(name: str, namespace: str = "shop") -> dict[str, Any]:
    return made("v1", "Secret", name, namespace)


def thing(**spec: Any) -> dict[str, Any]:
    return made("shop.example/v1", "Thing", "thing", spec=spec)


def pod(**container: Any) -> dict[str, Any]:
    return made("v1", "Pod", "pod", spec={"containers": [{"name": "main", "image": "x", **container}]})


@pytest.mark.parametrize(
    "user",
    [
        pod(args=["--credentials", "used"]),
        pod(command=["sh", "-c", "exec ctl --secret=used --v=2"]),
        pod(env=[{"name": "SECRET_NAME", "value": "used"}]),
        pod(lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "ctl drain --secret used"]}}}),
        pod(readinessProbe={"exec": {"command": ["ready", "used"]}}),
        made("networking.k8s.io/v1", "Ingress", "web", annotations={"nginx.org/basic-auth-secret": "used"}),
        made("v1", "Service", "web", annotations={"config.kubernetes.io/depends-on": "/namespaces/shop/Secret/used"}),
        made("v1", "PersistentVolume", "disk", "", spec={"csi": {"driver": "x", "volumeAttributes": {"a": "used"}}}),
        made("v1", "Pod", "pod", spec={"containers": [], "volumes": [{"name": "v", "csi": {"driver": "x", "volumeAttributes": {"a": "used"}}}]}),
        made("v1", "Pod", "pod", spec={"containers": [], "volumes": [{"name": "v", "flexVolume": {"driver": "x", "options": {"a": "used"}}}]}),
        thing(tls="used"),
        thing(configs=["secret:used/key"]),
        thing(config={"database.password": "${secrets:shop/used:password}"}),
        thing(conf={"spark.kubernetes.driver.secrets.used": "/mnt"}),
        thing(patch='[{"op": "add", "value": {"secretName": "used"}}]'),
        thing(params=[{"name": "any", "value": "used\n"}]),
        thing(ref={"apiVersion": "core/v1", "kind": "Secret", "name": "used"}),
        thing(secretRef={"kind": "Opaque", "name": "used"}),
    ],
    ids=str,
)  # fmt: skip
def test_a_name_in_a_text_keeps_what_is_called_so(unused: Unused, user: dict[str, Any]) -> None:
    left = unused(secret("used"), user)
    assert "used" not in left
    assert LEFT in left


@pytest.mark.parametrize(
    "user",
    [
        pod(args=["--default-ssl-certificate=prod/used"]),
        pod(args=["--namespace", "prod", "--secret-name", "used"]),
        pod(args=["--entrypoints.web.http.middlewares=prod-used@kubernetescrd"]),
        thing(transport="prod-used@kubernetescrd"),
        thing(key="k8s://prod/used"),
        thing(host="used.prod.svc"),
        thing(namespace="prod", password={"secretKeyRef": {"name": "used", "key": "x"}}),
    ],
    ids=str,
)
def test_also_in_a_namespace_that_is_named_with_it(unused: Unused, user: dict[str, Any]) -> None:
    assert "used" not in unused(secret("used", "prod"), user)


@pytest.mark.parametrize(
    ("kind", "user"),
    [
        ("Secret", made("v1", "Service", "web", annotations={"example.com/tls": "prod/used"})),
        ("Service", pod(args=["--upstream", "http://used.prod.svc"])),
        ("ServiceAccount", pod(args=["--as=system:serviceaccount:prod:used"])),
        ("ConfigMap", pod(env=[{"name": "SETTINGS", "value": "prod/used"}])),
    ],
    ids=["Secret", "Service", "ServiceAccount", "ConfigMap"],
)
def test_also_where_only_that_namespace_is_asked_about(
    unused: Unused, kind: str, user: dict[str, Any]
) -> None:
    used = made(
        "v1", kind, "used", "prod", **({"spec": {"selector": {"app": "none"}}} if kind == "Service" else {})
    )
    alone = unused.said(used, where=f"{kind} -n prod")
    assert f"{kind.lower()}/used" in alone.out
    assert f"{kind.lower()}/used" not in unused.said(used, user, where=f"{kind} -n prod").out


@pytest.mark.parametrize(
    "user",
    [
        made("v1", "Service", "web", annotations={"balancer.example/settings": "used"}),
        made("storage.k8s.io/v1", "StorageClass", "fast", "", parameters={"settings": "shop/used"}),
        *(
            made(version, kind, "by", annotations={"any.example/settings": "shop/used"})
            for version, kind in (
                ("v1", "ResourceQuota"),
                ("v1", "Secret"),
                ("v1", "ServiceAccount"),
                ("networking.k8s.io/v1", "NetworkPolicy"),
                ("policy/v1", "PodDisruptionBudget"),
                ("resource.k8s.io/v1", "ResourceClaimTemplate"),
            )
        ),
    ],
    ids=lambda user: user["kind"],
)  # fmt: skip
@pytest.mark.parametrize("asked", ["-A", "configmaps -A", "configmaps -n shop"])
def test_whatever_kinds_are_asked_about(unused: Unused, user: dict[str, Any], asked: str) -> None:
    configs = [made("v1", "ConfigMap", name) for name in ("used", "free")]
    told = {line.partition("/")[2] for line in unused.said(*configs, user, where=asked).out.splitlines()}
    assert {name.rpartition("/")[2] for name in told} & {"used", "free"} == {"free"}


def test_annotations_of_every_kind_count_the_same_whatever_kinds_are_asked_about(
    skoupa: Shell, tmp_path: Path
) -> None:
    """Of kinds that machines write as well: whether they count must not hang on what else was to be read."""
    wanted = ("configmap", "secret", "persistentvolumeclaim")
    file = tmp_path / "all.yaml"
    objects = [obj("Namespace", "shop")]
    kinds = [one for one in BUILT_IN if one.may("list") and one.kind != "Event"]
    for number, resource in enumerate(kinds):
        by, place = f"by-{number}", "shop" if resource.namespaced else ""
        # Of definitions a file has to say what they define.
        more = {"spec": definition(GEARS)["spec"]} if resource.kind == "CustomResourceDefinition" else {}
        said = {"any.example/of": f"said-{number}"}
        objects.append(made(resource.api_version, resource.kind, by, place, annotations=said, **more))
        objects += (
            made("v1", kind, f"said-{number}") for kind in ("ConfigMap", "Secret", "PersistentVolumeClaim")
        )
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")

    def told(*asked: str) -> set[str]:
        lines = skoupa("unused", *asked, "-A", "--from", str(file), "-o", "name").out.splitlines()
        return {line.split()[0] for line in lines if line.partition("/")[0] in wanted and "/said-" in line}

    together, alone = told(), [told(one) for one in wanted]
    assert together == set().union(*alone)
    # Some count, and some do not.
    assert all(0 < len(one) < len(kinds) for one in alone)


def test_not_in_a_namespace_that_nobody_names(unused: Unused) -> None:
    assert "used" in unused(secret("used", "prod"), thing(tls="used"))


def test_not_by_a_pod_that_has_ended_or_by_what_an_object_says_of_itself(unused: Unused) -> None:
    ended = {**pod(args=["--secret=used"]), "status": {"phase": "Succeeded"}}
    applied = made("apps/v1", "Deployment", "web", spec={"template": {"spec": {}}})
    applied["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": '{"x": "used"}'}
    assert "used" in unused(secret("used"), ended, applied)


def policy(**spec: Any) -> dict[str, Any]:
    return made(
        "kyverno.io/v2", "ClusterCleanupPolicy", "tidy", "", spec=spec, status={"message": f"shop/{LEFT}"}
    )


def test_a_policy_does_not_keep_what_it_is_about_but_what_it_asks_for(unused: Unused) -> None:
    about = {"any": [{"resources": {"kinds": ["Secret"], "names": [LEFT]}}]}
    brake = made("skoupa.dev/v1alpha1", "Brake", "wait", "", spec={"reason": LEFT})
    assert LEFT in unused(policy(match=about, exclude=about), brake)
    call = {"name": "list", "apiCall": {"urlPath": f"/api/v1/namespaces/shop/secrets/{LEFT}"}}
    assert LEFT not in unused(policy(match=about, context=[call]))


def test_an_alertmanager_reads_a_secret_of_its_own_name(unused: Unused) -> None:
    operated = made("monitoring.coreos.com/v1", "Alertmanager", "main", spec={"replicas": 3})
    assert "alertmanager-main" not in unused(secret("alertmanager-main"), operated)


def service(name: str = "used", **selector: str) -> dict[str, Any]:
    return made("v1", "Service", name, spec={"selector": selector, "ports": [{"port": 80}]})


def stateful() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": []}}
    return made("apps/v1", "StatefulSet", "db", spec={"replicas": 0, "template": template})


@pytest.mark.parametrize(
    ("selector", "maker"),
    [
        ({"statefulset.kubernetes.io/pod-name": "db-0"}, stateful()),
        ({"app": "db", "apps.kubernetes.io/pod-index": "0"}, stateful()),
        ({"a": "b"}, made("v1", "PodTemplate", "t", template={"metadata": {"labels": {"a": "b"}}})),
        ({"a": "b"}, thing(podMetadata={"labels": {"a": "b"}})),
        ({"a": "b"}, thing(workers=[{"podLabels": {"a": "b"}}])),
        ({"operated-by": "thing"}, thing(replicas=0)),
        (
            {"a": "b"},
            made("shop.example/v1", "ClusterThing", "all", "", spec={"template": {"metadata": {"labels": {"a": "b"}}}}),
        ),
    ],
    ids=str,
)  # fmt: skip
def test_pods_that_somebody_would_make_are_waited_for(
    unused: Unused, selector: dict[str, str], maker: dict[str, Any]
) -> None:
    left = unused(service(**selector), service("behind-nothing", app="other"), maker)
    assert "used" not in left
    assert "behind-nothing" in left


@pytest.mark.parametrize(
    "labels", [{"shop.example/step": "2"}, {"run.shop.example/part-of": "x", "app": "web"}], ids=str
)
def test_a_policy_for_pods_that_an_operator_labels_waits_for_them_while_there_is_something_for_it_to_run(
    unused: Unused, labels: dict[str, str]
) -> None:
    rules = made(
        "networking.k8s.io/v1", "NetworkPolicy", "rules", spec={"podSelector": {"matchLabels": labels}}
    )
    budget = made("policy/v1", "PodDisruptionBudget", "budget", spec={"selector": {"matchLabels": labels}})
    assert {"rules", "budget"} <= unused(rules, budget)
    assert not {"rules", "budget"} & unused(rules, budget, thing(schedule="@daily"))
    elsewhere = made("shop.example/v1", "Thing", "thing", "prod", spec={})
    assert {"rules", "budget"} <= unused(rules, budget, elsewhere)


def test_a_network_policy_without_a_selector_is_for_all_pods_and_a_budget_for_none(unused: Unused) -> None:
    rules = made("networking.k8s.io/v1", "NetworkPolicy", "rules", spec={"policyTypes": ["Ingress"]})
    budget = made("policy/v1", "PodDisruptionBudget", "budget", spec={"minAvailable": 1})
    assert {"rules", "budget"} & unused(rules, budget) == {"budget"}


def test_a_selector_that_can_t_be_understood_is_told_and_what_has_it_is_not_judged(unused: Unused) -> None:
    spec = {"selector": {"matchLabels": {"app": True}}}
    said = unused.said(
        made("networking.k8s.io/v1", "NetworkPolicy", "rules", spec={"podSelector": spec["selector"]}),
        made("policy/v1", "PodDisruptionBudget", "budget", spec=spec),
    )
    assert said.code == 4
    assert "rules" not in said.out
    assert "budget" not in said.out
    assert "PodDisruptionBudget shop/budget: spec.selector" in said.err


def test_a_template_that_can_t_be_understood_is_told(unused: Unused) -> None:
    odd = made("apps/v1", "Deployment", "odd", spec={"template": {"metadata": {"labels": "x"}, "spec": {}}})
    said = unused.said(service(app="odd"), odd)
    assert said.code == 4
    assert "the template of Deployment shop/odd can't be understood" in said.err
    assert "used" not in said.out


@pytest.mark.parametrize(
    "annotation",
    [
        "nginx.ingress.kubernetes.io/permanent-redirect",
        "alb.ingress.kubernetes.io/actions.ssl-redirect",
        "konghq.com/plugins",
    ],
)
def test_an_ingress_that_answers_by_itself_needs_no_backend(unused: Unused, annotation: str) -> None:
    backend = {"service": {"name": "none", "port": {"number": 80}}}
    spec = {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]}
    answers = made("networking.k8s.io/v1", "Ingress", "used", annotations={annotation: "x"}, spec=spec)
    plain = made("networking.k8s.io/v1", "Ingress", "leads-nowhere", spec=spec)
    left = unused(answers, plain)
    assert "used" not in left
    assert "leads-nowhere" in left


def test_claims_of_a_custom_stateful_set_are_its_own(unused: Unused) -> None:
    claims = [
        made("v1", "PersistentVolumeClaim", name) for name in ("data-thing-0", "data-thing-7", "data-other-0")
    ]
    left = unused(*claims, thing(replicas=0, volumeClaimTemplates=[{"metadata": {"name": "data"}}]))
    assert {name for name in left if name.startswith("data-")} == {"data-other-0"}


@pytest.mark.parametrize("name", ["velero-repo-credentials", "argocd-image-updater-secret", "rook-ceph-mon"])
def test_what_a_program_reads_by_a_name_of_its_own_stays(unused: Unused, name: str) -> None:
    assert name not in unused(secret(name))


def test_the_volume_of_a_claim_says_its_name_and_does_not_use_it(unused: Unused) -> None:
    claim = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "idle"}
    told = {"csi.storage.k8s.io/pvc/name": "idle", "csi.storage.k8s.io/pvc/namespace": "shop"}
    spec = {"claimRef": claim, "csi": {"driver": "x", "volumeAttributes": {**told, "secret": "mine"}}}
    idle = made("v1", "PersistentVolumeClaim", "idle", spec={"volumeName": "disk"}, status={"phase": "Bound"})
    disk = made("v1", "PersistentVolume", "disk", "", spec=spec, status={"phase": "Bound"})
    said = unused.said(idle, disk, secret("mine"), secret("idle"))
    found = {line.split()[0] for line in said.out.splitlines()}
    assert found == {"persistentvolumeclaim/shop/idle", f"secret/shop/{LEFT}", "secret/prod/else"}

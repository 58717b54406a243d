"""`skoupa unused` on the real server: of a namespace as people have them exactly the leftovers are told."""

from __future__ import annotations

import base64
import gzip
import json
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.commands import Said, skoupa
from tests.cluster.granting import grant
from tests.cluster.reaching import SERVICE_ACCOUNTS, eventually, exists

pytestmark = pytest.mark.cluster

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
REPLICA_SETS = Resource(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True)
STATEFUL_SETS = Resource(
    group="apps", version="v1", plural="statefulsets", kind="StatefulSet", namespaced=True
)
CRON_JOBS = Resource(group="batch", version="v1", plural="cronjobs", kind="CronJob", namespaced=True)
INGRESSES = Resource(
    group="networking.k8s.io", version="v1", plural="ingresses", kind="Ingress", namespaced=True
)
BUDGETS = Resource(
    group="policy", version="v1", plural="poddisruptionbudgets", kind="PodDisruptionBudget", namespaced=True
)
SCALERS = Resource(
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    kind="HorizontalPodAutoscaler",
    namespaced=True,
)


TRIES = 10


class Town:
    def __init__(self, plane: Access, admin: Client, namespace: str) -> None:
        self.plane = plane
        self.admin = admin
        self.namespace = namespace

    async def make(self, resource: Resource, name: str, **body: Any) -> dict[str, Any]:
        metadata = {"name": name, **body.pop("metadata", {})}
        return await self.admin.create(resource, {"metadata": metadata, **body}, namespace=self.namespace)

    async def settled(self) -> None:
        """What every Namespace gets is there, and the second in which the last object was made is over."""
        last = datetime.now(UTC).timestamp()

        async def over() -> bool:
            there = [
                await exists(self.admin, *one, namespace=self.namespace)
                for one in ((CONFIG_MAPS, "kube-root-ca.crt"), (SERVICE_ACCOUNTS, "default"))
            ]
            return all(there) and datetime.now(UTC).timestamp() > last + 1

        await eventually(over, what="the Namespace to be settled")

    async def run(self, *args: str) -> Said:
        return await skoupa("unused", *args, kubeconfig=self.plane.kubeconfig)

    async def document(self, *args: str) -> dict[str, Any]:
        """What is said once there is nothing that can't be judged: others bring and take away kinds on this server."""
        said = await self.run(*args, "-n", self.namespace, "-o", "json")
        for _ in range(TRIES):
            found: dict[str, Any] = json.loads(said.out)
            if said.code == 0 and not found["notJudged"] and not found["gaps"]:
                break
            said = await self.run(*args, "-n", self.namespace, "-o", "json")
        assert said.code == 0, said.err
        return found


@pytest.fixture
def town(control_plane: Access, admin: Client, namespace: str) -> Town:
    return Town(control_plane, admin, namespace)


def template(app: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", **spec.pop("container", {})}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(app: str, pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"selector": {"matchLabels": {"app": app}}, "template": pod, **spec}}


def volume(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "configMap": {"name": name}}]}


def env_from(name: str) -> dict[str, Any]:
    return {"container": {"envFrom": [{"secretRef": {"name": name, "optional": True}}]}}


def record(namespace: str, *names: str) -> str:
    """What a release deployed, packed as Helm does."""
    manifest = "".join(
        f"---\n# Source: web/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
        for name in names
    )
    release = {"name": "web", "namespace": namespace, "manifest": manifest, "info": {"status": "deployed"}}
    inner = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    return base64.b64encode(inner).decode()


async def test_of_a_lived_in_namespace_exactly_the_leftovers_are_told(town: Town) -> None:
    make = town.make
    for name in ("now", "rollback", "nightly", "by-helm", "left"):
        await make(CONFIG_MAPS, name, data={"key": "value"})
    for name in ("tls", "optional", "pull", "left"):
        await make(SECRETS, name, stringData={"key": "value"})
    await make(
        SECRETS,
        "token",
        type="kubernetes.io/service-account-token",
        metadata={"annotations": {"kubernetes.io/service-account.name": "default"}},
    )
    labels = {"owner": "helm", "name": "web", "status": "deployed", "version": "1"}
    await make(
        SECRETS,
        "sh.helm.release.v1.web.v1",
        type="helm.sh/release.v1",
        metadata={"labels": labels},
        data={"release": record(town.namespace, "by-helm")},
    )
    for name in ("runner", "left"):
        await make(SERVICE_ACCOUNTS, name, imagePullSecrets=[{"name": "pull"}] if name == "runner" else [])
    deployment = await make(
        DEPLOYMENTS,
        "web",
        **workload("web", template("web", serviceAccountName="runner", **volume("now")), replicas=0),
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": deployment["metadata"]["uid"],
        "controller": True,
    }
    await make(
        REPLICA_SETS,
        "web-before",
        metadata={"ownerReferences": [owner]},
        **workload("web", template("web", **volume("rollback")), replicas=0),
    )
    await make(
        CRON_JOBS,
        "nightly",
        spec={
            "schedule": "0 1 * * *",
            "suspend": True,
            "jobTemplate": {
                "spec": {"template": template("nightly", restartPolicy="Never", **volume("nightly"))}
            },
        },
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await make(
        STATEFUL_SETS,
        "db",
        **workload(
            "db",
            template("db", **env_from("optional")),
            replicas=0,
            serviceName="db",
            volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": claim}],
        ),
    )
    for name in ("data-db-3", "left"):
        await make(CLAIMS, name, spec=claim)
    port = {"ports": [{"port": 80}]}
    for name, app in (("web", "web"), ("db", "db"), ("left", "nobody")):
        await make(SERVICES, name, spec={"selector": {"app": app}, **port})
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    await make(INGRESSES, "web", spec={"defaultBackend": backend, "tls": [{"secretName": "tls"}]})
    for name, app in (("web", "web"), ("left", "nobody")):
        await make(BUDGETS, name, spec={"minAvailable": 1, "selector": {"matchLabels": {"app": app}}})
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app}
        await make(SCALERS, name, spec={"maxReplicas": 2, "scaleTargetRef": target})
    await town.settled()

    document = await town.document()
    assert {f"{item['kind']}/{item['name']}" for item in document["items"]} == {
        "ConfigMap/left",
        "HorizontalPodAutoscaler/left",
        "PersistentVolumeClaim/left",
        "PodDisruptionBudget/left",
        "Secret/left",
        "Service/left",
        "ServiceAccount/left",
    }
    assert document["notJudged"] == []
    assert document["gaps"] == []
    sizes = {item["kind"]: item["size"] for item in document["items"]}
    assert sizes["ConfigMap"]["bytes"] == len('{"key":"value"}')
    assert sizes["PersistentVolumeClaim"]["capacity"] == "1Gi"


async def test_who_may_not_read_all_that_could_use_it_is_told_so(town: Town) -> None:
    await town.make(CONFIG_MAPS, "left")
    await town.settled()
    user = f"dev-{secrets.token_hex(4)}"
    await grant(
        town.admin, user, namespace=town.namespace, verbs=("get", "list"), resources=("configmaps", "pods")
    )
    said = await town.run("configmaps", "-n", town.namespace, "-o", "json", "--as", user)
    assert said.code == 4, said.err
    document = json.loads(said.out)
    assert document["items"] == []
    assert "left" in {item["name"] for item in document["notJudged"]}
    assert "deployments.apps" in {gap["what"] for gap in document["gaps"]}


async def test_it_is_no_more_unused_when_somebody_uses_it(town: Town) -> None:
    await town.make(CONFIG_MAPS, "shared")
    await town.settled()
    before = await town.document("configmaps")
    assert [item["name"] for item in before["items"]] == ["shared"]
    await town.make(DEPLOYMENTS, "web", **workload("web", template("web", **volume("shared")), replicas=0))
    assert (await town.document("configmaps"))["items"] == []

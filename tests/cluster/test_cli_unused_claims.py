"""`skoupa unused` on the real server: claims that the real binder has bound to their volumes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import Resource
from tests.cluster.reaching import eventually
from tests.cluster.test_cli_unused import CLAIMS, DEPLOYMENTS, Town, template, workload

pytestmark = pytest.mark.cluster

VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
ATTACHMENTS = Resource(
    group="storage.k8s.io",
    version="v1",
    plural="volumeattachments",
    kind="VolumeAttachment",
    namespaced=False,
)
SIZE = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}


@pytest.fixture
async def town(control_plane: Access, admin: Client, namespace: str) -> AsyncIterator[Town]:
    yield Town(control_plane, admin, namespace)
    for volume in (await everything(admin, VOLUMES, METADATA)).items:
        if volume.metadata.name.startswith(f"{namespace}-"):
            # It goes with its claim, which goes with the namespace.
            uid = volume.metadata.uid
            await admin.delete(VOLUMES, volume.metadata.name, namespace="", uid=uid, propagation="Background")


async def bound(town: Town, name: str, **spec: Any) -> str:
    """A claim and its volume, as a provisioner makes it; the name of that."""
    ref = {"kind": "PersistentVolumeClaim", "namespace": town.namespace, "name": name}
    told = {"csi.storage.k8s.io/pvc/name": name, "csi.storage.k8s.io/pvc/namespace": town.namespace}
    driver = {"driver": "disks.example", "volumeHandle": name, "volumeAttributes": told}
    volume = f"{town.namespace}-{name}"
    body = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": ref, "csi": driver}
    # A class that nobody serves: no default one is put in, and nothing is provisioned.
    disk = {"metadata": {"name": volume}, "spec": {**body, "storageClassName": "by-hand"}}
    await town.admin.create(VOLUMES, disk)
    await town.make(CLAIMS, name, spec={**SIZE, "storageClassName": "by-hand", "volumeName": volume, **spec})

    async def is_bound() -> bool:
        found: dict[str, Any] = await town.admin.get(CLAIMS, name, namespace=town.namespace, view=WHOLE)
        return bool(found.get("status", {}).get("phase") == "Bound")

    await eventually(is_bound, what=f"the claim {name} to be bound")
    return volume


async def test_a_bound_claim_is_unused_unless_something_mounts_copies_or_has_attached_it(town: Town) -> None:
    for name in ("left", "mounted", "copied"):
        await bound(town, name)
    attached = await bound(town, "attached")
    mount = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "mounted"}}]}
    await town.make(DEPLOYMENTS, "asleep", **workload("asleep", template("asleep", **mount), replicas=0))
    # It waits for its first user, and is to be a copy then.
    source = {"kind": "PersistentVolumeClaim", "name": "copied"}
    await town.make(CLAIMS, "copy", spec={**SIZE, "storageClassName": "by-hand", "dataSource": source})
    spec = {
        "attacher": "disks.example",
        "nodeName": "node-1",
        "source": {"persistentVolumeName": attached},
    }
    attachment = {"metadata": {"name": attached}, "spec": spec}
    made = await town.admin.create(ATTACHMENTS, attachment)
    await town.settled()
    assert await told(town) == {"left", "copy"}
    await town.admin.delete(
        ATTACHMENTS, attached, namespace="", uid=made["metadata"]["uid"], propagation="Background"
    )
    assert await told(town) == {"left", "copy", "attached"}


async def told(town: Town) -> set[str]:
    document = await town.document("persistentvolumeclaims")
    assert document["notJudged"] == []
    return {item["name"] for item in document["items"]}

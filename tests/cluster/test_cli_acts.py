"""`keep`, `extend`, `refresh` and `sweep` on the real server: what is there afterwards."""

from __future__ import annotations

import json
import secrets
import signal
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.errors import NotFound
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.commands import ended, skoupa, started
from tests.cluster.granting import grant
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

TTL = "cleanup.kyverno.io/ttl"
KEEP = "skoupa.dev/keep"
REFRESHED = "skoupa.dev/refreshed-at"
DONE, LEFTOVERS, REFUSED, DENIED, INTERRUPTED = 0, 4, 5, 6, 7


async def make(admin: Client, namespace: str, name: str, ttl: str, **labels: str) -> dict[str, Any]:
    body = {"metadata": {"name": name, "labels": {TTL: ttl, **labels}}}
    return await admin.create(CONFIG_MAPS, body, namespace=namespace)


async def metadata(admin: Client, namespace: str, name: str) -> Metadata | None:
    try:
        return (await admin.get(CONFIG_MAPS, name, namespace=namespace, view=METADATA)).metadata
    except NotFound:
        return None


async def labels(admin: Client, namespace: str, name: str) -> dict[str, str]:
    found = await metadata(admin, namespace, name)
    assert found is not None
    return found.labels or {}


async def test_keep_extend_and_refresh_write_what_they_say(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    made = await make(admin, namespace, "a", "1h")
    created = made["metadata"]["creationTimestamp"]
    config, here = control_plane.kubeconfig, ("cm/a", "-n", namespace, "-o", "json")

    async def item(*command: str) -> dict[str, Any]:
        said = await skoupa(*command, *here, kubeconfig=config)
        assert said.code == DONE, said.err
        [found] = json.loads(said.out)["items"]
        return dict(found)

    kept = await item("keep")
    assert (await labels(admin, namespace, "a"))[KEEP] == "true"
    assert kept["goesAt"] is None
    dry = await item("keep", "--remove", "--dry-run")
    assert dry["outcome"]["what"] == "would-change"
    assert (await labels(admin, namespace, "a"))[KEEP] == "true"
    free = await item("keep", "--remove")
    assert KEEP not in await labels(admin, namespace, "a")
    assert free["goesAt"] == free["due"] > created

    extended = await item("extend", "--by", "7d")
    assert extended["due"] == free["due"]
    assert extended["goesAt"][:10] > free["due"][:10]
    written = (await labels(admin, namespace, "a"))[KEEP]
    assert written == extended["goesAt"].replace(":", "")
    assert (await labels(admin, namespace, "a"))[TTL] == "1h"

    refreshed = await item("refresh")
    found = await metadata(admin, namespace, "a")
    assert found is not None
    assert found.annotations == {REFRESHED: refreshed["changes"][0]["after"]}
    assert refreshed["due"] >= free["due"]


async def test_sweep_deletes_what_is_due_and_leaves_what_is_held(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    for name, ttl in (("due", "0"), ("also-due", "2020-01-01"), ("later", "1h"), ("bad", "2days")):
        await make(admin, namespace, name, ttl)
    await make(admin, namespace, "kept", "0", **{KEEP: "true"})
    config = control_plane.kubeconfig
    asked = await skoupa("sweep", "-n", namespace, kubeconfig=config)
    assert asked.code == REFUSED
    assert await metadata(admin, namespace, "due")
    said = await skoupa("sweep", "-n", namespace, "--yes", kubeconfig=config)
    assert said.code == DONE, said.err
    assert f"deleted ConfigMap {namespace}/due" in said.out
    assert f"deleted ConfigMap {namespace}/also-due" in said.out
    for name, there in (("due", False), ("also-due", False), ("later", True), ("bad", True), ("kept", True)):
        assert bool(await metadata(admin, namespace, name)) == there, name
    again = await skoupa("sweep", "-n", namespace, "--yes", kubeconfig=config)
    assert again.code == DONE
    assert "1 due: 0 will go, 1 held." in again.out


async def test_a_namespace_with_something_kept_inside_is_not_swept(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    await make(admin, namespace, "kept", "30d", **{KEEP: "true"})
    await admin.merge_patch(NAMESPACES, namespace, {"metadata": {"labels": {TTL: "2020-01-01"}}})
    said = await skoupa("sweep", "-n", namespace, "--yes", kubeconfig=control_plane.kubeconfig)
    assert f"deleting it would take along ConfigMap {namespace}/kept, which is kept" in said.out
    found = await admin.get(NAMESPACES, namespace, view=METADATA)
    assert found.metadata.deletion_timestamp is None


async def test_sweep_goes_as_far_as_the_callers_rights(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    await make(admin, namespace, "a", "0")
    user = f"carol-{secrets.token_hex(4)}"
    config = control_plane.kubeconfig_for(user=user)
    verbs = ["get", "list"]
    await grant(admin, user, namespace=namespace, verbs=verbs, resources=["configmaps"])
    asked = ("sweep", "cm", "-n", namespace, "--yes")
    said = await skoupa(*asked, kubeconfig=config)
    assert said.code == REFUSED
    assert "--config /dev/null: as shipped" in said.err
    said = await skoupa(*asked, "--config", "/dev/null", kubeconfig=config)
    assert said.code == DENIED
    assert f"no permission: delete configmaps in {namespace}" in said.out
    assert await metadata(admin, namespace, "a")
    await grant(admin, user, namespace=namespace, verbs=["list", "delete"], resources=["configmaps"])

    async def may_delete() -> bool:
        said = await skoupa("plan", "cm", "-n", namespace, "--detailed-exitcode", kubeconfig=config)
        return said.code == 10

    await eventually(may_delete, what="the second Role to count")
    said = await skoupa(*asked, "--config", "/dev/null", kubeconfig=config)
    assert said.code == DONE, said.err
    assert await metadata(admin, namespace, "a") is None


async def test_what_waits_for_a_finalizer_is_told_so(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    body = {"metadata": {"name": "a", "labels": {TTL: "0"}, "finalizers": ["example.com/never"]}}
    await admin.create(CONFIG_MAPS, body, namespace=namespace)
    try:
        said = await skoupa(
            "sweep", "-n", namespace, "--yes", "-o", "json", kubeconfig=control_plane.kubeconfig
        )
        [item] = json.loads(said.out)["items"]
        assert item["outcome"] == {"what": "terminating", "text": "waiting for example.com/never"}
        said = await skoupa("explain", "cm/a", "-n", namespace, kubeconfig=control_plane.kubeconfig)
        assert "waiting for example.com/never" in said.out
    finally:
        await admin.merge_patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, namespace=namespace)


async def test_an_interrupt_finishes_what_is_under_way_and_accounts_for_everything(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    names = [f"many-{number:03}" for number in range(300)]
    for name in names:
        await make(admin, namespace, name, "0")
    settings = tmp_path / "settings.yaml"
    # So slow that much is left when it is interrupted.
    settings.write_text("rate: {deletionsPerSecond: 20}\n")
    process = await started(
        "sweep",
        "-n",
        namespace,
        "--yes",
        "-o",
        "json",
        "--config",
        settings,
        kubeconfig=control_plane.kubeconfig,
    )

    async def left() -> set[str]:
        found = await everything(admin, CONFIG_MAPS, METADATA, scope=Scope(namespace=namespace))
        return {one.metadata.name for one in found.items} & {*names}

    async def some_are_gone() -> bool:
        return len(await left()) < len(names)

    await eventually(some_are_gone, what="the first to go", patiently=False)
    process.send_signal(signal.SIGINT)
    said = await ended(process)
    assert said.code == INTERRUPTED, said.err
    outcomes = {item["name"]: item["outcome"]["what"] for item in json.loads(said.out)["items"]}
    assert set(outcomes) == set(names)
    assert set(outcomes.values()) == {"deleted", "not-tried"}
    assert {name for name, what in outcomes.items() if what == "not-tried"} == await left()

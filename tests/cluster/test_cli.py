"""`skoupa version` and `skoupa snapshot` on the real server, and what they say when it, or the way to it, is bad."""

from __future__ import annotations

import json
import re
import secrets
import signal
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import Access
from harness.controlplane.certificates import Authority
from harness.faultproxy import Answer, Close, Fault, FaultProxy, Garbage, Reset, Rule, Silence, kube_status
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.commands import ended, skoupa, started
from tests.cluster.kubeconfigs import admin_of, base64_of, cluster_of, write
from tests.cluster.reaching import eventually, exists, until

pytestmark = pytest.mark.cluster

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
DONE, USAGE, LEFTOVERS, UNREACHABLE, INTERRUPTED = 0, 2, 4, 6, 7


@pytest.fixture
def through(proxy: FaultProxy, tmp_path: Path) -> Path:
    """A kubeconfig for the way through the fault proxy."""
    return proxy.write_kubeconfig(tmp_path / "through")


def items(text: str) -> list[dict[str, Any]]:
    dump = yaml.safe_load(text)
    assert (dump["apiVersion"], dump["kind"]) == ("v1", "List")
    found: list[dict[str, Any]] = dump["items"]
    return found


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_version_tells_both_versions(control_plane: Access) -> None:
    said = await skoupa("version", kubeconfig=control_plane.kubeconfig)
    assert (said.code, said.err) == (DONE, "")
    assert f"server v{control_plane.version} at {control_plane.url}" in said.out
    said = await skoupa("version", "-o", "json", kubeconfig=control_plane.kubeconfig)
    told = json.loads(said.out)
    assert told["apiVersion"] == "skoupa.dev/v1alpha1"
    assert told["server"] == f"v{control_plane.version}"


async def test_a_snapshot_has_every_object_and_no_value_of_a_secret(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    value = secrets.token_hex(16)
    await eventually(
        lambda: exists(admin, CONFIG_MAPS, "kube-root-ca.crt", namespace=namespace),
        what="the namespace is set up",
    )
    applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":"{value}"}}', "other": "stays"}
    secret = {
        "metadata": {"name": "password", "annotations": applied},
        "stringData": {"user": value, "word": value},
        "type": "Opaque",
    }
    await admin.create(SECRETS, secret, namespace=namespace)
    await admin.create(
        CONFIG_MAPS, {"metadata": {"name": "plain"}, "data": {"colour": "grün"}}, namespace=namespace
    )
    said = await skoupa("snapshot", "-n", namespace, kubeconfig=control_plane.kubeconfig)
    assert said.code == DONE
    assert value not in said.out + said.err
    assert b64encode(value.encode()).decode() not in said.out + said.err
    found = {(item["kind"], item["metadata"]["name"]): item for item in items(said.out)}
    assert found["ConfigMap", "plain"]["data"] == {"colour": "grün"}
    assert found["Secret", "password"]["data"] == {"user": "", "word": ""}
    assert found["Secret", "password"]["metadata"]["annotations"] == {"other": "stays"}
    assert found["Secret", "password"]["apiVersion"] == "v1"
    assert ("ServiceAccount", "default") in found
    assert {item["metadata"].get("namespace") for item in found.values()} == {namespace}
    assert "managedFields" not in said.out
    assert f"{len(found)} objects" in said.sentence


async def test_a_snapshot_of_some_kinds_in_a_file_appears_when_it_is_complete(
    control_plane: Access, namespace: str, tmp_path: Path
) -> None:
    target = tmp_path / "snapshot.yaml"
    said = await skoupa(
        "snapshot",
        "ns",
        "clusterroles.rbac.authorization.k8s.io",
        "ns",
        "-A",
        "-o",
        target,
        kubeconfig=control_plane.kubeconfig,
    )
    assert (said.code, said.out) == (DONE, "")
    found = items(target.read_text())
    assert {item["kind"] for item in found} == {"Namespace", "ClusterRole"}
    names = [item["metadata"]["name"] for item in found if item["kind"] == "Namespace"]
    assert namespace in names
    assert len(names) == len(set(names)), "a kind that is named twice is read once"
    assert files_in(tmp_path) == ["snapshot.yaml"]


async def test_an_empty_snapshot_is_an_empty_list(control_plane: Access, namespace: str) -> None:
    said = await skoupa("snapshot", "pods", "-n", namespace, kubeconfig=control_plane.kubeconfig)
    assert said.code == DONE
    assert items(said.out) == []


async def test_an_unknown_kind_is_usage_and_writes_nothing(control_plane: Access, tmp_path: Path) -> None:
    target = tmp_path / "snapshot.yaml"
    said = await skoupa("snapshot", "podz", "-o", target, kubeconfig=control_plane.kubeconfig)
    assert said.code == USAGE
    assert "did you mean pod, pods?" in said.sentence
    assert not target.exists()


async def test_an_output_that_can_not_be_written_is_usage(control_plane: Access, tmp_path: Path) -> None:
    target = tmp_path / "absent" / "snapshot.yaml"
    said = await skoupa("snapshot", "ns", "-o", target, kubeconfig=control_plane.kubeconfig)
    assert said.code == USAGE
    assert str(target) in said.sentence
    assert "--output" in said.sentence


async def test_who_may_nothing_gets_the_version_and_the_names_of_what_is_missing(
    control_plane: Access, tmp_path: Path
) -> None:
    kubeconfig = control_plane.kubeconfig_for(user="may-nothing")
    said = await skoupa("version", kubeconfig=kubeconfig)
    assert said.code == DONE
    assert control_plane.version in said.out

    said = await skoupa("snapshot", "-A", kubeconfig=kubeconfig)
    assert said.code == LEFTOVERS
    assert items(said.out) == []
    missing = [line for line in said.lines if line.startswith("not in the snapshot: ")]
    for kind in ("pods", "secrets", "deployments.apps", "clusterroles.rbac.authorization.k8s.io"):
        assert any(line.startswith(f"not in the snapshot: {kind} (") for line in missing), kind
    assert all('User "may-nothing" cannot list' in line for line in missing)
    assert f"0 objects, {len(missing)} gaps" in said.lines[-1]
    assert "ask for a role" in said.lines[-1]


async def test_an_unknown_token_is_denied(control_plane: Access, tmp_path: Path) -> None:
    kubeconfig = write(tmp_path / "config", cluster=cluster_of(control_plane), user={"token": "hunter2"})
    said = await skoupa("version", kubeconfig=kubeconfig)
    assert said.code == UNREACHABLE
    assert "log in again" in said.sentence
    assert "hunter2" not in said.sentence


async def test_a_server_of_another_authority_is_not_trusted(control_plane: Access, tmp_path: Path) -> None:
    foreign = Authority(tmp_path, "foreign").pair.certificate
    cluster = cluster_of(control_plane, **{"certificate-authority-data": base64_of(foreign)})
    kubeconfig = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
    for command in ("version", "snapshot"):
        said = await skoupa(command, kubeconfig=kubeconfig)
        assert (said.code, said.out) == (UNREACHABLE, "")
        assert f"the certificate of {control_plane.url} is not trusted" in said.sentence
        assert f"certificate-authority and tls-server-name in {kubeconfig}" in said.sentence


async def test_a_server_that_is_down_is_unreachable(proxy: FaultProxy, through: Path) -> None:
    await proxy.down()
    said = await skoupa("snapshot", "-A", kubeconfig=through)
    assert (said.code, said.out) == (UNREACHABLE, "")
    assert f"{proxy.url} can't be reached" in said.sentence


RUBBISH: dict[str, Fault] = {
    "a portal": Garbage("html"),
    "text": Garbage("text"),
    "half an answer": Garbage("truncated"),
    "another kind": Answer(200, b'{"kind":"PodList","items":[]}'),
    "no JSON object": Answer(200, b'"hello"'),
    "a redirect": Answer(302, b"", (("Location", "https://login.example/"),)),
}


@pytest.mark.parametrize("fault", RUBBISH.values(), ids=RUBBISH.keys())
async def test_rubbish_from_the_server_is_one_sentence(
    proxy: FaultProxy, through: Path, fault: Fault
) -> None:
    proxy.script(Rule(fault, times=None))
    said = await skoupa("snapshot", "-A", kubeconfig=through)
    assert (said.code, said.out) == (UNREACHABLE, "")
    assert "check" in said.sentence
    assert "kubeconfig" in said.sentence


async def test_a_page_that_fails_half_way_for_a_moment_is_not_even_mentioned(
    proxy: FaultProxy, through: Path
) -> None:
    cut = proxy.script(
        Rule(Reset(after_bytes=200), path="/apis/rbac.authorization.k8s.io/v1/clusterroles", times=2)
    )
    said = await skoupa("snapshot", "clusterroles", kubeconfig=through)
    assert said.code == DONE
    assert proxy.hits(cut) == 2
    assert len(items(said.out)) > 50


async def test_a_page_that_keeps_failing_half_way_is_an_error_and_leaves_no_file(
    proxy: FaultProxy, through: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out" / "snapshot.yaml"
    target.parent.mkdir()
    proxy.script(
        Rule(Close(after_bytes=200), path="/apis/rbac.authorization.k8s.io/v1/clusterroles", times=None)
    )
    said = await skoupa("snapshot", "ns", "clusterroles", "-A", "-o", target, kubeconfig=through)
    assert (said.code, said.out) == (UNREACHABLE, "")
    assert "ended in the middle of an answer" in said.sentence
    assert files_in(target.parent) == []


@pytest.mark.parametrize(
    "fault", [kube_status(500, message="etcd is on fire"), Garbage("truncated")], ids=["500", "half"]
)
async def test_a_kind_that_can_not_be_read_is_named_and_the_others_are_there(
    proxy: FaultProxy, through: Path, fault: Fault
) -> None:
    proxy.script(Rule(fault, path="/apis/rbac.authorization.k8s.io/v1/clusterroles", times=None))
    said = await skoupa("snapshot", "clusterroles", "ns", kubeconfig=through)
    assert said.code == LEFTOVERS
    assert {item["kind"] for item in items(said.out)} == {"Namespace"}
    missing, summary = said.lines
    assert missing.startswith("not in the snapshot: clusterroles.rbac.authorization.k8s.io (")
    assert "1 gap" in summary


async def test_a_reader_that_has_enough_ends_it_quietly(control_plane: Access) -> None:
    process = await started("snapshot", "-A", kubeconfig=control_plane.kubeconfig)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"apiVersion: v1\n"
    process.stdout._transport.close()  # type: ignore[attr-defined]  # `head` leaves; asyncio has no other way to close it
    said = await ended(process)
    assert said.code == DONE
    assert said.err == ""


@pytest.mark.parametrize("command", [("version",), ("snapshot", "-A")], ids=["version", "snapshot"])
async def test_an_interrupt_ends_it_at_once_with_its_own_exit_code(
    proxy: FaultProxy, through: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    target = tmp_path / "out" / "snapshot.yaml"
    target.parent.mkdir()
    slow = proxy.script(Rule(Silence(), path=re.compile("/version|clusterroles"), times=None))
    output = ("-o", str(target)) if command[0] == "snapshot" else ()
    process = await started(*command, *output, kubeconfig=through)
    await until(lambda: proxy.hits(slow) >= 1, what="it waits for the server")
    process.send_signal(signal.SIGINT)
    # The server never answers.
    said = await ended(process)
    assert (said.code, said.out) == (INTERRUPTED, "")
    assert "interrupted" in said.sentence
    assert files_in(target.parent) == []

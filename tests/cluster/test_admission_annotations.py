"""A label that is written as an annotation is warned about by the API server itself, when it is written, and never refused."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options, ensure
from skoupa.admission.ttl_policies import ttl_admission
from skoupa.expr.ttl import parse_ttl
from skoupa.facts.rows import Extraction
from skoupa.judge.misplaced import ANY_TTL, misplaced_keep, misplaced_ttl
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS as CONFIG_MAP_KIND
from skoupa.model.reasons import Reason, render
from skoupa.settings import TtlSettings
from tests.cluster.admission_probe import CONFIG_MAPS, KEY, Object, Said, Writer, define, wait_until
from tests.unit.admission.ttl_values import GOLDEN

pytestmark = pytest.mark.cluster

KEEP = "skoupa.dev/keep"
CORE = "/api/v1/namespaces"
NAMESPACED = f"{CORE}/default"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
GADGETS = "/apis/example.org/v1/gadgets"
OWN = "/apis/skoupa.dev/v1/gadgets"
MERGE = "application/merge-patch+json"
POD = {"containers": [{"name": "c", "image": "example.org/none"}]}
BODIES: dict[str, Object] = {
    DEPLOYMENTS: {
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
        }
    },
    GADGETS: {"apiVersion": "example.org/v1", "kind": "Gadget"},
    OWN: {"apiVersion": "skoupa.dev/v1", "kind": "Gadget"},
    f"{NAMESPACED}/pods": {"spec": POD},
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Policies speak to all who use a server, so these tests have one of their own."""
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        yield plane


@pytest.fixture(scope="module")
def server(plane: ControlPlane) -> Iterator[Writer]:
    writer = Writer(plane.access)
    wait_until(lambda: writer.ask("GET", NAMESPACED).status == 200, "the default Namespace")
    define(writer, "gadgets", group="example.org", scope="Cluster")
    define(writer, "gadgets", group="skoupa.dev", scope="Cluster")
    manifests = ttl_admission(TtlSettings(), namespace="default")
    with writer.applied(manifests, active=lambda: bool(written(writer, {KEY: "1h"}).warnings)):
        yield writer


def written(writer: Writer, annotations: dict[str, str], **metadata: Any) -> Said:
    """What is said of a new ConfigMap, which is not kept."""
    return writer.create(
        CONFIG_MAPS, "probe", dry_run=True, metadata={"annotations": annotations, **metadata}
    )


def create(writer: Writer, path: str, name: str, annotations: dict[str, str], **metadata: Any) -> Said:
    return writer.create(
        path, name, metadata={"annotations": annotations, **metadata}, **BODIES.get(path, {})
    )


def annotate(writer: Writer, path: str, annotations: dict[str, str | None]) -> Said:
    return writer.ask("PATCH", path, {"metadata": {"annotations": annotations}}, media_type=MERGE)


@pytest.mark.parametrize(
    ("path", "called"),
    [
        (CONFIG_MAPS, "configmaps/any -n default"),
        (CORE, "namespaces/any"),
        (DEPLOYMENTS, "deployments.apps/any -n default"),
        (CLUSTER_ROLES, "clusterroles.rbac.authorization.k8s.io/any"),
        (GADGETS, "gadgets.example.org/any"),
    ],
    ids=lambda path: path.split("/")[-1] if path.startswith("/") else "",
)
def test_on_every_kind_the_warning_has_the_command_and_the_write_passes(
    server: Writer, path: str, called: str
) -> None:
    answer = create(server, path, "any", {KEY: "1h"})
    assert answer.status == 201
    assert answer.warning == (
        f"{KEY} is written as an annotation and does nothing: write it under metadata.labels, "
        f"or run kubectl label {called} {KEY}=1h"
    )


def test_kubectl_shows_it_and_its_command_does_what_was_meant(server: Writer, plane: ControlPlane) -> None:
    server.create(CONFIG_MAPS, "report")
    kubectl = [str(ensure("kubectl")), f"--kubeconfig={plane.access.kubeconfig}"]

    def run(*words: str) -> str:
        said = subprocess.run(
            [*kubectl, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert said.returncode == 0, said.stderr
        return said.stderr

    told = run("annotate", "configmap/report", f"{KEY}=2h")
    assert told.startswith("Warning: ")
    found = re.search(r"or run kubectl (.*)\n", told)
    assert found, told
    assert run(*found[1].split()) == ""
    assert server.ask("GET", f"{CONFIG_MAPS}/report").body["metadata"]["labels"] == {KEY: "2h"}
    assert run("annotate", "configmap/report", "--overwrite", f"{KEY}=2h", "other=x") == ""


def test_on_an_update_it_is_spoken_of_when_it_is_new_or_changed_and_not_again(server: Writer) -> None:
    path = f"{CONFIG_MAPS}/updated"
    server.create(CONFIG_MAPS, "updated")
    assert "=1h" in annotate(server, path, {KEY: "1h"}).warning
    assert annotate(server, path, {"other": "x"}).warning == ""
    answer = annotate(server, path, {KEY: "1h"})
    assert answer.warning == ""
    assert server.ask("PUT", path, {**answer.body, "data": {"a": "b"}}).warning == ""
    assert "=2h" in annotate(server, path, {KEY: "2h"}).warning
    assert annotate(server, path, {KEY: None}).warning == ""
    assert "=2h" in annotate(server, path, {KEY: "2h"}).warning


def test_server_side_apply_is_looked_at_too(server: Writer) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "applied", "annotations": {KEY: "1h"}},
    }
    path = f"{CONFIG_MAPS}/applied?fieldManager=test"
    assert server.ask("PATCH", path, body, media_type="application/apply-patch+yaml").warning
    assert server.ask("PATCH", path, body, media_type="application/apply-patch+yaml").warning == ""


def test_beside_a_label_that_says_the_same_it_is_not_spoken_of(server: Writer) -> None:
    assert written(server, {KEY: "1h"}, labels={KEY: "1h"}).warning == ""
    other = written(server, {KEY: "2h"}, labels={KEY: "1h"}).warning
    assert other.endswith(f"kubectl label --overwrite configmaps/probe -n default {KEY}=2h")


def test_the_words_are_those_of_the_engine(server: Writer) -> None:
    """Where admission does not know the value to write it says so; it never names another than the engine."""
    long = ("x" * 64, "9" * 70 + "d", "y" * 100_000)
    times = (
        "2027-08-04T00:30:00Z",
        "2027-08-04T00:30:00.5Z",
        "2027-08-04T02:30:00+02:00",
        "2027-08-04 00:30",
    )
    values = [*GOLDEN, *long, *times]
    with ThreadPoolExecutor(max_workers=8) as pool:
        said = list(pool.map(lambda value: written(server, {KEY: value, KEEP: value}), values))
    for value, answer in zip(values, said, strict=True):
        ttl, keep = answer.warnings
        by_ttl, by_keep = by_the_engine(value)
        assert ttl in {render(by_ttl), re.sub(rf"{KEY}=\S+$", f"{KEY}={ANY_TTL}", render(by_ttl))}
        assert keep in {render(by_keep), re.sub(rf"{KEEP}=\S+$", f"{KEEP}=true", render(by_keep))}
    named = sum(
        f"={value}" in answer.warnings[0] for value, answer in zip(values, said, strict=True) if value
    )
    assert named > 25


def by_the_engine(value: str) -> tuple[Reason, Reason]:
    extraction = Extraction(annotations=[KEY, KEEP])
    metadata = Metadata(name="probe", namespace="default", uid="u", annotations={KEY: value, KEEP: value})
    row = extraction.row(CONFIG_MAP_KIND, Partial(metadata=metadata))
    (ttl,), (keep,) = misplaced_ttl(row, parse_ttl), misplaced_keep(row)
    return ttl, keep


def test_a_generated_name_is_named(server: Writer) -> None:
    body = {"metadata": {"generateName": "made-", "annotations": {KEY: "1h"}}}
    assert re.search(
        r"kubectl label configmaps/made-\w+ -n default ", server.ask("POST", CONFIG_MAPS, body).warning
    )


@pytest.mark.parametrize(
    "key",
    [
        "janitor/ttl",
        "janitor/expires",
        "k8s-ttl-controller.twin.sh/ttl",
        "skoupa.dev/refreshed-at",
        "skoupa.dev/notice-before",
        "cleanup.kyverno.io/propagation-policy",
        "cleanup.kyverno.io/ttl-seconds",
        "ttl",
    ],
)
def test_other_annotations_are_not_spoken_of(server: Writer, key: str) -> None:
    assert written(server, {key: "1h"}).warning == ""


def test_what_a_controller_makes_from_a_template_is_not_spoken_of(server: Writer) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    made = create(
        server, f"{NAMESPACED}/pods", "made", {KEY: "1h"}, ownerReferences=[{**owner, "controller": True}]
    )
    assert (made.status, made.warnings) == (201, ())
    assert "=2h" in annotate(server, f"{NAMESPACED}/pods/made", {KEY: "2h"}).warning, (
        "people change it, though"
    )
    assert "=1h" in create(server, CONFIG_MAPS, "owned", {KEY: "1h"}, ownerReferences=[owner]).warning


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {}),
        (f"{NAMESPACED}/endpoints", {}),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            {"addressType": "IPv4", "endpoints": []},
        ),
        (f"{NAMESPACED}/events", {"involvedObject": {"namespace": "default"}}),
        (OWN, BODIES[OWN]),
    ],
    ids=["leases", "endpoints", "endpointslices", "events", "own"],
)
def test_kinds_that_are_written_by_the_second_and_skoupas_own_are_left_alone(
    server: Writer, path: str, body: Object
) -> None:
    answer = server.create(path, "left-alone", metadata={"annotations": {KEY: "1h"}}, **body)
    assert answer.status == 201
    assert not [text for text in answer.warnings if "annotation" in text]


def test_status_writes_are_left_alone(server: Writer) -> None:
    server.create(f"{NAMESPACED}/pods", "running", spec=POD)
    path = f"{NAMESPACED}/pods/running"
    assert annotate(server, f"{path}/status", {KEY: "1h"}).warning == ""

"""Alive is guarded by the API server alone: no Skoupa runs here."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.controlplane import Access, ControlPlane, Options
from skoupa.admission.alive import guarding, namespaced_admission
from skoupa.controller.living.forcing import AT_A_TIME
from skoupa.kinds.alive import ALIVE, NAMESPACED_ALIVE
from skoupa.kinds.definition import document
from tests.cluster.admission_probe import DEFINITIONS, Said, Writer, collection_of, wait_until

pytestmark = pytest.mark.cluster

ALIVES = "/apis/skoupa.dev/v1alpha1/alives"
CLUSTER = f"{ALIVES}/cluster"
SEED = "/apis/namespaced.skoupa.dev/v1alpha1/namespaces/openshift-config/alives"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
CONFIRM = "skoupa.dev/confirm-deletion"

ROBOT = "gitops-robot"
READER = "ordinary-user"
DNS = "system:serviceaccount:dns:operator"
DISKS = "system:serviceaccount:disks:operator"
SKOUPA = "system:serviceaccount:skoupa:skoupa"
DNS_FINALIZER = "dns.example.com/cleanup"
DISK_FINALIZER = "disks.example.com/cleanup"
# On the form of the seed, since before it was guarded.
OLD_FINALIZER = "old.example.com/cleanup"
NAMESPACE = "/api/v1/namespaces/openshift-config"


@pytest.fixture(scope="module")
def plane() -> Iterator[Access]:
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        yield plane.access


@pytest.fixture(scope="module")
def server(plane: Access) -> Writer:
    writer = Writer(plane)
    wait_until(lambda: writer.ask("GET", "/api/v1/namespaces/default").status == 200, "the default Namespace")
    for kind in (ALIVE, NAMESPACED_ALIVE):
        assert writer.ask("POST", DEFINITIONS, document(kind)).status == 201
    assert writer.create("/api/v1/namespaces", "openshift-config").status == 201
    for path in (ALIVES, SEED):
        wait_until(lambda path=path: writer.ask("GET", path).status == 200, path)  # type: ignore[misc]
    writing = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
    grant(writer, ROBOT, verbs=writing, groups=["*"], resources=["*"])
    grant(writer, READER, verbs=["get", "list"], groups=["*"], resources=["*"])
    for user in (DNS, DISKS, SKOUPA):
        grant(writer, user, verbs=["get", "create", "patch", "update"], groups=["*"], resources=["alives"])
    seeds(writer)
    for manifest in (*guarding(ALIVE, home="skoupa"), *namespaced_admission(home="skoupa")):
        assert writer.ask("POST", collection_of(manifest), manifest).status == 201, manifest
    alive(writer)
    for path, method in ((CLUSTER, "DELETE"), (f"{SEED}/cluster", "DELETE")):
        wait_until(lambda: writer.ask(method, f"{path}?dryRun=All").status == 403, f"{path} is guarded")  # noqa: B023
    wait_until(lambda: confirm(writer, "wrong", dry_run=True).status == 422, "what is written is guarded")
    for name in ("alives.skoupa.dev", "alives.namespaced.skoupa.dev"):
        wait_until(
            lambda: writer.ask("DELETE", f"{DEFINITIONS}/{name}?dryRun=All").status == 403,  # noqa: B023
            f"the definition {name} is guarded",
        )
    wait_until(
        lambda: writer.ask("DELETE", f"{NAMESPACE}?dryRun=All").status == 403, "the Namespace is guarded"
    )
    return writer


@pytest.fixture(autouse=True)
def _anew(server: Writer) -> Iterator[None]:
    """Each test begins with an Alive that nobody has touched, and leaves one to be deleted by who may; in whichever order."""
    alive(server)
    # Here there is but one, and what another test has confirmed of it counts no more.
    unconfirmed = {"metadata": {"annotations": {CONFIRM: None}}}
    assert server.ask("PATCH", f"{SEED}/cluster", unconfirmed, media_type=MERGE).status == 200
    yield
    if server.ask("GET", CLUSTER).status == 404:
        return
    if "deletionTimestamp" not in server.ask("GET", CLUSTER).body["metadata"]:
        assert change(server, onTimeout="ForceFinalizers").status == 200
        signal(server)
    found = server.ask("GET", CLUSTER).body
    if found["kind"] == "Status":
        return
    forced = found["spec"]["onTimeout"] == "ForceFinalizers"
    free: dict[str, Any] = {"metadata": {"finalizers": None}}
    for whom in {SKOUPA} if forced else {one["identity"] for one in found["spec"]["participants"]}:
        if not forced:
            theirs = [e["finalizer"] for e in found["spec"]["participants"] if e["identity"] == whom]
            present = server.ask("GET", CLUSTER).body["metadata"].get("finalizers", ())
            free = {"metadata": {"finalizers": [one for one in present if one not in theirs]}}
        said = server.as_user(whom).ask("PATCH", CLUSTER, free, media_type=MERGE)
        assert said.status in {200, 404}, said


def grant(writer: Writer, user: str, *, verbs: list[str], groups: list[str], resources: list[str]) -> None:
    name = user.replace(":", "-")
    rules = [{"apiGroups": groups, "resources": resources, "verbs": verbs}]
    assert writer.create(f"{RBAC}/clusterroles", name, rules=rules).status == 201
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    assert writer.create(f"{RBAC}/clusterrolebindings", name, subjects=[subject], roleRef=role).status == 201
    probe = ALIVES
    wait_until(
        lambda: writer.as_user(user).ask("GET", f"{probe}/nobody").status == 404, f"the rights of {user}"
    )


def alive(writer: Writer, *, name: str = "cluster", **spec: Any) -> Said:
    return writer.ask("POST", ALIVES, body(name=name, **spec))


def body(*, name: str = "cluster", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": "Alive",
        "metadata": {"name": name},
        **({"spec": spec} if spec else {}),
    }


def seeds(writer: Writer) -> None:
    made = {**body(), "apiVersion": "namespaced.skoupa.dev/v1alpha1"}
    made["metadata"]["finalizers"] = [OLD_FINALIZER]
    assert writer.ask("POST", SEED, made).status == 201


def uid(writer: Writer, path: str = CLUSTER) -> str:
    return str(writer.ask("GET", path).body["metadata"]["uid"])


def confirm(writer: Writer, value: str, *, path: str = CLUSTER, dry_run: bool = False) -> Said:
    query = "?dryRun=All" if dry_run else ""
    return writer.ask(
        "PATCH", path + query, {"metadata": {"annotations": {CONFIRM: value}}}, media_type=MERGE
    )


def entry(finalizer: str, identity: str) -> dict[str, Any]:
    return {"finalizer": finalizer, "identity": identity}


CLAIMED = {"spec": {"participants": [entry(OLD_FINALIZER, DISKS)]}}


def join(writer: Writer, finalizer: str, identity: str) -> Said:
    """As the contract has it: finalizer and entry in one server-side apply."""
    applied = body(participants=[entry(finalizer, identity)])
    applied["metadata"]["finalizers"] = [finalizer]
    manager = finalizer.replace("/", "-")
    return writer.ask("PATCH", f"{CLUSTER}?fieldManager={manager}", applied, media_type=APPLY)


def without(writer: Writer, finalizer: str) -> Said:
    found = writer.ask("GET", CLUSTER).body["metadata"]
    left = [one for one in found.get("finalizers", []) if one != finalizer]
    patch = {"metadata": {"resourceVersion": found["resourceVersion"], "finalizers": left}}
    return writer.ask("PATCH", CLUSTER, patch, media_type=MERGE)


def change(writer: Writer, **spec: Any) -> Said:
    return writer.ask("PATCH", CLUSTER, {"spec": spec}, media_type=MERGE)


def claimed_and_free(writer: Writer) -> None:
    """The finalizer that was there before the guard."""
    assert writer.ask("PATCH", f"{SEED}/cluster", CLAIMED, media_type=MERGE).status == 200
    free = {"metadata": {"finalizers": None}}
    said = writer.as_user(DISKS).ask("PATCH", f"{SEED}/cluster", free, media_type=MERGE)
    assert said.status == 200, said.message


def signal(writer: Writer) -> None:
    assert confirm(writer, uid(writer)).status == 200
    assert writer.ask("DELETE", CLUSTER).status == 200


def test_nobody_deletes_it_without_a_confirmation_not_even_a_cluster_admin(server: Writer) -> None:
    said = server.ask("DELETE", CLUSTER)
    assert said.status == 403
    assert f"skoupa.dev/confirm-deletion={uid(server)}" in said.message
    assert "skoupa alive delete" in said.message


def test_a_collection_is_as_good_as_one(server: Writer) -> None:
    assert server.ask("DELETE", ALIVES).status == 403
    assert server.as_user(ROBOT).ask("DELETE", ALIVES).status == 403
    assert server.ask("GET", CLUSTER).status == 200


def test_who_confirms_its_uid_and_may_signal_deletes_it(server: Writer) -> None:
    before = uid(server)
    assert confirm(server, before).status == 200
    assert server.ask("DELETE", CLUSTER).status == 200
    assert server.ask("GET", CLUSTER).status == 404


def test_a_robot_that_may_delete_everything_neither_confirms_nor_deletes(server: Writer) -> None:
    robot = server.as_user(ROBOT)
    said = confirm(robot, uid(server))
    assert said.status == 403
    assert "ask for the verb signal on alives.skoupa.dev" in said.message
    assert confirm(server, uid(server)).status == 200
    said = robot.ask("DELETE", CLUSTER)
    assert said.status == 403
    assert "gitops-robot may not" in said.message
    assert robot.ask("DELETE", ALIVES).status == 403


def test_an_ordinary_user_is_refused_by_their_rights(server: Writer) -> None:
    user = server.as_user(READER)
    assert user.ask("DELETE", CLUSTER).status == 403
    assert confirm(user, uid(server)).status == 403
    assert user.ask("GET", CLUSTER).status == 200


def test_a_manifest_that_was_copied_confirms_nothing(server: Writer) -> None:
    assert confirm(server, uid(server)).status == 200
    copied = server.ask("GET", CLUSTER).body
    assert server.ask("DELETE", CLUSTER).status == 200
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        del copied["metadata"][key]
    said = server.ask("POST", ALIVES, copied)
    assert said.status == 422
    assert "confirms another Alive" in said.message
    assert alive(server).status == 201
    said = confirm(server, "the-uid-of-another")
    assert said.status == 422
    assert uid(server) in said.message
    assert server.ask("DELETE", CLUSTER).status == 403


@pytest.mark.parametrize("path", [f"{DEFINITIONS}/alives.skoupa.dev", "/api/v1/namespaces/openshift-config"])
def test_what_would_take_it_along_needs_the_same(server: Writer, path: str) -> None:
    said = server.ask("DELETE", f"{path}?dryRun=All")
    assert said.status == 403
    assert "has to be confirmed before" in said.message
    assert server.as_user(ROBOT).ask("DELETE", f"{path}?dryRun=All").status == 403
    assert confirm(server, uid(server, path), path=path).status == 200
    assert server.ask("DELETE", f"{path}?dryRun=All").status == 200
    assert server.as_user(ROBOT).ask("DELETE", f"{path}?dryRun=All").status == 403
    gone = server.ask("PATCH", path, {"metadata": {"annotations": {CONFIRM: None}}}, media_type=MERGE)
    assert gone.status == 200


def test_its_definition_does_not_go_with_a_collection_either(server: Writer) -> None:
    chosen = f"{DEFINITIONS}?fieldSelector=metadata.name%3Dalives.skoupa.dev"
    assert server.ask("DELETE", chosen).status == 403
    assert server.ask("GET", f"{DEFINITIONS}/alives.skoupa.dev").status == 200


def test_other_definitions_and_namespaces_are_nobodys_business(server: Writer) -> None:
    assert server.create("/api/v1/namespaces", "passing").status == 201
    assert server.ask("DELETE", "/api/v1/namespaces/passing?dryRun=All").status == 200


def test_the_form_of_the_seed_is_guarded_alike(server: Writer) -> None:
    path = f"{SEED}/cluster"
    assert server.ask("DELETE", path).status == 403
    said = server.ask("DELETE", path)
    assert "kubectl annotate alives.namespaced.skoupa.dev cluster -n openshift-config " in said.message
    assert server.ask("DELETE", SEED).status == 403
    assert confirm(server.as_user(ROBOT), uid(server, path), path=path).status == 403
    assert confirm(server, uid(server, path), path=path).status == 200
    assert server.as_user(ROBOT).ask("DELETE", path).status == 403
    assert server.ask("DELETE", f"{path}?dryRun=All").status == 200


def test_there_is_one_and_it_is_called_cluster(server: Writer) -> None:
    said = alive(server, name="another")
    assert said.status == 422
    assert "it is called cluster" in said.message


def test_a_participant_joins_by_one_apply_and_leaves_by_its_own_hand_alone(server: Writer) -> None:
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    assert join(server.as_user(DISKS), DISK_FINALIZER, DISKS).status == 200
    found = server.ask("GET", CLUSTER).body
    assert set(found["metadata"]["finalizers"]) == {DNS_FINALIZER, DISK_FINALIZER}
    assert {one["finalizer"] for one in found["spec"]["participants"]} == {DNS_FINALIZER, DISK_FINALIZER}
    for other in (server, server.as_user(ROBOT), server.as_user(DISKS)):
        said = without(other, DNS_FINALIZER)
        assert said.status == 403
        assert f"may not remove the finalizer {DNS_FINALIZER}" in said.message
    signal(server)
    assert without(server, DNS_FINALIZER).status == 403
    assert without(server.as_user(DNS), DNS_FINALIZER).status == 200
    assert without(server.as_user(DISKS), DISK_FINALIZER).status == 200
    assert server.ask("GET", CLUSTER).status == 404


def test_skoupa_may_take_off_what_is_left_only_where_it_was_told_to_force(server: Writer) -> None:
    skoupa = server.as_user(SKOUPA)
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    assert change(server, onTimeout="ForceFinalizers").status == 200
    assert without(skoupa, DNS_FINALIZER).status == 403, "nobody has asked for the deletion"
    signal(server)
    assert change(server, onTimeout="Proceed").status == 200
    assert without(skoupa, DNS_FINALIZER).status == 403, "somebody has thought better of it"
    assert without(server.as_user(DNS), DNS_FINALIZER).status == 200
    alive(server, onTimeout="ForceFinalizers")
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    signal(server)
    assert without(skoupa, DNS_FINALIZER).status == 200


def test_skoupas_own_finalizer_is_for_skoupa_and_for_who_may_signal(server: Writer) -> None:
    own = {"metadata": {"finalizers": ["skoupa.dev/alive"]}}
    assert server.ask("PATCH", CLUSTER, own, media_type=MERGE).status == 200
    said = without(server.as_user(ROBOT), "skoupa.dev/alive")
    assert said.status == 403
    assert "gitops-robot may not remove the finalizer skoupa.dev/alive" in said.message
    assert "the verb signal on alives.skoupa.dev" in said.message
    assert without(server, "skoupa.dev/alive").status == 200
    assert server.ask("PATCH", CLUSTER, own, media_type=MERGE).status == 200
    assert without(server.as_user(SKOUPA), "skoupa.dev/alive").status == 200


def test_nobody_pushes_a_finalizer_to_where_nobody_looks(server: Writer) -> None:
    """The list may be as long as anybody likes, and a policy can compare only so many places of it."""
    assert join(server.as_user(DISKS), DISK_FINALIZER, DISKS).status == 200
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    disks = server.as_user(DISKS)
    for count in (1000, 1002, 1003, 2000):
        padding = [DISK_FINALIZER] * count
        hidden = {"metadata": {"finalizers": [*padding, DNS_FINALIZER]}}
        said = disks.ask("PATCH", CLUSTER, hidden, media_type=MERGE)
        assert (
            said.status == 200
            or f"takes 1003 finalizers and no more, and {count + 1} are too many" in said.message
        )
        lost = {"metadata": {"finalizers": padding}}
        assert disks.ask("PATCH", CLUSTER, lost, media_type=MERGE).status == 403, count
    assert DNS_FINALIZER in server.ask("GET", CLUSTER).body["metadata"]["finalizers"]


def test_finalizers_of_kubernetes_are_put_there_by_a_deletion_alone(server: Writer) -> None:
    patch = {"metadata": {"finalizers": ["foregroundDeletion"]}}
    assert server.as_user(ROBOT).ask("PATCH", CLUSTER, patch, media_type=MERGE).status == 403


def test_a_finalizer_of_before_the_guard_is_claimed_by_who_may_signal(server: Writer) -> None:
    said = server.as_user(DISKS).ask("PATCH", f"{SEED}/cluster", CLAIMED, media_type=MERGE)
    assert said.status == 403
    assert f"may not write the entry of {OLD_FINALIZER}" in said.message
    claimed_and_free(server)


def test_a_finalizer_that_nobody_could_remove_is_not_taken(server: Writer) -> None:
    patch = {"metadata": {"finalizers": ["lost.example.com/cleanup"]}}
    said = server.ask("PATCH", CLUSTER, patch, media_type=MERGE)
    assert said.status == 403
    assert "has no entry in spec.participants" in said.message


def test_joining_for_another_needs_the_right_to_signal(server: Writer) -> None:
    said = join(server.as_user(DNS), DISK_FINALIZER, DISKS)
    assert said.status == 403
    assert join(server, DISK_FINALIZER, DISKS).status == 200


def test_the_entry_of_another_can_neither_be_taken_over_nor_removed(server: Writer) -> None:
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    disks = server.as_user(DISKS)
    said = change(disks, participants=[entry(DNS_FINALIZER, DISKS)])
    assert said.status == 403
    assert f"may not write the entry of {DNS_FINALIZER}" in said.message
    assert change(disks, participants=[]).status == 403
    assert change(server.as_user(DNS), participants=[]).status == 403, "its finalizer is still there"
    left = {"metadata": {"finalizers": None}, "spec": {"participants": []}}
    assert server.as_user(DNS).ask("PATCH", CLUSTER, left, media_type=MERGE).status == 200


@pytest.mark.parametrize("path", [CLUSTER, f"{SEED}/cluster"])
def test_where_everything_is_preserved_nobody_is_told_though_it_was_confirmed(
    server: Writer, path: str
) -> None:
    wanted = {"spec": {"deletionPolicy": "Preserve"}}
    assert server.ask("PATCH", path, wanted, media_type=MERGE).status == 200
    assert confirm(server, uid(server, path), path=path).status == 200
    for asked in (f"{path}?dryRun=All", f"{path.rpartition('/')[0]}?dryRun=All"):
        said = server.ask("DELETE", asked)
        assert said.status == 403
        assert "spec.deletionPolicy of Alive is not Signal" in said.message
    wanted = {"spec": {"deletionPolicy": "Signal"}}
    assert server.ask("PATCH", path, wanted, media_type=MERGE).status == 200
    assert server.ask("DELETE", f"{path}?dryRun=All").status == 200


def test_joining_late_is_refused(server: Writer) -> None:
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    signal(server)
    said = join(server.as_user(DISKS), DISK_FINALIZER, DISKS)
    assert said.status in {403, 422}


def test_once_it_goes_it_only_gets_more_careful(server: Writer) -> None:
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    kept = {"kind": "Service", "names": ["web"]}
    assert (
        change(
            server,
            timeout="1h",
            onTimeout="Proceed",
            onUnreachable="Proceed",
            blockCreation=True,
            preserve=[kept],
        ).status
        == 200
    )
    signal(server)
    careless: tuple[dict[str, Any], ...] = (
        {"deletionPolicy": "Preserve"},
        {"timeout": "59m"},
        {"progressTimeout": "5m"},
        {"onTimeout": "ForceFinalizers"},
        {"blockCreation": False},
        {"preserve": []},
        {"participants": [entry(DNS_FINALIZER, SKOUPA)]},
    )
    for worse in careless:
        said = change(server, **worse)
        assert said.status == 403, worse
        assert "only be made more careful" in said.message, worse
    careful: tuple[dict[str, Any], ...] = (
        {"timeout": "2h"},
        {"onTimeout": "Fail"},
        {"onUnreachable": "Fail"},
        {"preserve": [kept, {"kind": "Service", "names": ["db"]}]},
    )
    for better in careful:
        assert change(server, **better).status == 200, better
    assert change(server, onUnreachable="Proceed").status == 403


def test_a_thousand_join_one_by_one_and_one_of_them_leaves(server: Writer) -> None:
    many = [entry(f"p{index}.example.com/cleanup", DNS) for index in range(999)]
    for end in (*range(50, 999, 50), 999):
        made = body(participants=many[:end])
        made["metadata"]["finalizers"] = [one["finalizer"] for one in many[:end]]
        found = server.ask("GET", CLUSTER).body["metadata"]
        made["metadata"]["resourceVersion"] = found["resourceVersion"]
        said = server.ask("PUT", CLUSTER, made)
        assert said.status == 200, said.message
    said = join(server.as_user(DISKS), DISK_FINALIZER, DISKS)
    assert said.status == 200, said.message
    said = without(server.as_user(DISKS), "p500.example.com/cleanup")
    assert said.status == 403
    said = without(server.as_user(DNS), "p500.example.com/cleanup")
    assert said.status == 200, said.message
    # As many as Skoupa takes off at a time, where it was told to.
    assert change(server, onTimeout="ForceFinalizers").status == 200
    signal(server)
    skoupa = server.as_user(SKOUPA)
    for begin in (0, 400, 800):
        left = server.ask("GET", CLUSTER).body["metadata"]["finalizers"]
        fewer = {"metadata": {"finalizers": [*left[:begin], *left[begin + AT_A_TIME :]]}}
        said = skoupa.ask("PATCH", CLUSTER, fewer, media_type=MERGE)
        assert said.status == 200, said.message
    assert len(server.ask("GET", CLUSTER).body["metadata"]["finalizers"]) == 999 - 3 * AT_A_TIME


def test_nothing_new_is_made_that_costs_something_elsewhere_where_that_is_wished(server: Writer) -> None:
    default = "/api/v1/namespaces/default"
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    ports = {"ports": [{"port": 80}]}
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    costly: dict[str, dict[str, Any]] = {
        f"{default}/services": {**ports, "type": "LoadBalancer"},
        f"{default}/persistentvolumeclaims": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
        ingresses: {"defaultBackend": backend},
    }
    balanced = {"spec": {"type": "LoadBalancer"}}

    def refused() -> set[str]:
        said = {path: server.create(path, "new", dry_run=True, spec=spec) for path, spec in costly.items()}
        said["changed"] = server.ask(
            "PATCH", f"{default}/services/inner?dryRun=All", balanced, media_type=MERGE
        )
        assert all(one.status in {200, 201} or "about to die" in one.message for one in said.values()), said
        return {path for path, one in said.items() if one.status == 403}

    for name, kind in (("inner", "ClusterIP"), ("outer", "LoadBalancer")):
        assert server.create(f"{default}/services", name, spec={**ports, "type": kind}).status == 201
    assert join(server.as_user(DNS), DNS_FINALIZER, DNS).status == 200
    assert change(server, blockCreation=True).status == 200
    assert refused() == set(), "nobody has asked for the deletion"
    signal(server)
    wait_until(lambda: refused() == {*costly, "changed"}, "it stands still")
    assert server.create(f"{default}/services", "plain", dry_run=True, spec=ports).status == 201
    label = {"metadata": {"labels": {"a": "b"}}}
    there = server.ask("PATCH", f"{default}/services/outer", label, media_type=MERGE)
    assert there.status == 200, "what is there can be changed, and cleaned up"
    assert server.ask("DELETE", f"{default}/services/outer").status == 200


@contextmanager
def put_back(access: Access, *keys: str) -> Iterator[None]:
    """What is there under these keys is there again afterwards, as if nothing had been: the guard lets nobody else do that."""
    etcd = access.etcd_probe()
    encoded = [base64.b64encode(key.encode()).decode() for key in keys]
    before = [etcd.ask("POST", "/v3/kv/range", {"key": key}).json()["kvs"][0]["value"] for key in encoded]
    yield
    for key, value in zip(encoded, before, strict=True):
        assert etcd.ask("POST", "/v3/kv/put", {"key": key, "value": value}).status == 200


def test_who_was_allowed_to_delete_the_namespace_has_told_everybody(plane: Access, server: Writer) -> None:
    with put_back(
        plane,
        "/registry/namespaces/openshift-config",
        "/registry/namespaced.skoupa.dev/alives/openshift-config/cluster",
    ):
        deleted_with_its_namespace(server)
    wait_until(lambda: server.ask("GET", f"{SEED}/cluster").status == 200, "it is there again")
    wait_until(
        lambda: server.ask("GET", NAMESPACE).body["status"]["phase"] == "Active", "so is the Namespace"
    )


def deleted_with_its_namespace(server: Writer) -> None:
    controller = server.as_user("system:serviceaccount:kube-system:namespace-controller")
    claimed_and_free(server)
    assert controller.ask("DELETE", SEED).status == 403
    assert confirm(server, uid(server, NAMESPACE), path=NAMESPACE).status == 200
    assert server.ask("DELETE", NAMESPACE).status == 200
    wait_until(lambda: controller.ask("DELETE", SEED).status == 200, "what is in it goes with it")
    assert server.ask("GET", f"{SEED}/cluster").status == 404

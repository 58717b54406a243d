"""Which fields of the server's own kinds name what a tenant may have."""

from __future__ import annotations

import pytest

from skoupa.sim.state.kinds import BUILT_IN
from skoupa.tenants.uses import USES, names_in

pytestmark = pytest.mark.unit

RBAC = "rbac.authorization.k8s.io"


def test_every_kind_of_the_table_is_one_of_the_server_or_of_snapshots() -> None:
    known = {(one.group, one.kind): one for one in BUILT_IN}
    # Servers of 1.35 do not serve these by default.
    also = {
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    }
    for kind, fields in USES.items():
        assert kind in known.keys() | also
        assert kind in also or not known[kind].namespaced, "it is in no namespace"
        assert {field.user for field in fields} <= known.keys() | also


@pytest.mark.parametrize(
    ("kind", "found", "names"),
    [
        ((RBAC, "ClusterRole"), {"roleRef": {"kind": "ClusterRole", "name": "a"}}, ["a"]),
        ((RBAC, "ClusterRole"), {"roleRef": {"kind": "Role", "name": "a"}}, []),
        (("storage.k8s.io", "StorageClass"), {"spec": {"storageClassName": "a"}}, ["a"]),
        (("storage.k8s.io", "StorageClass"), {"spec": {"storageClassName": None}}, []),
        (("storage.k8s.io", "StorageClass"), {}, []),
        (("scheduling.k8s.io", "PriorityClass"), {"spec": {"priorityClassName": "a"}}, ["a"]),
        (
            ("scheduling.k8s.io", "PriorityClass"),
            {"spec": {"priorityClassName": "a"}, "status": {"phase": "Succeeded"}},
            [],
        ),
        (
            ("resource.k8s.io", "DeviceClass"),
            {
                "spec": {
                    "devices": {
                        "requests": [
                            {"exactly": {"deviceClassName": "a"}},
                            {"exactly": {"deviceClassName": "b"}},
                            {"firstAvailable": []},
                        ]
                    }
                }
            },
            ["a", "b"],
        ),
    ],
)
def test_names_are_read_where_they_stand(kind: tuple[str, str], found: object, names: list[str]) -> None:
    assert list(names_in(found, USES[kind][0])) == names


def template(**spec: object) -> dict[str, object]:
    return {"spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ([], ["a"]),
        ([{"type": "Suspended", "status": "True"}, {"type": "Complete", "status": "False"}], ["a"]),
        ([{"type": "Complete", "status": "True"}], []),
        ([{"type": "Failed", "status": "True"}], []),
    ],
)
def test_a_job_that_is_over_uses_nothing_any_more(conditions: list[object], names: list[str]) -> None:
    field = next(one for one in USES["scheduling.k8s.io", "PriorityClass"] if one.user[1] == "Job")
    job = {**template(priorityClassName="a"), "status": {"conditions": conditions}}
    assert list(names_in(job, field)) == names


def request(**more: object) -> dict[str, object]:
    return {"devices": {"requests": [more]}}


@pytest.mark.parametrize(
    ("kind", "user", "found"),
    [
        ("storage.k8s.io/CSIDriver", "StorageClass", {"provisioner": "a"}),
        ("storage.k8s.io/CSIDriver", "VolumeSnapshotClass", {"driver": "a"}),
        (
            "resource.k8s.io/DeviceClass",
            "ResourceClaim",
            {"spec": request(firstAvailable=[{"deviceClassName": "a"}])},
        ),
        (
            "resource.k8s.io/DeviceClass",
            "ResourceClaimTemplate",
            {"spec": {"spec": request(exactly={"deviceClassName": "a"})}},
        ),
        (
            "resource.k8s.io/DeviceClass",
            "ResourceClaimTemplate",
            {"spec": {"spec": request(firstAvailable=[{"deviceClassName": "a"}])}},
        ),
        ("scheduling.k8s.io/PriorityClass", "Deployment", template(priorityClassName="a")),
        ("scheduling.k8s.io/PriorityClass", "DaemonSet", template(priorityClassName="a")),
        ("scheduling.k8s.io/PriorityClass", "Job", template(priorityClassName="a")),
        ("node.k8s.io/RuntimeClass", "StatefulSet", template(runtimeClassName="a")),
        ("node.k8s.io/RuntimeClass", "ReplicationController", template(runtimeClassName="a")),
        (
            "node.k8s.io/RuntimeClass",
            "CronJob",
            {"spec": {"jobTemplate": template(runtimeClassName="a")}},
        ),
        (
            "storage.k8s.io/StorageClass",
            "StatefulSet",
            {"spec": {"volumeClaimTemplates": [{"spec": {"storageClassName": "a"}}]}},
        ),
        ("storage.k8s.io/CSIDriver", "Pod", {"spec": {"volumes": [{"csi": {"driver": "a"}}, {}]}}),
        (
            "certificates.k8s.io/ClusterTrustBundle",
            "Pod",
            {"spec": {"volumes": [{"projected": {"sources": [{"clusterTrustBundle": {"name": "a"}}]}}]}},
        ),
    ],
)
def test_whoever_names_it_at_any_place_uses_it(kind: str, user: str, found: object) -> None:
    group, _, name = kind.partition("/")
    fields = [one for one in USES[group, name] if one.user[1] == user]
    assert [text for one in fields for text in names_in(found, one)] == ["a"]

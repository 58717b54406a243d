"""What `skoupa install` prints: complete, in order, marked as Skoupa's own, and strict about its pod."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli.installing.install import plan
from skoupa.errors import UsageError
from skoupa.install.labelling import PART_OF
from skoupa.install.manifests import Installation, as_json, as_yaml, manifests
from skoupa.install.roles import AGGREGATE_LABEL
from skoupa.settings import Features, LeaseSettings, Protect, Settings, TtlSettings, decode
from skoupa.settings.fields import Api

pytestmark = pytest.mark.unit

Manifest = dict[str, Any]


def of(documents: list[Manifest], kind: str, name: str = "") -> Manifest:
    (found,) = [one for one in documents if one["kind"] == kind and name in {"", one["metadata"]["name"]}]
    return found


def called(documents: list[Manifest]) -> list[str]:
    return [
        "/".join(
            part
            for part in (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
            if part
        )
        for one in documents
    ]


def built(settings: Settings | None = None, **options: Any) -> list[Manifest]:
    asked = plan(**options)
    if settings is not None:
        asked = Installation(settings=settings, interests=asked.interests, admission=asked.admission)
    return manifests(asked)


def pod_of(documents: list[Manifest]) -> Any:
    return of(documents, "Deployment")["spec"]["template"]["spec"]


def test_the_whole_installation_in_the_order_in_which_it_is_applied() -> None:
    assert called(built()) == [
        "CustomResourceDefinition/alives.skoupa.dev",
        "CustomResourceDefinition/brakes.skoupa.dev",
        "CustomResourceDefinition/clusterretentionpolicies.skoupa.dev",
        "CustomResourceDefinition/kindprofiles.skoupa.dev",
        "CustomResourceDefinition/retentionpolicies.skoupa.dev",
        "Namespace/skoupa",
        "ServiceAccount/skoupa/skoupa",
        "ClusterRole/skoupa-read",
        "ClusterRoleBinding/skoupa-read",
        "ClusterRole/skoupa-report",
        "ClusterRoleBinding/skoupa-report",
        "ClusterRole/skoupa-delete",
        "ClusterRole/skoupa-delete-shipped",
        "ClusterRoleBinding/skoupa-delete",
        "ClusterRole/skoupa-ask",
        "ClusterRoleBinding/skoupa-ask",
        "Role/skoupa/skoupa",
        "RoleBinding/skoupa/skoupa",
        "Role/skoupa/skoupa-history",
        "ClusterRole/skoupa-sweep",
        "ValidatingAdmissionPolicy/skoupa-ttl-label",
        "ValidatingAdmissionPolicyBinding/skoupa-ttl-label",
        "ValidatingAdmissionPolicy/skoupa-label-as-annotation",
        "ValidatingAdmissionPolicyBinding/skoupa-label-as-annotation",
        "ValidatingAdmissionPolicy/skoupa-keep-label",
        "ValidatingAdmissionPolicyBinding/skoupa-keep-label",
        "ValidatingAdmissionPolicy/skoupa-refreshed-at",
        "ValidatingAdmissionPolicyBinding/skoupa-refreshed-at",
        "ValidatingAdmissionPolicy/skoupa-cleanuppolicy-confinement",
        "ValidatingAdmissionPolicyBinding/skoupa-cleanuppolicy-confinement",
        "ValidatingAdmissionPolicy/skoupa-deletingpolicy-confinement",
        "ValidatingAdmissionPolicyBinding/skoupa-deletingpolicy-confinement",
        "ConfigMap/skoupa/skoupa-config",
        "PersistentVolumeClaim/skoupa/skoupa-ledger",
        "Service/skoupa/skoupa",
        "PodDisruptionBudget/skoupa/skoupa",
        "Deployment/skoupa/skoupa",
    ]


def test_what_refuses_is_there_before_what_enforces() -> None:
    """What can't be applied ends the command: nothing is deleted then without its guards."""
    kinds = [one.partition("/")[0] for one in called(built(mode="enforce"))]
    last = max(place for place, kind in enumerate(kinds) if kind.startswith("ValidatingAdmissionPolicy"))
    assert last < kinds.index("ConfigMap")
    assert last < kinds.index("Deployment")


def test_only_some_namespaces_means_no_cluster_scoped_object_at_all() -> None:
    documents = built(namespaces=["shop", "lab"], home="ops")
    assert all(one["metadata"].get("namespace") for one in documents)
    assert called(documents)[:7] == [
        "ServiceAccount/ops/skoupa",
        "Role/shop/skoupa-read",
        "RoleBinding/shop/skoupa-read",
        "Role/shop/skoupa-report",
        "RoleBinding/shop/skoupa-report",
        "Role/shop/skoupa-delete",
        "RoleBinding/shop/skoupa-delete",
    ]
    assert "Role/lab/skoupa-delete" in called(documents)
    assert "Role/ops/skoupa" in called(documents)
    for one in documents:
        if one["kind"] == "RoleBinding":
            assert one["subjects"] == [{"kind": "ServiceAccount", "name": "skoupa", "namespace": "ops"}]


def test_a_role_of_a_namespace_has_no_cluster_scoped_kind() -> None:
    documents = built(namespaces=["shop"], kinds=["namespaces", "pods"])
    (rule,) = of(documents, "Role", "skoupa-delete")["rules"]
    assert rule["resources"] == ["pods"]
    *others, own = of(documents, "Role", "skoupa-read")["rules"]
    policies = [rule for rule in others if rule["resources"] != ["*"]]
    assert len(policies) < len(others)
    # Of policies those that lie in namespaces.
    assert {kind for rule in policies for kind in rule["resources"]} == {
        "cleanuppolicies",
        "namespaceddeletingpolicies",
        "policyexceptions",
    }
    # Which a Role can grant for the Namespace that it lies in: its keep label counts.
    named = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"], "resourceNames": ["shop"]}
    assert own == named


def patched(documents: list[Manifest], kind: str) -> set[str]:
    """Of kinds of others, whole objects and not their status, which may be patched."""
    role = of(documents, kind, "skoupa-report")
    return {
        plural
        for rule in role["rules"]
        if "patch" in rule["verbs"] and not rule.get("resourceNames")
        for plural in rule["resources"]
        if "/" not in plural and plural != "brakes"
    }


def test_who_enforces_may_patch_policies_and_tenants_and_nothing_else_of_others() -> None:
    # Finalizers on Tenants are taken off also where the feature is off.
    tenants = {"tenants"}
    wide = {"clustercleanuppolicies", "deletingpolicies"}
    narrow = {"cleanuppolicies", "namespaceddeletingpolicies"}
    assert patched(built(mode="enforce"), "ClusterRole") == wide | narrow | tenants
    assert patched(built(mode="enforce", namespaces=["shop"]), "Role") == narrow
    assert patched(built(), "ClusterRole") == set(), "an observer writes nothing"
    without = Settings(mode="enforce", features=Features(policies=False))
    assert patched(built(without), "ClusterRole") == tenants
    with_tenants = Settings(mode="enforce", features=Features(policies=False, tenants=True))
    assert patched(built(with_tenants), "ClusterRole") == tenants


def test_what_it_may_patch_on_policies_the_server_keeps_to_one_annotation() -> None:
    name = "skoupa-policy-marks"
    found = of(built(mode="enforce", home="ops"), "ValidatingAdmissionPolicy", name)
    (condition,) = found["spec"]["matchConditions"]
    assert "'system:serviceaccount:ops:skoupa'" in condition["expression"]
    assert of(built(mode="enforce"), "ValidatingAdmissionPolicyBinding", name)["spec"][
        "validationActions"
    ] == ["Deny"]
    assert f"ValidatingAdmissionPolicy/{name}" not in called(built()), "an observer refuses nobody anything"


def test_for_some_namespaces_it_may_get_the_one_it_lives_in_which_stands_for_the_cluster() -> None:
    own = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"], "resourceNames": ["ops"]}
    assert own in of(built(namespaces=["shop"], home="ops"), "Role", "skoupa")["rules"]
    assert own not in of(built(home="ops"), "Role", "skoupa")["rules"], "it may list them all"


def test_every_object_carries_the_label_by_which_skoupa_knows_its_own() -> None:
    for documents in (built(), built(namespaces=["shop"])):
        for one in documents:
            assert PART_OF.items() <= one["metadata"]["labels"].items(), one["metadata"]["name"]
    template = of(built(), "Deployment")["spec"]["template"]["metadata"]
    assert PART_OF.items() <= template["labels"].items()


def test_every_object_names_the_installation_that_it_belongs_to_but_definitions_belong_to_all() -> None:
    for documents in (built(home="ops"), built(home="ops", namespaces=["shop"])):
        own = [one for one in documents if one["kind"] != "CustomResourceDefinition"]
        assert {one["metadata"]["labels"]["app.kubernetes.io/instance"] for one in own} == {"ops"}
    brought = [one for one in built() if one["kind"] == "CustomResourceDefinition"]
    assert not [one for one in brought if "app.kubernetes.io/instance" in one["metadata"]["labels"]]


def test_the_role_to_delete_is_aggregated_and_leaves_its_rules_to_the_server() -> None:
    documents = built(kinds=["jobs.batch"])
    role = of(documents, "ClusterRole", "skoupa-delete")
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    assert "rules" not in role
    shipped = of(documents, "ClusterRole", "skoupa-delete-shipped")
    assert selector["matchLabels"] == {AGGREGATE_LABEL: "true"}
    assert shipped["metadata"]["labels"][AGGREGATE_LABEL] == "true"
    assert shipped["rules"] == [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["delete"]}]


def test_settings_go_into_the_config_map_as_far_as_they_differ_and_come_back_the_same() -> None:
    settings = Settings(
        mode="enforce",
        protect=Protect(namespaces=("prod",), names=("Secret/*/ca",)),
        ttl=TtlSettings(notice_before="1h"),
        lease=LeaseSettings(namespace="ops", name="broom"),
    )
    text = of(built(settings), "ConfigMap", "skoupa-config")["data"]["settings.yaml"]
    tree = yaml.safe_load(text)
    assert tree.keys() == {"mode", "protect", "ttl", "lease"}
    assert decode(tree, source="the ConfigMap") == settings


def test_the_role_of_its_own_namespace_names_the_lease_of_the_settings() -> None:
    settings = Settings(lease=LeaseSettings(namespace="ops", name="broom"))
    rules = of(built(settings), "Role", "skoupa")["rules"]
    assert {"broom", "skoupa-state"} == {name for rule in rules for name in rule.get("resourceNames", [])}


def test_the_pod_rolls_when_its_settings_change_and_only_then() -> None:
    def template(mode: str) -> Any:
        return of(built(mode=mode), "Deployment")["spec"]["template"]["metadata"]["annotations"]

    assert template("observe") == template("observe")
    assert template("observe") != template("enforce")


def test_it_observes_unless_told_to_enforce() -> None:
    def mode(**options: Any) -> Any:
        text = of(built(**options), "ConfigMap", "skoupa-config")["data"]["settings.yaml"]
        return yaml.safe_load(text)["mode"]

    assert mode() == "observe"
    assert mode(mode="enforce") == "enforce"


def test_the_pod_fits_the_restricted_standard() -> None:
    pod = pod_of(built())
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (
        of(built(), "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    )


def test_probes_metrics_and_container_agree_on_the_port_of_the_settings() -> None:
    documents = built(Settings(address="0.0.0.0:9999"))
    (container,) = pod_of(documents)["containers"]
    (port,) = container["ports"]
    (served,) = of(documents, "Service")["spec"]["ports"]
    assert port["containerPort"] == served["port"] == 9999
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {
        port["name"]
    }
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_without_an_address_there_are_no_probes_and_no_service() -> None:
    documents = built(Settings(address=""))
    (container,) = pod_of(documents)["containers"]
    assert "ports" not in container
    assert "livenessProbe" not in container
    assert "Service/skoupa/skoupa" not in called(documents)


def test_history_is_served_at_a_port_of_its_own_and_people_are_let_to_just_that() -> None:
    documents = built()
    ports = {one["name"]: one["port"] for one in of(documents, "Service")["spec"]["ports"]}
    assert ports == {"http": 8080, "api": 8443}
    (container,) = pod_of(documents)["containers"]
    assert {one["name"]: one["containerPort"] for one in container["ports"]} == ports
    (rule,) = of(documents, "Role", "skoupa-history")["rules"]
    assert rule == {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "verbs": ["get", "create", "delete"],
        "resourceNames": ["https:skoupa:api", "http:skoupa:api"],
    }
    assert "RoleBinding/skoupa/skoupa-history" not in called(documents), (
        "whom to let in is the operator's choice"
    )


def test_people_who_sweep_by_hand_can_be_let_to_read_brakes_and_settings_and_nobody_is_by_itself() -> None:
    documents = built()
    brakes, settings = of(documents, "ClusterRole", "skoupa-sweep")["rules"]
    assert brakes == {
        "apiGroups": ["skoupa.dev"],
        "resources": ["brakes"],
        "verbs": ["get", "list", "watch"],
    }
    assert settings == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["skoupa-config"],
        "verbs": ["get", "list"],
    }
    assert not [one for one in documents if one.get("roleRef", {}).get("name") == "skoupa-sweep"]


def test_history_that_is_not_served_needs_no_port_and_no_right() -> None:
    documents = built(Settings(api=Api(address="none")))
    assert [one["name"] for one in of(documents, "Service")["spec"]["ports"]] == ["http"]
    assert "Role/skoupa/skoupa-history" not in called(documents)
    assert "ClusterRole/skoupa-ask" not in called(documents)


def test_only_some_namespaces_leaves_out_the_right_to_ask_about_others() -> None:
    documents = built(namespaces=["shop"], home="ops")
    assert "Role/ops/skoupa-history" in called(documents)
    assert not [name for name in called(documents) if "skoupa-ask" in name]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        (Settings(api=Api(address="127.0.0.1:8443")), "can't be reached by the API server"),
        (Settings(api=Api(address="8443")), "api.address '8443' has no port"),
        (Settings(api=Api(address="0.0.0.0:8080")), "share a port (http 8080, api 8080): give each its own"),
    ],
)
def test_an_address_at_which_nobody_could_ask_is_refused(settings: Settings, part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        built(settings)


def test_selectors_find_the_pods() -> None:
    documents = built()
    spec = of(documents, "Deployment")["spec"]
    labels = spec["template"]["metadata"]["labels"].items()
    assert spec["selector"]["matchLabels"].items() <= labels
    assert of(documents, "Service")["spec"]["selector"].items() <= labels
    assert of(documents, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels


def test_a_single_replica_does_not_stop_a_drain() -> None:
    assert of(built(replicas=1), "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_limits_of_the_label_bring_their_policy_and_parameters(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("ttl: {maximum: 90d}")
    documents = built(config=str(config))
    assert "ConfigMap/skoupa/skoupa-ttl-limits" in called(documents)
    assert "ValidatingAdmissionPolicyBinding/skoupa-ttl-limits" in called(documents)


def test_without_the_mechanism_its_policies_are_not_installed(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("features: {ttl: false, policies: false}")
    documents = built(config=str(config))
    assert not [name for name in called(documents) if name.startswith("Validating")]


def test_yaml_and_json_say_the_same() -> None:
    documents = built()
    as_list = json.loads(as_json(documents))
    assert as_list["kind"] == "List"
    assert list(yaml.safe_load_all(as_yaml(documents))) == as_list["items"] == documents


def test_yaml_is_for_people_too() -> None:
    text = as_yaml(built())
    assert "  settings.yaml: |\n    mode: observe\n" in text
    assert "&id" not in text


def test_keys_of_the_trash_come_from_a_secret(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("trash: {keyFile: /etc/skoupa-trash/current}")
    pod = pod_of(built(config=str(config)))
    (volume,) = [one for one in pod["volumes"] if one["name"] == "trash-keys"]
    assert volume["secret"] == {
        "secretName": "skoupa-trash",
        "items": [{"key": "keys", "path": "current"}],
    }
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "trash-keys"]
    assert mount == {"name": "trash-keys", "mountPath": "/etc/skoupa-trash", "readOnly": True}

    config.write_text("trash: {keyEnv: TRASH_KEYS}")
    environment = pod_of(built(config=str(config)))["containers"][0]["env"]
    source = {"secretKeyRef": {"name": "skoupa-trash", "key": "keys"}}
    assert {"name": "TRASH_KEYS", "valueFrom": source} in environment


@pytest.mark.parametrize("place", ["keys", "/keys", "/etc/skoupa/keys", "/var/lib/skoupa/keys"])
def test_a_key_file_where_something_else_is_mounted_is_refused(tmp_path: Path, place: str) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"trash: {{keyFile: {place}}}")
    with pytest.raises(UsageError, match="can't be a file of its own"):
        built(config=str(config))

"""Which policies there are, by settings, and what happens when one of them fails."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from skoupa import names
from skoupa.admission.delete_right import DELETE_RIGHT_POLICY, TTL_AFTER_RIGHT_POLICY
from skoupa.admission.keeping import KEEP_POLICY
from skoupa.admission.limits import LIMITS_CONFIG_MAP
from skoupa.admission.misplaced import MISPLACED_POLICY
from skoupa.admission.policies import denying
from skoupa.admission.refreshing import REFRESH_POLICY
from skoupa.admission.ttl_policies import LABEL_POLICY, LIMITS_POLICY, ttl_admission
from skoupa.controller.sight.watchable import SHORT_LIVED
from skoupa.errors import UsageError
from skoupa.settings import TtlSettings

pytestmark = pytest.mark.unit

ALL_POLICIES = (
    LABEL_POLICY,
    MISPLACED_POLICY,
    KEEP_POLICY,
    REFRESH_POLICY,
    LIMITS_POLICY,
    DELETE_RIGHT_POLICY,
    TTL_AFTER_RIGHT_POLICY,
)
EVERYTHING = TtlSettings(
    refuse=True, minimum="1h", maximum="90d", not_after="2026-12-31", require_delete_right=True
)


def manifests(settings: TtlSettings | None = None) -> dict[tuple[str, str], Any]:
    made = ttl_admission(settings or TtlSettings(), namespace="skoupa")
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in made}


def policy(settings: TtlSettings, name: str) -> Any:
    return manifests(settings)["ValidatingAdmissionPolicy", name]["spec"]


def binding(settings: TtlSettings, name: str) -> Any:
    """The only one of the policy."""
    (found,) = (
        manifest["spec"]
        for (kind, _), manifest in manifests(settings).items()
        if kind.endswith("Binding") and manifest["spec"]["policyName"] == name
    )
    return found


def test_by_default_there_are_only_warnings_which_no_error_turns_into_a_refusal() -> None:
    warning = (LABEL_POLICY, MISPLACED_POLICY, KEEP_POLICY, REFRESH_POLICY)
    assert set(manifests()) == {
        (f"ValidatingAdmissionPolicy{end}", name) for name in warning for end in ("", "Binding")
    }
    for name in warning:
        assert policy(TtlSettings(), name)["failurePolicy"] == "Ignore"
        assert "paramKind" not in policy(TtlSettings(), name)
        assert binding(TtlSettings(), name) == {"policyName": name, "validationActions": ["Warn"]}


@pytest.mark.parametrize("name", [MISPLACED_POLICY, KEEP_POLICY, REFRESH_POLICY])
def test_what_only_keeps_too_long_is_never_refused_whatever_the_settings(name: str) -> None:
    assert policy(EVERYTHING, name)["failurePolicy"] == "Ignore"
    assert binding(EVERYTHING, name)["validationActions"] == ["Warn"]


def test_no_annotation_but_those_two_is_spoken_of() -> None:
    text = str(policy(TtlSettings(), MISPLACED_POLICY))
    assert names.TTL_LABEL in text
    assert names.KEEP_LABEL in text
    for constant, key in vars(names).items():
        if constant.endswith("_ANNOTATION"):
            assert key not in text


def test_every_write_is_asked_about_annotations_but_not_those_of_kinds_that_change_by_the_second() -> None:
    constraints = policy(TtlSettings(), MISPLACED_POLICY)["matchConstraints"]
    assert constraints["objectSelector"] == {}
    assert constraints["resourceRules"][0]["resources"] == ["*"], "no status writes, which are most of all"
    left_out = {
        f"{resource}.{group}" if group else resource
        for rule in constraints["excludeResourceRules"][1:]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert left_out == SHORT_LIVED


@pytest.mark.parametrize("name", ALL_POLICIES)
def test_what_the_server_would_fill_in_is_written_out(name: str) -> None:
    """It takes the match constraints as one value: a default that is left out would be a conflict."""
    constraints = policy(EVERYTHING, name)["matchConstraints"]
    assert constraints["matchPolicy"] == "Equivalent"
    assert constraints["namespaceSelector"] == {}
    assert "objectSelector" in constraints
    for rule in (*constraints["resourceRules"], *constraints["excludeResourceRules"]):
        assert rule["scope"] == "*"


@pytest.mark.parametrize("name", [LABEL_POLICY, LIMITS_POLICY, DELETE_RIGHT_POLICY, TTL_AFTER_RIGHT_POLICY])
def test_what_refuses_refuses_also_when_it_can_not_look(name: str) -> None:
    assert policy(EVERYTHING, name)["failurePolicy"] == "Fail"
    assert binding(EVERYTHING, name)["validationActions"] == ["Deny"]


def test_the_label_is_warned_of_and_refused_by_bindings_of_different_names() -> None:
    """The server has the actions of one as a set, in which two writers' Warn and Deny would meet."""
    assert ("ValidatingAdmissionPolicyBinding", LABEL_POLICY) in manifests()
    assert ("ValidatingAdmissionPolicyBinding", LABEL_POLICY) not in manifests(EVERYTHING)


def test_the_limits_are_in_the_config_map_and_nowhere_else() -> None:
    made = manifests(EVERYTHING)
    config_map = made["ConfigMap", LIMITS_CONFIG_MAP]
    assert config_map["metadata"]["namespace"] == "skoupa"
    assert config_map["data"] == {"minimum": "1h", "maximum": "90d", "notAfter": "2026-12-31"}
    reference = {"name": LIMITS_CONFIG_MAP, "namespace": "skoupa", "parameterNotFoundAction": "Deny"}
    assert binding(EVERYTHING, LIMITS_POLICY)["paramRef"] == reference
    other = msgspec.structs.replace(EVERYTHING, minimum="2h", maximum=None, not_after="2030-01-01")
    assert policy(other, LIMITS_POLICY) == policy(EVERYTHING, LIMITS_POLICY)


@pytest.mark.parametrize("setting", [{"minimum": "1h"}, {"maximum": "90d"}, {"not_after": "2026-12-31"}])
def test_one_limit_is_enough_for_the_policy_that_knows_all_three(setting: dict[str, Any]) -> None:
    made = manifests(TtlSettings(**setting))
    data = made["ConfigMap", LIMITS_CONFIG_MAP]["data"]
    assert data.keys() == {"minimum", "maximum", "notAfter"}
    assert [limit for limit in data.values() if limit] == list(setting.values())
    assert ("ValidatingAdmissionPolicy", LIMITS_POLICY) in made


def test_limits_that_are_lifted_leave_their_policy_with_nothing_to_check() -> None:
    made = ttl_admission(TtlSettings(), namespace="skoupa", had_limits=True)
    before = ttl_admission(TtlSettings(maximum="90d"), namespace="skoupa")
    nothing = {"minimum": "", "maximum": "", "notAfter": ""}
    assert [manifest["data"] for manifest in made if manifest["kind"] == "ConfigMap"] == [nothing]
    assert [m for m in made if m["kind"] != "ConfigMap"] == [m for m in before if m["kind"] != "ConfigMap"]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [(TtlSettings(), set()), (EVERYTHING, {"skoupa.dev/ttl-after"})],
    ids=["shipped", "everything"],
)
def test_the_two_keys_are_looked_at_and_a_third_where_rights_are_asked_for(
    settings: TtlSettings, asked: set[str]
) -> None:
    made = ttl_admission(settings, namespace="skoupa")
    selected = [
        expression["key"]
        for manifest in made
        if manifest["kind"] == "ValidatingAdmissionPolicy"
        for expression in manifest["spec"]["matchConstraints"]["objectSelector"].get("matchExpressions", ())
    ]
    assert set(selected) == {"cleanup.kyverno.io/ttl", "skoupa.dev/keep", *asked}


def test_what_is_referred_to_comes_first() -> None:
    order = list(manifests(EVERYTHING))
    for name in ALL_POLICIES:
        bound = denying(name) if name == LABEL_POLICY else name
        pair = (("ValidatingAdmissionPolicy", name), ("ValidatingAdmissionPolicyBinding", bound))
        positions = [order.index(one) for one in pair]
        assert positions == sorted(positions)
    assert order.index(("ConfigMap", LIMITS_CONFIG_MAP)) < order.index(
        ("ValidatingAdmissionPolicy", LIMITS_POLICY)
    )


def test_all_of_it_is_known_as_part_of_skoupa() -> None:
    for manifest in manifests(EVERYTHING).values():
        assert manifest["metadata"]["labels"] == {"app.kubernetes.io/part-of": names.COMPONENT}


def test_every_policy_sees_every_kind_but_skoupas_own_and_status_writes_too() -> None:
    for name in (LABEL_POLICY, LIMITS_POLICY, DELETE_RIGHT_POLICY, TTL_AFTER_RIGHT_POLICY):
        constraints = policy(EVERYTHING, name)["matchConstraints"]
        key = names.TTL_AFTER_LABEL if name == TTL_AFTER_RIGHT_POLICY else names.TTL_LABEL
        assert constraints["objectSelector"]["matchExpressions"] == [{"key": key, "operator": "Exists"}]
        rule = constraints["resourceRules"][0]
        assert (rule["apiGroups"], rule["apiVersions"], rule["resources"]) == (
            ["*"],
            ["*"],
            ["*", "*/status"],
        )
        (own,) = (rule["apiGroups"] for rule in constraints["excludeResourceRules"])
        assert own == [
            names.SKOUPA_GROUP,
            names.NAMESPACED_ALIVE_GROUP,
            names.KYVERNO_GROUP,
            names.KYVERNO_POLICIES_GROUP,
        ]


@pytest.mark.parametrize("last", ["2026-12-31", "2026-12-31T180000Z", "2026-12-31T18:00:00Z"])
def test_a_last_day_is_a_date_or_a_time(last: str) -> None:
    config_map = manifests(TtlSettings(not_after=last))["ConfigMap", LIMITS_CONFIG_MAP]
    assert config_map["data"]["notAfter"] == last


@pytest.mark.parametrize("last", ["", "2026-02-30", "31.12.2026", "90d", "2026-12-31\n"])
def test_a_last_day_that_is_no_date_is_an_error_that_says_what_to_write(last: str) -> None:
    with pytest.raises(UsageError, match=r"ttl\.notAfter.*write one such as 2026-12-31"):
        ttl_admission(TtlSettings(not_after=last), namespace="skoupa")


def test_the_manifests_survive_yaml() -> None:
    made = ttl_admission(EVERYTHING, namespace="skoupa", kyverno_readings=True)
    assert list(yaml.safe_load_all(yaml.safe_dump_all(made))) == made

"""What a policy that can run may yet not mean: its writer is told, and it runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.kube.kinds import Gap
from skoupa.policy.reading import read_policy
from tests.unit.policy.world import ALL, cleanup, deleting, excluding, warned

pytestmark = pytest.mark.unit

OLD = {"names": ["old-*"]}
MAPS = {"kinds": ["ConfigMap"], **OLD}
NAME: dict[str, Any] = {"key": "{{ target.metadata.name }}", "operator": "NotEquals", "value": "keep"}
RECENT: dict[str, Any] = {"conditions": {"all": [NAME]}}
TEAM: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
NO_TEAM: dict[str, Any] = {
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
}


def asking(path: str, **call: Any) -> dict[str, Any]:
    return cleanup(MAPS, context=[{"name": "found", "apiCall": {"urlPath": path, **call}}])


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (cleanup(MAPS, exclude={}), "spec.exclude: it is empty, which excludes everything"),
        (cleanup({"kinds": ["*"]}), "everything in the cluster goes"),
        (cleanup({"kinds": ["*"]}, scope="CleanupPolicy"), "everything in shop goes"),
        (deleting({}), "everything in the cluster goes"),
        (cleanup({"kinds": ["Pod"], **OLD}), "their owners make them again"),
        (
            deleting({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}),
            "their owners make them again",
        ),
        (
            cleanup({"kinds": ["ConfigMaps"]}),
            'spec.match: there is no kind "ConfigMaps"; did you mean ConfigMap?',
        ),
        (
            deleting({"apiGroups": [""], "resources": ["configmap"]}),
            "spec.matchConstraints: there is no kind",
        ),
        (cleanup({"kinds": ["Service"], **OLD}), "write serving.knative.dev/v1/Service as well"),
        (
            cleanup({"kinds": ["Secret"]}, MAPS, mode="all"),
            "spec.match.all: no kind that is there fits all of these filters, so that nothing goes; write any",
        ),
        (cleanup({"kinds": ["Secret"]}, {"kinds": ["Conf*"]}, mode="all"), "so that nothing goes"),
        (
            asking("/apis/batch/v1/namespaces/{{ request.namespace }}/job", default=[]),
            (
                'spec.context[0].apiCall.urlPath: the server has no "job" of batch/v1, so that everything stays; '
                "write /apis/batch/v1/namespaces/NAMESPACE/jobs"
            ),
        ),
        (asking("/api/v1/deployments"), "so that everything stays; write /apis/apps/v1/deployments"),
        (
            asking("/apis/batch/v1beta1/cronjobs", default=[]),
            'has no "cronjobs" of batch/v1beta1, so that everything stays; write /apis/batch/v1/cronjobs',
        ),
        (
            asking("/apis/gone.example/v1/foos/{{ request.name }}", default=""),
            "so that its default stands in every time; `kubectl api-resources`",
        ),
        (
            asking("/api/v1/namespaces/shop/nodes", default=[]),
            "nodes lie in no namespace, so that everything stays",
        ),
        (
            asking("/api/v1/persistentvolumeclaims/{{ request.name }}", default=""),
            (
                "lie in namespaces, and none stands here, so that everything stays; "
                "write /api/v1/namespaces/NAMESPACE/persistentvolumeclaims/NAME"
            ),
        ),
        (
            cleanup(MAPS, context=[{"name": "target", "variable": {"value": 1}}]),
            "spec.context[0].name: target is what the run itself brings, so that nobody ever sees this entry",
        ),
    ],
)
def test_its_writer_is_told(obj: dict[str, Any], says: str) -> None:
    (warning,) = warned(obj)
    assert says in warning


@pytest.mark.parametrize(
    "obj",
    [
        cleanup(MAPS),
        *map(
            asking,
            (
                "/api/v1/pods?limit=5",
                "/api/v1/namespaces/shop",
                "/api/v1/namespaces/shop/status",
                "/api/v1/namespaces/{{ to_string({{ request.namespace }}) }}/pods/{{ request.name }}/log",
                "/api/v1/namespaces/{{ request.namespace }}/{{ target.metadata.labels.kind }}",
                "/apis/{{ target.apiVersion }}/jobs",
                "/version",
            ),
        ),
        cleanup({"kinds": ["*"], "namespaces": ["foo"]}),
        cleanup({"kinds": ["*"]}, **excluding({"namespaces": ["prod"]})),
        cleanup({"kinds": ["*"]}, **RECENT),
        cleanup({"kinds": ["Secret"]}, **RECENT),
        cleanup({"kinds": ["Secret"], "namespaces": ["foo"]}),
        cleanup({"kinds": ["Secret"]}, **excluding({"names": ["keep"]})),
        cleanup(
            {"kinds": ["Pod"]},
            conditions={
                "all": [
                    {
                        "key": "{{ target.metadata.ownerReferences[] || `[]` }}",
                        "operator": "Equals",
                        "value": [],
                    }
                ]
            },
        ),
        cleanup({"kinds": ["v1/Service", "serving.knative.dev/v1/Service"], **OLD}),
        deleting({"resources": ["configmaps"], "resourceNames": ["a"]}),
        deleting(
            {"resources": ["configmaps"]},
            excludeResourceRules=[
                {
                    "apiGroups": [""],
                    "apiVersions": ["v9"],
                    "resources": ["configmaps"],
                    "resourceNames": ["a"],
                }
            ],
        ),
        deleting({}, objectSelector={"matchLabels": {"a": "b"}}),
    ],
)
def test_a_policy_that_is_clear_is_not_commented_on(obj: dict[str, Any]) -> None:
    assert [warning for warning in warned(obj) if "as well if those" not in warning] == []


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (cleanup({"kinds": ["Secret", "Deployment"]}), "every Secret and Deployment in the cluster goes"),
        (cleanup({"kinds": ["Secret"]}, scope="CleanupPolicy"), "every Secret in shop goes"),
        (cleanup({"kinds": ["Secret"]}, MAPS), "every Secret in the cluster goes"),
        (cleanup({"kinds": ["Secret"]}, {"kinds": ["*"]}, mode="all"), "every Secret in the cluster goes"),
        (cleanup(MAPS, {"operations": ["CREATE"]}), "every ConfigMap in the cluster goes"),
        # What everything fits narrows nothing.
        (cleanup({"kinds": ["Secret"], "names": ["*"]}), "every Secret in the cluster goes"),
        (cleanup({"kinds": ["Secret"], "namespaces": ["a", "*"]}), "every Secret in the cluster goes"),
        (cleanup({"kinds": ["Secret"], "namespaceSelector": {}}), "every Secret in the cluster goes"),
        (cleanup({"kinds": ["Wid*"]}), 'every "Wid*" in the cluster goes'),
        (
            cleanup({"kinds": ["Secret", "ConfigMap", "Job", "CronJob", "Role", "Lease", "StatefulSet"]}),
            "every Secret, ConfigMap, Job, CronJob, Role and 2 more in the cluster goes",
        ),
        (
            deleting({"apiGroups": [""], "resources": ["secrets", "configmaps"]}),
            "all configmaps and secrets in the cluster go",
        ),
        (deleting({"apiGroups": ["apps"]}, scope="NamespacedDeletingPolicy"), "all kinds of apps in shop go"),
        (deleting({"apiGroups": [""], "resources": ["secrets"]}, objectSelector={}), "all secrets in"),
    ],
)
def test_of_whole_kinds_that_go_the_writer_is_told(obj: dict[str, Any], says: str) -> None:
    (warning,) = warned(obj)
    assert f"nothing narrows it, so that {says}" in warning


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (
            cleanup({"kinds": ["Namespace"], **TEAM}),
            "spec.match.any[0].resources.namespaceSelector: Kyverno does not ask a Namespace for it",
        ),
        (
            cleanup({"kinds": ["Namespace"]}, TEAM, mode="all"),
            "spec.match.all[1].resources.namespaceSelector: Kyverno does not ask a Namespace for it",
        ),
        (
            cleanup({"kinds": ["Namespace"]}, **excluding(TEAM)),
            "spec.exclude.any[0].resources.namespaceSelector: as in Kyverno it is not asked of a Namespace",
        ),
        (cleanup({"kinds": ["Node"], **NO_TEAM}), "(Node) has no such labels, so that all of it matches"),
        (cleanup({"kinds": ["Node"], **TEAM}), "(Node) has no such labels, so that nothing of it matches"),
        (
            cleanup({"kinds": ["PersistentVolume"]}, **excluding(TEAM)),
            "(PersistentVolume) has no such labels, so that nothing of it is excluded",
        ),
        (
            deleting({"resources": ["persistentvolumes", "secrets"]}, **TEAM),
            "it is not asked of what lies in no namespace (PersistentVolume), so that all of that matches",
        ),
    ],
)
def test_a_namespace_selector_for_what_lies_in_no_namespace_is_told(obj: dict[str, Any], says: str) -> None:
    (warning,) = warned(obj)
    assert says in warning


@pytest.mark.parametrize(
    "obj",
    [
        cleanup({"kinds": ["Secret"], **TEAM}),
        cleanup({"kinds": ["*"], **TEAM}),
        cleanup({"kinds": ["Namespace"], **OLD}, {"kinds": ["*"], **TEAM}),
        cleanup({"kinds": ["Namespace", "Secret"]}, **excluding({"kinds": ["Secret"], **TEAM})),
        deleting({"resources": ["namespaces", "secrets"]}, **TEAM),
        deleting({"resources": ["*"], "scope": "Namespaced"}, **TEAM),
    ],
)
def test_a_namespace_selector_that_means_what_it_says_is_not_commented_on(obj: dict[str, Any]) -> None:
    assert warned(obj) == []


def condition(mode: str = "all", **changed: Any) -> dict[str, Any]:
    """Of everything in the kind but what is called keep; a field that is None is left out."""
    return {"conditions": {mode: [{key: it for key, it in {**NAME, **changed}.items() if it is not None}]}}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            condition(key="target.metadata.name"),
            (
                "spec.conditions.all[0]: no variable stands in it, so that it is true of every object; "
                'put what is looked at into braces: "{{ target.metadata.name }}"'
            ),
        ),
        (condition("any", key="{ request.name }"), '"{{ request.name }}"'),
        (condition(key="$(target.metadata.labels['app'])"), "\"{{ target.metadata.labels['app'] }}\""),
        (condition(key="name"), "so that it is true of every object"),
        (condition(key="target.metadata.name", operator="Equals"), "so that it is true of none"),
        (condition(key="web", value="target.metadata.name"), '"{{ target.metadata.name }}"'),
        (
            condition(operator="GreaterThan", value="7d"),
            (
                'spec.conditions.all[0].value: nothing is more or less than "7d", so that it is true of none; durations have '
                'no days here: write "168h"'
            ),
        ),
        (condition("any", operator="DurationLessThanOrEquals", value="1w2d"), 'write "216h"'),
        (condition(operator="LessThan", value="1d30m"), 'write "24h30m"'),
        (condition(operator="LessThan", value="1d10s"), 'write "24h0m10s"'),
        (
            condition(operator="lessthan", key="soon", value="{{ target.a }}"),
            "spec.conditions.all[0].key: nothing",
        ),
        (
            condition(operator="GreaterThan", value=["1h"]),
            "nothing is more or less than a value of this type",
        ),
        (condition(operator="DurationGreaterThan", value="1Gi"), 'write a duration such as "36h"'),
        (
            condition(value=None),
            "spec.conditions.all[0].value: it has no value, so that it is compared with null",
        ),
    ],
)
def test_of_a_condition_that_says_the_same_of_everything_the_writer_is_told(
    spec: dict[str, Any], says: str
) -> None:
    (warning,) = warned(cleanup(MAPS, **spec))
    assert says in warning


def phase(value: Any, *kinds: str, operator: str = "Equals", key: str = "") -> dict[str, Any]:
    """A policy that waits for a phase."""
    waiting = condition(key=key or "{{ target.status.phase }}", operator=operator, value=value)
    return cleanup({"kinds": [*kinds] or ["PersistentVolumeClaim"], **OLD}, **waiting)


@pytest.mark.parametrize(
    ("obj", "what"),
    [
        (phase("Unbound"), "no PersistentVolumeClaim is ever"),
        # Also where the kind is none either, for both are mended at once.
        (phase("Unbound", "PersistentVolumeClaims"), "no PersistentVolumeClaim is ever"),
        (phase(["Bound", "Unbound"], "v1/PersistentVolume", operator="anyin"), "no PersistentVolume is ever"),
        (
            phase("Unbound", "Namespace", "namespaces", key="{{ target.status.phase || '' }}"),
            "no Namespace is ever",
        ),
        (phase("Unbound", "Persistent*"), "no PersistentVolumeClaim is ever"),
    ],
)
def test_a_phase_that_no_object_ever_has_is_told(obj: dict[str, Any], what: str) -> None:
    assert [one for one in warned(obj) if f'{what} "Unbound"; there are ' in one]
    # What a wildcard means is known from a server alone.
    wild = "*" in str(obj["spec"]["match"]["any"][0]["resources"]["kinds"])
    assert any(what in str(one) for one in read_policy(obj).warnings) is not wild


@pytest.mark.parametrize(
    "obj",
    [
        phase("Bound"),
        phase("Un*"),
        phase("{{ target.metadata.labels.phase }}"),
        phase("Unbound", operator="NotEquals"),
        phase("Unbound", key="{{ target.spec.phase }}"),
        # Others have phases of their own.
        phase("Unbound", "PersistentVolumeClaim", "Widget"),
        phase("Unbound", "shop.example/v1/Pod"),
        phase("Terminating", "Namespace", "Widget"),
    ],
)
def test_a_phase_that_some_object_may_have_is_not_commented_on(obj: dict[str, Any]) -> None:
    assert not [one for one in (*warned(obj), *map(str, read_policy(obj).warnings)) if "is ever" in one]


@pytest.mark.parametrize(
    "spec",
    [
        condition(key="target.metadata.name"),
        {"conditions": {"any": [NAME, {"key": "a", "operator": "Equals", "value": "a"}]}},
        excluding({}),
        excluding({"names": ["keep"]}, {}, mode="all"),
    ],
)
def test_what_is_true_of_everything_narrows_nothing(spec: dict[str, Any]) -> None:
    assert any(
        "every Secret in the cluster goes" in one for one in warned(cleanup({"kinds": ["Secret"]}, **spec))
    )


def test_cel_that_is_nothing_but_true_narrows_nothing() -> None:
    obj = deleting({"apiGroups": [""], "resources": ["secrets"]})
    obj["spec"]["conditions"] = [{"name": "all", "expression": " true "}]
    (warning,) = warned(obj)
    assert "all secrets in the cluster go" in warning


@pytest.mark.parametrize(
    ("filters", "mode", "says"),
    [
        (
            [{"kinds": ["Configmap"], "names": ["keep"]}],
            "any",
            (
                'spec.exclude.any[0].resources.kinds[0]: there is no kind "Configmap", so that it excludes nothing; '
                "did you mean ConfigMap?"
            ),
        ),
        (
            [{"kinds": ["ConfigMap"], **OLD}, {"kinds": ["Confg*"], **OLD}],
            "any",
            'no kind fits "Confg*", so that',
        ),
        (
            [{"kinds": ["shop.example/v1/Widget"], **OLD}],
            "any",
            (
                'match means shop.example/v2/Widget and not "shop.example/v1/Widget", so that it excludes nothing; '
                "write shop.example/v2/Widget"
            ),
        ),
        (
            [{"kinds": ["Pod", "Job"], "names": ["keep"]}],
            "any",
            'spec.exclude.any[0]: match means no "Pod" and "Job", so that it excludes nothing',
        ),
        (
            [{"kinds": ["Widget"], **OLD}, {}],
            "any",
            "spec.exclude.any[1]: the filter is empty, so that it excludes nothing",
        ),
        ([{"names": ["keep"]}, {}], "all", "spec.exclude.all[1]: the filter is empty"),
    ],
)
def test_of_an_exclusion_that_spares_nothing_the_writer_is_told(
    filters: list[dict[str, Any]], mode: str, says: str
) -> None:
    match = {"kinds": ["ConfigMap", "Widget"], **OLD}
    (warning,) = warned(cleanup(match, **excluding(*filters, mode=mode)))
    assert says in warning


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            {"resources": ["configmap"]},
            'there is no kind "configmap", so that it excludes nothing; did you mean configmaps?',
        ),
        (
            {"apiGroups": ["apps"]},
            'there is no "configmaps.apps", so that it excludes nothing; write apiGroups: [""]',
        ),
        ({"resources": ["secrets"]}, 'the rules mean no "secrets", so that it excludes nothing'),
        ({"scope": "Cluster"}, "configmaps are not of scope Cluster, so that it excludes nothing"),
    ],
)
def test_of_a_rule_that_excludes_nothing_the_writer_is_told(rule: dict[str, Any], says: str) -> None:
    excluded = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "resourceNames": ["a"]}
    obj = deleting(
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "b"]},
        excludeResourceRules=[excluded | rule],
    )
    (warning,) = warned(obj)
    assert says in warning
    assert warning.startswith("spec.matchConstraints.excludeResourceRules[0]: ")


def test_of_an_excluded_kind_that_could_not_be_read_nothing_is_said() -> None:
    gap = Gap(group="shop.example", version="v1", why="503")
    blind = msgspec.structs.replace(ALL, gaps=(gap,))
    for written in ("shop.example/v1/Gadget", "Gadget"):
        reading = read_policy(cleanup(MAPS, **excluding({"kinds": [written], **OLD})), discovery=blind)
        assert reading.warnings == ()

"""What a policy that can run may yet not mean: its writer is told, and it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.policy.world import cleanup, deleting, excluding, warned

pytestmark = pytest.mark.unit

MAPS = {"kinds": ["ConfigMap"]}


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (cleanup(MAPS, exclude={}), "spec.exclude: it is empty, which excludes everything"),
        (cleanup({"kinds": ["*"]}), "everything in the cluster goes"),
        (cleanup({"kinds": ["*"]}, scope="CleanupPolicy"), "everything in shop goes"),
        (deleting({}), "everything in the cluster goes"),
        (cleanup({"kinds": ["Pod"]}), "their owners make them again"),
        (deleting({"apiGroups": [""], "resources": ["pods"]}), "their owners make them again"),
        (
            cleanup({"kinds": ["ConfigMaps"]}),
            'spec.match: there is no kind "ConfigMaps"; did you mean ConfigMap?',
        ),
        (
            deleting({"apiGroups": [""], "resources": ["configmap"]}),
            "spec.matchConstraints: there is no kind",
        ),
        (
            cleanup(
                MAPS,
                scope="CleanupPolicy",
                context=[{"name": "x", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/login"}}],
            ),
            "spec.context[0].apiCall.urlPath: policies of a namespace do not see Secrets",
        ),
        (cleanup({"kinds": ["Service"]}), "write serving.knative.dev/v1/Service as well"),
    ],
)
def test_its_writer_is_told(obj: dict[str, Any], says: str) -> None:
    (warning,) = warned(obj)
    assert says in warning


@pytest.mark.parametrize(
    "obj",
    [
        cleanup(MAPS),
        cleanup({"kinds": ["*"], "namespaces": ["foo"]}),
        cleanup({"kinds": ["*"]}, **excluding({"namespaces": ["prod"]})),
        cleanup({"kinds": ["*"]}, conditions={"all": [{"key": 1, "operator": "Equals", "value": 1}]}),
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
        cleanup({"kinds": ["v1/Service", "serving.knative.dev/v1/Service"]}),
        deleting({"resources": ["configmaps"]}),
        deleting({}, objectSelector={"matchLabels": {"a": "b"}}),
    ],
)
def test_a_policy_that_is_clear_is_not_commented_on(obj: dict[str, Any]) -> None:
    assert [warning for warning in warned(obj) if "as well if those" not in warning] == []

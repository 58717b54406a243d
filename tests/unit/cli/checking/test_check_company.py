"""`skoupa check` of what stands beside policies: what of it is right and may yet not mean what its writer thinks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit


def exception(*references: tuple[str, str], **spec: Any) -> dict[str, Any]:
    named = [{"kind": kind, "name": name} for kind, name in references]
    return {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "mind", "namespace": "shop"},
        "spec": {"policyRefs": named, **spec},
    }


def entry(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "shared"}
    return {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "GlobalContextEntry",
        "metadata": metadata,
        "spec": spec,
    }


def check(skoupa: Shell, folder: Path, obj: dict[str, Any]) -> Any:
    """What is told of it, with the kinds of Kubernetes."""
    file, world = folder / "company.yaml", folder / "world.yaml"
    file.write_text(yaml.safe_dump(obj), encoding="utf-8")
    world.write_text("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", encoding="utf-8")
    (told,) = json.loads(skoupa("check", "-f", str(file), "--from", str(world), "-o", "json").out)["besides"]
    return told


@pytest.mark.parametrize(
    ("obj", "path", "what", "instead"),
    [
        (
            exception(("ClusterCleanupPolicy", "old")),
            "spec.policyRefs",
            'a ClusterCleanupPolicy knows no exceptions, so that "old" takes what it matches all the same',
            "write exclude there, or the label skoupa.dev/keep on what is to stay",
        ),
        (
            exception(("deletingpolicy", "old")),
            "spec.policyRefs",
            'no policy is of the kind "deletingpolicy", so that nothing stays by it',
            "did you mean DeletingPolicy?",
        ),
        (
            exception(("DeletingPolicy", "old-*")),
            "spec.policyRefs",
            'names are exact here, and no policy is called "old-*"',
            "name each that is meant",
        ),
        (
            exception(("DeletingPolicy", "old"), expiresAt="2020-01-01T00:00:00Z"),
            "spec.expiresAt",
            "it ended at 2020-01-01T00:00:00Z, so that nothing stays by it any more",
            "write a later time, or leave it out",
        ),
        (
            entry(kubernetesResource={"version": "v1", "resource": "configmap"}),
            "spec.kubernetesResource",
            'the server has no "configmap" of v1, so that everything stays',
            "write /api/v1/configmaps",
        ),
        (
            entry(apiCall={"urlPath": "/apis/batch/v1/jobz"}),
            "spec.apiCall.urlPath",
            'the server has no "jobz" of batch/v1, so that everything stays',
            "did you mean /apis/batch/v1/jobs?",
        ),
        (
            entry(apiCall={"service": {"url": "https://169.254.169.254/latest"}}),
            "spec.apiCall.service.url",
            "it is not called: it is an address of the link itself, as metadata services have",
            "give the address of a service; policies.allowedNetworks can open a network",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("spec.") else "",
)
def test_its_writer_is_told_and_it_is_valid(
    skoupa: Shell, tmp_path: Path, *, obj: dict[str, Any], path: str, what: str, instead: str
) -> None:
    told = check(skoupa, tmp_path, obj)
    assert told["valid"]
    assert told["problems"] == []
    assert told["cautions"] == [{"path": path, "what": what, "instead": instead}]


@pytest.mark.parametrize(
    "obj",
    [
        exception(("DeletingPolicy", "old"), ("NamespacedValidatingPolicy", "other")),
        entry(kubernetesResource={"version": "v1", "group": "apps", "resource": "deployments"}),
        entry(apiCall={"urlPath": "/api/v1/namespaces/shop/pods"}),
    ],
)
def test_of_what_is_meant_as_it_stands_nothing_is_said(
    skoupa: Shell, tmp_path: Path, obj: dict[str, Any]
) -> None:
    assert check(skoupa, tmp_path, obj)["cautions"] == []


def test_what_is_wrong_has_its_place_and_what_to_write(skoupa: Shell, tmp_path: Path) -> None:
    told = check(skoupa, tmp_path, exception(("DeletingPolicy", "old"), expiresAt="tomorrow"))
    wrong = {"path": "spec.expiresAt", "what": '"tomorrow" is no time'}
    assert told["problems"] == [wrong | {"instead": "write a time in UTC such as 2026-08-04T00:30:00Z"}]
    told = check(skoupa, tmp_path, entry(apiCall={"urlPath": "/api/v1/pods", "refreshInterval": 10}))
    wrong = {"path": "spec.apiCall.refreshInterval", "what": "10 is not a text"}
    assert told["problems"] == [wrong | {"instead": 'put it into quotes: "10"'}]


@pytest.mark.parametrize(
    ("spec", "path", "what"),
    [
        (
            {"apiCall": {"urlPath": "/api/v1/namespaces/{{request.namespace}}/pods"}},
            "spec.apiCall",
            "nobody fills it in",
        ),
        (
            {"apiCall": {"service": {"url": "https://a.example/{{ request.name }}"}}},
            "spec.apiCall",
            "nobody fills it in",
        ),
        (
            {"apiCall": {"urlPath": "/api/v1/namespaces/NAMESPACE/pods"}},
            "spec.apiCall.urlPath",
            "nothing is ever found in it",
        ),
        (
            {"kubernetesResource": {"version": "v1", "resource": "pods", "namespace": "Shop"}},
            "spec.kubernetesResource.namespace",
            "nothing is ever found in it",
        ),
        (
            {"kubernetesResource": {"version": "v2", "resource": "pods"}},
            "spec.kubernetesResource.group",
            "v1",
        ),
        (
            {"apiCall": {"urlPath": "/version", "data": [{"key": "a", "value": 1}]}},
            "spec.apiCall.data",
            "with POST",
        ),
    ],
)
def test_an_entry_that_would_have_no_value_or_that_the_server_refuses_is_wrong(
    skoupa: Shell, tmp_path: Path, spec: dict[str, Any], path: str, what: str
) -> None:
    told = check(skoupa, tmp_path, entry(**spec))
    (problem,) = told["problems"]
    assert problem["path"] == path
    assert what in problem["what"]
    assert problem["instead"]


def test_what_yaml_reads_as_true_or_false_is_told_to_be_put_into_quotes(
    skoupa: Shell, tmp_path: Path
) -> None:
    told = check(skoupa, tmp_path, exception(("DeletingPolicy", yaml.safe_load("no"))))
    (problem,) = told["problems"]
    assert problem["path"] == "spec.policyRefs[0].name"
    assert problem["instead"].startswith(
        "put it into quotes: without them YAML reads y, n, yes, no, on and off"
    )

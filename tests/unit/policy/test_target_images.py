"""`images`, against the objects and the answers of Kyverno's own tests (with example hosts)."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath import Context
from skoupa.policy.target_images import images_of
from skoupa.policy.variables import Template, roots_of, substitute

pytestmark = pytest.mark.unit

HUB = "docker.io"  # where Kyverno looks for an image that names no registry
DIGEST = "sha256:" + "f" * 64


def said(pointer: str, **parts: str) -> dict[str, Any]:
    return {**parts, "jsonPointer": pointer, "imagePullSecrets": []}


def test_the_images_of_a_pod() -> None:
    pod = {
        "kind": "Pod",
        "spec": {
            "initContainers": [{"name": "init", "image": "registry.example/busybox:v1.2.3"}],
            "containers": [{"name": "nginx", "image": "nginx:latest"}, {"name": "none"}],
            "ephemeralContainers": [{"name": "ephemeral", "image": "test/nginx:latest"}],
        },
    }
    assert images_of(pod) == {
        "initContainers": {
            "init": said(
                "/spec/initContainers/0/image",
                registry="registry.example",
                name="busybox",
                path="busybox",
                tag="v1.2.3",
                reference="registry.example/busybox:v1.2.3",
                referenceWithTag="registry.example/busybox:v1.2.3",
            )
        },
        "containers": {
            "nginx": said(
                "/spec/containers/0/image",
                registry=HUB,
                name="nginx",
                path="nginx",
                tag="latest",
                reference=f"{HUB}/nginx:latest",
                referenceWithTag=f"{HUB}/nginx:latest",
            )
        },
        "ephemeralContainers": {
            "ephemeral": said(
                "/spec/ephemeralContainers/0/image",
                registry=HUB,
                name="nginx",
                path="test/nginx",
                tag="latest",
                reference=f"{HUB}/test/nginx:latest",
                referenceWithTag=f"{HUB}/test/nginx:latest",
            )
        },
    }


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *((kind, ("template",)) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job")),
        ("ReplicationController", ("template",)),
        ("CronJob", ("jobTemplate", "spec", "template")),
    ],
)
def test_the_images_of_what_makes_pods(kind: str, place: tuple[str, ...]) -> None:
    image = f"fictional.registry.example:10443/imagename:tag@{DIGEST}"
    spec: dict[str, Any] = {
        "containers": [{"name": "init", "image": image}],
        "imagePullSecrets": [{"name": "key"}],
    }
    for key in reversed(place):
        spec = {key: {"spec": spec}} if key != "spec" else spec
    found = images_of({"kind": kind, "spec": spec})["containers"]["init"]
    assert found == {
        "registry": "fictional.registry.example:10443",
        "name": "imagename",
        "path": "imagename",
        "tag": "tag",
        "digest": DIGEST,
        "reference": f"fictional.registry.example:10443/imagename@{DIGEST}",
        "referenceWithTag": "fictional.registry.example:10443/imagename:tag",
        "jsonPointer": f"/spec/{'/spec/'.join(part for part in place if part != 'spec')}/spec/containers/0/image",
        "imagePullSecrets": ["key"],
    }


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"kind": "ConfigMap"},
        {"kind": "Pod"},
        {"kind": "Pod", "spec": {"containers": 3}},
        {"kind": "Job", "spec": []},
    ],
)
def test_objects_without_containers_have_no_images(target: dict[str, Any]) -> None:
    assert images_of(target) == {}


def test_a_name_that_is_no_image_is_an_error_for_this_object() -> None:
    with pytest.raises(ExpressionError, match=r"images: .* is no name of an image"):
        images_of({"kind": "Pod", "spec": {"containers": [{"name": "a", "image": "Not An Image"}]}})


def test_variables_see_the_images_and_ask_for_the_body() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "web", "image": "registry.example/a/b:1"}]},
    }
    roots = roots_of(pod, images=images_of(pod))
    assert substitute("{{ images.containers.*.registry }}", roots, Context(now=0)) == ["registry.example"]
    assert Template("{{ images.containers.*.registry }}").parts("target") == frozenset({"spec"})
    assert Template("{{ target.metadata.name }}").parts("target") == frozenset({"metadata"})
    assert not Template("{{ target.metadata.name }}").asks_for_images

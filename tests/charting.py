"""The chart of Skoupa with the real helm, and what `skoupa install` makes of the same settings.

Whatever differs between the two on purpose is taken away in `without_helm`, with the reason; everything else has to be the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec
import yaml

from harness.chart import CHART
from harness.controlplane import ensure
from skoupa import settings as configuration
from skoupa.cli.installing.install import installation_of
from skoupa.install.manifests import manifests

Manifest = dict[str, Any]
Identity = tuple[str, str, str, str]
Said = subprocess.CompletedProcess[str]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DIGEST = "skoupa.dev/settings-digest"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants of an installation, whichever way they take."""

    settings: dict[str, Any] = {}
    values: dict[str, Any] = {}
    """Those of the chart that are no settings."""
    options: dict[str, Any] = {}
    """The same for `skoupa install`."""
    namespace: str = "skoupa"


def helm(*arguments: str, values: Mapping[str, Any] | None = None, timeout: float = 60) -> Said:
    given = ["--values", "-"] if values is not None else []
    command = [str(ensure("helm")), *arguments, *given]
    # Neither plugins nor repositories nor a cluster of whoever runs the tests.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HELM_", "KUBECONFIG"))}
    return subprocess.run(
        command,
        input=yaml.safe_dump(dict(values)) if values is not None else None,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=kept,
    )


def template(asked: Asked) -> Said:
    values = {"settings": asked.settings, **asked.values}
    return helm("template", "skoupa", str(CHART), "--namespace", asked.namespace, values=values)


def rendered(asked: Asked) -> list[Manifest]:
    said = template(asked)
    assert said.returncode == 0, said.stderr
    return [body for body in yaml.load_all(said.stdout, Loader=_LOADER) if body]


def installed(asked: Asked) -> list[Manifest]:
    """What `skoupa install` prints; of its options the chart calls some otherwise."""
    return manifests(installation_of(settings_of(asked), **asked.options))


def settings_of(asked: Asked) -> configuration.Settings:
    tree = deepcopy(asked.settings)
    tree.setdefault("lease", {})["namespace"] = asked.namespace
    return configuration.decode(tree, source="the settings")


def by_identity(bodies: Iterable[Manifest]) -> dict[Identity, Manifest]:
    found: dict[Identity, Manifest] = {}
    for body in bodies:
        metadata = body["metadata"]
        identity = (body["apiVersion"], body["kind"], metadata.get("namespace", ""), metadata["name"])
        assert identity not in found, f"{identity} is there twice"
        found[identity] = body
    return found


def without_namespace(found: dict[Identity, Manifest], namespace: str) -> dict[Identity, Manifest]:
    """Helm keeps its own notes in the namespace of a release, so that has to be there before; `--create-namespace` makes it."""
    return {
        identity: body for identity, body in found.items() if identity != ("v1", "Namespace", "", namespace)
    }


def without_helm(body: Manifest) -> Manifest:
    body = deepcopy(body)
    metadata = body["metadata"]
    # By these Helm, and who looks at objects, knows what it brought.
    assert metadata["labels"].pop("app.kubernetes.io/managed-by") == "Helm"
    assert metadata["labels"].pop("helm.sh/chart").startswith("skoupa-")
    # What `skoupa install` never deletes, Helm would delete with its release: Brakes, people's policies, history.
    if body["kind"] in {"CustomResourceDefinition", "PersistentVolumeClaim"}:
        assert metadata["annotations"].pop("helm.sh/resource-policy") == "keep"
        if not metadata["annotations"]:
            del metadata["annotations"]
    return body


def with_read_settings(found: dict[Identity, Manifest]) -> dict[Identity, Manifest]:
    """The same settings may be written in another order, with or without what is as shipped; the digest is of the text."""
    (config,) = [body for body in found.values() if body["metadata"]["name"] == "skoupa-config"]
    (deployment,) = [body for body in found.values() if body["kind"] == "Deployment"]
    text = config["data"]["settings.yaml"]
    config["data"]["settings.yaml"] = configuration.load(text=text, environ={})
    notes = deployment["spec"]["template"]["metadata"]["annotations"]
    assert notes.pop(_DIGEST) == hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def assert_alike(asked: Asked) -> None:
    """Object by object."""
    chart = by_identity(without_helm(body) for body in rendered(asked))
    own = without_namespace(by_identity(installed(asked)), asked.namespace)
    assert chart.keys() == own.keys()
    chart, own = with_read_settings(chart), with_read_settings(deepcopy(own))
    for identity, body in own.items():
        assert chart[identity] == body, identity

"""`skoupa unused`: what operators find by a label or a name of their own is not forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.saying import Shell
from tests.unit.cli.test_unused_mentions import LEFT, Unused, made, secret, thing

pytestmark = pytest.mark.unit


@pytest.fixture
def unused(tmp_path: Path, skoupa: Shell) -> Unused:
    return Unused(tmp_path, skoupa)


def kafka(name: str = "orders", namespace: str = "shop") -> dict[str, Any]:
    return made("kafka.strimzi.io/v1beta2", "Kafka", name, namespace, spec={"clientsCa": {}})


def labelled(kind: str, name: str, labels: dict[str, str]) -> dict[str, Any]:
    found = made("v1", kind, name)
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "PersistentVolumeClaim"])
@pytest.mark.parametrize("asked", ["-A", "{} -A", "{} -n shop"])
def test_what_has_the_label_of_an_operator_is_used_as_long_as_the_object_lives_that_it_names(
    unused: Unused, kind: str, asked: str
) -> None:
    own = labelled(kind, "own-ca", {"strimzi.io/cluster": "orders", "app.kubernetes.io/managed-by": "people"})
    other = labelled(kind, "old-ca", {"strimzi.io/cluster": "gone", "app.kubernetes.io/instance": "orders"})
    where = asked.format(kind)
    told = unused.said(own, other, kafka(), where=where).out
    assert "own-ca" not in told
    assert "old-ca" in told
    assert "own-ca" in unused.said(own, other, kafka("orders", "prod"), where=where).out


@pytest.mark.parametrize(
    "key", ["argocd.argoproj.io/instance", "kustomize.toolkit.fluxcd.io/name", "skoupa.dev/of", "team/of"]
)
def test_the_label_of_a_deployer_says_nothing_of_that_sort(unused: Unused, key: str) -> None:
    group = {"argocd": "argoproj.io", "kustomize": "kustomize.toolkit.fluxcd.io"}.get(key.partition(".")[0])
    other = made(f"{group or 'shop.example'}/v1", "Thing", "orders", spec={})
    inventory = made("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "orders", status={"inventory": {"entries": []}})  # fmt: skip
    dropped = labelled("ConfigMap", "dropped", {key: "orders"})
    assert "dropped" in unused(dropped, other, inventory)


def test_what_no_table_knows_may_go_by_its_own_name(unused: Unused) -> None:
    same = [secret("thing"), made("v1", "ConfigMap", "thing"), secret("thing", "prod")]
    found = unused.said(*same, thing(replicas=1)).out.splitlines()
    assert {line.split()[0] for line in found} == {f"secret/shop/{LEFT}", "secret/prod/else", "secret/prod/thing"}  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        # A table says what these use.
        made("argoproj.io/v1alpha1", "Rollout", "used", spec={"template": {"spec": {"containers": []}}}),
        # It is about it, and deletes it.
        made("kyverno.io/v2", "CleanupPolicy", "used", spec={"schedule": "* * * * *", "match": {}}),
        made("skoupa.dev/v1alpha1", "RetentionPolicy", "used", spec={}),
        made("wgpolicyk8s.io/v1alpha2", "PolicyReport", "used", results=[]),
        # Whatever lives in no namespace would mean all of that name.
        made("shop.example/v1", "ClusterThing", "used", "", spec={}),
        made("apps/v1", "Deployment", "used", spec={"template": {"spec": {"containers": []}}}),
    ],
    ids=lambda other: other["kind"],
)
def test_of_others_the_own_name_says_nothing(unused: Unused, other: dict[str, Any]) -> None:
    assert "used" in unused(secret("used"), other)


@pytest.mark.parametrize(
    ("name", "operated"),
    [
        ("web.acid.credentials.postgresql.acid.zalan.do", made("acid.zalan.do/v1", "postgresql", "acid")),
        ("db-secrets", made("pxc.percona.com/v1", "PerconaXtraDBCluster", "db", spec={})),
        ("internal-db", made("pxc.percona.com/v1", "PerconaXtraDBCluster", "db", spec={})),
        ("db-mongodb-keyfile", made("psmdb.percona.com/v1", "PerconaServerMongoDB", "db", spec={})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_secrets_that_an_operator_of_databases_would_make_again_stay(
    unused: Unused, name: str, operated: dict[str, Any]
) -> None:
    assert name in unused(secret(name))
    assert name not in unused(secret(name), operated)

"""What `skoupa install` refuses the chart refuses too, in the same words, and before anything is in the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from harness.chart import CHART
from skoupa.cli.installing.install import installation_of
from skoupa.errors import UsageError
from skoupa.install.manifests import manifests
from tests.charting import Asked, helm, settings_of, template

pytestmark = pytest.mark.chart

PASSWORD = "hunter2"
ON_POSTGRES = {"clusterName": "prod-eu"}


def postgres(dsn: str) -> Asked:
    return Asked(settings={**ON_POSTGRES, "ledger": {"dsn": dsn}})


def noticing(route: dict[str, Any]) -> Asked:
    return Asked(settings={"notices": {"routes": [route]}})


A_LEDGER = "write a path (SQLite), postgresql://USER@HOST/DATABASE"
# With a part of what is said to do about it.
AS_BY_INSTALL: dict[str, tuple[Asked, str]] = {
    "several replicas on SQLite": (
        Asked(values={"replicas": 2}, options={"replicas": 2}),
        "set settings.ledger.dsn to postgresql://… (or to none",
    ),
    "several replicas on SQLite elsewhere": (
        Asked(
            settings={"ledger": {"dsn": "/var/lib/skoupa/other.db"}},
            values={"replicas": 3},
            options={"replicas": 3},
        ),
        "leave replicas out",
    ),
    "an unknown mode": (Asked(settings={"mode": "delete"}), "write observe or enforce"),
    "a mode that YAML reads as no text": (Asked(settings={"mode": False}), "write observe or enforce"),
    "PostgreSQL without a name of the cluster": (
        Asked(settings={"ledger": {"dsn": "postgresql://skoupa@db/skoupa"}}),
        "such as settings.clusterName: prod-eu",
    ),
    "a password": (postgres(f"postgresql://skoupa:{PASSWORD}@db/skoupa"), "kubectl create secret generic"),
    "an empty password": (postgres("postgres://skoupa:@db/skoupa"), "kubectl create secret generic"),
    "a password as an option": (
        postgres(f"postgresql://db/skoupa?sslmode=require&sslPassword={PASSWORD}"),
        "kubectl create secret generic",
    ),
    "a password in an address that is not as usual": (
        postgres(f"postgresql://skoupa:{PASSWORD}/x@db/skoupa"),
        "kubectl create secret generic skoupa-ledger -n skoupa --from-literal=dsn=",
    ),
    "PostgreSQL in capitals": (postgres(f"POSTGRESQL://skoupa:{PASSWORD}@db/skoupa"), A_LEDGER),
    "PostgreSQL after a space": (postgres(f" postgresql://skoupa:{PASSWORD}@db/skoupa"), A_LEDGER),
    "another database": (postgres(f"mysql://skoupa:{PASSWORD}@db/skoupa"), A_LEDGER),
    "words instead of an address": (postgres(f"host=db password={PASSWORD} dbname=skoupa"), A_LEDGER),
    "words in another order": (postgres(f"PASSWORD = {PASSWORD} host=db"), A_LEDGER),
    "the URL of a Slack webhook": (
        noticing({"name": "team", "type": "slack", "url": f"https://hooks.slack.com/services/{PASSWORD}"}),
        "put it into a Secret and name it with `urlFrom: {file: /PATH}`",
    ),
    "a password in the URL of a route": (
        noticing({"name": "team", "type": "webhook", "url": f"HTTPS://me:{PASSWORD}@example.org/x"}),
        "use urlFrom, or a header Authorization with valueFrom",
    ),
    "a name alone in the URL of a route": (
        noticing({"name": "team", "type": "webhook", "url": f"https://{PASSWORD}@example.org"}),
        "use urlFrom, or a header Authorization with valueFrom",
    ),
    "a URL of a route that is none": (
        noticing({"name": "team", "type": "webhook", "url": f" https://me:{PASSWORD}@example.org/x"}),
        "write it like https://HOST/PATH",
    ),
    "an address without a port": (Asked(settings={"address": "localhost"}), "write it as 0.0.0.0:8080"),
    "a port that is none": (Asked(settings={"api": {"address": "0.0.0.0:65536"}}), "write it as"),
    "port zero": (Asked(settings={"address": "0.0.0.0:0"}), "write it as"),
    "an address that probes can't reach": (
        Asked(settings={"address": "127.0.0.1:8080"}),
        "write 0.0.0.0:8080, or make address empty",
    ),
    "an address that the API server can't reach": (
        Asked(settings={"mode": "enforce", "webhook": {"address": "[::1]:9443"}}),
        "make webhook.address none",
    ),
    "two on one port": (Asked(settings={"address": "0.0.0.0:8443"}), "give each its own"),
    "keys of the trash in a place of the pod that is taken": (
        Asked(settings={"trash": {"keyFile": "/var/lib/skoupa/keys"}}),
        "write trash.keyFile: /etc/skoupa-trash/keys",
    ),
    **{
        f"keys of the trash in {directory}": (
            Asked(settings={**ON_POSTGRES, "trash": {"keyFile": f"{directory}/keys"}}),
            "write trash.keyFile: /etc/skoupa-trash/keys",
        )
        for directory in ("/etc", "/var", "/var/lib", "/var/lib/skoupa", "/etc/skoupa/trash", "/usr", "/a/..")
    },
    "keys of the trash at no absolute place": (
        Asked(settings={"trash": {"keyFile": "keys"}}),
        "write trash.keyFile: /etc/skoupa-trash/keys",
    ),
    "a last day that is no date": (Asked(settings={"ttl": {"notAfter": "soon"}}), "such as 2026-12-31"),
    "a day that no calendar has": (Asked(settings={"ttl": {"notAfter": "2030-02-29"}}), "such as 2026-12-31"),
    "no last day, as a text": (Asked(settings={"ttl": {"notAfter": ""}}), "such as 2026-12-31"),
    "limits the wrong way round": (
        Asked(settings={"ttl": {"minimum": "1d12h", "maximum": "35h59m"}}),
        "write the shorter time as ttl.minimum",
    ),
    "a Lease that is lost before it is renewed": (
        Asked(settings={"lease": {"seconds": 10, "retrySeconds": 10}}),
        "write at most a fifth",
    ),
    "a kind that nobody knows": (
        Asked(values={"deletableKinds": ["default", "widgets"]}, options={"kinds": ["default", "widgets"]}),
        "a custom kind is PLURAL.GROUP",
    ),
}


def by_install(asked: Asked) -> str:
    with pytest.raises(UsageError) as refusal:
        manifests(installation_of(settings_of(asked), **asked.options))
    return refusal.value.message.removeprefix("the settings: ")


@pytest.mark.parametrize("case", AS_BY_INSTALL)
def test_in_the_words_of_install(case: str) -> None:
    asked, advice = AS_BY_INSTALL[case]
    said = template(asked)
    assert said.returncode != 0
    assert not said.stdout
    assert by_install(asked) in said.stderr
    assert advice in said.stderr
    assert PASSWORD not in said.stderr


BY_THE_SCHEMA: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown value": ({"replica": 1}, "additional properties 'replica'"),
    "an unknown value below": ({"image": {"name": "skoupa"}}, "additional properties 'name'"),
    "an unknown setting": ({"settings": {"mod": "enforce"}}, "additional properties 'mod'"),
    "an unknown setting below": ({"settings": {"ttl": {"max": "1d"}}}, "additional properties 'max'"),
    "a duration that is none": ({"settings": {"ttl": {"noticeBefore": "2days"}}}, "'2days' does not match"),
    "an empty duration": ({"settings": {"stuckAfter": ""}}, "/settings/stuckAfter"),
    "a number as a text": ({"settings": {"lease": {"seconds": "15"}}}, "got string, want integer"),
    "no replica": ({"replicas": 0}, "minimum: got 0, want 1"),
    "a namespace that can't be": ({"settings": {"namespaces": ["Shop"]}}, "'Shop' does not match"),
    "no kind": ({"deletableKinds": []}, "minItems"),
    "a value that somebody took away": ({"volume": None}, "missing property 'volume'"),
    "a name that no Lease can have": (
        {"settings": {"lease": {"name": "My Lease"}}},
        "'My Lease' does not match",
    ),
    "a digest that is none": ({"image": {"digest": "latest"}}, "'latest' does not match"),
}


@pytest.mark.parametrize("case", BY_THE_SCHEMA)
def test_by_the_schema(case: str) -> None:
    values, what = BY_THE_SCHEMA[case]
    said = helm("template", "skoupa", str(CHART), values=values)
    assert said.returncode != 0
    assert what in said.stderr


def test_another_home_than_the_namespace_of_the_release() -> None:
    values = {"settings": {"lease": {"namespace": "ops"}}}
    said = helm("template", "skoupa", str(CHART), "--namespace", "skoupa", values=values)
    assert "run helm with --namespace ops" in said.stderr
    assert helm("template", "skoupa", str(CHART), "--namespace", "ops", values=values).returncode == 0


def test_settings_as_variables_since_nothing_else_would_follow_them() -> None:
    said = helm(
        "template", "skoupa", str(CHART), values={"extraEnv": [{"name": "SKOUPA_MODE", "value": "enforce"}]}
    )
    assert said.returncode != 0
    assert "write it under settings" in said.stderr


def test_an_annotation_in_the_place_of_the_digest_of_the_settings() -> None:
    values = {"podAnnotations": {"skoupa.dev/settings-digest": "always the same"}}
    said = helm("template", "skoupa", str(CHART), values=values)
    assert said.returncode != 0
    assert "leave it out" in said.stderr


def test_what_it_looks_like_to_helm_itself() -> None:
    said = helm("lint", "--strict", str(CHART))
    assert said.returncode == 0, said.stdout
    assert "WARNING" not in said.stdout

"""The chart gives what `skoupa install` gives, object by object, whatever the settings; `tests.charting` names what differs."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest

from harness.chart.switches import SWITCHING
from skoupa.install.ledger import DIRECTORY
from skoupa.settings import DURATION, Setting, every_setting
from tests.charting import Asked, assert_alike, rendered

pytestmark = pytest.mark.chart

POSTGRES = {"clusterName": "prod-eu", "ledger": {"dsn": "postgresql://skoupa@db.example.org/skoupa"}}
EVERY_POLICY = {
    "ttl": {
        "refuse": True,
        "minimum": "1h",
        "maximum": "90d",
        "notAfter": "2030-12-31",
        "requireDeleteRight": True,
    },
    "policies": {"requireDeleteRight": True},
}
KINDS = ["Deployment", "pvc", "jobs.batch", "certificates.cert-manager.io", "default", "namespaces", "ev"]

CASES = {
    "as shipped": Asked(),
    "enforcing": Asked(settings={"mode": "enforce"}),
    "with retention": Asked(settings={"mode": "enforce", "features": {"retention": True}}),
    "with retention and no other policies": Asked(
        settings={"mode": "enforce", "features": {"retention": True, "policies": False}, **EVERY_POLICY}
    ),
    "with retention in some namespaces": Asked(
        settings={"namespaces": ["shop", "lab"], "features": {"retention": True, "policies": False}}
    ),
    "with Alive": Asked(settings={"features": {"alive": True}}, namespace="ops"),
    "with Alive, while enforcing": Asked(settings={"mode": "enforce", "features": {"alive": True}}),
    "with tenants": Asked(settings={"mode": "enforce", "features": {"tenants": True}}),
    "with tenants and their kind": Asked(
        settings={"features": {"tenants": True, "policies": False}, "tenants": {"separator": "."}},
        values={"policyKinds": "all"},
        options={"policy_kinds": True},
    ),
    "in another namespace, with another Lease": Asked(
        settings={"mode": "enforce", "lease": {"name": "broom"}, **EVERY_POLICY}, namespace="ops"
    ),
    "every admission policy while observing": Asked(settings=EVERY_POLICY),
    "every admission policy while enforcing": Asked(settings={"mode": "enforce", **EVERY_POLICY}),
    "limits with Kyverno's readings": Asked(
        settings={"compat": {"kyvernoTtl": True}, "ttl": {"maximum": "30d"}}
    ),
    "limits of a feature that is off": Asked(settings={"features": {"ttl": False}, **EVERY_POLICY}),
    "nothing goes by anything": Asked(settings={"features": {"ttl": False, "policies": False}}),
    "PostgreSQL": Asked(settings=POSTGRES),
    "PostgreSQL, enforcing": Asked(settings={"mode": "enforce", **POSTGRES}),
    "no ledger, enforcing": Asked(settings={"mode": "enforce", "ledger": {"dsn": "none"}}),
    "PostgreSQL, one replica": Asked(settings=POSTGRES, values={"replicas": 1}, options={"replicas": 1}),
    "PostgreSQL, three replicas": Asked(settings=POSTGRES, values={"replicas": 3}, options={"replicas": 3}),
    "no ledger": Asked(settings={"ledger": {"dsn": "none"}}, values={"replicas": 3}, options={"replicas": 3}),
    "SQLite elsewhere on the volume": Asked(settings={"ledger": {"dsn": f"{DIRECTORY}/other.db"}}),
    "a key of the trash in the environment": Asked(settings={"trash": {"keyEnv": "TRASH_KEYS"}}),
    "a key of the trash in a file": Asked(
        settings={**POSTGRES, "trash": {"keyFile": "/etc/skoupa-trash/keys"}}
    ),
    "both": Asked(settings={"trash": {"keyEnv": "TRASH_KEYS", "keyFile": "elsewhere"}}),
    "nothing is served": Asked(
        settings={
            "mode": "enforce",
            "address": "",
            "api": {"address": "none"},
            "webhook": {"address": "none"},
        }
    ),
    "other ports": Asked(
        settings={
            "mode": "enforce",
            "address": "[::]:1080",
            "api": {"address": ":1443"},
            "webhook": {"address": "10.0.0.1:1944"},
        }
    ),
    "some namespaces": Asked(settings={"namespaces": ["shop", "lab"]}, namespace="ops"),
    "some namespaces, among them its own, while enforcing": Asked(
        settings={"mode": "enforce", "namespaces": ["ops", "shop"], **EVERY_POLICY},
        values={"deletableKinds": KINDS, "policyKinds": "all"},
        options={"kinds": KINDS, "policy_kinds": True},
        namespace="ops",
    ),
    "other kinds": Asked(values={"deletableKinds": KINDS}, options={"kinds": KINDS}),
    "all kinds": Asked(values={"deletableKinds": ["pods", "*"]}, options={"kinds": ["pods", "*"]}),
    "kinds of policies": Asked(values={"policyKinds": "all"}, options={"policy_kinds": True}),
    "kinds of policies where none run": Asked(
        settings={"features": {"policies": False}},
        values={"policyKinds": "all"},
        options={"policy_kinds": True},
    ),
    "another image": Asked(
        values={"image": {"repository": "registry.example/skoupa", "tag": "1.2"}},
        options={"image": "registry.example/skoupa:1.2"},
    ),
    "an image by its digest": Asked(
        values={"image": {"repository": "skoupa", "tag": "1.2", "digest": f"sha256:{'0' * 64}"}},
        options={"image": f"skoupa@sha256:{'0' * 64}"},
    ),
    "a settings file as people write it": Asked(
        settings={"apiVersion": "skoupa.dev/v1alpha1", "kind": "Settings", "ttl": {"maximum": None}}
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_what_install_makes(case: str) -> None:
    assert_alike(CASES[case])


# Of texts and lists, which can't be guessed. Whoever adds such a setting says here what else it may be.
OTHERWISE: dict[str, Any] = {
    "address": "0.0.0.0:1080",
    "api.address": "0.0.0.0:1443",
    "webhook.address": "0.0.0.0:1944",
    "webhook.url": "https://skoupa.example.org:9443/policies",
    "clusterName": "prod-eu",
    "namespaces": ["shop"],
    "watchAlso": ["Event"],
    "protect.namespaces": ["prod-*"],
    "protect.kinds": ["PersistentVolume"],
    "protect.names": ["ConfigMap/shop/*"],
    "protect.selectors": ["team=payments,tier!=dev"],
    "ttl.notAfter": "2030-12-31",
    "tenants.label": "skoupa.dev/tenant",
    "tenants.separator": ".",
    "tenants.namespaceLabel": "capsule.clastix.io/tenant",
    "tenants.objectLabel": "example.org/tenant",
    "tenants.protected": ["prod-ingress"],
    "policies.allowedHosts": ["api.example.org"],
    "policies.allowedNetworks": ["127.0.0.0/8"],
    "ledger.dsn": "none",
    "trash.keyFile": "/etc/skoupa-trash/keys",
    "trash.keyEnv": "TRASH_KEYS",
    "notices.routes": [{"name": "ops", "type": "slack", "urlFrom": {"env": "SLACK_URL"}}],
    "notices.default": "ops",
    "lease.namespace": "ops",
    "lease.name": "broom",
}


def parts(hint: Any) -> list[Any]:
    below = [*get_args(hint), *getattr(hint, "__metadata__", ())]
    return [hint, *(part for one in below for part in parts(one))]


def otherwise(setting: Setting) -> Any:
    if setting.key in OTHERWISE:
        return OTHERWISE[setting.key]
    if isinstance(setting.default, bool):
        return not setting.default
    if isinstance(setting.default, int | float):
        return setting.default + 1
    if isinstance(setting.default, tuple) and setting.default:
        return []
    if DURATION in parts(setting.type):
        return "7m"
    choices = [part for part in parts(setting.type) if isinstance(part, str) and part != setting.default]
    assert choices, f"say in OTHERWISE what else {setting.key} may be"
    return choices[0]


def tree(keys: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in keys.items():
        *sections, last = key.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return found


def together(setting: Setting) -> str:
    """What decides about rights and policies by itself, everything else with its whole section: neither hides the other."""
    return setting.key if setting.key in SWITCHING else f"{setting.key.rpartition('.')[0] or 'the rest'}.*"


@pytest.mark.parametrize("group", sorted({together(setting) for setting in every_setting()}))
def test_every_setting_counts_as_with_install(group: str) -> None:
    changed = {setting.key: otherwise(setting) for setting in every_setting() if together(setting) == group}
    namespace = str(changed.get("lease.namespace", "skoupa"))
    assert_alike(Asked(settings=tree({"mode": "enforce", **changed}), namespace=namespace))


@pytest.mark.parametrize("seed", range(12))
def test_settings_that_decide_about_rights_and_policies_do_so_together_too(seed: int) -> None:
    chance = random.Random(seed)
    known = {setting.key: setting for setting in every_setting()}
    deciding = {*SWITCHING, "ttl.maximum", "compat.janitor"} - {"namespaces"}
    changed = {key: otherwise(known[key]) for key in sorted(deciding) if chance.random() < 0.5}
    assert_alike(Asked(settings=tree(changed)))


def test_large_numbers_and_dates_stay_what_they_are() -> None:
    settings = {"ledger": {"keepBytes": 20_000_000_000}, "ttl": {"notAfter": "2030-12-31"}}
    assert_alike(Asked(settings=settings))


def pod(asked: Asked) -> Any:
    (found,) = [one for one in rendered(asked) if one["kind"] == "Deployment"]
    return found["spec"]["template"]["spec"]


def test_what_only_the_chart_has_reaches_the_pod() -> None:
    values: dict[str, Any] = {
        "imagePullSecrets": [{"name": "registry"}],
        "image": {"pullPolicy": "Always"},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "resources": {"limits": {"memory": "1Gi"}},
        "extraEnv": [{"name": "SLACK_URL", "valueFrom": {"secretKeyRef": {"name": "slack", "key": "url"}}}],
        "extraVolumes": [{"name": "tickets", "secret": {"secretName": "tickets"}}],
        "extraVolumeMounts": [{"name": "tickets", "mountPath": "/etc/tickets"}],
        "podAnnotations": {"team": "platform"},
    }
    found = pod(Asked(values=values))
    (container,) = found["containers"]
    assert container["imagePullPolicy"] == "Always"
    assert container["env"][-1] == values["extraEnv"][0]
    assert container["volumeMounts"][-1] == values["extraVolumeMounts"][0]
    assert container["resources"] == {
        "limits": {"memory": "1Gi"},
        "requests": {"cpu": "50m", "memory": "96Mi"},
    }
    assert found["volumes"][-1] == values["extraVolumes"][0]
    for key in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName"):
        assert found[key] == values[key]


def test_secrets_are_named_and_the_volume_is_as_asked_for() -> None:
    secrets = {"ledger": {"name": "db", "key": "url"}, "trash": {"name": "vault", "key": "current"}}
    settings = {**POSTGRES, "trash": {"keyEnv": "TRASH_KEYS"}}
    (container,) = pod(Asked(settings=settings, values={"secrets": secrets}))["containers"]
    named = {one["name"]: one["valueFrom"].get("secretKeyRef") for one in container["env"]}
    assert named["SKOUPA_LEDGER_DSN"] == {"name": "db", "key": "url", "optional": True}
    assert named["TRASH_KEYS"] == {"name": "vault", "key": "current"}
    volume = {"size": "20Gi", "storageClassName": "fast"}
    (claim,) = [
        one for one in rendered(Asked(values={"volume": volume})) if one["kind"] == "PersistentVolumeClaim"
    ]
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "20Gi"


# What is empty in values.yaml: an older release that is upgraded with --reuse-values lacks those that came since.
MAY_BE_MISSING = {
    "image": {"tag": None, "digest": None, "pullPolicy": None},
    **dict.fromkeys(("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName")),
    **dict.fromkeys(("podAnnotations", "extraEnv", "extraVolumes", "extraVolumeMounts")),
}


def test_a_value_that_is_empty_may_as_well_be_missing() -> None:
    assert rendered(Asked(values=MAY_BE_MISSING)) == rendered(Asked())

"""Names in the arguments of a program: a controller is told by a flag which ConfigMap is its own."""

from __future__ import annotations

import pytest

from skoupa.usage.found import Target
from skoupa.usage.reading import shipped
from skoupa.usage.rules import Means

pytestmark = pytest.mark.unit


def named(*args: str) -> set[str]:
    spec = {"containers": [{"name": "main", "args": list(args)}]}
    found = shipped().from_manifest("Pod", {"metadata": {"name": "x", "namespace": "shop"}, "spec": spec})
    kept = {use.target for use in found.uses if use.means is Means.MENTIONS}
    assert {target.namespace for target in kept} <= {"shop"}
    assert {Target("Secret", "shop", one.name) for one in kept} <= kept
    return {one.name for one in kept}


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("--configmap=$(POD_NAMESPACE)/ingress-nginx-controller", "ingress-nginx-controller"),
        ("--configmap=shop/ingress", "ingress"),
        ("-tls-secret=web", "web"),
        ("ingress-config", "ingress-config"),
        ("--config-map-name='web'", "web"),
    ],
)
def test_what_a_flag_names_is_mentioned(argument: str, name: str) -> None:
    assert named("serve", argument) == {name}


def test_several_are_told_with_commas_between() -> None:
    assert named("--extra-configmaps=a,b") == {"a", "b"}


@pytest.mark.parametrize(
    "argument",
    ["serve", "--port=80", "--config=/etc/web/web.yaml", "--config=./web.yaml", "--secret", "--secret=$(SECRET)",
     "--config=A B", "--tls=", "echo the secret"],
)  # fmt: skip
def test_what_names_nothing_keeps_nothing(argument: str) -> None:
    assert named(argument) == set()

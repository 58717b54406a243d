"""The connection of a Pod to its own API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.errors import KubeconfigError
from skoupa.kube.login import incluster
from skoupa.kube.login.connection import TokenFileAuth
from skoupa.kube.login.credentials import Credentials
from tests.unit.kube.login.pki import HandClock, issue

pytestmark = pytest.mark.unit

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def mount(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_address_token_authority_and_namespace_come_from_the_kubelet(tmp_path: Path) -> None:
    made = incluster.load(ENVIRON, folder=mount(tmp_path, token="t", namespace=" shop\n"))
    assert (made.server, made.namespace) == ("https://10.0.0.1:443", "shop")
    assert made.tls.ca.path == str(tmp_path / "ca.crt")
    assert isinstance(made.auth, TokenFileAuth)
    assert made.auth.path == str(tmp_path / "token")


@pytest.mark.parametrize("host", ["fd00::1", "[fd00::1]"])
def test_an_ipv6_address_gets_brackets(tmp_path: Path, host: str) -> None:
    environ = {**ENVIRON, "KUBERNETES_SERVICE_HOST": host}
    assert incluster.load(environ, folder=mount(tmp_path, token="t")).server == "https://[fd00::1]:443"


def test_the_namespace_of_the_downward_api_goes_first_and_default_last(tmp_path: Path) -> None:
    folder = mount(tmp_path, token="t")
    assert incluster.load(ENVIRON, folder=folder).namespace == "default"
    mount(tmp_path, namespace="shop")
    assert incluster.load({**ENVIRON, "POD_NAMESPACE": "down"}, folder=folder).namespace == "down"


def test_a_pod_needs_both_variables() -> None:
    assert incluster.announced(ENVIRON)
    assert not incluster.announced({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert not incluster.announced({**ENVIRON, "KUBERNETES_SERVICE_PORT": ""})


def test_a_pod_without_a_token_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="automountServiceAccountToken: true") as caught:
        incluster.load(ENVIRON, folder=tmp_path)
    assert str(caught.value).startswith(f"kubeconfig in-cluster (token): there is no {tmp_path}/token")


def test_a_nonsense_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        KubeconfigError, match=r"in-cluster \(KUBERNETES_SERVICE_HOST\): the server is not a URL"
    ):
        incluster.load({**ENVIRON, "KUBERNETES_SERVICE_PORT": "tcp"}, folder=mount(tmp_path, token="t"))


async def test_token_and_authority_are_used_as_mounted(tmp_path: Path) -> None:
    folder = mount(tmp_path, token="pod-token\n", ca_crt=issue("cluster").certificate)
    credentials = Credentials(incluster.load(ENVIRON, folder=folder), clock=HandClock())
    assert await credentials.headers() == (("Authorization", "Bearer pod-token"),)
    context = credentials.ssl_context()
    assert context is not None
    assert context.cert_store_stats()["x509_ca"] == 1


def test_a_pod_without_the_authority_does_not_trust_just_anyone(tmp_path: Path) -> None:
    credentials = Credentials(incluster.load(ENVIRON, folder=mount(tmp_path, token="t")), clock=HandClock())
    with pytest.raises(KubeconfigError, match=r"in-cluster \(ca\.crt\): .*can't be read \(No such file"):
        credentials.ssl_context()

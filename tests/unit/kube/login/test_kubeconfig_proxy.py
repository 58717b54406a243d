"""Which proxy a connection goes through: the rules of kubectl."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from skoupa.errors import KubeconfigError
from skoupa.kube.login.connection import Origin
from skoupa.kube.login.kubeconfig import load
from skoupa.kube.login.proxy import choose
from skoupa.kube.login.secret import Secret

pytestmark = pytest.mark.unit

PROXY = "http://proxy:3128"


def through(server: str, environ: dict[str, str], *, proxy_url: str = "") -> str:
    return choose(server=server, proxy_url=Secret(proxy_url), origin=Origin(), environ=environ).url


def test_https_and_http_servers_have_a_variable_each() -> None:
    environ = {"HTTPS_PROXY": "http://secure:1", "HTTP_PROXY": "http://plain:1"}
    assert through("https://h", environ) == "http://secure:1"
    assert through("http://h", environ) == "http://plain:1"
    assert through("https://h", {"https_proxy": "lower:1"}) == "http://lower:1"
    assert through("https://h", {"ALL_PROXY": PROXY}) == ""


def test_proxy_url_goes_before_the_environment_and_also_for_loopback() -> None:
    environ = {"HTTPS_PROXY": "http://other:1", "NO_PROXY": "*"}
    assert through("https://h", environ, proxy_url="https://[::1]:8443") == "https://[::1]:8443"
    assert through("https://127.0.0.1", environ, proxy_url=PROXY) == PROXY


@pytest.mark.parametrize(
    ("server", "no_proxy", "used"),
    [
        ("https://h.example.com", "", True),
        ("https://localhost:6443", "", False),
        ("https://127.3.2.1", "", False),
        ("https://[::1]:6443", "", False),
        ("https://h.example.com", "*", False),
        ("https://h.example.com", "other, example.com", False),
        ("https://example.com", "example.com", False),
        ("https://badexample.com", "example.com", True),
        ("https://example.com", ".example.com", True),
        ("https://h.example.com", ".example.com", False),
        ("https://h.example.com", "*.EXAMPLE.com", False),
        ("https://example.com", "*.example.com", True),
        ("https://h.example.com:6443", "h.example.com:6443", False),
        ("https://h.example.com:6443", "h.example.com:443", True),
        ("https://h.example.com", "h.example.com:443", False),
        ("http://h.example.com", "h.example.com:80", False),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://11.1.2.3", "10.0.0.0/8,fd00::/8", True),
        ("https://10.1.2.3", "10.1.2.3", False),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", False),
        ("https://10.1.2.3:6443", "10.1.2.3:1", True),
        ("https://[fd00::1]:6443", "fd00::1", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", False),
        ("https://[fd00::1]:6443", "10.0.0.0/8", True),
        ("https://h.example.com", " , ,:80,[", True),
    ],
)
def test_no_proxy_knows_names_networks_and_ports(server: str, no_proxy: str, *, used: bool) -> None:
    name = "HTTPS_PROXY" if server.startswith("https") else "HTTP_PROXY"
    assert through(server, {name: PROXY, "NO_PROXY": no_proxy}) == (PROXY if used else "")


def test_the_password_of_a_proxy_is_not_in_its_url(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "{clusters: [{name: c, cluster: {server: 'https://h', proxy-url: 'http://u%40x:p%3Aw@proxy:3128/'}}], "
        "contexts: [{name: x, context: {cluster: c}}], current-context: x}"
    )
    made = load(kubeconfig=str(path), environ={})
    assert made.proxy_url == "http://proxy:3128"
    assert b64decode(made.proxy_authorization.reveal().removeprefix("Basic ")) == b"u@x:p:w"
    assert "p%3Aw" not in repr(made)
    assert "dUB4" not in repr(made)


@pytest.mark.parametrize(
    "value", ["socks5://p:1", "socks5h://u:hidden@p", "ftp://p", "http://", "http://u:hidden@p:x"]
)
def test_a_proxy_that_can_not_be_used_is_named_by_its_variable(value: str) -> None:
    with pytest.raises(KubeconfigError) as caught:
        through("https://h", {"HTTPS_PROXY": value})
    assert str(caught.value).startswith("kubeconfig (HTTPS_PROXY): ")
    assert caught.value.advice
    assert "hidden" not in str(caught.value)

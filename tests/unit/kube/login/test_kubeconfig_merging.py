"""Which file, context, cluster and user a connection comes from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.errors import KubeconfigError
from skoupa.kube.login import incluster
from skoupa.kube.login.connection import BasicAuth, ExecAuth, Impersonation, NoAuth, TokenAuth, TokenFileAuth
from skoupa.kube.login.kubeconfig import Connection, load
from skoupa.kube.login.secret import Secret

pytestmark = pytest.mark.unit


def config(
    name: str, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A kubeconfig with one cluster, user and context of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}.example:6443", **(cluster or {})}}
        ],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def write(path: Path, content: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return str(path)


def load_one(tmp_path: Path, content: Any, **flags: Any) -> Connection:
    return load(kubeconfig=write(tmp_path / "config", content), environ={}, **flags)


# Which files


def test_the_flag_goes_before_the_environment_and_the_home_folder(tmp_path: Path) -> None:
    flag = write(tmp_path / "flag", config("flag"))
    variable = write(tmp_path / "variable", config("variable"))
    write(tmp_path / ".kube" / "config", config("home"))
    environ = {"HOME": str(tmp_path), "KUBECONFIG": variable}
    assert load(kubeconfig=flag, environ=environ).server == "https://flag.example:6443"
    assert load(environ=environ).server == "https://variable.example:6443"
    assert load(environ={"HOME": str(tmp_path)}).server == "https://home.example:6443"


def test_the_first_file_to_have_an_entry_wins_with_the_whole_entry(tmp_path: Path) -> None:
    first = config("a", user={"username": "alice", "password": "x"})
    second = config("a", cluster={"server": "https://other", "tls-server-name": "other"}, user={"token": "t"})
    paths = [write(tmp_path / "1", first), write(tmp_path / "2", second)]
    made = load(environ={"KUBECONFIG": os.pathsep.join(paths)})
    assert made.server == "https://a.example:6443"
    assert made.tls_server_name == ""
    assert made.auth == BasicAuth(username="alice", password=Secret("x"))


def test_a_context_may_name_a_cluster_and_a_user_of_other_files(tmp_path: Path) -> None:
    parts = config("a")
    paths = [
        write(tmp_path / "contexts", {"contexts": parts["contexts"], "current-context": "a"}),
        write(tmp_path / "users", {"users": parts["users"], "clusters": None}),
        write(tmp_path / "clusters", {"clusters": parts["clusters"]}),
    ]
    made = load(environ={"KUBECONFIG": os.pathsep.join(paths)})
    assert (made.server, made.auth) == ("https://a.example:6443", TokenAuth(token=Secret("token-of-a")))
    assert made.source == paths[2]


def test_the_current_context_is_that_of_the_first_file_that_sets_one(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "1", {**config("a"), "current-context": ""}),
        write(tmp_path / "2", config("b")),
        write(tmp_path / "3", config("c")),
    ]
    made = load(environ={"KUBECONFIG": os.pathsep.join(paths)})
    assert (made.context, made.server) == ("b", "https://b.example:6443")


def test_missing_empty_and_repeated_names_in_kubeconfig_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "config", config("a"))
    listed = os.pathsep.join([str(tmp_path / "absent"), "", path, path])
    assert load(environ={"KUBECONFIG": listed}).context == "a"


def test_relative_paths_are_relative_to_the_file_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"client-certificate": "crt.pem", "client-key": "/abs/key.pem", "tokenFile": "../token"}
    path = write(
        tmp_path / "deep" / "config", config("a", cluster={"certificate-authority": "ca.pem"}, user=user)
    )
    monkeypatch.chdir(tmp_path)
    for name in (path, "deep/config"):
        made = load(kubeconfig=name, environ={})
        assert made.tls.ca.path == str(tmp_path / "deep/ca.pem")
        assert made.tls.certificate.path == str(tmp_path / "deep/crt.pem")
        assert made.tls.key.path == "/abs/key.pem"
        assert isinstance(made.auth, TokenFileAuth)
        assert os.path.normpath(made.auth.path) == str(tmp_path / "token")


def test_a_plugin_is_looked_up_on_the_path_unless_its_name_has_a_slash(tmp_path: Path) -> None:
    for command, expected in (
        ("plugin", "plugin"),
        ("./bin/plugin", str(tmp_path / "bin/plugin")),
        ("/p", "/p"),
    ):
        plugin = {"command": command, "apiVersion": "client.authentication.k8s.io/v1beta1"}
        made = load_one(tmp_path, config("a", user={"exec": plugin}))
        assert isinstance(made.auth, ExecAuth)
        assert os.path.normpath(made.auth.command) == expected


def test_flags_with_paths_are_relative_to_the_working_directory(tmp_path: Path) -> None:
    made = load_one(
        tmp_path,
        config("a"),
        certificate_authority="ca.pem",
        client_certificate="crt.pem",
        client_key="key.pem",
    )
    assert (made.tls.ca.path, made.tls.certificate.path, made.tls.key.path) == (
        "ca.pem",
        "crt.pem",
        "key.pem",
    )


# What kubectl accepts in a file


@pytest.mark.parametrize(
    "text",
    [
        (
            "{apiVersion: v1, clusters: [{name: 2024-01-01, cluster: {server: 'https://h'}}], "
            "contexts: [{name: 1:30, context: {cluster: 2024-01-01}}], current-context: 1:30}"
        ),
        (
            '{"clusters":[{"name":"c","cluster":{"server":"https://h"}}],'
            '"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}'
        ),
        (
            "clusters: [{name: c, cluster: {server: 'https://h', unknown: [1], extensions: null}}]\nusers: null\n"
            "contexts: [{name: x, context: {cluster: c, user: null}}]\ncurrent-context: x\npreferences: {}\n"
        ),
        (
            "a: &a {server: 'https://h'}\nclusters: [{name: c, cluster: *a}]\n"
            "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n---\nsecond: document\n"
        ),
    ],
    ids=[
        "names that look like dates or times",
        "JSON",
        "nulls and unknown keys",
        "aliases and a second document",
    ],
)
def test_what_kubectl_accepts_is_accepted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_text(text, encoding=encoding)
        made = load(kubeconfig=str(path), environ={})
        assert (made.server, made.auth, made.namespace) == ("https://h", NoAuth(), "default")


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("https://h:6443/", "https://h:6443"),
        ("https://h/k8s/clusters/c-1/", "https://h/k8s/clusters/c-1"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("https://h/p?q=1#f", "https://h/p"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
    ],
)
def test_a_server_may_have_a_path_and_loses_a_trailing_slash(
    tmp_path: Path, written: str, server: str
) -> None:
    assert load_one(tmp_path, config("a", cluster={"server": written})).server == server


# Flags


def test_flags_choose_context_cluster_user_and_namespace(tmp_path: Path) -> None:
    a, b = config("a"), config("b")
    both = {**a, **{key: a[key] + b[key] for key in ("clusters", "users", "contexts")}}
    both["contexts"][1]["context"]["namespace"] = "shop"
    assert load_one(tmp_path, both).context == "a"
    made = load_one(tmp_path, both, context="b")
    assert (made.context, made.server, made.namespace) == ("b", "https://b.example:6443", "shop")
    made = load_one(tmp_path, both, cluster="b", namespace="other")
    assert (made.context, made.server, made.namespace) == ("a", "https://b.example:6443", "other")
    assert made.auth == TokenAuth(token=Secret("token-of-a"))
    assert load_one(tmp_path, both, user="b").auth == TokenAuth(token=Secret("token-of-b"))


def test_a_server_flag_needs_no_kubeconfig(tmp_path: Path) -> None:
    made = load(server="https://h:1/", token="t", environ={"HOME": str(tmp_path), "KUBECONFIG": "/absent"})
    assert (made.server, made.auth, made.source) == (
        "https://h:1",
        TokenAuth(token=Secret("t")),
        "the command line",
    )


def test_a_server_flag_drops_the_tls_server_name_of_the_file(tmp_path: Path) -> None:
    content = config("a", cluster={"tls-server-name": "inner"})
    assert load_one(tmp_path, content).tls_server_name == "inner"
    assert load_one(tmp_path, content, server="https://h").tls_server_name == ""
    assert load_one(tmp_path, content, server="https://h", tls_server_name="n").tls_server_name == "n"


def test_the_insecure_flag_replaces_the_authority_of_the_file_and_the_reverse(tmp_path: Path) -> None:
    content = config("a", cluster={"certificate-authority": "/ca"})
    made = load_one(tmp_path, content, insecure_skip_tls_verify=True)
    assert (made.tls.insecure, made.tls.ca.given) == (True, False)
    content = config("a", cluster={"insecure-skip-tls-verify": True})
    assert load_one(tmp_path, content).tls.insecure
    made = load_one(tmp_path, content, certificate_authority="/ca")
    assert (made.tls.insecure, made.tls.ca.path) == (False, "/ca")


def test_a_token_flag_goes_before_every_header_of_the_file(tmp_path: Path) -> None:
    for user in ({"token": "x"}, {"tokenFile": "/x"}, {"username": "u", "password": "p"}):
        made = load_one(tmp_path, config("a", user=user), token="t")
        assert made.auth == TokenAuth(token=Secret("t"))


# Who


def test_a_token_file_goes_before_a_token_and_data_before_a_file(tmp_path: Path) -> None:
    made = load_one(tmp_path, config("a", user={"token": "inline", "tokenFile": "/t"}))
    assert isinstance(made.auth, TokenFileAuth)
    assert (made.auth.path, made.auth.fallback) == ("/t", Secret("inline"))
    cluster = {"certificate-authority": "/ca", "certificate-authority-data": "Q0Eg\nZGF0YQ==\n"}
    assert load_one(tmp_path, config("a", cluster=cluster)).tls.ca.text == Secret("CA data")


def test_a_plugin_is_not_used_beside_a_token_or_a_client_certificate(tmp_path: Path) -> None:
    plugin = {"command": "p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    assert isinstance(load_one(tmp_path, config("a", user={"exec": plugin})).auth, ExecAuth)
    assert load_one(tmp_path, config("a", user={"exec": plugin}), token="t").auth == TokenAuth(
        token=Secret("t")
    )
    user = {"exec": plugin, "client-certificate": "/c", "client-key": "/k"}
    assert load_one(tmp_path, config("a", user=user)).auth == NoAuth()


def test_impersonation_comes_from_the_file_and_flags_go_before_it(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "u1", "as-groups": ["g1", "g2"], "as-user-extra": {"k": ["v1", "v2"]}}
    made = load_one(tmp_path, config("a", user=user))
    expected = Impersonation(user="jane", uid="u1", groups=("g1", "g2"), extra=(("k", ("v1", "v2")),))
    assert made.impersonate == expected
    made = load_one(
        tmp_path, config("a", user=user), as_user="joe", as_groups=["g3"], as_user_extra={"k": ["w"]}
    )
    assert made.impersonate == Impersonation(user="joe", uid="u1", groups=("g3",), extra=(("k", ("w",)),))
    assert load_one(tmp_path, config("a")).impersonate is None


def test_no_credentials_go_over_plain_http_but_impersonation_does(tmp_path: Path) -> None:
    cluster = {"server": "http://127.0.0.1:8001", "certificate-authority": "/ca"}
    plugin = {"command": "p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    users: list[dict[str, Any]] = [
        {"token": "t"},
        {"tokenFile": "/t"},
        {"exec": plugin},
        {"client-certificate": "/c", "client-key": "/k"},
        {"username": "u", "password": "p"},
    ]
    for user in users:
        made = load_one(tmp_path, config("a", cluster=cluster, user={**user, "as": "jane"}))
        assert (made.auth, made.withheld, made.tls.certificate.given) == (NoAuth(), True, False)
        assert made.impersonate == Impersonation(user="jane")
    assert not load_one(tmp_path, config("a", cluster=cluster, user={})).withheld


# In a Pod


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("pod-token\n")
    (folder / "namespace").write_text("shop\n")
    monkeypatch.setattr(incluster, "FOLDER", folder)
    return {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_without_a_kubeconfig_a_pod_talks_to_its_own_cluster(tmp_path: Path, pod: dict[str, str]) -> None:
    made = load(environ=pod)
    assert (made.server, made.namespace, made.source) == ("https://10.0.0.1:443", "shop", "in-cluster")
    write(tmp_path / ".kube" / "config", {"clusters": [], "contexts": None})
    assert load(environ=pod).source == "in-cluster"
    write(tmp_path / ".kube" / "config", config("a"))
    assert load(environ=pod).context == "a"


def test_in_a_pod_flags_still_count(pod: dict[str, str]) -> None:
    made = load(
        environ={**pod, "HTTPS_PROXY": "proxy:3128"},
        namespace="n",
        token="t",
        as_user="jane",
        certificate_authority="/ca",
    )
    assert (made.namespace, made.auth) == ("n", TokenAuth(token=Secret("t")))
    assert (made.impersonate, made.tls.ca.path) == (Impersonation(user="jane"), "/ca")
    assert made.proxy_url == "http://proxy:3128"
    assert load(environ=pod, insecure_skip_tls_verify=True).tls.insecure


def test_a_wrong_kubeconfig_variable_never_ends_in_the_cluster_of_the_pod(pod: dict[str, str]) -> None:
    with pytest.raises(
        KubeconfigError, match=r"KUBECONFIG names /absent, and nothing is there: correct KUBECONFIG"
    ):
        load(environ={**pod, "KUBECONFIG": "/absent"})
    with pytest.raises(
        KubeconfigError, match="a context, cluster or user is asked for, but there is no kubeconfig"
    ):
        load(environ=pod, context="prod")

"""Every way in which a kubeconfig can be wrong, and the sentence that says what to repair."""

from __future__ import annotations

import copy
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.errors import KubeconfigError
from skoupa.kube.login.kubeconfig import load

pytestmark = pytest.mark.unit

V1 = "client.authentication.k8s.io/v1"
SECRET = "s3cr3t-Value-that-nobody-may-see"

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "prod",
    "clusters": [{"name": "c", "cluster": {"server": "https://h"}}],
    "users": [
        {"name": "other", "user": {"token": SECRET}},
        {"name": "u", "user": {"token": SECRET}},
    ],
    "contexts": [
        {"name": "prod", "context": {"cluster": "c", "user": "u"}},
        {"name": "staging", "context": {"cluster": "c", "user": "u"}},
    ],
}

Edit = Callable[[dict[str, Any]], object]


def refusal(path: Path, **flags: Any) -> KubeconfigError:
    with pytest.raises(KubeconfigError) as caught:
        load(kubeconfig=str(path), environ={}, **flags)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in shown
    assert caught.value.advice, "an error says what to do"
    return caught.value


def cluster(**fields: Any) -> Edit:
    return lambda config: config["clusters"][0]["cluster"].update(fields)


def user(**fields: Any) -> Edit:
    return lambda config: config["users"][1].update(user=fields)


def plugin(**fields: Any) -> Edit:
    return user(exec={"command": "p", "apiVersion": V1, "interactiveMode": "Never", **fields})


@pytest.mark.parametrize(
    ("edit", "field", "message"),
    [
        # What is chosen
        (
            lambda c: c.update({"current-context": ""}),
            "current-context",
            "no context is chosen: pass --context with one of",
        ),
        (
            lambda c: c.update({"current-context": "stagign"}),
            "current-context",
            "no context 'stagign': known: staging, prod",
        ),
        (
            lambda c: c.update(contexts=[]),
            "current-context",
            "there is no context 'prod': no context is defined",
        ),
        (
            lambda c: c["contexts"][0]["context"].update(cluster="d"),
            "contexts[0].context.cluster",
            "there is no cluster 'd': known: c",
        ),
        (
            lambda c: c["contexts"][0]["context"].update(cluster=None),
            "contexts[0].context.cluster",
            "the context names no cluster",
        ),
        (
            lambda c: c["contexts"][0]["context"].update(user="uu"),
            "contexts[0].context.user",
            "there is no user 'uu': known: u, other",
        ),
        (lambda c: c["users"][0].update(name="u"), "users[1].name", "the name 'u' is there twice"),
        (lambda c: c.update(kind="Deployment"), "kind", "it is a Deployment, not a kubeconfig"),
        # The type of a field
        (lambda c: c.update(users={}), "users", "wrong type (expected array, got object): write a list"),
        (
            lambda c: c.update(clusters=["c"]),
            "clusters[0]",
            "wrong type (expected object, got str): write a mapping",
        ),
        (lambda c: c.update(users=[None]), "users[0]", "wrong type (expected object, got null)"),
        (
            cluster(server=6443),
            "clusters[0].cluster.server",
            "wrong type (expected str, got int): write text here, in quotes",
        ),
        (
            cluster(**{"insecure-skip-tls-verify": "yes"}),
            "clusters[0].cluster.insecure-skip-tls-verify",
            "wrong type (expected bool, got str): write true or false",
        ),
        (user(token=12345), "users[1].user.token", "wrong type (expected str): write text here, in quotes"),
        (plugin(command=[SECRET]), "users[1].user.exec.command", "wrong type (expected str, got array)"),
        (plugin(args=[1]), "users[1].user.exec.args[0]", "wrong type (expected str)"),
        (
            plugin(env=[{"name": "A", "value": 1}]),
            "users[1].user.exec.env[0].value",
            "wrong type (expected str)",
        ),
        (lambda c: c.update({1: SECRET}), "", "wrong type (expected str)"),
        # The server
        (
            cluster(server=""),
            "clusters[0].cluster.server",
            "there is no server: write it like https://HOST:PORT",
        ),
        (cluster(server=None), "clusters[0].cluster.server", "there is no server"),
        (
            cluster(server="h:6443"),
            "clusters[0].cluster.server",
            "the server 'h:6443' is not an http or https URL",
        ),
        (
            cluster(server="ftp://h"),
            "clusters[0].cluster.server",
            "the server 'ftp://h' is not an http or https URL",
        ),
        (
            cluster(server="https://"),
            "clusters[0].cluster.server",
            "the server 'https://' is not an http or https URL",
        ),
        (cluster(server="https://h:99999"), "clusters[0].cluster.server", "the server is not a URL"),
        (cluster(server="https://[::1"), "clusters[0].cluster.server", "the server is not a URL"),
        (cluster(server="https://a b"), "clusters[0].cluster.server", "is not an http or https URL"),
        (cluster(server="https://h\n"), "clusters[0].cluster.server", "is not an http or https URL"),
        (
            cluster(server=f"https://u:{SECRET}@h"),
            "clusters[0].cluster.server",
            "has a user name in it: put credentials",
        ),
        (
            cluster(**{"certificate-authority-data": f"{SECRET}!"}),
            "clusters[0].cluster.certificate-authority-data",
            "not base64",
        ),
        (
            cluster(**{"certificate-authority-data": "QUJD", "insecure-skip-tls-verify": True}),
            "clusters[0].cluster.insecure-skip-tls-verify",
            "it is set together with a certificate authority",
        ),
        (
            cluster(**{"certificate-authority": "/ca", "insecure-skip-tls-verify": True}),
            "clusters[0].cluster.insecure-skip-tls-verify",
            "it is set together with a certificate authority",
        ),
        # The proxy
        (
            cluster(**{"proxy-url": "socks5://h:1"}),
            "clusters[0].cluster.proxy-url",
            "can't speak socks5 to a proxy: use an http",
        ),
        (
            cluster(**{"proxy-url": f"u:{SECRET}@h"}),
            "clusters[0].cluster.proxy-url",
            "the proxy is not an http or https URL",
        ),
        (
            cluster(**{"proxy-url": f"http://u:{SECRET}@h:x"}),
            "clusters[0].cluster.proxy-url",
            "the proxy is not a URL",
        ),
        # The user
        (
            user(**{"client-certificate": "/c"}),
            "users[1].user.client-key",
            "a client certificate without its key",
        ),
        (user(**{"client-key-data": f"{SECRET}!"}), "users[1].user.client-key-data", "it is not base64"),
        (
            user(**{"client-certificate-data": "QQ"}),
            "users[1].user.client-certificate-data",
            "it is not base64",
        ),
        (user(token=f"{SECRET}\n"), "users[1].user.token", "the token has a line break"),
        (
            user(token=SECRET, username="u"),
            "users[1].user",
            "a token and also a user name with a password: leave one",
        ),
        (
            user(tokenFile="/t", password=SECRET),
            "users[1].user",
            "a token and also a user name with a password",
        ),
        (user(username="a:b", password=SECRET), "users[1].user.username", "a user name can't have a colon"),
        (user(**{"as-groups": ["g"]}), "users[1].user.as", "but no user: name the user too"),
        (user(**{"as": "a\r\nX-Evil: 1"}), "users[1].user.as", "the impersonation has a line break"),
        (
            user(**{"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}}),
            "users[1].user.auth-provider",
            "the auth-provider 'gcp' is not supported: replace it by exec",
        ),
        # The plugin
        (plugin(command=""), "users[1].user.exec.command", "there is no command"),
        (plugin(apiVersion=""), "users[1].user.exec.apiVersion", f"there is no apiVersion: write {V1} or"),
        (
            plugin(apiVersion="v1"),
            "users[1].user.exec.apiVersion",
            "'v1' is not a version of the plugin protocol",
        ),
        (
            plugin(apiVersion=f"{V1}alpha1"),
            "users[1].user.exec.apiVersion",
            "is gone since Kubernetes 1.24: update the plugin",
        ),
        (
            plugin(interactiveMode=""),
            "users[1].user.exec.interactiveMode",
            "it is missing: write one of Never, IfAvailable",
        ),
        (
            plugin(interactiveMode="Maybe"),
            "users[1].user.exec.interactiveMode",
            "'Maybe' is not an interactiveMode",
        ),
        (plugin(env=[{"value": SECRET}]), "users[1].user.exec.env[0]", "can't be an environment variable"),
        (plugin(args=[f"{SECRET}\0"]), "users[1].user.exec.args", "a zero byte in the command line"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_field(
    tmp_path: Path, edit: Edit, field: str, message: str
) -> None:
    config = copy.deepcopy(GOOD)
    edit(config)
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    error = refusal(path)
    assert (error.file, error.field) == (str(path), field)
    assert message in str(error)
    assert str(error).startswith(f"kubeconfig {path}" + (f" ({field})" if field else "") + ": ")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"context": "stagin"},
            "kubeconfig (--context): there is no context 'stagin' in {path}: known: staging, prod",
        ),
        ({"cluster": "d"}, "kubeconfig (--cluster): there is no cluster 'd' in {path}: known: c"),
        ({"user": "uu"}, "kubeconfig (--user): there is no user 'uu' in {path}: known: u, other"),
        ({"server": "h"}, "kubeconfig (--server): the server 'h' is not an http or https URL: write it like"),
        ({"token": f"{SECRET}\n"}, "kubeconfig (--token): the token has a line break"),
        ({"as_groups": ["g"]}, "kubeconfig {path} (users[1].user.as): a uid, groups or extra fields"),
        (
            {"insecure_skip_tls_verify": True, "certificate_authority": "/ca"},
            "kubeconfig (insecure-skip-tls-verify): it is set together with a certificate authority",
        ),
        (
            {"client_certificate": "/c"},
            "kubeconfig {path} (users[1].user.client-key): there is a client certificate",
        ),
    ],
)
def test_what_is_wrong_with_a_flag_is_named_with_the_flag(
    tmp_path: Path, flags: dict[str, Any], message: str
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(GOOD))
    assert message.format(path=path) in str(refusal(path, **flags))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"users:\n- name: a\n  user:\n    token: '{SECRET}".encode(),
            "it is not YAML, line 4: found unexpected end of stream",
        ),
        (
            b"clusters:\n- name: a\n  cluster: {server: x\nusers:\n",
            "it is not YAML, line 4: did not find expected",
        ),
        (b"a: b\n\tc: d\n", "it is not YAML, line 2: found a tab character"),
        (f"a: !!int {SECRET}\n".encode(), "it is not YAML that can be used"),
        (f"a: !{SECRET} b\n".encode(), "it is not YAML, line 1"),
        (b"a: *b\n", "it is not YAML, line 1: found undefined alias"),
        (b"users: [{name: \xe9}]\n", "it is not UTF-8 text (byte "),
        (b"a\x00", "it is not UTF-8 text (byte 1)"),
        (b"- a\n", "it holds a list, not a mapping: a kubeconfig begins with apiVersion: v1"),
        (SECRET.encode(), "it holds a line of text, not a mapping"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"- " * 100_000, "it is nested too deeply"),
        (b"", "it has no cluster in it: name another file"),
        (b"# only a comment\n", "it has no cluster in it"),
        (b"clusters: []\n", "it has no cluster in it"),
        (b"users: &a [*a]\n", "wrong type"),
    ],
)
def test_a_file_that_is_no_kubeconfig_says_so(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text)
    error = refusal(path)
    assert error.file == str(path)
    assert message in str(error)


def test_a_missing_file_is_an_error_when_it_was_asked_for(tmp_path: Path) -> None:
    assert str(refusal(tmp_path / "x")) == (
        f"kubeconfig {tmp_path}/x: there is no such file: check the path after --kubeconfig"
    )


def test_a_folder_is_not_a_kubeconfig(tmp_path: Path) -> None:
    assert "it is a folder: name a file in it" in str(refusal(tmp_path))


def test_a_path_below_a_file_and_an_impossible_path_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "it can't be read (Not a directory)" in str(refusal(tmp_path / "file" / "x"))
    assert "it can't be read (embedded null byte)" in str(refusal(Path("a\0b")))


def test_a_file_without_permission_can_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(GOOD))
    path.chmod(0)
    user_id = os.geteuid()
    if user_id == 0:  # root reads everything
        os.seteuid(65534)
    try:
        error = refusal(path)
    finally:
        os.seteuid(user_id)
    assert "it can't be read (Permission denied): check the path and the permissions" in str(error)


def test_without_any_configuration_the_error_says_what_to_set(tmp_path: Path) -> None:
    for environ in (
        {},
        {"HOME": str(tmp_path)},
        {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"},
    ):
        with pytest.raises(KubeconfigError) as caught:
            load(environ=environ)
        assert str(caught.value) == (
            "there is no kubeconfig, and this is not a Pod: "
            "pass --kubeconfig FILE, set KUBECONFIG, or create ~/.kube/config"
        )


def test_many_contexts_are_listed_nearest_first_and_cut(tmp_path: Path) -> None:
    contexts = [
        {"name": f"team-{number:02}", "context": {"cluster": "c", "user": "u"}} for number in range(25)
    ]
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({**GOOD, "contexts": contexts}))
    message = str(refusal(path, context="taem-17"))
    assert "known: team-17, " in message
    assert message.endswith(" and 15 more")


def test_an_error_in_one_user_does_not_stop_another_context(tmp_path: Path) -> None:
    config = copy.deepcopy(GOOD)
    config["users"][0]["user"] = {"client-key-data": "!", "auth-provider": {"name": "gcp"}, "exec": {}}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    assert load(kubeconfig=str(path), environ={}).context == "prod"

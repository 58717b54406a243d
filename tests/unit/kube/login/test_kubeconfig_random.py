"""Whatever a kubeconfig holds, reading it ends in a connection or in a KubeconfigError that shows no secret."""

from __future__ import annotations

import string
import tempfile
import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import KubeconfigError
from skoupa.kube.login.configfile import Cluster, Context, Exec, User
from skoupa.kube.login.kubeconfig import Connection, load

pytestmark = pytest.mark.unit

SECRET = "s3cr3t-Value-that-nobody-may-see"
GARBAGE = f"{SECRET}\n!"

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(string.printable, max_size=20),
    st.sampled_from(
        ["c", "u", "x", "", "https://h", "http://h", "QUJD", SECRET, GARBAGE, "/f", "Never", "Always"]
    ),
    st.sampled_from(["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]),
    st.dates(),
    st.binary(max_size=5),
)
_anything = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
    ),
    max_leaves=5,
)


def _mapping(
    kind: type[msgspec.Struct], **known: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with the keys of a Struct: mostly right values, sometimes anything."""
    keys = msgspec.structs.fields(kind)
    return st.fixed_dictionaries(
        {}, optional={key.encode_name: known.get(key.encode_name, _scalars) | _anything for key in keys}
    )


_texts = st.lists(st.sampled_from(["a", SECRET]), max_size=2)
_exec = _mapping(
    Exec,
    command=st.just("p"),
    args=_texts,
    env=st.lists(st.fixed_dictionaries({"name": st.just("A"), "value": st.just(SECRET)}), max_size=1),
    provideClusterInfo=st.booleans(),
)
_user = _mapping(
    User,
    exec=_exec,
    **{"token": st.just(SECRET), "as-groups": _texts, "as-user-extra": st.dictionaries(st.just("k"), _texts)},
)
_cluster = _mapping(Cluster, server=st.sampled_from(["https://h", "http://h:1/p", f"https://u:{SECRET}@h"]))
_context = _mapping(Context, cluster=st.just("c"), user=st.just("u"))


def _named(name: str, noun: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    entry = st.fixed_dictionaries({"name": st.just(name), noun: content})
    return st.lists(entry, min_size=1, max_size=1) | _anything


_configs = st.fixed_dictionaries(
    {
        "clusters": _named("c", "cluster", _cluster),
        "users": _named("u", "user", _user),
        "contexts": _named("x", "context", _context),
        "current-context": st.just("x") | _scalars,
    },
    optional={"kind": st.just("Config") | _scalars, "extensions": _anything},
)


def _outcome(data: bytes) -> Connection | KubeconfigError:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config")
        path.write_bytes(data)
        try:
            return load(kubeconfig=str(path), environ={})
        except KubeconfigError as error:
            return error


@settings(max_examples=300, deadline=None)
@given(_configs)
def test_a_mapping_of_anything_gives_a_connection_or_an_error_without_secrets(
    content: dict[str, Any],
) -> None:
    outcome = _outcome(yaml.safe_dump(content, allow_unicode=True).encode())
    shown = repr(outcome)
    if isinstance(outcome, KubeconfigError):
        shown += "".join(traceback.format_exception(outcome))
        assert outcome.file
    else:
        assert outcome.server.startswith(("https://", "http://"))
        assert not outcome.server.endswith("/")
    # A name, path or version may be shown; the generator also writes the secret into those, so only look at the rest.
    if SECRET not in str(_public_parts(content)):
        assert SECRET not in shown


def _public_parts(content: Any) -> list[Any]:
    """Everything but what holds secrets by its name."""
    hidden = {"token", "password", "client-key-data", "client-certificate-data", "args", "value", "proxy-url"}
    hidden |= {"certificate-authority-data"}
    if isinstance(content, dict):
        found = [_public_parts(value) for key, value in content.items() if key not in hidden]
        server = str(content.get("server", ""))
        return [part for part in found if part != [server]] if "@" in server else found
    if isinstance(content, list):
        return [_public_parts(value) for value in content]
    return [content]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | st.text("[]{}:-,?!&*#|>'\"%@`\\ \n\tab01~<=.", max_size=60).map(str.encode))
def test_any_bytes_give_a_connection_or_an_error(data: bytes) -> None:
    assert isinstance(_outcome(data), Connection | KubeconfigError)


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=700))
def test_a_file_cut_anywhere_gives_a_connection_or_an_error(length: int) -> None:
    whole = yaml.safe_dump(
        {
            "clusters": [
                {"name": "c", "cluster": {"server": "https://h", "certificate-authority-data": "QUJD" * 50}}
            ],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
            "users": [{"name": "u", "user": {"token": SECRET}}],
        }
    ).encode()
    outcome = _outcome(whole[:length])
    assert SECRET not in str(outcome)
    if length >= len(whole):
        assert isinstance(outcome, Connection)

"""Kubeconfig files as they are written: read, checked for type, merged; nothing is resolved or chosen yet.

The first file to have an entry of a name wins with the whole entry, and `current-context` comes from the first file that
sets it, as in client-go. Unknown keys are ignored and null counts as "not set". Every entry keeps its `Origin`.
Errors never quote the file: any line of it may hold a secret.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skoupa.errors import KubeconfigError
from skoupa.kube.login.connection import Origin
from skoupa.kube.login.secret import Secret, from_wire

# The C loader recurses without a guard and takes the process down at some ten thousand levels; a kubeconfig has eight.
_DEEPEST = 200

_AT = re.compile(r"^(?P<problem>.*?)(?: - at (?P<where>.*))?$", re.DOTALL)


class Extension(msgspec.Struct, frozen=True):
    name: str = ""
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: Secret = Secret()
    proxy_url: Secret = Secret()
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class EnvVar(msgspec.Struct, frozen=True):
    name: str = ""
    value: Secret = Secret()


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str = ""
    args: tuple[Secret, ...] = ()
    env: tuple[EnvVar, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(msgspec.Struct, frozen=True):
    name: str = ""


class User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: Secret = Secret()
    client_key: str = ""
    client_key_data: Secret = Secret()
    token: Secret = Secret()
    token_file: str = msgspec.field(name="tokenFile", default="")
    as_user: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    username: str = ""
    password: Secret = Secret()
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None


class Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str = ""
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str = ""
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str = ""
    context: Context = Context()


class _File(msgspec.Struct, frozen=True):
    kind: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = msgspec.field(name="current-context", default="")


class Merged(msgspec.Struct):
    """What some files say together: entries by name, each with where it was written."""

    files: list[str] = []
    clusters: dict[str, tuple[Cluster, Origin]] = {}
    users: dict[str, tuple[User, Origin]] = {}
    contexts: dict[str, tuple[Context, Origin]] = {}
    current_context: str = ""
    current_context_file: str = ""

    @property
    def empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts or self.current_context)


def merge(paths: Sequence[str]) -> Merged:
    """Reads the files that exist, in this order; the others are ignored."""
    merged = Merged()
    for path in paths:
        content = _read(path)
        if content is None:
            continue
        merged.files.append(path)
        if content.current_context and not merged.current_context:
            merged.current_context, merged.current_context_file = content.current_context, path
        _add(merged.clusters, [(entry.name, entry.cluster) for entry in content.clusters], path, "cluster")
        _add(merged.users, [(entry.name, entry.user) for entry in content.users], path, "user")
        _add(merged.contexts, [(entry.name, entry.context) for entry in content.contexts], path, "context")
    return merged


_Entry = TypeVar("_Entry")


def _add(
    known: dict[str, tuple[_Entry, Origin]], entries: list[tuple[str, _Entry]], path: str, noun: str, /
) -> None:
    here: set[str] = set()
    for index, (name, entry) in enumerate(entries):
        origin = Origin(path, f"{noun}s[{index}]")
        if name in here:
            raise origin.at("name").error(
                f"the name {name!r} is there twice", advice="rename or remove one of the two"
            )
        here.add(name)
        known.setdefault(name, (entry, origin.at(noun)))


def _read(path: str) -> _File | None:
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise KubeconfigError("it is a folder", file=path, advice="name a file in it") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        advice = "check the path and the permissions of the file"
        raise KubeconfigError(f"it can't be read ({reason})", file=path, advice=advice) from error
    content = _parse(data, path=path)
    if content is None:
        return _File()
    if not isinstance(content, dict):
        raise KubeconfigError(
            f"it holds {_NOUNS.get(type(content), 'something else')}, not a mapping",
            file=path,
            advice="a kubeconfig begins with apiVersion: v1 and kind: Config",
        )
    try:
        file = msgspec.convert(_without_nulls(content, {}), _File, dec_hook=from_wire)
    except msgspec.ValidationError as error:
        raise _wrong_type(error, path=path) from error
    except RecursionError:
        raise KubeconfigError("it contains itself", file=path, advice="remove the YAML alias") from None
    if file.kind not in {"", "Config"}:
        raise KubeconfigError(
            f"it is a {file.kind}, not a kubeconfig",
            file=path,
            field="kind",
            advice="name the file that has kind: Config",
        )
    return file


_NOUNS: dict[type, str] = {
    list: "a list",
    str: "a line of text",
    int: "a number",
    float: "a number",
    bool: "a boolean",
}


def _parse(data: bytes, *, path: str) -> Any:
    """The first document of a file, as kubectl reads it."""
    # Inside a cluster there is no YAML to read, and the import costs more than reading a kubeconfig.
    import yaml  # noqa: PLC0415 - see above

    advice = "the file may be half-written: restore it, or write it anew with the tool that made it"
    try:
        depth = 0
        for event in yaml.parse(data, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise KubeconfigError("it is nested too deeply", file=path, advice=advice)
        loader = _loader()(data)
        try:
            return loader.get_data() if loader.check_data() else None
        finally:
            loader.dispose()
    # None of these is kept as the cause: they may quote the file.
    except yaml.reader.ReaderError as error:
        raise KubeconfigError(
            f"it is not UTF-8 text (byte {error.position})", file=path, advice="save it as UTF-8"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = "" if isinstance(error, yaml.constructor.ConstructorError) else f": {error.problem}"
        raise KubeconfigError(f"it is not YAML{line}{problem}", file=path, advice=advice) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        raise KubeconfigError("it is not YAML that can be used", file=path, advice=advice) from None


@functools.cache
def _loader() -> Any:
    """YAML as kubectl understands it: dates and 1:30 stay text, or contexts with such names could not be found."""
    import yaml  # noqa: PLC0415 - see _parse

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - the name and shape are PyYAML's
            first: [
                (tag, re.compile(f"(?!.*:){pattern.pattern}", pattern.flags))
                for tag, pattern in resolvers
                if not tag.endswith(":timestamp")
            ]
            for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

    return Loader


def _without_nulls(value: Any, seen: dict[int, Any], /) -> Any:
    """A copy without the keys that are null; `seen` keeps YAML aliases shared, so that a bomb of them stays small."""
    if not isinstance(value, dict | list):
        return value
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, list):
        items: list[Any] = []
        seen[id(value)] = items
        items.extend(_without_nulls(item, seen) for item in value)
        return items
    mapping: dict[Any, Any] = {}
    seen[id(value)] = mapping
    mapping.update((key, _without_nulls(item, seen)) for key, item in value.items() if item is not None)
    return mapping


_ADVICE = {
    "`str`": "write text here, in quotes if it looks like a number or a date",
    "`bool`": "write true or false",
    "`array`": "write a list here, with a dash before each item",
    "`object`": "write a mapping here, with key: value lines",
}


def _wrong_type(error: msgspec.ValidationError, *, path: str) -> KubeconfigError:
    match = _AT.match(str(error))
    problem, where = (match["problem"], match["where"] or "") if match else (str(error), "")
    field = where.replace("`", "").replace("key in ", "").removeprefix("$").removeprefix(".")
    advice = next((text for kind, text in _ADVICE.items() if problem.startswith(f"Expected {kind}")), "")
    said = problem.replace("Expected", "expected").replace("`", "")
    return KubeconfigError(f"wrong type ({said})", file=path, field=field, advice=advice)

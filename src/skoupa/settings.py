"""The one configuration: a YAML file, `SKOUPA_*` variables on top of it, command-line flags on top of those.

Every setting is a field of `Settings` with its default and its description; `docs/settings.md` is written from them.
An unknown key is an error that names the nearest known one: a misspelt guard must not silently be no guard.
"""

from __future__ import annotations

import difflib
import os
import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.kube.selectors import parse_labels

_SEE_ALL: Final = "docs/settings.md lists all settings"
ENV_PREFIX: Final = "SKOUPA_"
# Variables that are no settings: for tracing a fault, and for where test tools keep their files.
_OTHER_VARIABLES: Final = frozenset({"SKOUPA_DEBUG", "SKOUPA_CACHE"})
# What Kubernetes itself tells every Pod about a Service whose name begins with skoupa.
_SERVICE_LINK: Final = re.compile(
    r"SKOUPA(_\w+)?_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)"
)


class _Duration(msgspec.Struct, frozen=True):
    """Marks a text that has to be a duration."""


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


DURATION: Final = _Duration()
Duration = Annotated[str, DURATION]


class _Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A group of settings; keys are written in camelCase."""


class Features(_Section, frozen=True, kw_only=True):
    ttl: Annotated[
        bool, _about("Objects with the label `cleanup.kyverno.io/ttl` go at their time (stable).")
    ] = True


class Protect(_Section, frozen=True, kw_only=True):
    namespaces: Annotated[
        tuple[str, ...],
        _about(
            "Namespaces, beside kube-system, kube-public and kube-node-lease, where nothing goes; `*` and `?` are wildcards."
        ),
    ] = ()
    kinds: Annotated[
        tuple[str, ...], _about("Kinds that never go: `PersistentVolume`, `certificates.cert-manager.io`.")
    ] = ()
    names: Annotated[
        tuple[str, ...],
        _about("Objects that never go, as `KIND/NAME` or `KIND/NAMESPACE/NAME`; `*` and `?` are wildcards."),
    ] = ()
    selectors: Annotated[
        tuple[str, ...],
        _about(
            "Label selectors of objects that never go: `team=payments,tier!=dev`. In a variable or flag `;` separates them."
        ),
    ] = ()


class Rate(_Section, frozen=True, kw_only=True):
    deletions_per_second: Annotated[float, msgspec.Meta(gt=0, description="The most deletions a second.")] = (
        100.0
    )
    in_flight: Annotated[
        int,
        msgspec.Meta(
            ge=1, le=1000, description="The most requests under way at once; fewer while the server is busy."
        ),
    ] = 64


class TtlSettings(_Section, frozen=True, kw_only=True):
    notice_before: Annotated[
        Duration | None,
        _about("Write an Event on the object that long before it goes, which says how to keep it."),
    ] = None
    maximum_lifetime: Annotated[
        Duration | None,
        _about(
            "No labelled object lives longer than this from its creation, whatever `skoupa.dev/refreshed-at` says."
        ),
    ] = None
    refuse: Annotated[bool, _about("Admission refuses labels that it would only warn about.")] = False
    minimum: Annotated[Duration | None, _about("Admission: the shortest time that a label may give.")] = None
    maximum: Annotated[
        Duration | None, _about("Admission: the longest time that a label may give (`90d`).")
    ] = None
    not_after: Annotated[
        str | None, _about("Admission: no label may name a time after this date (`2026-12-31`).")
    ] = None
    require_delete_right: Annotated[
        bool, _about("Admission: who adds the label must be allowed to delete the object.")
    ] = False


class Cascade(_Section, frozen=True, kw_only=True):
    ignore_kinds: Annotated[
        tuple[str, ...],
        _about(
            "Kinds whose kept objects need not be readable before a Namespace or CRD of them may go; `*.GROUP` is a whole group."
        ),
    ] = (
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "componentstatuses",
        "bindings",
        "*.metrics.k8s.io",
        "*.custom.metrics.k8s.io",
        "*.external.metrics.k8s.io",
    )


class Compat(_Section, frozen=True, kw_only=True):
    kyverno_ttl: Annotated[
        bool, _about("Read TTL labels exactly as Kyverno does, odd readings included.")
    ] = False
    janitor: Annotated[
        bool, _about("Honour kube-janitor's annotations `janitor/ttl` and `janitor/expires`.")
    ] = False
    ttl_controller: Annotated[
        bool,
        _about(
            "Honour k8s-ttl-controller's annotations `k8s-ttl-controller.twin.sh/ttl` and `…/refreshed-at`."
        ),
    ] = False


class LeaseSettings(_Section, frozen=True, kw_only=True):
    namespace: Annotated[
        str, _about("Namespace of the Lease, of the state and of Events about Skoupa itself.")
    ] = "skoupa"
    name: Annotated[str, _about("Name of the Lease that replicas share.")] = "skoupa"
    seconds: Annotated[
        int, msgspec.Meta(ge=3, description="How long a leader that vanished keeps the others waiting.")
    ] = 15
    retry_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="How often the Lease is renewed or tried for.")
    ] = 2.0


class Settings(_Section, frozen=True, kw_only=True):
    mode: Annotated[
        Literal["observe", "enforce"],
        _about("`observe` judges and reports but writes nothing; `enforce` deletes."),
    ] = "observe"
    cluster_name: Annotated[str, _about("Name of this cluster in logs and metrics.")] = ""
    namespaces: Annotated[tuple[str, ...], _about("Look only into these namespaces; empty: everywhere.")] = ()
    watch_also: Annotated[
        tuple[str, ...],
        _about(
            "Kinds to watch although they come and go too often to be worth it: Event, Lease, Endpoints, EndpointSlice."
        ),
    ] = ()
    stuck_after: Annotated[
        Duration,
        _about("Report what is still terminating this long after it was deleted, with its finalizers."),
    ] = "15m"
    accept_backlog: Annotated[
        bool,
        _about(
            "Let go what was overdue before Skoupa first looked, or became overdue through one mass labelling."
        ),
    ] = False
    address: Annotated[str, _about("Where /healthz, /readyz and /metrics are served; empty: nowhere.")] = (
        "0.0.0.0:8080"
    )
    log_format: Annotated[Literal["json", "text"], _about("How log lines are written.")] = "json"
    features: Features = Features()
    protect: Protect = Protect()
    rate: Rate = Rate()
    ttl: TtlSettings = TtlSettings()
    cascade: Cascade = Cascade()
    compat: Compat = Compat()
    lease: LeaseSettings = LeaseSettings()


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the reference: the key, how it is given by environment, its type, default and meaning."""

    key: str
    variable: str
    type: Any
    default: Any
    about: str


def every_setting() -> Iterator[Setting]:
    yield from _leaves(Settings, prefix=())


def _leaves(section: type[msgspec.Struct], *, prefix: tuple[str, ...]) -> Iterator[Setting]:
    hints = get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        path = (*prefix, field.encode_name)
        hint = hints[field.name]
        if isinstance(hint, type) and issubclass(hint, _Section):
            yield from _leaves(hint, prefix=path)
            continue
        about = next((meta.description for meta in _metas(hint) if meta.description), "")
        yield Setting(
            key=".".join(path), variable=variable(path), type=hint, default=field.default, about=about or ""
        )


def variable(path: tuple[str, ...]) -> str:
    """`ttl.noticeBefore` is `SKOUPA_TTL_NOTICE_BEFORE`."""
    snake = "_".join("".join(f"_{c}" if c.isupper() else c for c in part) for part in path)
    return ENV_PREFIX + snake.upper()


def load(
    file: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """File, then environment, then flags; `flags` maps keys like `ttl.noticeBefore` to values or texts."""
    tree = _read(file) if file else {}
    known = {setting.key: setting for setting in every_setting()}
    variables = {setting.variable: setting for setting in known.values()}
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX) or name in _OTHER_VARIABLES:
            continue
        if name in variables:
            _put(tree, variables[name].key, _from_text(environ[name], variables[name]))
        elif not _SERVICE_LINK.fullmatch(name):
            raise UsageError(f"there is no variable {name}", advice=_nearest(name, variables))
    for key, value in (flags or {}).items():
        if key not in known:
            raise UsageError(f"there is no setting {key}", advice=_nearest(key, known))
        _put(tree, key, _from_text(value, known[key]) if isinstance(value, str) else value)
    return decode(tree, source=file or "the settings")


def decode(tree: dict[str, Any], *, source: str) -> Settings:
    tree = {key: value for key, value in tree.items() if key not in {"apiVersion", "kind"}}
    _check_keys(tree, Settings, path=(), source=source)
    try:
        settings = msgspec.convert(tree, Settings, strict=True)
    except msgspec.ValidationError as error:
        key, said = _readable(str(error))
        choices = next((get_args(_bare(one.type)) for one in every_setting() if one.key == key), ())
        advice = f"write {' or '.join(choices)}" if choices and "enum" in said else _SEE_ALL
        raise UsageError(f"{source}: {key}: {said}" if key else f"{source}: {said}", advice=advice) from error
    for setting in every_setting():
        value = _get(settings, setting.key)
        if _is_duration(setting.type) and value is not None:
            parsed = parse_duration(value)
            if not isinstance(parsed, int):
                raise UsageError(f"{source}: {setting.key}: {value!r} is no duration", advice=parsed.instead)
    _check_protect(settings.protect, source=source)
    return settings


def _check_protect(protect: Protect, *, source: str) -> None:
    """A guard that can't match anything, or not be read, must not look like one."""
    for text in protect.names:
        parts = text.split("/")
        if len(parts) not in {2, 3} or not all(parts):
            raise UsageError(
                f"{source}: protect.names: {text!r} names no object",
                advice="write KIND/NAME or KIND/NAMESPACE/NAME",
            )
    for text in protect.selectors:
        try:
            empty = not parse_labels(text).requirements
        except ValueError as error:
            raise UsageError(
                f"{source}: protect.selectors: {text!r} is no label selector", advice=str(error)
            ) from error
        if empty:
            raise UsageError(
                f"{source}: protect.selectors: an empty selector is that of every object",
                advice="leave it out, or write `mode: observe` to keep everything",
            )


def seconds(duration: str) -> int:
    """A duration of the settings, which `decode` has checked."""
    parsed = parse_duration(duration)
    assert isinstance(parsed, int)
    return parsed


def _read(file: str) -> dict[str, Any]:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{file} can't be read: {why}", advice="check --config") from error
    try:
        tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}" if where else ""
        raise UsageError(f"{file} is no YAML{line}", advice=str(getattr(error, "problem", error))) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise UsageError(
            f"{file} is a {type(tree).__name__}, not settings", advice="write `mode: observe` for a start"
        )
    return tree


def _check_keys(tree: Any, section: type[msgspec.Struct], *, path: tuple[str, ...], source: str) -> None:
    if not isinstance(tree, dict):
        return
    hints = get_type_hints(section)
    fields = {field.encode_name: hints[field.name] for field in msgspec.structs.fields(section)}
    for key, value in tree.items():
        where = ".".join((*path, str(key)))
        if key not in fields:
            known = {".".join((*path, name)): None for name in fields} | {
                s.key: None for s in every_setting()
            }
            raise UsageError(f"{source}: there is no setting {where}", advice=_nearest(where, known))
        hint = fields[key]
        if isinstance(hint, type) and issubclass(hint, _Section):
            _check_keys(value, hint, path=(*path, key), source=source)


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.4)
    return f"did you mean {near[0]}?" if near else _SEE_ALL


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        below = tree.get(section)
        tree[section] = dict(below) if isinstance(below, dict) else {}
        tree = tree[section]
    tree[last] = value


def _get(settings: Settings, key: str) -> Any:
    found: Any = settings
    for part in key.split("."):
        names = {field.encode_name: field.name for field in msgspec.structs.fields(found)}
        found = getattr(found, names[part])
    return found


def _from_text(text: str, setting: Setting) -> Any:
    """Environment and flags are texts; lists are separated by commas."""
    bare = _bare(setting.type)
    if get_origin(bare) is tuple:
        separator = ";" if setting.key == "protect.selectors" else ","
        return [part.strip() for part in text.split(separator) if part.strip()]
    if bare is str or _is_duration(setting.type) or get_origin(bare) is Literal:
        return text
    try:
        return msgspec.convert(text, bare, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{setting.variable} or {setting.key}: {text!r} can't be used: {error}") from error


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in {types.UnionType, typing.Union}:
        return _bare(next(part for part in get_args(hint) if part is not type(None)))
    return hint


def _metas(hint: Any) -> Iterator[msgspec.Meta]:
    if get_origin(hint) is Annotated:
        yield from (part for part in get_args(hint)[1:] if isinstance(part, msgspec.Meta))


def _is_duration(hint: Any) -> bool:
    return DURATION in _flat(hint)


def _flat(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _flat(part)


def _readable(message: str) -> tuple[str, str]:
    """`Expected `int`, got `str` - at `$.rate.inFlight`` is the key and what is wrong with it."""
    said, _, where = message.partition(" - at `$.")
    return where.rstrip("`"), said

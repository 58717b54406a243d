"""Reads the configuration: file, then environment, then flags.

An unknown key is an error that names the nearest known one: a misspelt guard must not silently be no guard.
"""

from __future__ import annotations

import difflib
import os
import re
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.settings.checks import (
    check_alive,
    check_brakes,
    check_ledger,
    check_namespaces,
    check_protect,
    check_spans,
    check_trash,
    check_usage,
)
from skoupa.settings.fields import ENV_PREFIX, Setting, Settings, every_setting
from skoupa.settings.notice_checks import check_notices
from skoupa.settings.policy_checks import check_policies
from skoupa.settings.reading import read, tree_of
from skoupa.settings.sections import DURATION, Section
from skoupa.settings.tenant_checks import check_feature, check_tenants
from skoupa.settings.wording import read_refusal

_SEE_ALL: Final = "docs/settings.md lists all settings"
_NO_FILE: Final = (
    "write the name of a file (is a variable of your shell not set?), leave --config out, or write --config /dev/null for "
    "settings as shipped"
)
# Variables that are no settings: for tracing a fault, and for where test tools keep their files.
_OTHER_VARIABLES: Final = frozenset({"SKOUPA_DEBUG", "SKOUPA_CACHE"})
# What Kubernetes itself tells every Pod about a Service whose name begins with skoupa.
_SERVICE_LINK: Final = re.compile(
    r"SKOUPA(_\w+)?_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)"
)


def load(
    file: str | None = None,
    *,
    text: str | None = None,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] | None = None,
    whole: bool = True,
) -> Settings:
    """File, then environment, then flags; `flags` maps keys like `ttl.noticeBefore` to values or texts.

    `text` is what the file says, where somebody has read it already. Without `whole` there is a file yet to be found: what one
    setting says about another is not looked at.
    """
    if file == "":
        # An unset variable of a shell must not switch off the guards of an installation.
        raise UsageError("--config names no file: it is empty", advice=_NO_FILE)
    source = file or "the settings"
    if text is None:
        text = read(file) if file else ""
    tree = tree_of(text, source)
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
    return decode(tree, source=source, whole=whole)


def decode(tree: dict[str, Any], *, source: str, whole: bool = True) -> Settings:
    tree = {key: value for key, value in tree.items() if key not in {"apiVersion", "kind"}}
    _check_keys(tree, Settings, path=(), source=source)
    try:
        settings = msgspec.convert(tree, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise _refused(str(error), source=source) from error
    for setting in every_setting():
        value = _get(settings, setting.key)
        if _is_duration(setting.type) and value is not None:
            parsed = parse_duration(value)
            if not isinstance(parsed, int):
                raise UsageError(f"{source}: {setting.key}: {value!r} is no duration", advice=parsed.instead)
    check_protect(settings.protect, source=source)
    check_namespaces(settings, source=source)
    check_trash(settings, source=source)
    check_usage(settings, source=source)
    check_brakes(settings.brakes, source=source)
    check_policies(settings.policies, source=source)
    check_tenants(settings, source=source)
    if whole:
        check_together(settings, source=source)
    return settings


def check_together(settings: Settings, *, source: str) -> None:
    """What one setting says about another; only file, variables and flags together can tell."""
    check_ledger(settings, source=source)
    check_spans(settings, source=source)
    check_notices(settings.notices, source=source)
    check_alive(settings, source=source)
    check_feature(settings, source=source)


def seconds(duration: str) -> int:
    """A duration of the settings, which `decode` has checked."""
    parsed = parse_duration(duration)
    assert isinstance(parsed, int)
    return parsed


def _check_keys(tree: Any, section: type[msgspec.Struct], *, path: tuple[str, ...], source: str) -> None:
    if not isinstance(tree, dict):
        return
    fields = _types(section)
    for key, value in tree.items():
        where = ".".join((*path, str(key)))
        if key not in fields:
            known = {".".join((*path, name)): None for name in fields} | {
                s.key: None for s in every_setting()
            }
            raise UsageError(f"{source}: there is no setting {where}", advice=_nearest(where, known))
        hint = fields[key]
        if isinstance(hint, type) and issubclass(hint, Section):
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
        section: type[msgspec.Struct] = type(found)
        found = getattr(found, _attributes(section)[part])
    return found


@cache
def _types(section: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(section)
    return {key: hints[name] for key, name in _attributes(section).items()}


@cache
def _attributes(section: type[msgspec.Struct]) -> dict[str, str]:
    # msgspec evaluates every annotation anew each time, a third of a millisecond for each of some hundred keys.
    return {field.encode_name: field.name for field in msgspec.structs.fields(section)}


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
        wrong = read_refusal(str(error))
        what = f"{setting.variable} or {setting.key}: {text!r} can't be used"
        raise UsageError(what, advice=wrong.advice or _SEE_ALL) from error


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in {types.UnionType, typing.Union}:
        return _bare(next(part for part in get_args(hint) if part is not type(None)))
    return hint


def _is_duration(hint: Any) -> bool:
    return DURATION in _flat(hint)


def _flat(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _flat(part)


def _refused(message: str, *, source: str) -> UsageError:
    key = read_refusal(message).key
    hint = next((_bare(setting.type) for setting in every_setting() if setting.key == key), None)
    wrong = read_refusal(message, choices=get_args(hint) if get_origin(hint) is Literal else ())
    where = f"{source}: {key}" if key else source
    return UsageError(f"{where}: {wrong.what}", advice=wrong.advice or _SEE_ALL)

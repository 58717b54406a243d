"""What the types of the settings can't say: guards that can't match anything, names that can't exist."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.kube.selectors import parse_labels
from skoupa.settings.fields import Protect, Settings
from skoupa.settings.trust import BrakeSettings

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE_PATTERN: Final = re.compile(r"[-a-z0-9*?]{1,63}")
# A plural, singular, short name or kind; with its group, its group and version, or both before it (apps/v1/Deployment).
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_GROUP: Final = rf"{_LABEL}(\.{_LABEL})*"
_KIND: Final = re.compile(rf"({_GROUP}/){{0,2}}{_LABEL}|{_GROUP}", re.IGNORECASE)
_KIND_PATTERN: Final = re.compile(r"[a-z0-9*?]([-.a-z0-9*?]*[a-z0-9*?])?", re.IGNORECASE)
_PLURAL_DOT_GROUP: Final = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*")
# Of these none is a number like any other: `parentsMost: 0` lets no rule take a Namespace.
_FROM_NONE_ON: Final = frozenset({"share_over", "surge_over", "parents_most"})
# Of another database, or of PostgreSQL in another spelling (`host=db password=…`).
_ELSEWHERE: Final = re.compile(
    r"://|\b(?:host|hostaddr|dbname|user|password|passfile|service)\s*=", re.IGNORECASE
)
_A_KIND: Final = "write it as PersistentVolume or as certificates.cert-manager.io"
_AN_OBJECT: Final = "write KIND/NAME or KIND/NAMESPACE/NAME"


def check_protect(protect: Protect, *, source: str) -> None:
    """A guard that can't match anything, or not be read, must not look like one."""
    for text in protect.kinds:
        if not _KIND.fullmatch(text):
            raise UsageError(
                f"{source}: protect.kinds: {text!r} can't be the name of a kind",
                advice=_instead_of_kind(text),
            )
    for text in protect.names:
        _check_name(text, source=f"{source}: protect.names")
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


def _check_name(text: str, *, source: str) -> None:
    parts = text.split("/")
    if len(parts) not in {2, 3} or not all(parts):
        raise UsageError(f"{source}: {text!r} names no object", advice=_AN_OBJECT)
    kind, *place, name = parts
    if not _KIND_PATTERN.fullmatch(kind):
        raise UsageError(f"{source}: {kind!r} can't be the name of a kind", advice=_A_KIND)
    if place and not _NAMESPACE_PATTERN.fullmatch(place[0]):
        raise UsageError(f"{source}: {place[0]!r} matches no namespace", advice=_instead(place[0]))
    if name.strip() != name or "%" in name or name in {".", ".."}:
        raise UsageError(f"{source}: {name!r} can't be the name of an object", advice=_AN_OBJECT)


def check_namespaces(settings: Settings, *, source: str) -> None:
    named = [("namespaces", text) for text in settings.namespaces]
    named.append(("lease.namespace", settings.lease.namespace))
    for key, text in named:
        if not _NAMESPACE.fullmatch(text):
            raise UsageError(
                f"{source}: {key}: {text!r} can't be the name of a namespace", advice=_instead(text)
            )
    if not _SUBDOMAIN.fullmatch(settings.lease.name):
        raise UsageError(
            f"{source}: lease.name: {settings.lease.name!r} can't be the name of a Lease",
            advice="write small letters, digits, - and ., such as skoupa",
        )
    for text in settings.protect.namespaces:
        if not _NAMESPACE_PATTERN.fullmatch(text):
            raise UsageError(
                f"{source}: protect.namespaces: {text!r} matches no namespace", advice=_instead(text)
            )


def _instead_of_kind(text: str) -> str:
    if "*" in text or "?" in text:
        return f"kinds take no wildcards, but names do: write {text}/* in protect.names"
    return _A_KIND


def _instead(text: str) -> str:
    bare = re.sub(r"[^-a-z0-9*?,]", "", text.lower())
    return f"write {bare}" if bare else "write its name, or leave the setting out"


def check_trash(settings: Settings, *, source: str) -> None:
    _check_kinds(settings.trash.ignore_kinds, source=f"{source}: trash.ignoreKinds")


def check_usage(settings: Settings, *, source: str) -> None:
    _check_kinds(settings.usage.ignore_kinds, source=f"{source}: usage.ignoreKinds")
    _check_kinds(settings.tenants.ignore_kinds, source=f"{source}: tenants.ignoreKinds")


def _check_kinds(kinds: tuple[str, ...], *, source: str) -> None:
    """Compared with what the server calls a kind; `Secret` would never be the same as `secrets`."""
    for text in kinds:
        if not _PLURAL_DOT_GROUP.fullmatch(text):
            raise UsageError(
                f"{source}: {text!r} is no kind as kubectl shows it",
                advice="write its plural and its group: secrets, certificates.cert-manager.io, *.cert-manager.io",
            )


def check_ledger(settings: Settings, *, source: str) -> None:
    """A database that serves many clusters must tell them apart, and by a name that stays when an address changes.

    What looks like the address of a database and is none would be taken for the path of a file; it is not quoted, since it may
    have a password in it.
    """
    dsn = settings.ledger.dsn
    is_shared = dsn.startswith(("postgresql://", "postgres://"))
    if not is_shared and _ELSEWHERE.search(dsn):
        raise UsageError(
            f"{source}: ledger.dsn is no address that a ledger can be at",
            advice="write a path (SQLite), postgresql://USER@HOST/DATABASE in small letters and without a space before it, or none",
        )
    if is_shared and not settings.cluster_name:
        raise UsageError(
            f"{source}: clusterName is needed where the ledger is in PostgreSQL",
            advice="give this cluster a name that no other cluster in that database has, such as clusterName: prod-eu",
        )


def check_spans(settings: Settings, *, source: str) -> None:
    """Two times of which one has to be the longer."""
    least, most = (
        parse_duration(text) if text is not None else None
        for text in (settings.ttl.minimum, settings.ttl.maximum)
    )
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise UsageError(
            f"{source}: ttl.minimum ({settings.ttl.minimum}) is more than ttl.maximum ({settings.ttl.maximum}), "
            "so every label would be refused",
            advice="write the shorter time as ttl.minimum",
        )
    lease = settings.lease
    if lease.retry_seconds >= lease.seconds:
        raise UsageError(
            f"{source}: lease.retrySeconds ({lease.retry_seconds:g}) is not less than lease.seconds ({lease.seconds}), "
            "so a leader would lose its Lease before it renews it",
            advice=f"write at most a fifth, {lease.seconds / 5:g}",
        )


def check_brakes(brakes: BrakeSettings, *, source: str) -> None:
    """A ceiling of nothing is no ceiling: who wants that nothing goes has two better ways to say it."""
    for field in msgspec.structs.fields(brakes):
        value = getattr(brakes, field.name)
        if field.name in _FROM_NONE_ON:
            if value < 0:
                raise UsageError(
                    f"{source}: brakes.{field.encode_name}: {value} is less than none",
                    advice="write 0 or more",
                )
        elif isinstance(value, int) and value < 1:
            raise UsageError(
                f"{source}: brakes.{field.encode_name}: {value} would let nothing go",
                advice="write 1 or more; to let nothing go, write `mode: observe`, or run `skoupa pause`",
            )
    if brakes.share > 100:
        raise UsageError(
            f"{source}: brakes.share: {brakes.share} is more than all of them",
            advice="write a percentage from 1 to 100",
        )
    if brakes.surge_factor < 2:
        raise UsageError(
            f"{source}: brakes.surgeFactor: every run is as large as itself", advice="write 2 or more"
        )
    for text in brakes.parents:
        if not _KIND.fullmatch(text):
            raise UsageError(
                f"{source}: brakes.parents: {text!r} can't be the name of a kind",
                advice=_instead_of_kind(text),
            )


def check_alive(settings: Settings, *, source: str) -> None:
    """It is about the whole cluster, and so is its guard."""
    if settings.features.alive and settings.namespaces:
        raise UsageError(
            f"{source}: features.alive is about the whole cluster, and namespaces are named",
            advice="leave namespaces out, or features.alive",
        )

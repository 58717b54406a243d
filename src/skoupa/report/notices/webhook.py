"""A Digest as the JSON of a generic webhook, and the headers that let a receiver trust it.

The signature is over `TIMESTAMP.BODY`, with the timestamp of this try in a header, so that an old message can't be
played again: the receiver refuses what is older than a few minutes, and drops an id that it has seen.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import msgspec

from skoupa import names
from skoupa.kube.login.secret import Secret
from skoupa.kube.timestamps import whole_seconds
from skoupa.report.notices import wording
from skoupa.report.notices.digest import Counts, Digest
from skoupa.report.notices.notice import Notice
from skoupa.report.notices.template import as_it_is, escaped_for_json, filled
from skoupa.settings.notice_checks import is_json

_FORM: Final = "notice/v1alpha1"
API_VERSION: Final = f"{names.SKOUPA_GROUP}/{_FORM}"
ID_HEADER: Final = "X-Skoupa-Id"
TIMESTAMP_HEADER: Final = "X-Skoupa-Timestamp"
SIGNATURE_HEADER: Final = "X-Skoupa-Signature"


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    what: str
    kind: str = ""
    name: str
    uid: str = ""
    count: int = 1
    why: str = ""
    at: str
    due: str = ""
    keep: str = ""
    release: str = ""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a namespace; `more` are counted and not in `items`."""

    namespace: str
    counts: dict[str, int]
    items: tuple[Item, ...]
    more: int


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = API_VERSION
    kind: str = "Notices"
    id: str
    cluster: str
    route: str
    first: str
    last: str
    summary: str
    total: int
    counts: dict[str, int]
    namespaces: tuple[Part, ...]
    more_namespaces: int
    remarks: tuple[str, ...]


def webhook_body(digest: Digest, *, template: str | None = None) -> bytes:
    if template is None:
        return msgspec.json.encode(message(digest))
    escape = escaped_for_json if is_json(template) else as_it_is
    return filled(template, digest, escape=escape).encode()


def content_type(template: str | None) -> str:
    if template is None or is_json(template):
        return "application/json"
    return "text/plain; charset=utf-8"


def message(digest: Digest) -> Message:
    return Message(
        id=digest.id,
        cluster=digest.cluster,
        route=digest.route,
        first=whole_seconds(digest.first),
        last=whole_seconds(digest.last),
        summary=wording.summary(digest),
        total=digest.total,
        counts=_mapping(digest.counts),
        namespaces=tuple(
            Part(
                namespace=group.namespace,
                counts=_mapping(group.counts),
                items=tuple(_item(notice) for notice in group.items),
                more=group.more,
            )
            for group in digest.groups
        ),
        more_namespaces=digest.elsewhere_namespaces,
        remarks=digest.remarks,
    )


def _item(notice: Notice) -> Item:
    return Item(
        what=notice.what,
        kind=notice.kind,
        name=notice.name,
        uid=notice.uid,
        count=notice.count,
        why=notice.why,
        at=whole_seconds(notice.at),
        due=whole_seconds(notice.due) if notice.due is not None else "",
        keep=notice.keep,
        release=notice.release,
    )


def _mapping(counts: Counts) -> dict[str, int]:
    return dict(counts)


def signature(body: bytes, *, timestamp: str, secret: Secret) -> str:
    signed = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(secret.reveal().encode(), signed, hashlib.sha256).hexdigest()

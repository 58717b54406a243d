"""The generic webhook: a documented form, bodies of one's own, and signatures that a receiver can check."""

from __future__ import annotations

import hashlib
import hmac

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.login.secret import Secret
from skoupa.report.notices.template import values
from skoupa.report.notices.webhook import content_type, signature, webhook_body
from skoupa.settings.notices import TEMPLATE_FIELDS
from tests.unit.report.notices.telling import AT, digest, notice

pytestmark = pytest.mark.unit


def test_the_message_has_the_documented_form() -> None:
    found = digest(
        notice("web", uid="u1"),
        notice("db", what="notice", due=AT + 60, keep="skoupa keep configmaps/db -n shop", at=AT + 3),
        remark="there is no route 'x'",
    )
    assert msgspec.json.decode(webhook_body(found)) == {
        "apiVersion": "skoupa.dev/notice/v1alpha1",
        "kind": "Notices",
        "id": found.id,
        "cluster": "prod",
        "route": "ops",
        "first": "2026-01-01T00:00:00Z",
        "last": "2026-01-01T00:00:03Z",
        "summary": "Skoupa on prod: 1 will be deleted, 1 deleted",
        "total": 2,
        "counts": {"notice": 1, "deleted": 1},
        "namespaces": [
            {
                "namespace": "shop",
                "counts": {"notice": 1, "deleted": 1},
                "items": [
                    {
                        "what": "notice",
                        "kind": "configmaps",
                        "name": "db",
                        "why": "its time is over",
                        "at": "2026-01-01T00:00:03Z",
                        "due": "2026-01-01T00:01:00Z",
                        "keep": "skoupa keep configmaps/db -n shop",
                    },
                    {
                        "what": "deleted",
                        "kind": "configmaps",
                        "name": "web",
                        "uid": "u1",
                        "why": "its time is over",
                        "at": "2026-01-01T00:00:00Z",
                    },
                ],
                "more": 0,
            }
        ],
        "moreNamespaces": 0,
        "remarks": ["there is no route 'x'"],
    }


def test_a_template_has_a_value_for_every_field_of_the_table_and_no_other() -> None:
    assert values(digest(notice())).keys() == TEMPLATE_FIELDS.keys()


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_json_template_stays_json_whatever_it_is_filled_with(name: str, why: str) -> None:
    found = digest(notice(name, why=why))
    body = webhook_body(found, template=' {"content": "$text", "n": $total, "cost": "$$5", "by": "${route}"}')
    decoded = msgspec.json.decode(body)
    assert decoded == {"content": values(found)["text"], "n": 1, "cost": "$5", "by": "ops"}


def test_a_template_that_is_no_json_is_sent_as_text() -> None:
    template = "$total gone: $summary"
    assert webhook_body(digest(notice()), template=template) == b"1 gone: Skoupa on prod: 1 deleted"
    assert content_type(template) == "text/plain; charset=utf-8"
    assert content_type('["$text"]') == content_type(None) == "application/json"


def test_the_signature_is_over_timestamp_and_body_as_the_docs_say() -> None:
    body = webhook_body(digest(notice()))
    made = signature(body, timestamp="1767225600", secret=Secret("s3cret"))
    expected = hmac.new(b"s3cret", b"1767225600." + body, hashlib.sha256).hexdigest()
    assert made == f"sha256={expected}"
    for changed in (
        signature(body + b" ", timestamp="1767225600", secret=Secret("s3cret")),
        signature(body, timestamp="1767225601", secret=Secret("s3cret")),
        signature(body, timestamp="1767225600", secret=Secret("other")),
    ):
        assert changed != made

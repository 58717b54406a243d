"""Kinds as CleanupPolicies name them: read as Kyverno reads them, subresources included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.policy.kind_patterns import kind_pattern
from tests.unit.policy.world import KNATIVE, WIDGET_V1, WIDGET_V2, kind

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "group", "version", "name", "below"),
    [
        ("Pod", "*", "*", "Pod", ""),
        ("v1/Pod", "*", "v1", "Pod", ""),
        ("v1beta1/Widget", "*", "v1beta1", "Widget", ""),
        ("*/Pod", "*", "*", "Pod", ""),
        ("apps/v1/Deployment", "apps", "v1", "Deployment", ""),
        ("*.example/*/Wid?et", "*.example", "*", "Wid?et", ""),
        ("*/*/*", "*", "*", "*", ""),
        ("*/v1/Pod", "*", "v1", "Pod", ""),
        ("*/*/scale", "*", "*", "*", "scale"),
        ("*/Pod/exec", "*", "*", "Pod", "exec"),
        ("Pod/exec", "*", "*", "Pod", "exec"),
        ("Pod.status", "*", "*", "Pod", "status"),
        ("*/scale", "*", "*", "*", "scale"),
        ("*/*", "*", "*", "*", "*"),
        ("v1/Pod/exec", "*", "v1", "Pod", "exec"),
        ("v1/Pod.exec", "*", "v1", "Pod", "exec"),
        ("apps/v1/Deployment/scale", "apps", "v1", "Deployment", "scale"),
        ("apps/v1/Deployment.scale", "apps", "v1", "Deployment", "scale"),
        ("a/b/c/d/e", "*", "*", "", ""),
        ("", "*", "*", "", ""),
    ],
)
def test_a_kind_is_read_as_kyverno_reads_it(
    text: str, group: str, version: str, name: str, below: str
) -> None:
    found = kind_pattern(text)
    assert (found.group, found.version, found.kind, found.subresource) == (group, version, name, below)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("Service", [True, True, False]),
        ("v1/Service", [True, True, False]),
        ("serving.knative.dev/*/Service", [False, True, False]),
        ("*.knative.dev/v1/S*", [False, True, False]),
        ("/v1/Service", [True, False, False]),
        ("service", [False, False, False]),
        ("shop.example/v2/Widget", [False, False, True]),
        ("*", [True, True, True]),
    ],
)
def test_capitals_count_and_every_part_has_wildcards(text: str, fits: list[bool]) -> None:
    assert [kind_pattern(text).fits(each) for each in (kind("Service"), KNATIVE, WIDGET_V2)] == fits


def test_a_version_is_that_in_which_an_object_was_listed() -> None:
    assert kind_pattern("v1/Widget").fits(WIDGET_V1)
    assert not kind_pattern("v1/Widget").fits(WIDGET_V2)


@given(st.text(max_size=40) | st.text(alphabet="av1*?/.P", max_size=20))
def test_no_text_makes_it_fail(text: str) -> None:
    assert kind_pattern(text).text == text

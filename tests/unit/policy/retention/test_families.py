"""Families of names: editions of one thing are found together, and nothing else is."""

from __future__ import annotations

import pytest

from skoupa.policy.retention.families import family

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-config-8t2bf6c9mk", "web-config"),
        ("web-config-2h5gk7t4dd", "web-config"),
        ("web-5d8f9c7b6d", "web"),
        ("backup-28391040", "backup"),
        ("backup-28391040-x7k2p", "backup-28391040"),
        ("settings-v12", "settings"),
        ("settings-v1.2.3", "settings"),
        ("settings.2026-09-30", "settings"),
        ("dump-20260930-1200", "dump"),
        ("dump-2026-09-30t120000z", "dump"),
        ("release-4f2a9c1", "release"),
        ("release-9b74c9897bac770ffc029102a200c5de00ab34cd", "release"),
        ("job-6f1c2a3e-8d1b-4c5e-9f00-0123456789ab", "job"),
        # Words, whatever their length.
        ("web-config", "web-config"),
        ("my-rhythms", "my-rhythms"),
        ("frontend-deadbeef", "frontend-deadbeef"),
        ("cafe-facade", "cafe-facade"),
        ("plain", "plain"),
        # Nothing would be left.
        ("28391040", "28391040"),
        ("v2", "v2"),
    ],
)
def test_what_a_tool_puts_at_the_end_is_taken_off(name: str, expected: str) -> None:
    assert family(name) == expected


def test_a_pattern_of_ones_own_decides_and_what_it_does_not_fit_has_no_family() -> None:
    assert family("app-blue-7", "^([a-z]+)-") == "app"
    assert family("APP", "^([a-z]+)-") is None
    assert family("x", "^(a)?x$") is None

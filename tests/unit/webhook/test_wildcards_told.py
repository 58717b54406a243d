"""Whoever writes a wildcard that means nothing hears so from the webhook, and the policy is taken."""

from __future__ import annotations

import pytest

from tests.unit.webhook.test_reviewing import Desk, kinds

pytestmark = pytest.mark.unit


async def test_a_wildcard_that_means_nothing_is_a_warning_and_no_refusal() -> None:
    refusal, (warning,) = await Desk("*.*").says(kinds("Namespac?"))
    assert refusal == ""
    assert warning.startswith("spec.match: a wildcard does not reach Namespace, and nothing else fits")

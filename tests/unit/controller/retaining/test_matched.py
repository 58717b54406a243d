"""What policies say of single objects, also of one that a watch told the end of before its delete was answered."""

from __future__ import annotations

import pytest

from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import Entry
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.policy.retention.reading import read_retention
from skoupa.usage.finishing import Ends
from tests.unit.controller.stage import DAY, SHOP
from tests.unit.judge.rows import row

pytestmark = pytest.mark.unit


def entry() -> Entry:
    manifest = {
        "apiVersion": RETENTION_POLICIES.api_version,
        "kind": RETENTION_POLICIES.kind,
        "metadata": {"name": "left", "namespace": SHOP, "uid": "u"},
        "spec": {
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
            "after": {"unused": "5h", "created": "2d"},
        },
    }
    return Entry(
        kind=RETENTION_POLICIES,
        namespace=SHOP,
        name="left",
        uid="u",
        generation=1,
        reading=read_retention(manifest),
    )


def test_the_longest_time_that_policies_give_is_known_for_a_while_after_an_object_is_gone() -> None:
    matched = Matched(ends=lambda _: Ends.NEVER)
    matched.put_policies([entry()])
    web, other = (row(name, resource=CONFIG_MAPS, namespace=SHOP) for name in ("web", "other"))
    assert matched.match(web)
    assert matched.given(web) == 2 * DAY
    matched.forget(web.uid)
    assert matched.given(web) == 2 * DAY
    assert matched.given(other) == 0.0

"""Whatever stands in the cluster can be read, and what is not understood is never the less careful reading."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.alive.course import course, forcing
from skoupa.alive.reading import read_alive
from skoupa.alive.signs import signs_of
from tests.unit.alive.making import BEGAN, stamp

pytestmark = pytest.mark.unit

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["30m", "Fail", "ForceFinalizers"])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
FIELDS = st.sampled_from(
    [
        "timeout",
        "onTimeout",
        "forceAfter",
        "progressTimeout",
        "participants",
        "preserve",
        "onUnreachable",
        "other",
    ]
)


def going(spec: Any, status: Any) -> dict[str, Any]:
    metadata = {
        "uid": "u",
        "resourceVersion": "1",
        "finalizers": ["dns.example.com/cleanup"],
        "deletionTimestamp": stamp(BEGAN),
    }
    return {"metadata": metadata, "spec": spec, "status": status}


@given(st.dictionaries(FIELDS, ANYTHING, max_size=5), ANYTHING)
def test_no_spec_and_no_status_is_an_error_and_only_a_whole_one_forces(
    spec: dict[str, Any], status: Any
) -> None:
    alive = read_alive(going(spec, status if isinstance(status, dict) else {}))
    late = BEGAN + 10**9
    at = course(alive, {}, now=late)
    if forcing(alive, at, now=late):
        assert not alive.problems
        assert spec["onTimeout"] == "ForceFinalizers"


@given(
    st.dictionaries(
        st.sampled_from(
            ["skoupa.dev/remaining", "skoupa.dev/state", "skoupa.dev/message", "skoupa.dev/preserved"]
        ),
        st.text(max_size=40),
    ),
    ANYTHING,
    ANYTHING,
)
def test_no_lease_is_an_error(annotations: dict[str, str], renewed: Any, lasts: Any) -> None:
    lease = {
        "metadata": {"namespace": "work", "name": "dns", "annotations": annotations, "managedFields": None},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": lasts},
    }
    (sign,) = signs_of([lease]).values()
    assert sign.remaining is None or sign.remaining >= 0
    assert sign.lasts > 0

"""What is kept of an object must not keep the page that it came with."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from skoupa.kube.decoding import decode_list
from skoupa.kube.objects import METADATA, Metadata, detached

pytestmark = pytest.mark.unit

PAGE_BYTES = 2_000_000


def _page() -> bytes:
    managed = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:x": {}}}}]
    first = {"metadata": {"name": "one", "managedFields": managed, "annotations": {"a": "b"}}}
    rest = {"metadata": {"name": "two"}, "data": {"x": "y" * PAGE_BYTES}}
    return msgspec.json.encode({"metadata": {}, "items": [first, rest]})


def _one() -> Metadata:
    _, items, _ = decode_list(_page(), METADATA, doing="list")
    return detached(items[0].metadata)


def test_metadata_that_is_kept_lets_the_page_go() -> None:
    _one()
    tracemalloc.start()
    try:
        kept = _one()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.name == "one"
    assert held < PAGE_BYTES / 10


def test_nothing_of_it_is_lost() -> None:
    _, items, _ = decode_list(_page(), METADATA, doing="list")
    plain = items[0].metadata
    kept = detached(plain)
    assert msgspec.json.encode(kept) == msgspec.json.encode(plain)

"""Kinds as people write them."""

from __future__ import annotations

import pytest

from skoupa.errors import UsageError
from skoupa.install.kinds import DEFAULT_KINDS, DeletableKind, parse_kinds
from skoupa.kube.kinds import Discovery
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit

KNOWN = Discovery(resources=BUILT_IN)


@pytest.mark.parametrize(
    ("written", "group", "plural"),
    [
        ("pods", "", "pods"),
        ("po", "", "pods"),
        ("Deployment", "apps", "deployments"),
        ("jobs.batch", "batch", "jobs"),
        ("certificates.cert-manager.io", "cert-manager.io", "certificates"),
    ],
)
def test_a_kind_may_be_written_as_kubectl_takes_it(written: str, group: str, plural: str) -> None:
    (kind,) = parse_kinds([written], known=KNOWN)
    assert (kind.group, kind.plural) == (group, plural)


def test_default_stands_for_the_shipped_list_and_others_are_added() -> None:
    kinds = parse_kinds(["default", "ns", "pods"], known=KNOWN)
    assert set(kinds) == {*DEFAULT_KINDS, DeletableKind(plural="namespaces", namespaced=False)}


def test_a_star_is_everything() -> None:
    assert parse_kinds(["pods", "*"], known=KNOWN) == (DeletableKind(group="*", plural="*"),)


def test_the_shipped_kinds_exist() -> None:
    built_in = {(row.group, row.plural, row.namespaced) for row in BUILT_IN}
    assert {(kind.group, kind.plural, kind.namespaced) for kind in DEFAULT_KINDS} <= built_in


@pytest.mark.parametrize("written", ["podz", "Widget", "two words", "-"])
def test_a_word_that_is_no_kind_is_refused_with_advice(written: str) -> None:
    with pytest.raises(UsageError, match=r"PLURAL\.GROUP"):
        parse_kinds([written], known=KNOWN)


def test_a_misspelt_kind_is_told_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="did you mean pod"):
        parse_kinds(["podz"], known=KNOWN)

"""Which kinds are nothing but used: every kind that a table names as used was decided upon, and nothing that works is among them."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import Resource
from skoupa.usage.leftovers.answers import is_used_by_others
from skoupa.usage.leftovers.questions import QUESTIONS
from skoupa.usage.leftovers.worth import is_for_itself
from skoupa.usage.passive import AT_WORK, PASSIVE
from skoupa.usage.reach import used_by
from skoupa.usage.reading import shipped
from skoupa.usage.rules import KindRules, Reference
from tests.unit.usage.making import resource

pytestmark = pytest.mark.unit

TAUGHT = (
    "example.com/Dataset",
    "apps/Deployment",
    "kustomize.toolkit.fluxcd.io/Kustomization",
    "argoproj.io/Rollout",
)


def test_each_kind_that_a_table_names_as_used_is_decided_upon_once() -> None:
    tables = shipped()
    used = {kind for one in tables.kinds() if (table := tables.table(one)) for kind in used_by(table)}
    decided = (PASSIVE, AT_WORK, QUESTIONS.keys())
    assert used - {"*"} - {kind for some in decided for kind in some} == set()
    assert (PASSIVE | AT_WORK) - used == set()
    for one in decided:
        assert not any(one & other for other in decided if other is not one)


@pytest.mark.parametrize("kind", sorted(AT_WORK))
def test_what_works_whoever_points_at_it_is_there_for_itself(kind: str) -> None:
    assert is_for_itself(resource(kind), shipped())
    assert not is_used_by_others(resource(kind))


@pytest.mark.parametrize("kind", sorted(PASSIVE))
def test_what_is_made_to_be_used_is_not(kind: str) -> None:
    assert not is_for_itself(resource(kind), shipped())


def test_a_profile_makes_nothing_garbage_that_works_by_saying_that_it_is_used() -> None:
    parts = tuple(Reference(at=f"spec.a{number}", to=kind) for number, kind in enumerate(TAUGHT))
    taught = shipped().with_tables([KindRules(kind="example.com/Training", parts=parts)])

    def idle(kind: str) -> bool:
        found: Resource = resource(kind)
        return not is_for_itself(found, taught)

    assert [kind for kind in TAUGHT if kind in taught.reach.used_kinds] == ["example.com/Dataset"]
    assert [kind for kind in TAUGHT if idle(kind)] == ["example.com/Dataset"]

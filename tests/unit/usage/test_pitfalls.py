"""Every pitfall of usage-based collection by its number: `skoupa unused` tells what is left over, and nothing that is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from skoupa.kube.resources import Resource
from skoupa.sim.content import manifests
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, granting
from tests.unit.usage.pitfalls.making import Case
from tests.unit.usage.pitfalls.table import CASES

pytestmark = pytest.mark.unit

# No question about one state of a cluster: a story of a running controller each.
STORIES = {12, 16, 17, 20}


@pytest.fixture
def skoupa(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_told_unless_something_needs_it(case: Case, town: Town) -> None:
    town.cluster.load(manifests.parse(yaml.safe_dump_all(case.objects), file="the test"))
    if case.unreadable:
        kinds = [one.resource for one in town.cluster.plane.catalogue.served()]
        granting(Rule(verbs=("*",), resources=tuple(_others(kinds, case))))(town.cluster)
        town.user = "bob"
    asked = {_named(town, one) for one in (case.of, case.other)}
    document = town.document("unused", *asked, "-A", code=4 if case.unreadable else 0)
    told = Counter((one["kind"], one["namespace"], one["name"]) for one in document["items"])
    assert told[_key(case.of)] == (not case.kept)
    assert told[_key(case.other)] == 1


def test_every_pitfall_has_a_case_or_a_story() -> None:
    assert {case.pitfall for case in CASES} | STORIES == set(range(1, 21))


def _others(kinds: list[Resource], case: Case) -> Iterator[str]:
    return (one.qualified for one in kinds if one.qualified not in case.unreadable)


def _named(town: Town, one: Any) -> str:
    served = town.cluster.plane.catalogue.of_kind(api_version=one["apiVersion"], kind=one["kind"])
    assert served is not None
    return served.resource.qualified


def _key(one: Any) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]

"""Who needs an object: the shortest proof, nobody, or that this can't be told."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.facts.rows import Row
from skoupa.usage.found import Choice, Found, Target, Use
from skoupa.usage.graph import Graph, target_of
from skoupa.usage.needs import Needed, Needs, Unknown, Unneeded
from skoupa.usage.reading import shipped
from skoupa.usage.rules import Means
from skoupa.usage.sight import Sight, Unread
from tests.unit.usage.making import row

pytestmark = pytest.mark.unit

READ = frozenset({"ConfigMap", "Secret", "Pod", "apps/Deployment", "batch/Job", "Namespace"})
SETTINGS = row("ConfigMap", "settings")


def sight(*unread: Unread, walked: Iterable[str] = ()) -> Sight:
    return Sight(readings=shipped(), read=READ, unread=unread, walked=frozenset(walked))


def pointing(name: str, *, kind: str = "ConfigMap", means: Means = Means.USES) -> Found:
    return Found(uses=(Use(Target(kind, "shop", name), f"spec.{means.value}", means),))


def graph_of(*objects: tuple[Row, Found]) -> Graph:
    graph = Graph()
    for one, found in objects:
        graph.put(one, found)
    return graph


def test_a_use_is_named_before_a_mention_and_an_owner_before_both() -> None:
    job = row("batch/Job", "import")
    owned = row("ConfigMap", "settings", owners=[job])
    graph = graph_of(
        (row("rbac.authorization.k8s.io/Role", "reader"), pointing("settings", means=Means.MENTIONS)),
        (row("Pod", "web"), pointing("settings")),
        (job, Found()),
        (owned, Found()),
    )
    answer = Needs(graph, sight()).of(owned, most=5)
    assert isinstance(answer, Needed)
    assert [(need.how, need.by and need.by.name) for need in answer.needs] == [
        ("owner", "import"),
        ("user", "web"),
        ("user", "reader"),
    ]
    assert answer.needs[1].at == "spec.uses"
    first = Needs(graph, sight()).of(SETTINGS)
    assert isinstance(first, Needed)
    assert [need.by and need.by.name for need in first.needs] == ["web"]


def test_who_is_only_made_for_an_object_does_not_need_it() -> None:
    graph = graph_of(
        (SETTINGS, Found()),
        (row("PersistentVolume", "pv", namespace=""), pointing("settings", means=Means.CONCERNS)),
    )
    assert Needs(graph, sight()).of(SETTINGS) == Unneeded("proved")


def test_a_selector_needs_what_it_fits() -> None:
    labelled = row("ConfigMap", "settings", labels={"app": "web"})
    choice = Choice(kind="ConfigMap", namespace="shop", selector="app=web", at="spec.paramRef.selector")
    graph = graph_of((labelled, Found()), (row("x.example/Binding", "b"), Found(choices=(choice,))))
    answer = Needs(graph, sight()).of(labelled)
    assert isinstance(answer, Needed)
    assert (answer.needs[0].how, answer.needs[0].at) == ("selector", "spec.paramRef.selector")


def test_what_it_is_and_who_tracks_it_keep_it() -> None:
    graph = graph_of((SETTINGS, Found()))
    by_nature = Needs(graph, sight(), natures={SETTINGS.uid: "it is the heart of the cluster"}).of(SETTINGS)
    assert isinstance(by_nature, Needed)
    assert (by_nature.needs[0].how, by_nature.needs[0].why) == ("never", "it is the heart of the cluster")
    tracked = Needs(graph, sight(), trackers={SETTINGS.uid: "Application web tracks it"}).of(SETTINGS)
    assert isinstance(tracked, Needed)
    assert tracked.needs[0].how == "tracker"


def test_walked_kinds_make_it_less_certain() -> None:
    answer = Needs(graph_of((SETTINGS, Found())), sight(walked=["x.example/Widget"])).of(SETTINGS)
    assert answer == Unneeded("walked", ("x.example/Widget",))


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("batch/CronJob", True),
        ("x.example/Widget", True),
        ("metrics.example/*", True),
        ("argoproj.io/Application", True),
        # By an annotation, whatever its fields may point at.
        ("policy/PodDisruptionBudget", True),
        # They are known, and can't point at a ConfigMap.
        ("scheduling.k8s.io/PriorityClass", False),
        ("apiregistration.k8s.io/APIService", False),
    ],
)
def test_only_what_could_point_at_it_has_to_be_read(kind: str, holds: bool) -> None:  # noqa: FBT001
    unread = Unread(kind=kind, what=kind, why="no permission")
    answer = Needs(graph_of((SETTINGS, Found())), sight(unread)).of(SETTINGS)
    if holds:
        assert answer == Unknown((unread,))
    else:
        assert answer == Unneeded("proved")


def test_a_user_that_was_found_is_one_whatever_else_was_not_read() -> None:
    unread = Unread(kind="batch/CronJob", what="cronjobs.batch", why="no permission")
    graph = graph_of((SETTINGS, Found()), (row("Pod", "web"), pointing("settings")))
    assert isinstance(Needs(graph, sight(unread)).of(SETTINGS), Needed)


def test_an_object_that_was_not_understood_may_use_anything_that_its_kind_can() -> None:
    doubtful = Found(doubts=("spec.volumes is not a list",))
    graph = graph_of((SETTINGS, Found()), (row("Pod", "web"), doubtful))
    answer = Needs(graph, sight()).of(SETTINGS)
    assert isinstance(answer, Unknown)
    assert answer.doubts == ("Pod shop/web: spec.volumes is not a list",)
    service = row("apiregistration.k8s.io/APIService", "v1.x.example")
    other = graph_of((SETTINGS, Found()), (service, doubtful))
    assert Needs(other, sight()).of(SETTINGS) == Unneeded("proved")


def test_a_doubt_that_comes_later_holds_and_ends_with_its_object() -> None:
    graph = graph_of((SETTINGS, Found()))
    needs = Needs(graph, sight())
    assert needs.of(SETTINGS) == Unneeded("proved")
    pod = row("Pod", "web")
    graph.put(pod, Found(doubts=("spec.volumes is not a list",)))
    assert isinstance(needs.of(SETTINGS), Unknown)
    graph.put(row("Pod", "web", version=2), Found())
    assert needs.of(SETTINGS) == Unneeded("proved")
    graph.put(row("Pod", "web", version=3), Found(doubts=("spec.containers is not a list",)))
    assert isinstance(needs.of(SETTINGS), Unknown)
    graph.remove(pod.uid)
    assert needs.of(SETTINGS) == Unneeded("proved")


def test_an_owner_of_a_kind_that_was_read_is_gone_where_it_was_not_found() -> None:
    orphan = row("ConfigMap", "settings", owners=[row("batch/Job", "gone")])
    assert Needs(graph_of((orphan, Found())), sight()).of(orphan) == Unneeded("proved")


def test_an_owner_of_a_kind_that_nobody_serves_or_read_holds() -> None:
    orphan = row("ConfigMap", "settings", owners=[row("x.example/Widget", "w")])
    answer = Needs(graph_of((orphan, Found())), sight()).of(orphan)
    assert isinstance(answer, Unknown)
    assert answer.unread[0].kind == "x.example/Widget"


def test_an_object_that_owns_itself_is_held_by_that() -> None:
    itself = row("ConfigMap", "settings", owners=[SETTINGS])
    assert isinstance(Needs(graph_of((itself, Found())), sight()).of(itself), Needed)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.sets(st.integers(0, 5)))
def test_nothing_that_a_living_pod_reaches_is_ever_claimed(
    edges: list[tuple[int, int]], roots: set[int]
) -> None:
    """ConfigMaps that use each other, cycles included; Pods use some of them."""
    rows = [row("ConfigMap", f"c{n}") for n in range(6)]
    graph = Graph()
    for n, one in enumerate(rows):
        uses = tuple(Use(target_of(rows[b]), "at") for a, b in edges if a == n)
        graph.put(one, Found(uses=uses))
    for n in roots:
        graph.put(row("Pod", f"p{n}"), Found(uses=(Use(target_of(rows[n]), "at"),)))
    reached = set(roots)
    while more := {b for a, b in edges if a in reached} - reached:
        reached |= more
    needs = Needs(graph, sight())
    for n in reached:
        assert isinstance(needs.of(rows[n]), Needed)

"""The graph against a naive model: whatever is put and removed, in whatever order, both know the same users."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from skoupa.facts.rows import Row, Uid
from skoupa.kube.selectors import parse_labels
from skoupa.usage.edges.choosing import selector_of
from skoupa.usage.edges.patterns import means
from skoupa.usage.found import Choice, Found, Target, Use
from skoupa.usage.graph import Graph, target_of
from skoupa.usage.rules import Means
from tests.unit.usage.making import row

pytestmark = pytest.mark.unit

SPACES: Mapping[str, Mapping[str, str]] = {"shop": {"team": "a"}, "blog": {"team": "b"}}


def users(graph: Graph, target: Target) -> set[tuple[str, str]]:
    return {(user.row.name, user.at) for user in graph.users(target)}


def uses(*names: str, kind: str = "ConfigMap", namespace: str = "shop") -> Found:
    return Found(uses=tuple(Use(Target(kind, namespace, name), "spec.at") for name in names))


def test_who_points_at_an_object_is_found_from_it_whether_or_not_it_exists() -> None:
    graph = Graph()
    graph.put(row("Pod", "web"), uses("settings"))
    graph.put(row("Pod", "api"), uses("settings", "other"))
    target = Target("ConfigMap", "shop", "settings")
    assert users(graph, target) == {("web", "spec.at"), ("api", "spec.at")}
    assert graph.get(target) is None
    graph.put(row("ConfigMap", "settings"), Found())
    assert users(graph, target) == {("web", "spec.at"), ("api", "spec.at")}
    assert users(graph, Target("ConfigMap", "blog", "settings")) == set()
    assert [use.target.name for use in graph.dangling(row("Pod", "api").uid)] == ["other"]


def test_an_older_state_changes_nothing_and_the_same_state_twice_neither() -> None:
    graph = Graph()
    graph.put(row("Pod", "web", version=5), uses("new"))
    assert not graph.put(row("Pod", "web", version=4), uses("old"))
    graph.put(row("Pod", "web", version=5), uses("new"))
    assert users(graph, Target("ConfigMap", "shop", "new")) == {("web", "spec.at")}
    assert users(graph, Target("ConfigMap", "shop", "old")) == set()
    assert graph.edges == 1


def test_an_object_of_the_same_name_takes_the_place_of_the_one_before() -> None:
    graph = Graph()
    before, after = row("Pod", "web", version=5), row("Pod", "web", version=9, life=1)
    graph.put(before, uses("old"))
    graph.put(after, uses("new"))
    assert graph.by_uid(before.uid) is None
    assert not graph.remove(before.uid)
    assert users(graph, Target("ConfigMap", "shop", "new")) == {("web", "spec.at")}
    assert users(graph, Target("ConfigMap", "shop", "old")) == set()


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        (
            "data-web-#",
            ["data-web-0", "data-web-17"],
            ["data-web-", "data-web-x", "data-web-1-2", "xdata-web-0"],
        ),
        ("data-web2-#", ["data-web2-0"], ["data-web3-0"]),
        ("a1#", ["a12", "a1999"], ["a1", "a2"]),
        ("#-of-#", ["1-of-22"], ["1-of-x"]),
        ("*", ["anything", "data-web-0"], []),
        ("*-tls", ["web-tls", "-tls"], ["web-tls-2"]),
        ("a*#", ["ab1", "a1"], ["b1"]),
        # Names of roles may hold such characters themselves.
        ("a#b", ["a#b", "a1b"], ["ab"]),
    ],
)
def test_names_of_which_only_part_is_known(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    graph = Graph()
    graph.put(row("apps/StatefulSet", "web"), uses(pattern))
    for name in meant:
        assert users(graph, Target("ConfigMap", "shop", name)) == {("web", "spec.at")}, name
    for name in not_meant:
        assert users(graph, Target("ConfigMap", "shop", name)) == set(), name
    graph.remove(row("apps/StatefulSet", "web").uid)
    for name in meant:
        assert users(graph, Target("ConfigMap", "shop", name)) == set(), name


def test_a_reference_of_unknown_kind_or_namespace_means_each() -> None:
    graph = Graph()
    graph.put(row("x.example/Widget", "a"), uses("token", kind="*"))
    graph.put(row("x.example/Widget", "b"), uses("token", kind="Secret", namespace="*"))
    assert users(graph, Target("Secret", "shop", "token")) == {("a", "spec.at"), ("b", "spec.at")}
    assert users(graph, Target("Secret", "blog", "token")) == {("b", "spec.at")}
    assert users(graph, Target("ConfigMap", "shop", "token")) == {("a", "spec.at")}


def test_nobody_is_a_user_of_itself_but_two_may_be_each_others() -> None:
    graph = Graph()
    graph.put(row("ConfigMap", "a"), uses("a", "b"))
    graph.put(row("ConfigMap", "b"), uses("a"))
    assert users(graph, Target("ConfigMap", "shop", "a")) == {("b", "spec.at")}
    assert users(graph, Target("ConfigMap", "shop", "b")) == {("a", "spec.at")}


def test_ten_thousand_references_of_one_object() -> None:
    graph = Graph()
    graph.put(row("Pod", "web"), uses(*(f"settings-{n}" for n in range(10_000))))
    assert graph.edges == 10_000
    assert users(graph, Target("ConfigMap", "shop", "settings-9999")) == {("web", "spec.at")}
    graph.put(row("Pod", "web", version=2), uses("settings-1"))
    assert graph.edges == 1
    assert users(graph, Target("ConfigMap", "shop", "settings-9999")) == set()


def test_a_selector_over_namespaces_whose_labels_nobody_knows_means_each() -> None:
    graph = Graph()
    choice = Choice(kind="Pod", namespace="*", selector="app=web", namespaces="team=a")
    graph.put(row("networking.k8s.io/NetworkPolicy", "allow"), Found(choices=(choice,)))
    pod = row("Pod", "web", namespace="blog", labels={"app": "web"})
    assert [user.row.name for user in graph.choosers(pod, lambda _: None)] == ["allow"]
    assert not list(graph.choosers(pod, SPACES.get))
    inside = row("Pod", "web", labels={"app": "web"})
    assert [user.row.name for user in graph.choosers(inside, SPACES.get)] == ["allow"]


def test_a_selector_that_nobody_can_read_means_everything() -> None:
    graph = Graph()
    graph.put(
        row("Service", "web"), Found(choices=(Choice(kind="Pod", namespace="shop", selector="a in b"),))
    )
    assert [user.row.name for user in graph.choosers(row("Pod", "x"), SPACES.get)] == ["web"]


def test_when_everything_is_removed_no_memory_is_left() -> None:
    graph = Graph()
    rows = [row("Pod", f"pod-{n}") for n in range(2000)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for n, one in enumerate(rows):
            choices = (Choice(kind="Pod", namespace="shop", selector=f"app=a{n}", at="s"),)
            found = uses("shared", "*", *(f"c-{n}-{m}" for m in range(10)))
            graph.put(one, Found(uses=found.uses, choices=choices))
        full = tracemalloc.get_traced_memory()[0] - before
        for one in reversed(rows):
            graph.remove(one.uid)
        del found, choices
        # It remembers the selectors that were read last, and that is bounded.
        selector_of.cache_clear()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert full > 1_000_000
    # The interpreter keeps some empty tuples for later.
    assert left < full / 10


KINDS = st.sampled_from(["ConfigMap", "Secret", "*"])
PLACES = st.sampled_from(["shop", "blog", "*"])
NAMES = st.sampled_from(["a", "a-0", "a-1", "a-10", "b", "a-#", "*", "a*", "#", "a-1#"])
SELECTORS = st.sampled_from(
    ["", "app=a", "app=a,tier=x", "app in (a,b)", "!app", "app!=a", "tier=x", "no in b"]
)
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b", "x"]))
FOUND = st.builds(
    lambda uses, choices, doubts: Found(uses=tuple(uses), choices=tuple(choices), doubts=doubts),
    st.lists(
        st.builds(
            Use,
            st.builds(Target, KINDS, PLACES, NAMES),
            st.sampled_from(["at", "to"]),
            st.sampled_from(list(Means)),
        ),
        max_size=6,
    ),
    st.lists(
        st.builds(
            Choice,
            kind=KINDS,
            namespace=PLACES,
            selector=SELECTORS,
            namespaces=st.sampled_from(["", "team=a"]),
        ),
        max_size=3,
    ),
    st.sampled_from([(), ("unclear",)]),
)


class GraphAgainstModel(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.graph = Graph()
        self.model: dict[Uid, tuple[Row, Found]] = {}

    @rule(
        kind=st.sampled_from(["ConfigMap", "Secret"]),
        place=st.sampled_from(["shop", "blog"]),
        name=st.sampled_from(["a", "a-0", "a-10", "b"]),
        version=st.integers(1, 4),
        life=st.integers(0, 1),
        labels=LABELS,
        found=FOUND,
    )
    def put(
        self,
        *,
        kind: str,
        place: str,
        name: str,
        version: int,
        life: int,
        labels: dict[str, str],
        found: Found,
    ) -> None:
        one = row(kind, name, namespace=place, version=version, life=life, labels=labels)
        self.graph.put(one, found)
        same = [known for known, _ in self.model.values() if target_of(known) == target_of(one)]
        if all(int(known.version) <= version for known in same):
            for known in same:
                del self.model[known.uid]
            self.model[one.uid] = (one, found)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.model:
            uid = data.draw(st.sampled_from(sorted(self.model, key=str)))
            del self.model[uid]
            assert self.graph.remove(uid)
            assert not self.graph.remove(uid)

    @invariant()
    def same_users(self) -> None:
        for kind in ("ConfigMap", "Secret"):
            for place in SPACES:
                for name in ("a", "a-0", "a-1", "a-10", "b", "a-#"):
                    target = Target(kind, place, name)
                    found = sorted((u.row.uid, u.at, u.means.value) for u in self.graph.users(target))
                    assert found == sorted(self._users(target)), target

    @invariant()
    def same_choosers(self) -> None:
        for one, _ in self.model.values():
            found = sorted((u.row.uid, u.means.value) for u in self.graph.choosers(one, SPACES.get))
            assert found == sorted(self._choosers(one))

    @invariant()
    def same_objects(self) -> None:
        assert {one.uid: one for one in self.graph} == {uid: one for uid, (one, _) in self.model.items()}
        doubted = {one.uid for one, _ in self.graph.doubtful()}
        assert doubted == {uid for uid, (_, found) in self.model.items() if found.doubts}

    def teardown(self) -> None:
        for uid in self.model:
            self.graph.remove(uid)
        assert self.graph.edges == 0
        assert not list(self.graph)
        parts = (self.graph._names, self.graph._whys, self.graph._selectors, self.graph._scanned)
        assert [len(part) for part in (*parts, self.graph._users, self.graph._index)] == [0] * 6

    def _users(self, target: Target) -> list[tuple[Uid, str, str]]:
        return [
            (uid, use.at, use.means.value)
            for uid, (one, found) in self.model.items()
            for use in set(found.uses)
            if target_of(one) != target
            and use.target.kind in (target.kind, "*")
            and use.target.namespace in (target.namespace, "*")
            and means(use.target.name, target.name)
        ]

    def _choosers(self, one: Row) -> list[tuple[Uid, str]]:
        return [
            (uid, choice.means.value)
            for uid, (_, found) in self.model.items()
            for choice in set(found.choices)
            if uid != one.uid and chooses(choice, one)
        ]


def chooses(choice: Choice, one: Row) -> bool:
    if choice.kind not in (one.resource.kind, "*"):
        return False
    if choice.namespaces:
        if not parse_labels(choice.namespaces).matches(SPACES[one.namespace]):
            return False
    elif choice.namespace not in (one.namespace, "*"):
        return False
    return choice.selector == "no in b" or parse_labels(choice.selector).matches(dict(one.labels))


TestGraphAgainstModel = GraphAgainstModel.TestCase
TestGraphAgainstModel.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)

"""The book of policies: what is read and what is broken, and when what is known of them may be old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, DELETING_POLICY
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.flow import Flow
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.policy.exemptions import Exemption
from skoupa.policy.reading import Reading, read_policy
from skoupa.runs import book
from skoupa.runs.book import Book, Entry, served
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking

pytestmark = pytest.mark.unit

MATCH = {"any": [{"resources": {"kinds": ["Pod"]}}]}


class Stage:
    def __init__(self, clock: VirtualClock, cluster: EmbeddedCluster, discovery: Discovery) -> None:
        self.clock = clock
        self.cluster = cluster
        self.client = Client(Flow(cluster, clock), clock)
        self.changes: list[str] = []
        self.exempted: list[list[str]] = []
        self.discovery = discovery
        self.book = self.opened()
        self._tasks: list[asyncio.Task[None]] = []

    def opened(self, **more: Any) -> Book:
        return Book(
            self.client,
            discovery=lambda: self.discovery,
            on_change=self.changes.append,
            on_exemptions=self._exempt,
            **more,
        )

    def _exempt(self, changed: Iterable[Exemption]) -> None:
        self.exempted.append([one.name for one in changed])

    async def follow(self, *kinds: Resource) -> None:
        for kind in kinds:
            self.book.expect(kind)
            self._tasks.append(asyncio.create_task(self.book.follow(kind)))
        await self.clock.idle()

    async def write(self, kind: Resource, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        made = await self.client.create(kind, body, namespace="shop" if kind.namespaced else "")
        await self.clock.idle()
        return made

    def entry(self, name: str = "tidy") -> Entry:
        return next(entry for entry in self.book if entry.name == name)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def staged(told: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def main(clock: VirtualClock) -> None:
            async with EmbeddedCluster(clock=clock) as cluster:
                client = Client(Flow(cluster, clock), clock)
                await client.create(NAMESPACES, {"metadata": {"name": "shop"}})
                for definition in policy_definitions():
                    await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
                await clock.sleep(5)
                stage = Stage(clock, cluster, await discover(client))
                try:
                    await told(stage)
                finally:
                    await stage.close()

        run(main)

    test.__name__, test.__doc__ = told.__name__, told.__doc__
    return test


@staged
async def test_policies_are_read_as_they_come_change_and_go(stage: Stage) -> None:
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    assert stage.book.whole
    made = await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH})
    assert stage.entry().called == "ClusterCleanupPolicy/tidy"
    assert stage.entry().policy is not None
    patch = {"spec": {"schedule": "0 1 * * *"}}
    await stage.client.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", patch)
    await stage.clock.idle()
    assert stage.entry().generation == 2
    uid = made["metadata"]["uid"]
    await stage.client.delete(CLUSTER_CLEANUP_POLICIES, "tidy", uid=uid, propagation="Background")
    await stage.clock.idle()
    assert len(stage.book) == 0
    assert stage.changes.count(uid) == 3


@staged
async def test_a_policy_that_is_being_deleted_is_gone_though_a_finalizer_keeps_it(stage: Stage) -> None:
    spec, kept = {"schedule": "0 * * * *", "match": MATCH}, ["example.org/slow"]
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    made = await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", spec, finalizers=kept)
    assert len(stage.book) == 1
    uid = made["metadata"]["uid"]
    await stage.client.delete(CLUSTER_CLEANUP_POLICIES, "tidy", uid=uid, propagation="Background")
    await stage.clock.idle()
    found = await stage.client.get(CLUSTER_CLEANUP_POLICIES, "tidy", view=WHOLE)
    assert found["metadata"]["deletionTimestamp"]
    assert len(stage.book) == 0
    other = stage.opened()
    await other.read(CLUSTER_CLEANUP_POLICIES)
    assert len(other) == 0, "nor is it read by who comes later"
    await stage.client.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", {"metadata": {"finalizers": None}})
    await stage.clock.idle()
    assert stage.changes.count(uid) == 2


@staged
async def test_a_status_that_is_written_and_kinds_that_change_elsewhere_are_no_news(stage: Stage) -> None:
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH})
    stage.changes.clear()
    status = {"status": {"lastExecutionTime": "2026-01-01T00:00:00Z"}}
    await stage.client.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", status, subresource="status")
    await stage.clock.idle()
    assert stage.entry().status["lastExecutionTime"] == "2026-01-01T00:00:00Z"
    stage.book.read_again()
    assert stage.changes == []


@staged
async def test_a_label_that_should_be_an_annotation_is_told_as_soon_as_it_is_there(stage: Stage) -> None:
    """Others concern nobody here."""
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH})
    policy, told = stage.entry().policy, len(stage.entry().reading.warnings)
    stage.changes.clear()
    for labels, more in (({"team": "a"}, 0), ({names.SUSPEND_ANNOTATION: "true"}, 1)):
        patch = {"metadata": {"labels": labels}}
        await stage.client.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", patch)
        await stage.clock.idle()
        assert len(stage.entry().reading.warnings) == told + more
        assert len(stage.changes) == more
    assert stage.entry().policy == policy


@staged
async def test_what_skoupa_itself_notes_on_a_policy_does_not_have_it_read_again(stage: Stage) -> None:
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH})
    read = list[str]()

    def counted(found: Mapping[str, Any], **options: Any) -> Reading:
        read.append(found["metadata"]["name"])
        return read_policy(found, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(book, "read_policy", counted)
        for key, number in ((names.NEXT_EXECUTION_ANNOTATION, 0), (names.SUSPEND_ANNOTATION, 1)):
            patch = {"metadata": {"annotations": {key: "true"}}}
            await stage.client.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", patch)
            await stage.clock.idle()
            assert len(read) == number, key


@staged
async def test_what_is_not_understood_is_in_the_book_with_its_problems(stage: Stage) -> None:
    await stage.follow(CLEANUP_POLICIES)
    conditions = {"all": [{"key": "{{ target.spec[ }}", "operator": "Equals", "value": 1}]}
    spec = {"schedule": "0 * * * *", "match": MATCH, "conditions": conditions}
    await stage.write(CLEANUP_POLICIES, "tidy", spec, annotations={"skoupa.dev/suspend": "maybe"})
    assert stage.entry().policy is None
    paths = {problem.path for problem in stage.entry().reading.problems}
    assert paths == {"metadata.annotations[skoupa.dev/suspend]", "spec.conditions.all[0].key"}


@staged
async def test_a_policy_of_a_namespace_may_have_to_name_an_account(stage: Stage) -> None:
    stage.book = stage.opened(require_account=True)
    await stage.follow(CLEANUP_POLICIES)
    spec = {"schedule": "0 * * * *", "match": MATCH}
    await stage.write(CLEANUP_POLICIES, "bare", spec)
    await stage.write(CLEANUP_POLICIES, "acting", spec, annotations={"skoupa.dev/service-account": "tidier"})
    assert stage.entry("bare").policy is None
    assert stage.entry("acting").policy is not None


@staged
async def test_what_was_never_read_or_is_behind_is_a_doubt(stage: Stage) -> None:
    stage.book.expect(CLUSTER_CLEANUP_POLICIES)
    assert stage.book.doubt("ClusterCleanupPolicy")
    assert not stage.book.whole
    stage.cluster.faults.answer(
        500, when=asking(kind=CLUSTER_CLEANUP_POLICIES.qualified), times=None, seconds=60
    )
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    await stage.clock.sleep(10)
    assert "Internal error" in stage.book.doubt("ClusterCleanupPolicy")
    assert not stage.book.doubt("CleanupPolicy")
    await stage.clock.sleep(120)
    assert not stage.book.doubt()
    assert "" in stage.changes


@staged
async def test_deleting_policies_wait_for_exceptions_and_hear_of_them(stage: Stage) -> None:
    await stage.follow(DELETING_POLICIES)
    assert not stage.book.doubt("DeletingPolicy")
    stage.book.expect(POLICY_EXCEPTIONS)
    assert stage.book.doubt("DeletingPolicy")
    await stage.follow(POLICY_EXCEPTIONS)
    assert not stage.book.doubt("DeletingPolicy")
    reference = {"kind": "DeletingPolicy", "name": "tidy"}
    await stage.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": [reference]})
    assert [one.name for one in stage.book.exemptions] == ["spare"]
    assert stage.exempted == [["spare"]]
    found = await stage.client.get(POLICY_EXCEPTIONS, "spare", namespace="shop", view=METADATA)
    await stage.client.delete(
        POLICY_EXCEPTIONS, "spare", namespace="shop", uid=found.metadata.uid, propagation="Background"
    )
    await stage.clock.idle()
    assert stage.book.exemptions == ()
    assert stage.exempted == [["spare"], ["spare"]]


@staged
async def test_a_kind_that_is_gone_takes_its_policies_along(stage: Stage) -> None:
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    await stage.write(CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH})
    stage.book.abandon(CLUSTER_CLEANUP_POLICIES)
    assert len(stage.book) == 0
    assert not stage.book.doubt()


@staged
async def test_the_version_that_is_known_best_is_followed(stage: Stage) -> None:
    found = served(DELETING_POLICY, stage.discovery)
    assert found is not None
    assert found.version == "v1beta1"
    assert served(DELETING_POLICY, Discovery(resources=())) is None


@staged
async def test_a_call_that_no_run_could_make_is_a_problem_before_any_run(stage: Stage) -> None:
    await stage.follow(CLUSTER_CLEANUP_POLICIES)
    call = {"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"}
    context = [{"name": "x", "apiCall": call}]
    await stage.write(
        CLUSTER_CLEANUP_POLICIES, "tidy", {"schedule": "0 * * * *", "match": MATCH, "context": context}
    )
    assert stage.entry().policy is None
    assert [one.path for one in stage.entry().reading.problems] == ["spec.context[0].apiCall.urlPath"]

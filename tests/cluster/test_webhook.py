"""A real API server asks the webhook about policies: refusals and warnings as their writer sees them, and the certificate."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options
from skoupa.install.policies import CONFIGURATION, CONFIGURATIONS, SECRET
from skoupa.kinds import definitions
from skoupa.kinds.policies import policy_definitions
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.report.log import Log
from skoupa.settings import PolicySettings, Settings, WebhookSettings
from skoupa.webhook.desk import desk
from skoupa.webhook.keeping import SECRETS
from skoupa.webhook.serving import webhook_served
from tests.cluster.admission_probe import DEFINITIONS, Said, Writer, wait_until
from tests.cluster.reaching import connected

pytestmark = pytest.mark.cluster

CLEANUP = "/apis/kyverno.io/v2/clustercleanuppolicies"
NAMESPACED = "/apis/kyverno.io/v2/namespaces/default/cleanuppolicies"
DELETING = "/apis/policies.kyverno.io/v1beta1/deletingpolicies"
RETENTION = "/apis/skoupa.dev/v1alpha1/namespaces/default/retentionpolicies"
PROFILES = "/apis/skoupa.dev/v1alpha1/kindprofiles"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MARK = {"skoupa.dev/next-execution-time": "2026-01-01T01:00:00Z"}
JOBS = {"any": [{"resources": {"kinds": ["Job"], "names": ["old-*"]}}]}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A webhook speaks to all who use a server, so these tests have one of their own."""
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.ask("GET", "/api/v1/namespaces/default").status == 200, "the Namespace")
        for definition in (*policy_definitions(), *definitions()):
            assert writer.ask("POST", DEFINITIONS, definition).status == 201
        for place in (CLEANUP, NAMESPACED, DELETING, RETENTION, PROFILES):
            wait_until(lambda place=place: writer.ask("GET", place).status == 200, place)  # type: ignore[misc]
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with connected(plane.access.kubeconfig) as client:
        yield client


@pytest.fixture
async def writer(plane: ControlPlane, client: Client) -> AsyncIterator[Writer]:
    yield Writer(plane.access)
    for path in (f"{HOOKS}/{CONFIGURATION}", f"/api/v1/namespaces/default/secrets/{SECRET}"):
        await asyncio.to_thread(Writer(plane.access).ask, "DELETE", path)


@asynccontextmanager
async def reviewing(client: Client, **policies: Any) -> AsyncIterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    webhook = WebhookSettings(address=f"127.0.0.1:{port}", url=f"https://127.0.0.1:{port}/policies")
    settings = Settings(policies=PolicySettings(**policies), webhook=webhook)
    log = Log(client.clock, stream=io.StringIO())
    async with (
        desk(client, settings) as reviewer,
        webhook_served(client, reviewer, settings=webhook, namespace="default", log=log) as address,
    ):
        yield address


async def said(writer: Writer, place: str, spec: Any, *, dry_run: bool = True, **metadata: Any) -> Said:
    return await asyncio.to_thread(
        writer.create, place, "probe", dry_run=dry_run, metadata=metadata, spec=spec, **_kind(place)
    )


def _kind(place: str) -> dict[str, str]:
    version = "/".join(place.split("/")[2:4])
    kinds = {
        CLEANUP: "ClusterCleanupPolicy",
        NAMESPACED: "CleanupPolicy",
        DELETING: "DeletingPolicy",
        RETENTION: "RetentionPolicy",
        PROFILES: "KindProfile",
    }
    return {"apiVersion": version, "kind": kinds[place]}


async def in_force(writer: Writer) -> None:
    """Registrations count a moment after they were written, and that of the test before may count until then."""
    async with asyncio.timeout(60):
        while (await said(writer, CLEANUP, {"schedule": "30 2 31 2 *", "match": JOBS})).status != 422:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)


async def test_what_could_never_run_is_refused_with_what_to_write(client: Client, writer: Writer) -> None:
    async with reviewing(client):
        await in_force(writer)
        never = await said(writer, CLEANUP, {"schedule": "30 2 31 2 *", "match": JOBS})
        assert never.status == 422
        assert "spec.schedule" in never.message
        assert "never" in never.message
        unknown = {"all": [{"key": "{{ nonsense(target) }}", "operator": "Equals", "value": 1}]}
        wrong = await said(writer, CLEANUP, {"schedule": "0 1 * * *", "match": JOBS, "conditions": unknown})
        assert wrong.status == 422
        assert "spec.conditions.all[0].key" in wrong.message
        assert "nonsense" in wrong.message
        rules = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["*"]}]
        cel = {
            "schedule": "0 1 * * *",
            "matchConstraints": {"resourceRules": rules},
            "conditions": [{"name": "old", "expression": "object.metadata.name =="}],
        }
        assert "spec.conditions[0].expression" in (await said(writer, DELETING, cel)).message
        good = {**cel, "conditions": [{"name": "old", "expression": "object.metadata.name == 'a'"}]}
        assert (await said(writer, DELETING, good)).status == 201


async def test_the_writer_is_told_what_it_and_skoupa_may_not_delete(client: Client, writer: Writer) -> None:
    role = {
        "metadata": {"name": "writes-policies"},
        "rules": [{"apiGroups": ["kyverno.io"], "resources": ["*"], "verbs": ["*"]}],
    }
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    binding = {
        "metadata": {"name": "writes-policies"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "writes-policies",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "poor"}],
    }
    assert (await asyncio.to_thread(writer.ask, "POST", f"{rbac}/clusterroles", role)).status == 201
    assert (await asyncio.to_thread(writer.ask, "POST", f"{rbac}/clusterrolebindings", binding)).status == 201
    poor = writer.as_user("poor")
    spec = {"schedule": "0 1 * * *", "match": JOBS}
    async with asyncio.timeout(60):
        while (await said(poor, CLEANUP, spec)).status == 403:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    async with reviewing(client):
        await in_force(writer)
        assert (await said(writer, CLEANUP, spec)).warnings == ()
        (warning,) = (await said(poor, CLEANUP, spec)).warnings
        assert warning == "you may not delete jobs.batch in all namespaces, and this policy would for you"
        (warning,) = (await said(poor, NAMESPACED, spec)).warnings
        assert "delete jobs.batch in default" in warning
    async with reviewing(client, require_delete_right=True):
        await in_force(writer)
        refused = await said(poor, CLEANUP, spec)
        assert refused.status == 422
        assert "ask for that right" in refused.message
        assert (await said(writer, CLEANUP, spec)).status == 201


async def test_doubts_about_what_is_matched_are_warnings(client: Client, writer: Writer) -> None:
    async with reviewing(client):
        await in_force(writer)
        pods = {"any": [{"resources": {"kinds": ["Pod"], "names": ["old-*"]}}]}
        (warning,) = (await said(writer, CLEANUP, {"schedule": "0 1 * * *", "match": pods})).warnings
        assert "owners make them again" in warning
        gone = {"any": [{"resources": {"kinds": ["Wigdet"]}}]}
        (warning,) = (await said(writer, CLEANUP, {"schedule": "0 1 * * *", "match": gone})).warnings
        assert "Wigdet" in warning
        whole = {"any": [{"resources": {"kinds": ["Secret", "Deployment"]}}]}
        (warning,) = (await said(writer, CLEANUP, {"schedule": "0 1 * * *", "match": whole})).warnings
        assert "every Secret and Deployment in the cluster goes" in warning
        team = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
        selected = {"any": [{"resources": {"kinds": ["Namespace"], **team}}]}
        (warning,) = (await said(writer, CLEANUP, {"schedule": "0 1 * * *", "match": selected})).warnings
        assert "here its own labels have to fit" in warning


async def test_retention_policies_are_reviewed_too(client: Client, writer: Writer) -> None:
    jobs = {"match": {"any": [{"resources": {"kinds": ["Job"]}}]}, "after": {"finished": "1h"}}
    async with reviewing(client):
        await in_force(writer)
        # The schema lets it pass: which kinds lie in no namespace is known here alone.
        namespaces = {"match": {"any": [{"resources": {"kinds": ["Namespace"]}}]}, "after": {"unused": "1h"}}
        refused = await said(writer, RETENTION, namespaces)
        assert refused.status == 422
        assert "write a ClusterRetentionPolicy" in refused.message
        family = {"keepNewest": {"count": 1, "per": "Family", "family": "a("}}
        assert "is no regular expression" in (await said(writer, RETENTION, family)).message
        let_in = await said(writer, RETENTION, jobs)
        assert let_in.status == 201
        (warning,) = let_in.warnings
        assert "features.retention is off" in warning
        _, unnamed = (await said(writer, RETENTION, {"after": {"unused": "1h"}})).warnings
        assert "it names no kinds" in unnamed
        assert not unnamed.endswith("…")


async def test_profiles_are_compiled_before_they_are_taken(client: Client, writer: Writer) -> None:
    kind = {"kind": "batch/CronJob", "uses": [{"path": "spec.secretName", "kind": "Secret"}]}
    async with reviewing(client):
        await in_force(writer)
        refused = await said(writer, PROFILES, {**kind, "finished": "objct.status.phase == 'Done'"})
        assert refused.status == 422
        assert "spec.finished: line 1" in refused.message
        assert "did you mean object?" in refused.message
        untimely = {**kind, "finished": "true", "finishedAt": "metadata.creationTimestamp"}
        assert "spec.finishedAt" in (await said(writer, PROFILES, untimely)).message
        good = {**kind, "finished": "has(object.status.endTime)", "finishedAt": "status.endTime"}
        assert (await said(writer, PROFILES, good)).status == 201


async def test_a_change_that_touches_nothing_of_the_policy_is_not_looked_at(
    client: Client, writer: Writer
) -> None:
    spec = {"schedule": "30 2 31 2 *", "match": JOBS}
    # Written while nobody answered.
    assert (await said(writer, CLEANUP, spec, dry_run=False)).status == 201
    async with reviewing(client):
        await in_force(writer)
        media = "application/merge-patch+json"
        path = f"{CLEANUP}/probe"
        labelled = await asyncio.to_thread(
            writer.ask, "PATCH", path, {"metadata": {"labels": {"a": "b"}}}, media_type=media
        )
        assert labelled.status == 200
        noted = await asyncio.to_thread(
            writer.ask, "PATCH", path, {"metadata": {"annotations": MARK}}, media_type=media
        )
        assert noted.status == 200
        both = await asyncio.to_thread(
            writer.ask, "PATCH", path, {"metadata": {"annotations": {**MARK, "a": "b"}}}, media_type=media
        )
        # What may stop or restrain it is looked at, and never refused for what was there before.
        assert both.status == 200
        assert any("never comes" in one for one in both.warnings)
        again = await asyncio.to_thread(
            writer.ask, "PATCH", path, {"spec": {"schedule": "30 2 30 2 *"}}, media_type=media
        )
        assert again.status == 422
        assert (await asyncio.to_thread(writer.ask, "DELETE", path)).status == 200


async def test_who_only_says_when_a_policy_runs_next_has_nobody_asked(client: Client, writer: Writer) -> None:
    spec = {"schedule": "0 1 * * *", "match": JOBS}
    assert (await said(writer, CLEANUP, spec, dry_run=False)).status == 201
    async with reviewing(client):
        await in_force(writer)
    # Nobody is there any more, so whoever is asked about is refused.
    strict = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]
    await client.json_patch(CONFIGURATIONS, CONFIGURATION, strict)

    async def noted(**annotations: str) -> int:
        patch, media = {"metadata": {"annotations": annotations}}, "application/merge-patch+json"
        path = f"{CLEANUP}/probe"
        return (await asyncio.to_thread(writer.ask, "PATCH", path, patch, media_type=media)).status

    async with asyncio.timeout(60):
        for number in count():
            if await noted(other=str(number)) == 500:
                break
            await asyncio.sleep(0.1)
    assert await noted(**MARK) == 200
    assert (await asyncio.to_thread(writer.ask, "DELETE", f"{CLEANUP}/probe")).status == 200


async def test_when_nobody_answers_policies_are_taken(client: Client, writer: Writer) -> None:
    bad = {"schedule": "30 2 31 2 *", "match": JOBS}
    async with reviewing(client):
        await in_force(writer)
        assert (await said(writer, CLEANUP, bad)).status == 422
    assert (await said(writer, CLEANUP, bad)).status == 201


async def test_replicas_share_one_authority_and_a_lost_registration_comes_back(
    client: Client, writer: Writer
) -> None:
    async with reviewing(client):
        first = await client.get(SECRETS, SECRET, namespace="default", view=WHOLE)
        before = await client.get(CONFIGURATIONS, CONFIGURATION, view=WHOLE)
    await asyncio.to_thread(writer.ask, "DELETE", f"{HOOKS}/{CONFIGURATION}")
    async with reviewing(client):
        second = await client.get(SECRETS, SECRET, namespace="default", view=WHOLE)
        after = await client.get(CONFIGURATIONS, CONFIGURATION, view=WHOLE)
        await in_force(writer)
    assert second["data"] == first["data"]
    bundles = {one["webhooks"][0]["clientConfig"]["caBundle"] for one in (before, after)}
    assert bundles == {first["data"]["ca.crt"]}
    assert after["webhooks"][0]["failurePolicy"] == "Ignore"


async def test_a_registration_of_that_name_which_is_not_ours_is_left_alone(
    client: Client, writer: Writer
) -> None:
    foreign = {"metadata": {"name": CONFIGURATION}, "webhooks": []}
    assert (await asyncio.to_thread(writer.ask, "POST", HOOKS, foreign)).status == 201
    async with reviewing(client):
        found = await client.get(CONFIGURATIONS, CONFIGURATION, view=WHOLE)
    assert "webhooks" not in found

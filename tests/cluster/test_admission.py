"""The API server speaks about TTL labels by itself: warnings, refusals, limits, and the right to delete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options
from skoupa.admission.limits import LIMITS_CONFIG_MAP
from skoupa.admission.ttl_policies import ttl_admission
from skoupa.expr.readings import Problem
from skoupa.expr.ttl import keep_slip, parse_ttl, refreshed_at
from skoupa.settings import TtlSettings
from tests.cluster.admission_probe import (
    CONFIG_MAPS,
    DEFINITIONS,
    KEY,
    Said,
    Writer,
    collection_of,
    define,
    wait_until,
)
from tests.unit.admission.ttl_values import GOLDEN, NOT_UNDERSTOOD

pytestmark = pytest.mark.cluster

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"
GADGETS = "/apis/example.org/v1/gadgets"
OWN = "/apis/skoupa.dev/v1/gadgets"
REFRESHED = "skoupa.dev/refreshed-at"
KEEP = "skoupa.dev/keep"
AFTER = "skoupa.dev/ttl-after"
PART_OF = {"app.kubernetes.io/part-of": "skoupa"}
LIMITS = f"{CONFIG_MAPS}/{LIMITS_CONFIG_MAP}"
CONTAINERS = [{"name": "c", "image": "example.org/none"}]


@pytest.fixture(scope="module")
def server() -> Iterator[Writer]:
    """Policies speak to all who use a server, so these tests have one of their own."""
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.ask("GET", f"{NAMESPACES}/default").status == 200, "the default Namespace")
        for plural, group, scope in (
            ("widgets", "example.org", "Namespaced"),
            ("gadgets", "example.org", "Cluster"),
            ("gadgets", "skoupa.dev", "Cluster"),
        ):
            define(writer, plural, group=group, scope=scope)
        for manifest in anchor():
            assert writer.ask("POST", collection_of(manifest), manifest).status == 201
        yield writer


def anchor() -> Iterator[dict[str, Any]]:
    """A policy that says nothing, with a ConfigMap as its parameter.

    An API server that lost the last binding of this kind goes on with what it had read of ConfigMaps
    (kubernetes/kubernetes#130887), and these tests take limits away and set new ones.
    """
    rule = {
        "apiGroups": ["example.org"],
        "apiVersions": ["v1"],
        "resources": ["none"],
        "operations": ["CREATE"],
    }
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    reference = {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"}
    binding = {"policyName": "anchor", "validationActions": ["Warn"], "paramRef": reference}
    for kind, body in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding)):
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "anchor"},
            "spec": body,
        }


def create(writer: Writer, path: str, name: str, ttl: str, **body: Any) -> Said:
    metadata = {"labels": {KEY: ttl}, **body.pop("metadata", {})}
    if path in {WIDGETS, GADGETS, OWN}:
        body |= {"apiVersion": path.split("/")[2] + "/v1", "kind": "Widget" if path == WIDGETS else "Gadget"}
    return writer.create(path, name, metadata=metadata, **body)


def at(when: timedelta) -> str:
    return f"{datetime.now(UTC) + when:%Y-%m-%dT%H%M%SZ}"


def rfc3339(when: timedelta) -> str:
    return f"{datetime.now(UTC) + when:%Y-%m-%dT%H:%M:%SZ}"


def later_by_its_managers(ahead: timedelta) -> dict[str, Any]:
    """Metadata of a new object at which an update happens that much later, as far as a policy can tell."""
    entry = {
        "manager": "from-the-future",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": rfc3339(ahead),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}},
    }
    return {"managedFields": [entry]}


class TestWarnings:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def policies(cls, server: Writer) -> Iterator[None]:
        manifests = ttl_admission(TtlSettings(), namespace="default")
        with server.applied(manifests, active=lambda: bool(server.probe("nonsense").warnings)):
            odd = {"labels": {KEY: "8h", KEEP: "1h"}, "annotations": {REFRESHED: "noon", KEEP: "true"}}

            def all_speak() -> bool:
                return len(server.create(CONFIG_MAPS, "probe", dry_run=True, metadata=odd).warnings) == 3

            wait_until(all_speak, "every policy speaks")
            yield

    def test_what_the_engine_does_not_understand_is_warned_about_and_nothing_else(
        self, server: Writer
    ) -> None:
        said = server.probe_all(GOLDEN)
        doubted = {value for value, answer in said.items() if "not understood" in answer.warning}
        assert doubted == {value for value in GOLDEN if isinstance(parse_ttl(value), Problem)}

    def test_what_to_write_instead_is_what_the_engine_says(self, server: Writer) -> None:
        """Where admission names one spelling it is the engine's, whatever words stand around it."""
        suggested = 0
        for value, answer in server.probe_all(NOT_UNDERSTOOD).items():
            prefix = f"{KEY}={value} is not understood and deletes nothing: "
            assert answer.warning.startswith(prefix)
            assert "; " in answer.warning, "every warning says what to do"
            found = re.search(r"; write (\S+)(?:, which is in UTC)?$", answer.warning)
            problem = parse_ttl(value)
            assert isinstance(problem, Problem)
            if found:
                suggested += 1
                assert found[1] == problem.suggestion
        assert suggested > 40

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("2days", "it does not spell its units as w, d, h, m or s; write 2d"),
            ("1.5h", "it has a decimal point; write 1h30m"),
            ("30", "it has no unit; write 30m, 30h or 30d"),
            ("12h1d", "it does not name each unit once, largest first; write 1d12h"),
            ("1month", 'it has the unit "month", which has no fixed length; write 30d'),
            ("2027-08-04T12h", "write 2027-08-04T120000Z, which is in UTC"),
            ("2027-02-30", "there is no such day or hour; check the date and the hour"),
            ("never", "remove the label where the object is to stay (or add skoupa.dev/keep=true)"),
            ("whatever", "write a duration such as 30m, 12h or 1d12h, or a time in UTC such as 2026-09-30"),
        ],
    )
    def test_the_warning_says_what_is_wrong_and_what_to_write(
        self, server: Writer, value: str, words: str
    ) -> None:
        assert words in server.probe(value).warning

    @pytest.mark.parametrize(
        "path",
        [CONFIG_MAPS, NAMESPACES, CLUSTER_ROLES, WIDGETS, GADGETS],
        ids=lambda path: path.split("/")[-1],
    )
    def test_every_kind_is_looked_at_and_the_write_passes(self, server: Writer, path: str) -> None:
        answer = create(server, path, "any-kind", "5hr")
        assert answer.status == 201
        assert answer.warning.endswith("write 5h")
        assert create(server, path, "any-kind-good", "5h").warning == ""
        assert "write 2d" in server.label(path, "any-kind-good", "2days").warning

    def test_a_past_date_is_warned_about(self, server: Writer) -> None:
        for value in ("2020-01-01", at(timedelta(minutes=-1))):
            assert "that time is over, so the object goes at once" in server.probe(value).warning
        assert server.probe(at(timedelta(minutes=2))).warning == ""

    def test_a_date_that_is_past_by_the_time_of_an_update_is_warned_about(self, server: Writer) -> None:
        """The time of an update is not that of the creation."""
        create(server, CONFIG_MAPS, "ageing", "1h", data={"some": "data"})

        def past_but_after_creation() -> bool:
            created = datetime.fromisoformat(
                server.ask("GET", f"{CONFIG_MAPS}/ageing").body["metadata"]["creationTimestamp"]
            )
            server.label(CONFIG_MAPS, "ageing", None)
            value = f"{created + timedelta(seconds=1):%Y-%m-%dT%H%M%SZ}"
            return "that time is over" in server.label(CONFIG_MAPS, "ageing", value).warning

        wait_until(past_but_after_creation, "a second after the creation is past")

    def test_zero_on_an_object_that_is_there_goes_at_once_and_no_other_time_is_proposed(
        self, server: Writer
    ) -> None:
        create(server, CONFIG_MAPS, "zero", "1d", metadata=later_by_its_managers(timedelta(hours=1)))
        for value in ("0", "0s", "0h0m"):
            assert server.label(CONFIG_MAPS, "zero", value).warning.endswith("so the object goes at once"), (
                value
            )

    def test_a_duration_that_is_over_already_is_warned_about_with_a_time_to_write(
        self, server: Writer
    ) -> None:
        create(server, CONFIG_MAPS, "old", "1d", metadata=later_by_its_managers(timedelta(hours=1)))
        warning = server.label(CONFIG_MAPS, "old", "10m").warning
        found = re.search(r"so the object goes at once; to let it go 10m from now write (\S+)$", warning)
        assert found, warning
        proposed = parse_ttl(found[1])
        assert not isinstance(proposed, Problem)
        assert server.label(CONFIG_MAPS, "old", found[1]).warning == ""
        expected = datetime.now(UTC) + timedelta(hours=1, minutes=10)
        assert abs((datetime.strptime(found[1], "%Y-%m-%dT%H%M%S%z") - expected).total_seconds()) < 30

    def test_a_duration_counts_from_creation(self, server: Writer) -> None:
        server.create(CONFIG_MAPS, "second-old", data={"some": "data"})

        def is_over() -> bool:
            server.label(CONFIG_MAPS, "second-old", None)
            return "was over at" in server.label(CONFIG_MAPS, "second-old", "1s").warning

        wait_until(is_over, "1s is over")

    def test_a_refresh_starts_the_duration_anew(self, server: Writer) -> None:
        create(server, CONFIG_MAPS, "refreshed", "1d", metadata=later_by_its_managers(timedelta(hours=1)))
        assert "was over at" in server.label(CONFIG_MAPS, "refreshed", "9m").warning
        fresh = {REFRESHED: rfc3339(timedelta(minutes=59)).lower()}
        assert server.label(CONFIG_MAPS, "refreshed", "10m", annotations=fresh).warning == ""
        ahead = {REFRESHED: rfc3339(timedelta(days=300))}
        assert server.label(CONFIG_MAPS, "refreshed", "11m", annotations=ahead).warning == ""
        unclear = {REFRESHED: "yesterday"}
        said = server.label(CONFIG_MAPS, "refreshed", "12m", annotations=unclear)
        assert "yesterday is not an RFC 3339 time, so the object stays" in said.warning

    def test_a_refresh_before_the_creation_ends_nothing(self, server: Writer) -> None:
        old = {"annotations": {REFRESHED: "2025-01-01T00:00:00Z"}}
        assert create(server, CONFIG_MAPS, "copied", "1h", metadata=old).warning == ""
        assert server.label(CONFIG_MAPS, "copied", "2h", annotations={"a": "b"}).warning == ""

    @pytest.mark.parametrize(
        ("path", "name", "labels", "what"),
        [
            (CONFIG_MAPS, "ours", PART_OF, "the ConfigMap ours"),
            (CONFIG_MAPS, "skoupa-state", {}, "the ConfigMap skoupa-state"),
            (NAMESPACES, "home", PART_OF, "the Namespace home"),
        ],
    )
    def test_on_skoupas_own_objects_it_is_said_to_be_ignored_and_nothing_else(
        self, server: Writer, path: str, name: str, labels: dict[str, str], what: str
    ) -> None:
        for value in ("2days", "0", "2020-01-01", "8h"):
            said = server.create(path, name, dry_run=True, metadata={"labels": {KEY: value, **labels}})
            assert said.warning == f"{KEY} is ignored on {what}: Skoupa's own objects do not go by a label"

    def test_on_the_definition_of_an_own_kind_it_is_said_to_be_ignored(self, server: Writer) -> None:
        said = server.label(DEFINITIONS, "gadgets.skoupa.dev", "0").warning
        assert said.startswith(f"{KEY} is ignored on the definition of gadgets.skoupa.dev")
        assert "goes at once" in server.label(DEFINITIONS, "gadgets.example.org", "0").warning
        for name in ("gadgets.skoupa.dev", "gadgets.example.org"):
            server.label(DEFINITIONS, name, None)

    def test_what_is_written_as_an_annotation_on_an_own_object_is_not_spoken_of(self, server: Writer) -> None:
        metadata = {"labels": PART_OF, "annotations": {KEY: "0", KEEP: "true"}}
        assert server.create(CONFIG_MAPS, "ours", dry_run=True, metadata=metadata).warning == ""

    def test_a_keep_label_is_doubted_where_the_engine_doubts_it_and_nowhere_else(
        self, server: Writer
    ) -> None:
        plain = ("true", "yes", "1", "audit", "JIRA-7", "false", "2027-09-30", "v1.2")
        slips = ("1h", "2027-13-45", "2027-9-30", "FALSE", "no", "off", "0", "2months", "1.5d")
        for value in (*plain, *slips, *GOLDEN):
            said = server.create(CONFIG_MAPS, "probe", dry_run=True, metadata={"labels": {KEEP: value}})
            slip = keep_slip(value)
            if slip is None:
                assert said.warning == "", value
            elif value in slips:
                assert said.warning.startswith(f"{KEEP}={value} keeps for good: {slip[0]}; write"), value
            else:
                assert said.warning == "" or said.warning.startswith(
                    f"{KEEP}={value} keeps for good: {slip[0]}"
                )

    def test_a_keep_label_is_spoken_of_when_it_is_written_and_not_again(self, server: Writer) -> None:
        said = server.create(CONFIG_MAPS, "kept-oddly", metadata={"labels": {KEEP: "1h"}})
        assert said.status == 201
        assert "a duration does not say until when" in said.warning
        assert server.label(CONFIG_MAPS, "kept-oddly", "2h").warning == ""
        assert label(server, "kept-oddly", {KEEP: "off"}).warning
        assert label(server, "kept-oddly", {KEEP: None}).warning == ""

    def test_a_refresh_that_is_not_understood_is_warned_about_where_it_holds_the_object(
        self, server: Writer
    ) -> None:
        def warning(refreshed: str, ttl: str | None = "8h") -> str:
            metadata = {
                "labels": {KEY: ttl} if ttl else {},
                "annotations": {"skoupa.dev/refreshed-at": refreshed},
            }
            return server.create(CONFIG_MAPS, "probe", dry_run=True, metadata=metadata).warning

        good = (
            "2026-11-15T16:04:03Z",
            "2026-11-15t16:04:03.25z",
            "2026-11-15T16:04:03+02:00",
            "1969-12-31T23:30:00-01:00",
            "2028-02-29T00:00:00Z",
        )
        for value in good:
            assert isinstance(refreshed_at(value), int)
            assert warning(value) == "", value
        for value in ("2026-11-15 16:04:03", "1763222643", "", "2026-02-30T00:00:00Z", "noon", "n" * 300):
            assert not isinstance(refreshed_at(value), int)
            told = warning(value)
            assert told.startswith(f"skoupa.dev/refreshed-at={value[:100]}"), value
            assert told.endswith("so the object stays: write a time in UTC such as 2026-08-04T00:30:00Z")
            assert warning(value, ttl="2099-09-30") == ""
            assert warning(value, ttl=None) == ""

    def test_a_refresh_that_is_not_understood_is_spoken_of_when_it_is_written_and_not_again(
        self, server: Writer
    ) -> None:
        metadata = {"labels": {KEY: "8h"}, "annotations": {"skoupa.dev/refreshed-at": "noon"}}
        said = server.create(CONFIG_MAPS, "refreshed-oddly", metadata=metadata)
        assert said.status == 201
        assert "skoupa.dev/refreshed-at=noon is not an RFC 3339 time" in said.warning
        assert label(server, "refreshed-oddly", {"team": "b"}).warning == ""

    @pytest.mark.parametrize("value", ["0", "0d"])
    def test_zero_goes_at_once_and_is_warned_about(self, server: Writer, value: str) -> None:
        assert f"{KEY}={value}: the object goes at once" in server.probe(value).warning

    def test_less_than_a_minute_is_warned_about(self, server: Writer) -> None:
        for value in ("1s", "59s", at(timedelta(seconds=30))):
            assert "the object goes within a minute" in server.probe(value).warning
        for value in ("60s", "1m"):
            assert server.probe(value).warning == ""

    def test_nobody_says_that_something_goes_soon_which_stays(self, server: Writer) -> None:
        def warning(value: str, *, namespace: str = "default", keep: str = "") -> str:
            labels = {KEY: value} | ({"skoupa.dev/keep": keep} if keep else {})
            place = CONFIG_MAPS.replace("/default/", f"/{namespace}/")
            return server.create(place, "probe", dry_run=True, metadata={"labels": labels}).warning

        for value in ("0", "30s", "2001-01-01"):
            assert "the object goes" in warning(value)
            assert "the object goes" in warning(value, keep="false")
            assert warning(value, keep="true") == ""
            assert warning(value, namespace="kube-system") == ""
        assert "not understood" in warning("soon", namespace="kube-system")

    def test_a_label_that_stays_as_it_is_is_not_spoken_of_again(self, server: Writer) -> None:
        assert create(server, CONFIG_MAPS, "unchanged", "2days").warning
        patch = {"metadata": {"annotations": {"a": "b"}}, "data": {"c": "d"}}
        answer = server.ask(
            "PATCH", f"{CONFIG_MAPS}/unchanged", patch, media_type="application/merge-patch+json"
        )
        assert answer.warning == ""
        assert server.ask("PUT", f"{CONFIG_MAPS}/unchanged", {**answer.body, "data": {}}).warning == ""
        assert server.label(CONFIG_MAPS, "unchanged", "2days").warning == ""
        assert server.label(CONFIG_MAPS, "unchanged", "3days").warning
        assert server.label(CONFIG_MAPS, "unchanged", None).warning == ""
        assert server.label(CONFIG_MAPS, "unchanged", "3days").warning

    def test_server_side_apply_is_looked_at_too(self, server: Writer) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "applied", "labels": {KEY: "2days"}},
        }
        path = f"{CONFIG_MAPS}/applied?fieldManager=test"
        assert server.ask("PATCH", path, body, media_type="application/apply-patch+yaml").warning
        assert server.ask("PATCH", path, body, media_type="application/apply-patch+yaml").warning == ""

    def test_a_generated_name_is_no_hindrance(self, server: Writer) -> None:
        body = {"metadata": {"generateName": "made-", "labels": {KEY: "2days"}}}
        assert "write 2d" in server.ask("POST", CONFIG_MAPS, body).warning

    def test_a_custom_object_with_an_empty_creation_time_is_no_hindrance(self, server: Writer) -> None:
        answer = create(server, WIDGETS, "null-time", "2020-01-01", metadata={"creationTimestamp": None})
        assert "that time is over" in answer.warning

    def test_many_field_managers_cost_no_answer(self, server: Writer) -> None:
        entry = {
            "operation": "Apply",
            "apiVersion": "v1",
            "time": rfc3339(timedelta(hours=-1)),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}},
        }
        managers = [{**entry, "manager": f"manager-{number}"} for number in range(200)]
        create(server, CONFIG_MAPS, "managed", "1d", metadata={"managedFields": managers})
        assert "that time is over" in server.label(CONFIG_MAPS, "managed", at(timedelta(seconds=-2))).warning

    def test_without_field_managers_only_what_lies_before_creation_is_called_past(
        self, server: Writer
    ) -> None:
        """An object that was created empty has none, and there is no other clock on an update."""
        server.create(CONFIG_MAPS, "unmanaged")
        answer = server.label(CONFIG_MAPS, "unmanaged", "2h")
        assert "managedFields" not in answer.body["metadata"]
        assert (answer.status, answer.warning) == (200, "")
        assert "that time is over" in server.label(CONFIG_MAPS, "unmanaged", "2020-01-01").warning

    def test_a_label_written_through_the_status_is_looked_at(self, server: Writer) -> None:
        assert server.create(PODS, "by-status", spec={"containers": CONTAINERS}).status == 201
        assert "write 2d" in server.label(f"{PODS}/by-status", "status", "2days").warning
        assert server.ask("GET", f"{PODS}/by-status").body["metadata"]["labels"][KEY] == "2days"

    def test_skoupas_own_kinds_are_left_alone(self, server: Writer) -> None:
        answer = create(server, OWN, "ours", "2days")
        assert (answer.status, answer.warning) == (201, "")


class TestRefusals:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def policies(cls, server: Writer) -> Iterator[None]:
        manifests = ttl_admission(TtlSettings(refuse=True), namespace="default")
        with server.applied(manifests, active=lambda: server.probe("nonsense").status == 422):
            yield

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("2days", "is not understood and deletes nothing: it does not spell its units"),
            ("2020-01-01", "that time is over"),
            ("0", "the object goes at once"),
            ("30s", "the object goes within a minute"),
        ],
    )
    def test_what_was_warned_about_is_refused_in_the_same_words(
        self, server: Writer, value: str, words: str
    ) -> None:
        for path in (CONFIG_MAPS, NAMESPACES, GADGETS):
            answer = create(server, path, "refused", value)
            assert (answer.status, answer.warnings) == (422, ())
            assert words in answer.refused
            assert server.ask("GET", f"{path}/refused").status == 404

    def test_what_is_understood_passes(self, server: Writer) -> None:
        said = server.probe_all(value for value in GOLDEN if value not in NOT_UNDERSTOOD)
        short = {"0", "0s", "0d", "1s", "59s", "0m5s", "1970-01-01", "2020-01-01T000000Z"}
        assert {value for value, answer in said.items() if answer.status != 201} == short

    def test_a_refused_change_changes_nothing(self, server: Writer) -> None:
        create(server, CONFIG_MAPS, "steady", "1d")
        assert server.label(CONFIG_MAPS, "steady", "1day").status == 422
        assert server.ask("GET", f"{CONFIG_MAPS}/steady").body["metadata"]["labels"][KEY] == "1d"

    def test_a_duration_that_is_over_is_refused(self, server: Writer) -> None:
        create(server, CONFIG_MAPS, "long-ago", "1d", metadata=later_by_its_managers(timedelta(hours=1)))
        assert "to let it go 10m from now write" in server.label(CONFIG_MAPS, "long-ago", "10m").refused

    def test_an_annotation_in_place_of_the_label_is_only_warned_about(self, server: Writer) -> None:
        answer = server.create(CONFIG_MAPS, "annotated", metadata={"annotations": {KEY: "2days"}})
        assert answer.status == 201
        assert "is written as an annotation" in answer.warning

    def test_an_object_that_already_has_a_bad_label_can_still_be_written(self, server: Writer) -> None:
        """The label may be older than the policy; only its change is refused."""
        create(server, OWN, "older", "2days")
        assert server.label(OWN, "older", "2days", annotations={"a": "b"}).status == 200

    def test_the_status_is_no_way_round(self, server: Writer) -> None:
        server.create(PODS, "status-way", spec={"containers": CONTAINERS})
        assert "write 2d" in server.label(f"{PODS}/status-way", "status", "2days").refused

    @pytest.mark.parametrize(
        "refreshed", ["9999-12-31T23:59:59-23:59", "1970-01-01T00:00:00+23:59", "soon", ""]
    )
    def test_an_odd_refresh_blocks_no_write(self, server: Writer, refreshed: str) -> None:
        answer = create(
            server, CONFIG_MAPS, "odd-refresh", "1h", metadata={"annotations": {REFRESHED: refreshed}}
        )
        assert answer.status == 201, answer
        server.ask("DELETE", f"{CONFIG_MAPS}/odd-refresh")

    def test_a_large_annotation_blocks_no_write(self, server: Writer) -> None:
        """An error in a policy that refuses is a refusal, and too much work is an error."""
        large = {"annotations": {REFRESHED: "2026-01-01T00:00:00." + "0" * 200_000 + "Z"}}
        assert create(server, CONFIG_MAPS, "large", "1h", metadata=large).status == 201


class TestLimits:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def policies(cls, server: Writer) -> Iterator[None]:
        settings = TtlSettings(minimum="1h", maximum="90d", not_after="2099-12-31")
        manifests = ttl_admission(settings, namespace="default")

        def active() -> bool:
            return "is longer than 90d" in server.probe("91d").message and bool(server.probe("x").warnings)

        with server.applied(manifests, active=active):
            yield

    @pytest.fixture
    def limits(self, server: Writer) -> Iterator[dict[str, Any]]:
        """The ConfigMap, which is put back afterwards."""
        found = server.ask("GET", LIMITS).body
        yield found["data"]
        for field in ("resourceVersion", "uid"):
            found["metadata"].pop(field)
        if server.ask("PUT", LIMITS, found).status == 404:
            assert server.ask("POST", CONFIG_MAPS, found).status == 201
        wait_until(lambda: "longer than 90d" in server.probe("91d").message, "the limits are back")

    def set_limits(self, server: Writer, **limits: str | None) -> None:
        answer = server.ask("PATCH", LIMITS, {"data": limits}, media_type="application/merge-patch+json")
        assert answer.status == 200, answer

    @pytest.mark.parametrize(
        "path", [CONFIG_MAPS, NAMESPACES, WIDGETS, GADGETS], ids=lambda path: path.split("/")[-1]
    )
    def test_limits_hold_for_every_kind(self, server: Writer, path: str) -> None:
        short, long = create(server, path, "limited", "59m"), create(server, path, "limited", "13w")
        assert f"{KEY}=59m is shorter than 1h, the shortest time that is allowed here" in short.refused
        assert f"{KEY}=13w is longer than 90d, the longest time that is allowed here" in long.refused
        assert f"(ConfigMap default/{LIMITS_CONFIG_MAP}, maximum)" in long.refused
        assert create(server, path, "limited", "12w").status == 201
        assert "is longer than 90d" in server.label(path, "limited", "91d").refused

    @pytest.mark.parametrize(("days", "passes"), [(0, False), (89, True), (91, False)])
    def test_a_date_counts_from_creation(self, server: Writer, days: int, passes: bool) -> None:  # noqa: FBT001 - a parameter
        assert (server.probe(at(timedelta(days=days))).status == 201) == passes

    def test_the_limits_themselves_are_allowed(self, server: Writer) -> None:
        for value in ("1h", "60m", "90d", "12w6d"):
            assert server.probe(value).status == 201

    def test_changing_the_config_map_changes_the_limits(self, server: Writer, limits: dict[str, Any]) -> None:
        self.set_limits(server, maximum="30d", minimum=None)
        wait_until(lambda: "is longer than 30d" in server.probe("31d").message, "the new maximum holds")
        assert server.probe("2m").status == 201
        self.set_limits(server, maximum="")
        wait_until(lambda: server.probe("400d").status == 201, "there is no maximum")

    @pytest.mark.parametrize(
        ("last", "passes", "refused"),
        [
            ("2030-06-30", "2030-06-30T235959Z", "2030-07-01"),
            ("2030-06-30T120000Z", "2030-06-30T120000Z", "2030-06-30T120001Z"),
            ("2030-06-30T12:00:00Z", "2030-06-30T120000Z", "2030-07-01"),
        ],
    )
    def test_nothing_goes_after_the_last_day(
        self, server: Writer, limits: dict[str, Any], last: str, passes: str, refused: str
    ) -> None:
        self.set_limits(server, maximum=None, notAfter=last)
        wait_until(lambda: "the last day or time" in server.probe(refused).message, "the last day holds")
        assert "ends at 2030-" in server.probe(refused).refused
        assert server.probe(passes).status == 201
        assert "the last day or time" in server.probe("5000d").refused
        assert server.probe("1d").status == 201

    @pytest.mark.parametrize(
        ("key", "text", "instead"),
        [
            ("maximum", "90days", "a duration such as 90d"),
            ("minimum", "x" * 5000, "a duration such as 1h"),
            ("notAfter", "2026-02-30", "a date such as 2026-12-31"),
        ],
    )
    def test_a_misspelt_limit_refuses_instead_of_being_no_limit(
        self, server: Writer, limits: dict[str, Any], key: str, text: str, instead: str
    ) -> None:
        self.set_limits(server, **{key: text})
        words = f"says {key}={text[:80]}, which is not understood: an administrator has to write {instead}"
        wait_until(lambda: words in server.probe("2h").message, "the misspelt limit is told")
        assert server.create(CONFIG_MAPS, "unlabelled", dry_run=True).status == 201

    def test_without_the_config_map_labels_are_refused(self, server: Writer, limits: dict[str, Any]) -> None:
        create(server, CONFIG_MAPS, "before", "2h")
        server.ask("DELETE", LIMITS)
        wait_until(lambda: server.probe("2h").status in {403, 422}, "the missing limits are noticed")
        assert server.create(CONFIG_MAPS, "unlabelled", dry_run=True).status == 201
        assert server.ask("DELETE", f"{CONFIG_MAPS}/before").status == 200

    def test_what_is_not_understood_has_no_length_and_stays_a_warning(self, server: Writer) -> None:
        assert "write 200d" in server.probe("200days").warning
        assert "longer than 292 years" in server.probe("9999999999w").warning


class TestRightToDelete:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def policies(cls, server: Writer) -> Iterator[None]:
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "create", "update", "patch"]}]
        grant(server, "writer", rules=rules, user="bob")
        bob = server.as_user("bob")
        wait_until(lambda: bob.create(CONFIG_MAPS, "x", dry_run=True).status == 201, "bob may write")
        manifests = ttl_admission(TtlSettings(require_delete_right=True), namespace="default")
        with server.applied(manifests, active=lambda: bob.probe("1h").status == 403):
            yield

    @pytest.mark.parametrize(
        "path", [CONFIG_MAPS, NAMESPACES, WIDGETS, GADGETS], ids=lambda path: path.split("/")[-1]
    )
    def test_who_may_not_delete_may_not_set_the_label(self, server: Writer, path: str) -> None:
        bob = server.as_user("bob")
        refused = create(bob, path, "bobs", "1h")
        plural = path.rpartition("/")[2]
        assert refused.status == 403
        assert f"bob may not delete {plural} bobs and so may not set {KEY} on it" in refused.refused
        assert create(server, path, "bobs", "1h").status == 201
        assert bob.label(path, "bobs", "2h").status == 403
        assert bob.label(path, "bobs", "1h", annotations={"a": "b"}).status == 200
        assert bob.label(path, "bobs", None).status == 200
        assert bob.label(path, "bobs", "1h").status == 403

    def test_the_status_is_no_way_round(self, server: Writer) -> None:
        server.create(PODS, "others", spec={"containers": CONTAINERS})
        assert server.as_user("bob").label(f"{PODS}/others", "status", "1h").status == 403

    @pytest.mark.parametrize(
        ("before", "after", "passes"),
        [
            ("true", None, False),
            ("true", "false", False),
            ("true", "2099-01-01", False),
            ("2099-01-01", "2098-12-31T235959Z", False),
            ("2099-01-01", None, False),
            ("2099-01-01", "2099-01-01T000001Z", True),
            ("2099-01-01", "true", True),
            ("true", "because", True),
            ("false", None, True),
            (None, "2020-01-01", True),
        ],
    )
    def test_who_may_not_delete_may_not_take_a_keep_label_off_what_has_a_ttl(
        self,
        server: Writer,
        before: str | None,
        after: str | None,
        passes: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        bob = server.as_user("bob")
        for name, ttl in (("timed", {KEY: "1h"}), ("untimed", {})):
            marks = {**ttl, **({KEEP: before} if before is not None else {})}
            assert server.create(CONFIG_MAPS, name, metadata={"labels": marks}).status == 201
        try:
            said = label(bob, "timed", {KEEP: after})
            assert (said.status == 200) is passes, said
            if not passes:
                assert (
                    f"bob may not delete configmaps timed and so may not remove or shorten {KEEP}"
                    in said.refused
                )
            assert label(bob, "untimed", {KEEP: after}).status == 200
            assert label(server, "timed", {KEEP: after}).status == 200
        finally:
            for name in ("timed", "untimed"):
                server.ask("DELETE", f"{CONFIG_MAPS}/{name}")

    def test_who_may_not_delete_may_not_take_a_refresh_back(self, server: Writer) -> None:
        bob = server.as_user("bob")
        create(server, CONFIG_MAPS, "used", "1h")

        def refresh(writer: Writer, moment: str | None) -> int:
            body = {"metadata": {"annotations": {REFRESHED: moment}}}
            path = f"{CONFIG_MAPS}/used"
            return writer.ask("PATCH", path, body, media_type="application/merge-patch+json").status

        assert refresh(bob, "2020-01-01T00:00:00Z") == 200, "before the creation: it does nothing"
        assert refresh(bob, None) == 200
        assert refresh(bob, "2098-01-01T00:00:00Z") == 200
        assert refresh(bob, "2098-01-01T00:00:01Z") == 200
        for less in (None, "2098-01-01T00:00:00Z", "soon", "2020-01-01T00:00:00Z", "x" * 1000):
            assert refresh(bob, less) == 403
        assert refresh(server, None) == 200

    def test_who_may_not_delete_may_not_set_the_label_of_retention_either(self, server: Writer) -> None:
        bob = server.as_user("bob")
        assert server.create(CONFIG_MAPS, "idle").status == 201
        said = label(bob, "idle", {AFTER: "unused-0"})
        assert said.status == 403
        assert f"bob may not delete configmaps idle and so may not set {AFTER} on it" in said.refused
        assert label(server, "idle", {AFTER: "unused-1h", KEEP: "true"}).status == 200
        assert label(bob, "idle", {AFTER: "unused-0"}).status == 403
        said = label(bob, "idle", {KEEP: None})
        assert said.status == 403
        assert f"so may not remove or shorten {KEEP}" in said.refused
        assert label(bob, "idle", {AFTER: None}).status == 200
        assert label(bob, "idle", {KEEP: None}).status == 200
        assert server.ask("DELETE", f"{CONFIG_MAPS}/idle").status == 200

    def test_the_right_to_delete_that_very_object_is_enough(self, server: Writer) -> None:
        rules = [
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["his"], "verbs": ["delete"]}
        ]
        grant(server, "own", rules=rules, user="bob", namespace="default")
        bob = server.as_user("bob")
        wait_until(
            lambda: create(bob, CONFIG_MAPS, "his", "1h").status == 201, "bob may label what he may delete"
        )
        assert create(bob, CONFIG_MAPS, "not-his", "1h").status == 403
        assert create(bob, "/api/v1/namespaces/kube-public/configmaps", "his", "1h").status == 403

    def test_the_right_to_delete_a_namespace_may_be_given_within_it(self, server: Writer) -> None:
        server.create(NAMESPACES, "inner")
        rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["delete"]}]
        grant(server, "inner", rules=rules, user="bob", namespace="inner")
        bob = server.as_user("bob")
        wait_until(lambda: bob.label(NAMESPACES, "inner", "1h").status == 200, "bob may label his Namespace")

    def test_a_generated_name_is_no_way_round(self, server: Writer) -> None:
        body = {"metadata": {"generateName": "made-", "labels": {KEY: "1h"}}}
        assert server.as_user("bob").ask("POST", CONFIG_MAPS, body).status == 403
        assert server.ask("POST", CONFIG_MAPS, body).status == 201


class TestKyvernoReadings:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def policies(cls, server: Writer) -> Iterator[None]:
        manifests = ttl_admission(TtlSettings(maximum="90d"), namespace="default", kyverno_readings=True)

        def active() -> bool:
            return "is longer than 90d" in server.probe("91d").message and bool(server.probe("x").warnings)

        with server.applied(manifests, active=active):
            yield

    def test_what_nobody_reads_is_still_warned_about(self, server: Writer) -> None:
        for value in ("30", "1y", "abc", "5hrs"):
            assert "is not understood" in server.probe(value).warning

    def test_what_kyverno_reads_can_not_be_held_against_a_limit(self, server: Writer) -> None:
        for value in ("2days", "1.5h", "2027-07-19T12h", "abc10d"):
            answer = server.probe(value)
            assert answer.warnings == ()
            assert f"{KEY}={value} can't be held against the limits" in answer.refused

    def test_what_kyverno_reads_is_not_spoken_of_where_there_is_no_limit(self, server: Writer) -> None:
        no_limits = {"data": {"maximum": None}}
        server.ask("PATCH", LIMITS, no_limits, media_type="application/merge-patch+json")
        wait_until(lambda: server.probe("2days").status == 201, "there are no limits")
        for value in ("2days", "1.5h", "2027-07-19T12h", "abc10d"):
            assert server.probe(value).warning == ""
        server.ask("PATCH", LIMITS, {"data": {"maximum": "90d"}}, media_type="application/merge-patch+json")
        wait_until(lambda: server.probe("2days").status == 422, "the limits are back")


def label(writer: Writer, name: str, labels: dict[str, str | None]) -> Said:
    body = {"metadata": {"labels": labels}}
    return writer.ask("PATCH", f"{CONFIG_MAPS}/{name}", body, media_type="application/merge-patch+json")


def grant(writer: Writer, name: str, *, rules: list[Any], user: str, namespace: str = "") -> None:
    group = "rbac.authorization.k8s.io"
    root = f"/apis/{group}/v1/namespaces/{namespace}/" if namespace else f"/apis/{group}/v1/cluster"
    kind = "Role" if namespace else "ClusterRole"
    # Where tests of a class are run in two parts, with others in between, it is there already.
    assert writer.create(f"{root}roles", name, rules=rules).status in {201, 409}
    reference = {"apiGroup": group, "kind": kind, "name": name}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    made = writer.create(f"{root}rolebindings", name, roleRef=reference, subjects=subjects)
    assert made.status in {201, 409}

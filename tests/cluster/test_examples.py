"""Every example does on a real API server what its first line says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import ControlPlane, Options
from skoupa.expr.readings import After, Problem
from skoupa.expr.ttl import parse_ttl
from tests.cluster.admission_probe import CONFIG_MAPS, KEY, Writer, wait_until
from tests.unit.admission.ttl_values import DURATIONS, GOLDEN, NOT_UNDERSTOOD

pytestmark = pytest.mark.cluster

EXAMPLES = Path(__file__).parents[2] / "examples" / "admission"
NAMESPACES = "/api/v1/namespaces"
DAY = timedelta(days=1)
OPTIONS = Options(
    feature_gates={"MutatingAdmissionPolicy": True},
    runtime_config={"admissionregistration.k8s.io/v1beta1": "true"},
    controller_manager=False,
    service_account_admission=False,
    audit=False,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Writer]:
    with ControlPlane(OPTIONS) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.ask("GET", f"{NAMESPACES}/default").status == 200, "the default Namespace")
        yield writer


@contextmanager
def applied(server: Writer, name: str, *, active: Callable[[], bool]) -> Iterator[None]:
    with server.applied(list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())), active=active):
        yield


def refused(server: Writer, values: Any) -> set[str]:
    """Which of the labels are refused; a refusal for another reason than the policy's own words is a failure."""
    said = server.probe_all(values)
    for value, answer in said.items():
        assert answer.status in {201, 422}, (value, answer)
        if answer.status == 422:
            assert f"denied request: {KEY}={value} " in answer.message, (value, answer.message)
    return {value for value, answer in said.items() if answer.status == 422}


def at(when: timedelta) -> str:
    return f"{datetime.now(UTC) + when:%Y-%m-%dT%H%M%SZ}"


def test_no_seconds(server: Writer) -> None:
    with applied(server, "no-seconds", active=lambda: server.probe("90s").status == 422):
        seconds = {"90s", "1m30s", "10sec", "10seconds", "5S", "1w2d3h4m5s", "0s"}
        others = {
            "0",
            "2m",
            "1h30m",
            "1d",
            "2w",
            "2days",
            "2hours",
            "2027-08-04T003000Z",
            "2027-09-30",
            "abc",
            "",
        }
        assert refused(server, seconds | others) == seconds
        assert "write minutes, hours, days or weeks, such as 5m" in server.probe("90s").message


def test_at_most_90_days(server: Writer) -> None:
    with applied(server, "at-most-90-days", active=lambda: server.probe("91d").status == 422):
        long = {"91d", "13w", "12w6d1s", "2161h", at(91 * DAY), "9999-12-31", "9999999999w"}
        short = {
            "90d",
            "12w6d",
            "2160h",
            "0",
            "1m",
            at(89 * DAY),
            "2020-01-01",
            "200days",
            "2027-02-30",
            "",
            "1.5y",
        }
        assert refused(server, long | short) == long
        assert "is longer than 90 days: write 90d or less" in server.probe("91d").message


def test_correct_format(server: Writer) -> None:
    with applied(server, "correct-format", active=lambda: server.probe("2days").status == 422):
        not_understood = refused(server, GOLDEN)
        assert not_understood == {value for value in GOLDEN if isinstance(parse_ttl(value), Problem)}
        assert (
            "write a duration in w, d, h, m and s, largest first, such as 30m" in server.probe("1.5h").message
        )


def test_not_in_the_past(server: Writer) -> None:
    with applied(server, "not-in-the-past", active=lambda: server.probe("2020-01-01").status == 422):
        past = {"2020-01-01", "1970-01-01", "2020-01-01T000000Z", at(timedelta(minutes=-1))}
        others = {value for value in DURATIONS if parse_ttl(value) != After(0)} | set(NOT_UNDERSTOOD)
        assert refused(server, past | others | {at(timedelta(minutes=1)), "9999-12-31"}) == past
        assert server.create(CONFIG_MAPS, "changed", data={"some": "data"}).status == 201

        def is_over() -> bool:
            server.label(CONFIG_MAPS, "changed", None)
            return "is in the past" in server.label(CONFIG_MAPS, "changed", "1s").message

        wait_until(is_over, "a duration from creation is over on an update")
        assert server.label(CONFIG_MAPS, "changed", at(timedelta(seconds=-1))).status == 422
        refreshed = {"annotations": {"skoupa.dev/refreshed-at": "2099-01-01T00:00:00Z"}}
        assert server.label(CONFIG_MAPS, "changed", "1s", **refreshed).status == 200


def test_not_after_this_year(server: Writer) -> None:
    year = datetime.now(UTC).year
    with applied(server, "not-after-this-year", active=lambda: server.probe("9999-12-31").status == 422):
        after = {f"{year + 1}-01-01", f"{year + 1}-06-30T120000Z", "9999-12-31", "366d", "53w", "106751d"}
        within = {f"{year}-12-31", f"{year}-12-31T235959Z", "2020-01-01", "1s", "0"} | set(NOT_UNDERSTOOD)
        assert refused(server, after | within) == after
        assert f"may not be after the end of {year}" in server.probe("366d").message
        assert server.create(CONFIG_MAPS, "kept", data={"some": "data"}).status == 201
        assert server.label(CONFIG_MAPS, "kept", "366d").status == 422
        assert server.label(CONFIG_MAPS, "kept", f"{year}-12-31").status == 200


@pytest.mark.parametrize(
    "name", ["correct-format", "at-most-90-days", "not-in-the-past", "not-after-this-year"]
)
def test_an_unchanged_label_and_a_removed_one_are_let_through(server: Writer, name: str) -> None:
    """The label may be older than the policy."""
    bad = {"correct-format": "2days", "not-in-the-past": "2020-01-01"}.get(name, "9999-12-31")
    assert server.create(CONFIG_MAPS, f"older-{name}", metadata={"labels": {KEY: bad}}).status == 201
    with applied(server, name, active=lambda: server.probe(bad).status == 422):
        assert server.label(CONFIG_MAPS, f"older-{name}", bad, annotations={"a": "b"}).status == 200
        assert server.label(CONFIG_MAPS, f"older-{name}", None).status == 200
        assert server.label(CONFIG_MAPS, f"older-{name}", bad).status == 422
        answer = server.create(NAMESPACES, "cluster-scoped", dry_run=True, metadata={"labels": {KEY: bad}})
        assert answer.status == 422


def test_ttl_for_deployments(server: Writer) -> None:
    for namespace in ("foo", "bar"):
        assert server.create(NAMESPACES, namespace).status == 201
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "example.org/none"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}

    def path(namespace: str) -> str:
        return f"/apis/apps/v1/namespaces/{namespace}/deployments"

    def label(
        namespace: str, name: str, labels: dict[str, str] | None = None, *, dry_run: bool = False
    ) -> str | None:
        metadata = {"labels": labels} if labels else {}
        made = server.create(path(namespace), name, dry_run=dry_run, metadata=metadata, spec=spec)
        assert made.status == 201, made
        found: str | None = made.body["metadata"].get("labels", {}).get(KEY)
        return found

    with applied(server, "ttl-for-deployments", active=lambda: label("foo", "probe", dry_run=True) == "7d"):
        assert label("foo", "web") == "7d"
        assert label("foo", "labelled", {"app": "web"}) == "7d"
        assert label("foo", "own", {KEY: "1h"}) == "1h"
        assert label("bar", "web") is None
        assert server.create(f"{NAMESPACES}/foo/configmaps", "other").body["metadata"].get("labels") is None
        cancelled = server.label(path("foo"), "web", None)
        assert KEY not in cancelled.body["metadata"].get("labels", {})
        again = server.label(path("foo"), "web", None, annotations={"a": "b"})
        assert KEY not in again.body["metadata"].get("labels", {})

"""`skoupa sweep`: only what was shown goes, with all guards, and everything that became of it is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule, User
from skoupa.sim.state.admission import Refuse
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, TTL, Town, config_map, granting, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


def left(town: Town, namespace: str = "shop") -> list[str]:
    return [found["metadata"]["name"] for found in town.cluster.objects(CONFIG_MAPS, namespace=namespace)]


class Watching:
    """Calls `before` with every delete that is about to be sent."""

    def __init__(self, inner: Transport, before: Any) -> None:
        self._inner = inner
        self._before = before

    async def send(self, request: Request) -> Response:
        if request.method == "DELETE":
            await self._before(request)
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def test_what_is_due_goes_and_the_rest_stays(town: Town) -> None:
    town.holding(config_map("due", "1h"), config_map("later", "3h"), config_map("plain"))
    said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 0
    assert "deleted ConfigMap shop/due\n1 of 1 gone or on their way.\n" in said.out
    assert left(town) == ["later", "plain"]


def test_what_is_kept_protected_or_takes_something_kept_along_stays(town: Town) -> None:
    town.holding(
        config_map("kept", "1h", labels={KEEP: "true"}),
        config_map("system", "1h", namespace="kube-system"),
        obj("Namespace", "shop", labels={TTL: "1h"}),
    )
    said = town("sweep", "-A", "--yes")
    assert said.code == 0
    assert "3 due: 0 will go, 3 held." in said.out
    assert "which is kept" in said.out
    assert left(town) == ["kept"]
    assert town.find(NAMESPACES, "shop")


def test_without_a_terminal_it_needs_to_be_told_yes(town: Town) -> None:
    said = town.holding(config_map("due", "1h")).__call__("sweep", "-n", "shop")
    assert said.code == 5
    assert "--yes" in said.err
    assert left(town) == ["due"]


def test_with_nothing_due_nothing_is_asked(town: Town) -> None:
    said = town.holding(config_map("later", "3h")).__call__("sweep", "-n", "shop")
    assert said.code == 0
    assert "Nothing in the namespace shop; -A looks into all." in said.out


def test_a_dry_run_shows_and_deletes_nothing(town: Town) -> None:
    said = town.holding(config_map("due", "1h")).__call__("sweep", "-n", "shop", "--dry-run")
    assert said.code == 0
    assert "1 due: 1 will go." in said.out
    assert "Nothing was deleted: this is a dry run." in said.out
    assert left(town) == ["due"]


@pytest.mark.parametrize(
    ("answer", "code", "remaining"), [("y\n", 0, []), ("\n", 5, ["due"]), ("no\n", 5, ["due"])]
)
def test_on_a_terminal_it_asks(
    town: Town, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, remaining: list[str]
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    monkeypatch.setattr(sys, "stdin", Terminal())
    said = town.holding(config_map("due", "1h")).__call__("sweep", "-n", "shop")
    assert "Delete 1 object? [y/N] " in said.out
    assert (said.code, left(town)) == (code, remaining)


def test_what_changed_while_the_question_stood_is_judged_anew(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object is kept meanwhile, one cancelled, one becomes due: of those none goes."""
    town.holding(
        *(config_map(name, "1h") for name in ("goes", "kept", "cancelled")), config_map("late", "130m")
    )

    async def meanwhile() -> None:
        client = Client(town.cluster, town.clock)
        for name, labels in (("kept", {KEEP: "true"}), ("cancelled", {TTL: None})):
            patch = {"metadata": {"labels": labels}}
            await client.merge_patch(CONFIG_MAPS, name, patch, namespace="shop")

    class Thinking:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            asyncio.run(meanwhile())
            town.clock.moment += 1200
            return "yes\n"

    monkeypatch.setattr(sys, "stdin", Thinking())
    said = town("sweep", "-n", "shop")
    assert left(town) == ["cancelled", "kept", "late"]
    assert "deleted ConfigMap shop/goes" in said.out
    assert "stays ConfigMap shop/kept: kept by its label skoupa.dev/keep=true" in said.out
    assert "stays ConfigMap shop/cancelled: it is gone by now, or nothing wants it to go any more" in said.out
    assert "late" not in said.out.partition("[y/N]")[2]


def test_a_keep_label_written_at_the_last_moment_counts(town: Town) -> None:
    async def keep(_: Request) -> None:
        town.wrap = lambda inner: inner
        patch = {"metadata": {"labels": {KEEP: "true"}}}
        client = Client(town.cluster, town.clock)
        await client.merge_patch(CONFIG_MAPS, "due", patch, namespace="shop")

    town.holding(config_map("due", "1h")).wrap = lambda inner: Watching(inner, keep)
    said = town("sweep", "-n", "shop", "--yes")
    assert "stays ConfigMap shop/due: kept by its label" in said.out
    assert left(town) == ["due"]


def test_an_object_that_was_made_anew_under_its_name_survives(town: Town) -> None:
    async def make_anew(_: Request) -> None:
        client = Client(town.cluster, town.clock)
        uid = town.metadata("due")["uid"]
        await client.delete(CONFIG_MAPS, "due", namespace="shop", uid=uid, propagation="Background")
        await client.create(CONFIG_MAPS, {"metadata": {"name": "due"}}, namespace="shop")

    town.holding(config_map("due", "1h")).wrap = lambda inner: Watching(inner, make_anew)
    said = town("sweep", "-n", "shop", "--yes")
    assert "gone ConfigMap shop/due" in said.out
    assert left(town) == ["due"]


def test_what_a_webhook_refuses_is_a_leftover(town: Town) -> None:
    def refuse(
        operation: str, _: Resource, __: Any, old: Mapping[str, Any] | None, ___: User
    ) -> Refuse | None:
        refused = operation == "DELETE" and old is not None and old["metadata"]["name"] == "a"
        return Refuse("not on a Friday") if refused else None

    town.holding(config_map("a", "1h"), config_map("b", "1h")).cluster.admit(refuse)
    said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 4
    assert "failed ConfigMap shop/a" in said.out
    assert "not on a Friday" in said.out
    assert left(town) == ["a"]


def test_what_waits_for_a_finalizer_is_told_so(town: Town) -> None:
    stuck = config_map("a", "1h")
    stuck["metadata"]["finalizers"] = ["shop.example/never"]
    said = town.holding(stuck).__call__("sweep", "-n", "shop", "--yes")
    assert said.code == 0
    assert "terminating ConfigMap shop/a: waiting for shop.example/never" in said.out


def test_a_namespace_and_a_definition_wait_for_what_is_in_them(town: Town) -> None:
    spec = {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    }
    definition = obj(
        "CustomResourceDefinition",
        "widgets.shop.example",
        api="apiextensions.k8s.io/v1",
        labels={TTL: "1h"},
        spec=spec,
    )
    definition["metadata"]["finalizers"] = ["customresourcecleanup.apiextensions.k8s.io"]
    town.holding(obj("Namespace", "shop", labels={TTL: "1h"}), config_map("inside"), definition)
    said = town("sweep", "-A", "--yes")
    assert said.code == 0
    assert "terminating Namespace shop: waiting for what is in it\n" in said.out
    assert (
        "terminating CustomResourceDefinition widgets.shop.example: waiting for what is in it\n" in said.out
    )
    told = town.document("explain", "namespace/shop")
    assert told["items"][0]["kind"] == "Namespace"


def test_what_goes_in_the_foreground_waits_for_what_it_owns(town: Town) -> None:
    owner = config_map("a", "1h", annotations={"cleanup.kyverno.io/propagation-policy": "Foreground"})
    said = town.holding(owner).__call__("sweep", "-n", "shop", "--yes")
    assert "terminating ConfigMap shop/a: waiting for what it owns\n" in said.out


def test_what_can_not_be_shown_is_not_deleted(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    town.holding(config_map("due", "1h"))
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device, not a path of ours
        monkeypatch.setattr(sys, "stdout", full)
        said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 1
    assert "standard output can't be written: no space left on device" in said.sentence
    assert left(town) == ["due"]


def test_what_was_deleted_is_told_elsewhere_when_the_document_can_not_be_written(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.holding(config_map("due", "1h"))
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device, not a path of ours
        monkeypatch.setattr(sys, "stdout", full)
        said = town("sweep", "-n", "shop", "--yes", "-o", "json")
    assert said.code == 1
    assert "skoupa: deleted ConfigMap shop/due\n" in said.err
    assert "standard output can't be written" in said.err


def test_without_the_right_to_delete_anything_it_is_exit_code_6(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    granting(Rule(verbs=("get", "list"), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 6
    assert "no permission: delete configmaps in shop" in said.out
    assert left(town) == ["a"]


def test_with_some_rights_the_rest_is_a_leftover(town: Town) -> None:
    town.holding(config_map("a", "1h"), config_map("b", "1h", namespace="other"))
    granting(
        Rule(verbs=("get", "list"), resources=("*",)),
        Rule(verbs=("delete",), resources=("configmaps",), namespaces=("shop",)),
    )(town.cluster)
    town.user = "bob"
    assert town("sweep", "-A", "--yes").code == 4
    assert (left(town), left(town, "other")) == ([], ["b"])


def test_a_clock_that_is_off_holds_everything(town: Town) -> None:
    town.holding(config_map("a", "1h")).skew = 30.0
    said = town("sweep", "-n", "shop", "--yes")
    assert "differ by +30 s" in said.out
    assert left(town) == ["a"]


def test_kinds_narrow_the_sweep(town: Town) -> None:
    town.holding(config_map("a", "1h"), obj("Secret", "b", namespace="shop", labels={TTL: "1h"}))
    assert town("sweep", "secrets", "-n", "shop", "--yes").code == 0
    assert left(town) == ["a"]


def test_the_document_has_an_outcome_for_each_object(town: Town) -> None:
    town.holding(config_map("a", "1h"), config_map("kept", "1h", labels={KEEP: "true"}))
    told = town.document("sweep", "-n", "shop", "--yes")
    assert told["kind"] == "Sweep"
    found = {item["name"]: item for item in told["items"]}
    assert found["a"]["outcome"] == {"what": "deleted", "text": ""}
    assert "outcome" not in found["kept"], "it was held from the beginning"
    assert found["kept"]["holds"][0]["reason"]["code"] == "kept"


def test_settings_of_the_controller_protect_here_too(town: Town, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("protect: {selectors: ['tier=gold']}\n")
    town.holding(config_map("a", "1h", labels={"tier": "gold"}))
    said = town("sweep", "-n", "shop", "--yes", "--config", str(settings))
    assert "protected by the setting protect.selectors (tier=gold)" in said.out
    assert left(town) == ["a"]


def test_an_interrupt_finishes_what_is_under_way_and_starts_nothing_new(town: Town) -> None:
    names = [f"many-{number:03}" for number in range(400)]
    town.holding(*(config_map(name, "1h") for name in names))
    sent: list[str] = []

    async def interrupt(request: Request) -> None:
        sent.append(request.path.rpartition("/")[2])
        if len(sent) == 20:
            os.kill(os.getpid(), signal.SIGINT)

    town.wrap = lambda inner: Watching(inner, interrupt)
    said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 7
    gone = set(names) - set(left(town))
    assert gone == set(sent), "every delete that was sent is accounted for"
    assert 20 <= len(gone) < len(names)
    assert said.out.count("deleted ConfigMap") == len(gone)
    assert said.out.count("not-tried ConfigMap") == len(names) - len(gone)


@pytest.fixture
def narrow(tmp_path: Path) -> str:
    """Settings with ceilings of ten."""
    path = tmp_path / "narrow.yaml"
    path.write_text("brakes: {perMinute: 10, perHour: 10, namespacePerMinute: 10, namespacePerHour: 10}\n")
    return str(path)


def test_over_a_ceiling_nothing_of_a_sweep_goes(town: Town, narrow: str) -> None:
    town.holding(*(config_map(f"c{number}", "1h") for number in range(11)))
    said = town("sweep", "-A", "--yes", "--config", narrow)
    assert said.code == 5
    assert "nothing was deleted: 0 deletions in the namespace shop within a minute" in said.err
    assert "and 11 more at once would be over the 10 of brakes.namespacePerMinute" in said.err
    assert "sweep less at once" in said.err
    assert len(left(town)) == 11
    document = town.document("sweep", "-A", "--yes", "--config", narrow, code=5)
    assert {item["outcome"]["what"] for item in document["items"]} == {"not-tried"}


def test_a_dry_run_says_that_it_would_be_refused(town: Town, narrow: str) -> None:
    town.holding(*(config_map(f"c{number}", "1h") for number in range(11)))
    said = town("sweep", "-A", "--dry-run", "--config", narrow)
    assert said.code == 0
    assert "a sweep of all this is refused: 0 deletions in the namespace shop" in said.err


def test_up_to_a_ceiling_a_sweep_goes(town: Town, narrow: str) -> None:
    town.holding(*(config_map(f"c{number}", "1h") for number in range(10)))
    said = town("sweep", "-A", "--yes", "--config", narrow)
    assert said.code == 0, said.err
    assert left(town) == []


def test_a_sweep_counts_what_the_ledger_says_has_gone(town: Town, narrow: str, tmp_path: Path) -> None:
    kept = ("--config", narrow, "--ledger", str(tmp_path / "l.db"))
    town.holding(*(config_map(f"a{number}", "1h") for number in range(6)))
    assert town("sweep", "-A", "--yes", *kept).code == 0
    town.holding(*(config_map(f"b{number}", "1h") for number in range(5)))
    said = town("sweep", "-A", "--yes", *kept)
    assert said.code == 5
    assert "6 deletions in the namespace shop within a minute, and 5 more at once" in said.err
    assert len(left(town)) == 5
    town.clock.moment += 3700
    assert town("sweep", "-A", "--yes", *kept).code == 0
    assert left(town) == []


def test_a_sweep_counts_events_that_went_by_retention_policies(town: Town, narrow: str) -> None:
    went = {"at": int(town.clock.now()) - 1800, "rule": "RetentionPolicy/shop/events", "namespace": "shop"}
    swept = {"eventsSwept": json.dumps([{**went, "number": 6}])}
    town.holding(config_map("skoupa-state", namespace="skoupa", data=swept))
    town.holding(*(config_map(f"a{number}", "1h") for number in range(5)))
    path = Path(narrow).with_name("hour.yaml")
    path.write_text("brakes: {perHour: 10, namespacePerHour: 10}\n")
    said = town("sweep", "-A", "--yes", "--config", str(path))
    assert said.code == 5, said.out
    assert "6 deletions in the namespace shop within an hour, and 5 more at once" in said.err
    assert len(left(town)) == 5
    town.clock.moment += 1900
    assert town("sweep", "-A", "--yes", "--config", str(path)).code == 0
    assert left(town) == []


def test_in_a_sweep_a_namespace_counts_as_what_is_in_it(town: Town, narrow: str) -> None:
    town.holding(obj("Namespace", "shop", labels={TTL: "1h"}), *(config_map(f"c{n}") for n in range(12)))
    said = town("sweep", "-A", "--yes", "--config", narrow)
    assert said.code == 5
    assert "and 13 more at once" in said.err
    assert town.find(NAMESPACES, "shop")

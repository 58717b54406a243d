"""`keep`, `extend`, `refresh`: what they write, that nothing is overwritten blindly, and what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from skoupa.cli.acting.keep import keep_value
from skoupa.errors import UsageError
from skoupa.kinds.policies import policy_definitions
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule
from tests.unit.cli.policies import cleaning
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, NOON, TTL, Town, config_map, granting, obj

pytestmark = pytest.mark.unit

REFRESHED = "skoupa.dev/refreshed-at"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


class Meddler:
    """Somebody who writes to an object just before each of the first `times` patches of it arrives."""

    def __init__(
        self, inner: Transport, town: Town, *, times: int, label: tuple[str, str] = ("tick", "")
    ) -> None:
        self._inner = inner
        self._town = town
        self._times = times
        self._label = label

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH" and self._times:
            self._times -= 1
            key, value = self._label
            other = Client(self._town.cluster, self._town.clock)
            change = {"metadata": {"labels": {key: value or str(self._times)}}}
            await other.merge_patch(CONFIG_MAPS, "a", change, namespace="shop")
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def test_keep_writes_the_label_and_says_that_it_stays(town: Town) -> None:
    town.holding(config_map("a", "1h", labels={"app": "web"}))
    said = town("keep", "cm/a", "-n", "shop")
    assert said.code == 0
    assert said.out == (
        "ConfigMap shop/a: label skoupa.dev/keep=true (was absent). "
        "Due Fri 2026-05-01 11:00 UTC, 1h ago, but held: it stays.\n"
    )
    assert town.metadata("a")["labels"] == {"app": "web", TTL: "1h", KEEP: "true"}


def test_keep_until_a_date_writes_the_date_and_says_when_it_goes(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    said = town("keep", "cm/a", "-n", "shop", "--until", "2026-09-30")
    assert town.metadata("a")["labels"][KEEP] == "2026-09-30"
    assert "it goes Wed 2026-09-30 00:00 UTC" in said.out


def test_keep_again_changes_nothing(town: Town) -> None:
    town.holding(config_map("a", "1h", labels={KEEP: "yes"}))
    version = town.metadata("a")["resourceVersion"]
    said = town("keep", "cm/a", "-n", "shop")
    assert "unchanged, skoupa.dev/keep=yes is there already" in said.out
    assert town.metadata("a")["resourceVersion"] == version


def test_keep_remove_lets_it_go_again(town: Town) -> None:
    town.holding(config_map("a", "4h", labels={KEEP: "true"}), config_map("b", "4h"))
    said = town("keep", "--remove", "cm/a", "cm/b", "-n", "shop")
    assert said.code == 0
    assert said.out.splitlines() == [
        "ConfigMap shop/a: label skoupa.dev/keep removed (was true). Goes Fri 2026-05-01 14:00 UTC, in 2h.",
        "ConfigMap shop/b: unchanged, it has no label skoupa.dev/keep. Goes Fri 2026-05-01 14:00 UTC, in 2h.",
    ]
    assert KEEP not in town.metadata("a")["labels"]


@pytest.mark.parametrize(
    ("until", "value"),
    [
        ("2026-09-30", "2026-09-30"),
        ("2026-09-30T120000Z", "2026-09-30T120000Z"),
        ("7d", "2026-05-08T120000Z"),
        ("friday 17:00", "2026-05-01T140000Z"),
        ("2026-05-02 00:00", "2026-05-01T210000Z"),
        ("2026-05-02T00:00:00Z", "2026-05-02"),
    ],
)
def test_until_is_a_date_or_a_moment_of_the_callers_clock_written_in_utc(until: str, value: str) -> None:
    assert keep_value(until, now=NOON, tz="Europe/Athens") == value


@pytest.mark.parametrize("until", ["2026-04-30", "2026-05-01", "yesterday", "whenever"])
def test_until_has_to_be_a_time_to_come(until: str) -> None:
    with pytest.raises(UsageError, match="--until"):
        keep_value(until, now=NOON, tz="UTC")


def test_the_date_that_is_advised_instead_of_a_past_one_is_to_come() -> None:
    with pytest.raises(UsageError) as past:
        keep_value("yesterday", now=NOON, tz="UTC")
    assert past.value.advice == "give a date to come, such as 2026-05-31"
    assert keep_value("2026-05-31", now=NOON, tz="UTC") == "2026-05-31"


def test_extend_moves_the_end_and_leaves_the_ttl_as_it_was_written(town: Town) -> None:
    town.holding(config_map("a", "4h"))
    said = town("extend", "cm/a", "-n", "shop", "--by", "7d")
    assert town.metadata("a")["labels"] == {TTL: "4h", KEEP: "2026-05-08T140000Z"}
    assert "it goes Fri 2026-05-08 14:00 UTC, in 7d2h." in said.out
    town("extend", "cm/a", "-n", "shop", "--by", "1h")
    assert town.metadata("a")["labels"][KEEP] == "2026-05-08T150000Z", "a second time counts from the first"


def test_extend_counts_from_now_what_is_overdue(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    town("extend", "cm/a", "-n", "shop", "--by", "1h")
    assert town.metadata("a")["labels"][KEEP] == "2026-05-01T130000Z"


def test_extend_never_shortens(town: Town) -> None:
    town.holding(
        config_map("good", "1h", labels={KEEP: "true"}), config_map("long", "1h", labels={KEEP: "2026-09-30"})
    )
    said = town("extend", "cm/good", "cm/long", "-n", "shop", "--by", "1h")
    assert "unchanged, skoupa.dev/keep=true keeps it for good" in said.out
    assert town.metadata("good")["labels"][KEEP] == "true"
    assert town.metadata("long")["labels"][KEEP] == "2026-09-30T010000Z"


def test_extend_of_what_nothing_wants_gone_is_refused_with_what_to_do(town: Town) -> None:
    said = town.holding(config_map("a")).__call__("extend", "cm/a", "-n", "shop", "--by", "7d")
    assert said.code == 2
    assert "`skoupa keep --until`" in said.sentence
    assert town.metadata("a")["labels"] == {}


def test_what_policies_want_is_not_asked_here_and_said_so(town: Town) -> None:
    town.holding(
        *policy_definitions(),
        cleaning(schedule="0 20 * * *"),
        config_map("a", labels={KEEP: "true"}),
        obj("Namespace", "preview", labels={KEEP: "true"}),
    )
    said = town("keep", "--remove", "cm/a", "-n", "shop")
    assert said.out == (
        "ConfigMap shop/a: label skoupa.dev/keep removed (was true). No label wants it to go; whether a policy does, "
        "`skoupa explain configmap/a -n shop` tells.\n"
    )
    assert "Goes Fri 2026-05-01 20:00 UTC" in town("explain", "configmap/a", "-n", "shop").out
    refused = town("extend", "cm/a", "-n", "shop", "--by", "7d")
    assert refused.code == 2
    assert (
        "no label wants it to go (whether a policy does, `skoupa explain configmap/a -n shop` tells), so there is "
        "nothing to extend: `skoupa keep --until` keeps it in any case"
    ) in refused.sentence
    assert "`skoupa explain namespace/preview` tells" in town("keep", "--remove", "ns/preview").out


def test_where_policies_are_off_nothing_else_could_want_it_to_go(town: Town, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("features: {policies: false}\n")
    town.holding(config_map("a", labels={KEEP: "true"}))
    with_it = ("cm/a", "-n", "shop", "--config", str(config))
    assert town("keep", "--remove", *with_it).out.endswith("removed (was true). Nothing wants it to go.\n")
    assert "nothing wants it to go, so there" in town("extend", *with_it, "--by", "7d").sentence


def test_refresh_lets_the_time_count_anew(town: Town) -> None:
    town.holding(config_map("a", "4h"))
    said = town("refresh", "cm/a", "-n", "shop")
    assert town.metadata("a")["annotations"] == {REFRESHED: "2026-05-01T12:00:00Z"}
    assert "Goes Fri 2026-05-01 16:00 UTC, in 4h." in said.out


def test_refresh_writes_the_servers_time_not_that_of_a_clock_that_is_off(town: Town) -> None:
    town.holding(config_map("a", "4h")).skew = -600.0
    town("refresh", "cm/a", "-n", "shop")
    assert town.metadata("a")["annotations"] == {REFRESHED: "2026-05-01T11:50:00Z"}


@pytest.mark.parametrize("ttl", [None, "2026-05-20", "2days"])
def test_refresh_of_what_counts_from_nothing_is_refused(town: Town, ttl: str | None) -> None:
    said = town.holding(config_map("a", ttl)).__call__("refresh", "cm/a", "-n", "shop")
    assert said.code == 2
    assert "`skoupa extend`" in said.sentence
    assert town.metadata("a")["annotations"] == {}


def test_refresh_of_what_another_tools_annotation_lets_go_says_what_does_work(
    town: Town, tmp_path: Path
) -> None:
    config = tmp_path / "config" / "settings.txt"
    config.parent.mkdir()
    config.write_text("compat: {janitor: true}\n")
    with_it = ("cm/a", "-n", "shop", "--config", str(config))
    town.holding(config_map("a", annotations={"janitor/ttl": "4h"}))
    said = town("refresh", *with_it)
    assert said.code == 2
    assert "janitor/ttl can't be refreshed" in said.sentence
    assert "`skoupa extend` gives it more time, `skoupa keep` keeps it" in said.sentence
    assert "no ttl" not in said.sentence
    assert town("extend", *with_it, "--by", "7d").code == 0
    assert town("keep", *with_it).code == 0
    assert town.metadata("a")["labels"] == {"skoupa.dev/keep": "true"}


@pytest.mark.parametrize(
    "command", [("keep",), ("extend", "--by", "7d"), ("refresh",), ("keep", "--remove")], ids=" ".join
)
def test_a_dry_run_says_what_would_be_and_writes_nothing(town: Town, command: Sequence[str]) -> None:
    labels = {KEEP: "true"} if "--remove" in command else {}
    town.holding(config_map("a", "1h", labels=labels))
    before = town.metadata("a")
    said = town(*command, "cm/a", "-n", "shop", "--dry-run")
    assert said.code == 0
    assert "ConfigMap shop/a: would be: " in said.out
    assert town.metadata("a") == before
    told = town.document(*command, "cm/a", "-n", "shop", "--dry-run")
    assert told["dryRun"] is True
    assert told["items"][0]["outcome"]["what"] == "would-change"


@pytest.mark.parametrize(
    "command", [("extend", "--by", "1d"), ("keep", "--until", "2026-09-30"), ("refresh",)], ids=" ".join
)
def test_what_becomes_of_it_is_told_as_explain_tells_it(town: Town, command: Sequence[str]) -> None:
    """A kept Secret inside holds the Namespace, whatever is written on the Namespace itself."""
    town.holding(
        obj("Namespace", "shop", labels={TTL: "4h"}),
        obj("Secret", "inside", namespace="shop", labels={KEEP: "true"}),
    )
    said = town(*command, "namespace/shop")
    assert said.code == 0
    explained = town("explain", "namespace/shop").out.splitlines()
    assert explained[1].endswith("but held: it stays.")
    assert said.out.endswith(f"{explained[1].strip()}\n")
    told = {
        name: town.document(*arguments, "namespace/shop")["items"][0]
        for name, arguments in (("here", command), ("there", ("explain",)))
    }
    for field in ("due", "goesAt", "holds"):
        assert told["here"][field] == told["there"][field]


def test_what_lives_in_a_kept_namespace_is_told_to_stay(town: Town) -> None:
    town.holding(obj("Namespace", "shop", labels={KEEP: "true"}), config_map("a", "1h"))
    said = town("keep", "cm/a", "-n", "shop", "--until", "2026-09-30")
    assert "but held: it stays." in said.out


def test_objects_that_were_kept_a_moment_ago_hold_what_they_hang_on(town: Town) -> None:
    owner = config_map("owner", "1h", uid="aaaaaaaa-0000-0000-0000-000000000001")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "aaaaaaaa-0000-0000-0000-000000000001",
    }
    town.holding(owner, config_map("owned", "1h", owners=[reference]), config_map("other", "1h"))
    said = town(
        "keep", "cm/owned", "cm/owner", "cm/other", "-n", "shop", "--until", "2026-09-30", "-o", "json"
    )
    holds = {
        item["name"]: [hold["reason"]["code"] for hold in item["holds"]]
        for item in json.loads(said.out)["items"]
    }
    assert holds["owner"] == ["kept", "keeps-inside"]
    assert holds["other"] == ["kept"], "nothing unknown holds what nobody hangs on"


def test_the_names_that_a_plan_of_all_namespaces_prints_can_be_handed_on(town: Town) -> None:
    town.holding(
        config_map("a", "1h"),
        config_map("a", "2h", namespace="blog"),
        obj("Deployment", "web", api="apps/v1", namespace="blog", labels={TTL: "1h"}),
        obj("Namespace", "preview", labels={TTL: "1h"}),
    )
    names = town("plan", "-A", "-o", "name").out.split()
    assert sorted(names) == [
        "configmap/blog/a",
        "configmap/shop/a",
        "deployment.apps/blog/web",
        "namespace/preview",
    ]
    for name in names:
        [item] = town.document("explain", name)["items"]
        assert "/".join(part for part in (item["namespace"], item["name"]) if part) == name.partition("/")[2]
    kept = town.document("keep", *names)
    assert len(kept["items"]) == 4
    assert town("plan", "-A", "--fail-over", "0").code == 0, "nothing goes any more"
    assert town("plan", "-n", "blog", "-o", "name").out.split() == ["deployment.apps/web", "configmap/a"]


def test_a_namespace_in_the_name_of_what_is_in_none_is_refused(town: Town) -> None:
    said = town.holding(obj("Namespace", "preview", labels={TTL: "1h"})).__call__("keep", "ns/shop/preview")
    assert said.code == 2
    assert "a Namespace is in no namespace: write ns/preview" in said.sentence


def test_the_document_has_the_new_state_and_what_was_written(town: Town) -> None:
    town.holding(config_map("a", "4h"))
    told = town.document("extend", "cm/a", "-n", "shop", "--by", "1d")
    assert told["kind"] == "Changes"
    [item] = told["items"]
    assert (item["due"], item["goesAt"]) == ("2026-05-01T14:00:00Z", "2026-05-02T14:00:00Z")
    assert item["changes"] == [
        {"field": "label", "key": KEEP, "before": None, "after": "2026-05-02T140000Z"},
    ]
    assert item["outcome"] == {"what": "changed", "text": ""}


def test_who_writes_at_the_same_moment_is_not_overwritten(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    town.wrap = lambda inner: Meddler(inner, town, times=3)
    assert town("keep", "cm/a", "-n", "shop").code == 0
    assert town.metadata("a")["labels"] == {TTL: "1h", KEEP: "true", "tick": "0"}


def test_what_is_decided_is_decided_anew_when_somebody_was_faster(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    town.wrap = lambda inner: Meddler(inner, town, times=1, label=(KEEP, "true"))
    said = town("extend", "cm/a", "-n", "shop", "--by", "1h")
    assert "unchanged, skoupa.dev/keep=true keeps it for good" in said.out
    assert town.metadata("a")["labels"][KEEP] == "true"


def test_an_object_that_changes_all_the_time_is_given_up_with_a_sentence(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    town.wrap = lambda inner: Meddler(inner, town, times=100)
    said = town("keep", "cm/a", "-n", "shop")
    assert said.code == 1
    assert "changes all the time" in said.sentence


def test_of_several_objects_those_that_failed_are_told_and_the_others_done(town: Town) -> None:
    said = town.holding(config_map("a", "1h")).__call__("keep", "cm/a", "cm/nosuch", "-n", "shop")
    assert said.code == 4
    assert "skoupa: cm/nosuch: there is no ConfigMap nosuch in shop" in said.err
    assert town.metadata("a")["labels"][KEEP] == "true"
    assert town("keep", "cm/x", "cm/y", "-n", "shop").code == 2


def test_a_missing_right_to_write_is_exit_code_6(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    granting(Rule(verbs=("get", "list"), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = town("keep", "cm/a", "-n", "shop")
    assert said.code == 6
    assert "patch" in said.sentence


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("extend", "cm/a", "--by", "1 week"), "--by"),
        (("extend", "cm/a", "--by", "0"), "--by 0"),
        (("keep", "cm/a", "--remove", "--until", "7d"), "can't go together"),
        (("keep", "a"), "KIND/NAME"),
    ],
)
def test_misuse_is_a_sentence(town: Town, args: Sequence[str], told: str) -> None:
    said = town.holding(config_map("a", "1h", namespace="default")).__call__(*args)
    assert said.code == 2
    assert told in said.sentence

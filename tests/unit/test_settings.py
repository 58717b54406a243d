"""The one configuration: every key documented, misspelt ones refused, and no way to another label key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa import names
from skoupa.controller.knowledge import Knowledge
from skoupa.errors import UsageError
from skoupa.settings import Settings, decode, every_setting, load
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit

KEYS = [setting.key for setting in every_setting()]


def written(path: Path, text: str) -> str:
    file = path / "skoupa.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_nothing_given_observes_with_the_defaults() -> None:
    assert load(environ={}) == Settings()
    assert Settings().mode == "observe"
    assert Settings().rate.deletions_per_second == 100
    assert Settings().stuck_after == "15m"


def test_flags_come_on_top_of_variables_and_those_on_top_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "mode: enforce\nrate: {inFlight: 1}\nttl: {noticeBefore: 1h}\nstuckAfter: 5m\n")
    environ = {"SKOUPA_RATE_IN_FLIGHT": "2", "SKOUPA_TTL_NOTICE_BEFORE": "2h", "HOME": "/"}
    found = load(file, environ=environ, flags={"ttl.noticeBefore": "3h", "acceptBacklog": True})
    assert (found.mode, found.stuck_after) == ("enforce", "5m")
    assert found.rate.in_flight == 2
    assert found.ttl.notice_before == "3h"
    assert found.accept_backlog


@pytest.mark.parametrize("setting", list(every_setting()), ids=KEYS)
def test_every_setting_has_a_description_a_variable_and_a_flag(setting: Any) -> None:
    assert setting.about.endswith((".", ".)"))
    assert setting.variable.startswith("SKOUPA_")
    given_text = _as_text(setting.default)
    if given_text is not None:
        assert load(environ={setting.variable: given_text}) == Settings()
        assert load(environ={}, flags={setting.key: given_text}) == Settings()


def _as_text(value: Any) -> str | None:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def test_variables_of_settings_are_all_different() -> None:
    assert len({setting.variable for setting in every_setting()}) == len(KEYS)


def test_lists_in_a_variable_are_separated_by_commas_and_selectors_by_semicolons() -> None:
    environ = {
        "SKOUPA_NAMESPACES": "a, b",
        "SKOUPA_PROTECT_SELECTORS": "team=payments,tier!=dev; app in (x, y)",
    }
    found = load(environ=environ)
    assert found.namespaces == ("a", "b")
    assert found.protect.selectors == ("team=payments,tier!=dev", "app in (x, y)")


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"moode": "enforce"}, "there is no setting moode: did you mean mode?"),
        ({"ttl": {"noticeBefor": "1h"}}, "no setting ttl.noticeBefor: did you mean ttl.noticeBefore?"),
        ({"noticeBefore": "1h"}, "no setting noticeBefore: did you mean ttl.noticeBefore?"),
        ({"protect": {"namespace": ["a"]}}, "did you mean protect.namespaces?"),
        ({"mode": "delete"}, "mode: 'delete' is not known: write observe or enforce"),
        ({"mode": True}, "mode: it is true or false: write observe or enforce"),
        ({"namespaces": "shop"}, "namespaces: it is a text: write a list, such as [a, b]"),
        ({"rate": {"inFlight": 0}}, "rate.inFlight: it must be 1 or more: write a whole number, 1 or more"),
        ({"rate": {"inFlight": 5000}}, "rate.inFlight: it must be 1000 or less"),
        ({"rate": {"inFlight": "many"}}, "rate.inFlight: it is a text: write a whole number"),
        ({"protect": {"kinds": [5]}}, "it is a whole number: write a text, in quotes"),
        ({"features": {"ttl": "on"}}, "features.ttl: it is a text: write true or false"),
        ({"ttl": {"notAfter": 2027}}, "ttl.notAfter: it is a whole number: write a text, in quotes"),
        ({"ttl": {"minimum": "2d", "maximum": "1d"}}, "ttl.minimum (2d) is more than ttl.maximum (1d)"),
        (
            {"lease": {"seconds": 15, "retrySeconds": 15}},
            "lease.retrySeconds (15) is not less than lease.seconds (15)",
        ),
        ({"rate": {"deletionsPerSecond": -1}}, "rate.deletionsPerSecond: it must be more than 0"),
        ({"rate": {"deletionsPerSecond": float("nan")}}, "rate.deletionsPerSecond"),
        ({"rate": 5}, "rate: it is a whole number: write its settings below it"),
        ({"ttl": {"noticeBefore": "2days"}}, "ttl.noticeBefore: '2days' is no duration: write 2d"),
        ({"stuckAfter": ""}, "stuckAfter: '' is no duration"),
        ({"lease": {"seconds": 1}}, "lease.seconds: it must be 3 or more"),
        ({"protect": {"names": ["Pod"]}}, "'Pod' names no object: write KIND/NAME or KIND/NAMESPACE/NAME"),
        ({"protect": {"names": ["Pod//x"]}}, "'Pod//x' names no object"),
        ({"protect": {"names": ["Po d/x"]}}, "protect.names: 'Po d' can't be the name of a kind"),
        ({"protect": {"names": ["Pod/Shop/x"]}}, "protect.names: 'Shop' matches no namespace: write shop"),
        ({"protect": {"names": ["Pod/x "]}}, "protect.names: 'x ' can't be the name of an object"),
        ({"protect": {"kinds": [""]}}, "protect.kinds: '' can't be the name of a kind"),
        ({"protect": {"kinds": ["Config Map"]}}, "'Config Map' can't be the name of a kind: write it as"),
        ({"protect": {"kinds": ["pods/"]}}, "protect.kinds: 'pods/' can't be the name of a kind"),
        ({"protect": {"kinds": ["*.cert-manager.io"]}}, "write *.cert-manager.io/* in protect.names"),
        ({"protect": {"selectors": ["a in (b"]}}, "protect.selectors: 'a in (b' is no label selector"),
        ({"protect": {"selectors": [""]}}, "an empty selector is that of every object"),
    ],
)
def test_what_can_not_be_meant_is_an_error_that_names_the_key(tree: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        decode(tree, source="skoupa.yaml")
    assert str(caught.value).startswith("skoupa.yaml: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "kind", ["Pod", "po", "deployments.apps", "deployments.v1.apps", "apps/v1/Deployment", "v1/Pod", "a-b"]
)
def test_a_kind_may_be_written_in_each_way_that_kubectl_takes(kind: str) -> None:
    decode({"protect": {"kinds": [kind]}}, source="skoupa.yaml")


def test_names_of_objects_may_be_whatever_a_server_takes() -> None:
    names = ["clusterrole/system:node", "*/*", "Pod/shop-*/web.v1", "*.cert-manager.io/*"]
    decode({"protect": {"names": names}}, source="skoupa.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mode: [", "is no YAML at line"),
        ("- a\n- b\n", "is a list, not settings"),
        ("just a text", "is a str, not settings"),
    ],
)
def test_a_file_that_is_no_settings_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, text), environ={})
    assert said in str(caught.value)


def test_a_date_needs_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "skoupa.yaml"
    file.write_text("ttl: {notAfter: 2027-01-31}\n")
    assert load(str(file), environ={}).ttl.not_after == "2027-01-31"
    file.write_text("ttl:\n  notAfter: 2027-01-31T18:00:00Z\n")
    assert load(str(file), environ={}).ttl.not_after == "2027-01-31T18:00:00Z"


def test_an_empty_file_gives_the_defaults_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert load(written(tmp_path, "# nothing yet\n"), environ={}) == Settings()
    with pytest.raises(UsageError, match="can't be read"):
        load(str(tmp_path / "none.yaml"), environ={})


def test_apiversion_and_kind_are_taken_as_they_are_in_a_manifest(tmp_path: Path) -> None:
    file = written(tmp_path, "apiVersion: skoupa.dev/v1alpha1\nkind: Settings\nmode: enforce\n")
    assert load(file, environ={}).mode == "enforce"


@pytest.mark.parametrize(
    ("name", "near"), [("SKOUPA_MODUS", "SKOUPA_MODE"), ("SKOUPA_NAMESPACE", "SKOUPA_NAMESPACES")]
)
def test_a_misspelt_variable_is_an_error_that_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"there is no variable {name}: did you mean {near}"):
        load(environ={name: "x"})


@pytest.mark.parametrize(
    "name",
    [
        "SKOUPA_SERVICE_HOST",
        "SKOUPA_SERVICE_PORT",
        "SKOUPA_SERVICE_PORT_HTTP_METRICS",
        "SKOUPA_PORT",
        "SKOUPA_PORT_8080_TCP",
        "SKOUPA_PORT_8080_TCP_ADDR",
        "SKOUPA_METRICS_SERVICE_HOST",
        "SKOUPA_METRICS_PORT_8080_TCP_PROTO",
        "SKOUPA_DEBUG",
    ],
)
def test_what_kubernetes_tells_a_pod_about_a_service_of_that_name_is_no_setting(name: str) -> None:
    assert load(environ={name: "tcp://10.0.0.1:8080"}) == Settings()


def test_a_flag_that_does_not_exist_or_can_not_be_read_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"there is no setting rate\.inflight: did you mean rate\.inFlight"):
        load(environ={}, flags={"rate.inflight": "3"})
    with pytest.raises(UsageError, match=r"rate\.inFlight: 'many' can't be used"):
        load(environ={}, flags={"rate.inFlight": "many"})


LABEL_LIKE = st.from_regex(r"[a-z]{1,8}\.example/[a-z]{1,8}", fullmatch=True)


@pytest.mark.parametrize("setting", list(every_setting()), ids=KEYS)
@settings(max_examples=5, deadline=None)
@given(key=LABEL_LIKE)
def test_no_setting_changes_the_key_of_the_label(setting: Any, key: str) -> None:
    """Whatever is written anywhere: the one key is honoured, and no other."""
    try:
        found = load(environ={}, flags={setting.key: key, "features.ttl": True})
    except UsageError:
        found = Settings()
    knowledge = Knowledge(found)
    ttl = knowledge.mechanisms[0]
    assert {interest.labels for interest in ttl.interests()} == {names.TTL_LABEL}
    assert ttl.due(row(ttl="1h"), CREATED) == CREATED + 3600
    assert ttl.due(row(labels={key: "1h"}), CREATED) is None
    assert ttl.answer(row(labels={key: "1h"}), CREATED).claims == ()


def test_no_setting_is_even_named_after_a_label_key() -> None:
    assert not [key for key in KEYS if "label" in key.lower() and "key" in key.lower()]
    assert names.TTL_LABEL == "cleanup.kyverno.io/ttl"


@pytest.mark.parametrize(
    ("brakes", "said"),
    [
        (
            {"perMinute": 0},
            "brakes.perMinute: 0 would let nothing go: write 1 or more; to let nothing go, write `mode: ",
        ),
        ({"namespacePerHour": -5}, "brakes.namespacePerHour: -5 would let nothing go"),
        ({"perMinute": -1}, "brakes.perMinute: -1 would let nothing go: write 1 or more"),
        ({"maxPerRun": 0}, "brakes.maxPerRun: 0 would let nothing go"),
        ({"share": 0}, "brakes.share: 0 would let nothing go"),
        ({"share": -30}, "brakes.share: -30 would let nothing go"),
        ({"share": 0.3}, "brakes.share: it is a number: write a whole number"),
        ({"share": "30%"}, "brakes.share: it is a text: write a whole number"),
        ({"shareOver": -1}, "brakes.shareOver: -1 is less than none: write 0 or more"),
        ({"parentsMost": -1}, "brakes.parentsMost: -1 is less than none: write 0 or more"),
        ({"surgeFactor": 0}, "brakes.surgeFactor: 0 would let nothing go"),
        ({"perHour": True}, "brakes.perHour: it is true or false: write a whole number"),
        ({"perHour": None}, "brakes.perHour: it is empty: write a whole number"),
        ({"share": 101}, "from 1 to 100"),
        ({"surgeFactor": 1}, "write 2 or more"),
        ({"parents": ["name space"]}, "can't be the name of a kind"),
        ({"perMinutes": 5}, "did you mean brakes.perMinute?"),
    ],
)
def test_a_ceiling_that_can_not_be_meant_says_what_to_write(brakes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        decode({"brakes": brakes}, source="the settings")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("trash", "said"),
    [
        (
            {"ignoreKinds": ["Secret"]},
            "'Secret' is no kind as kubectl shows it: write its plural and its group",
        ),
        ({"ignoreKinds": ["apps/v1/Deployment"]}, "is no kind as kubectl shows it"),
        ({"keepDays": 0}, "keepDays"),
        ({"keepBytes": 5}, "keepBytes"),
    ],
)
def test_a_trash_that_can_not_be_meant_is_refused(trash: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        decode({"trash": trash}, source="the settings")
    assert said in str(refused.value)
    decode({"trash": {"ignoreKinds": ["secrets", "jobs.batch", "*.cert-manager.io"]}}, source="the settings")


def test_every_key_can_be_written_in_yaml_without_quotes() -> None:
    for setting in every_setting():
        tree = yaml.safe_load(": {".join(setting.key.split(".")) + ": 1" + "}" * setting.key.count("."))
        while isinstance(tree, dict):
            [(key, tree)] = tree.items()
            assert isinstance(key, str), setting.key


def test_of_some_limits_none_is_a_number_like_any_other() -> None:
    brakes = decode({"brakes": {"shareOver": 0, "surgeOver": 0, "parentsMost": 0}}, source="the test").brakes
    assert (brakes.share_over, brakes.surge_over, brakes.parents_most) == (0, 0, 0)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "true", ""])
def test_a_ceiling_of_the_environment_or_a_flag_is_refused_in_the_same_words(text: str) -> None:
    refused = r"brakes\.perMinute: .+: write (1 or more|a whole number)"
    with pytest.raises(UsageError, match=refused):
        load(environ={"SKOUPA_BRAKES_PER_MINUTE": text})
    with pytest.raises(UsageError, match=refused):
        load(environ={}, flags={"brakes.perMinute": text})


def test_the_feature_can_be_switched_off_altogether() -> None:
    knowledge = Knowledge(decode({"features": {"ttl": False}}, source="the test"))
    assert knowledge.interests == ()
    assert knowledge.verdict(row(ttl="0"), CREATED).claims == ()


def test_every_setting_is_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    missing = [setting.key for setting in every_setting() if f"`{setting.key}`" not in text]
    assert not missing

"""What profiles teach: tables beside or in the place of the shipped ones, ends from the answers of expressions, and doubts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.cel.messages import Result, Told
from skoupa.kube.kinds import Discovery
from skoupa.policy.retention.ends import Ending
from skoupa.policy.retention.profiles import read_profile
from skoupa.policy.retention.teaching import Read, Taught, replaced, teach, written_kind
from skoupa.usage.finishing import Doubt, Finish, Outcome
from skoupa.usage.found import Found, Target
from skoupa.usage.reading import shipped
from skoupa.usage.rules import Means
from tests.unit.policy.retention.test_profiles import SERVED, manifest, profile

pytestmark = pytest.mark.unit

TRAINING = "example.com/Training"
CERTIFICATE = "cert-manager.io/Certificate"


def read(name: str = "training", **spec: Any) -> Read:
    found = manifest(**spec)
    return Read(name=name, written=written_kind(found), reading=read_profile(found, discovery=SERVED))


def targets(taught: Taught, kind: str, **fields: Any) -> set[tuple[Target, Means]]:
    body = {"metadata": {"name": "night", "namespace": "shop"}, **fields}
    return {(use.target, use.means) for use in taught.readings().from_manifest(kind, body).uses}


def secret(path: str, **also: Any) -> dict[str, Any]:
    return {"path": path, "kind": "Secret", **also}


def test_pointers_lead_to_the_object_in_the_namespace_that_is_meant() -> None:
    taught = teach(
        [
            read(
                uses=[
                    secret("spec.plain"),
                    secret("spec.fixed", namespace="vault"),
                    secret("spec.refs[].name", namespacePath="spec.refs[].namespace"),
                    secret("spec.names[]", namespacePath="spec.place"),
                    # Which namespace belongs to which can't be read.
                    secret("spec.deep[].name", namespacePath="spec.place"),
                ],
                produces=[secret("metadata.name")],
                takes=[{"path": "spec.map{}.claim", "kind": "PersistentVolumeClaim"}],
            )
        ]
    )
    spec = {
        "plain": "a",
        "fixed": "b",
        "refs": [{"name": "c", "namespace": "data"}, {"name": "d"}],
        "names": ["e"],
        "place": "lab",
        "deep": [{"name": "f"}],
        "map": {"x": {"claim": "g"}},
    }
    assert targets(taught, TRAINING, spec=spec) == {
        (Target("Secret", "shop", "a"), Means.USES),
        (Target("Secret", "vault", "b"), Means.USES),
        (Target("Secret", "data", "c"), Means.USES),
        (Target("Secret", "shop", "d"), Means.USES),
        (Target("Secret", "lab", "e"), Means.USES),
        (Target("Secret", "*", "f"), Means.USES),
        (Target("Secret", "shop", "night"), Means.PRODUCES),
        (Target("PersistentVolumeClaim", "shop", "g"), Means.MANAGES),
    }


def test_a_kind_is_searched_until_a_profile_says_what_it_uses() -> None:
    assert teach([read(produces=[secret("spec.out")])]).readings().is_whole(TRAINING)
    assert not teach([read(uses=[secret("spec.in")])]).readings().is_whole(TRAINING)
    assert TRAINING not in teach([read(finished="true")]).tables


def test_what_is_shipped_rests_part_by_part_and_that_is_told() -> None:
    body = {"spec": {"secretName": "tls", "issuerRef": {"name": "ca", "kind": "Issuer"}, "own": "x"}}
    before = targets(Taught(), CERTIFICATE, **body)
    made = {one for one in before if one[1] is Means.PRODUCES}
    assert made
    assert before - made
    found = read(kind=CERTIFICATE, uses=[secret("spec.own")])
    own = (Target("Secret", "shop", "x"), Means.USES)
    assert targets(teach([found]), CERTIFICATE, **body) == {*made, own}
    assert found.reading.profile is not None
    assert replaced(found.reading.profile) == ("what it uses",)


def test_of_kinds_of_kubernetes_itself_nothing_is_lost() -> None:
    pod = {"containers": [], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}
    body = {"spec": {"template": {"spec": pod}, "own": "x"}}
    taught = teach([read(kind="apps/Deployment", uses=[secret("spec.own")])])
    assert targets(taught, "apps/Deployment", **body) > targets(Taught(), "apps/Deployment", **body)


@pytest.mark.parametrize(
    ("profiles", "why"),
    [
        ([read(uses=[secret("spec.x", kind="v1/Secret")])], "v1 is a version"),
        ([read("a", finished="true"), read("b", finished="true")], "KindProfile/a and KindProfile/b"),
        ([read("a", finished="true"), read("b", uses=[{"path": ".."}])], "KindProfile/b is not understood"),
        ([read(uses=[secret("spec.a"), secret("spec.a.b")])], "can't be read together"),
    ],
)
def test_a_kind_whose_profile_can_not_be_followed_may_point_at_anything(
    profiles: list[Read], why: str
) -> None:
    taught = teach(profiles)
    assert set(taught.wrong) == {one.name for one in profiles}
    (unread,) = taught.unclear(SERVED)
    assert unread.what == "trainings.example.com"
    assert why in unread.why
    assert taught.readings().is_whole(TRAINING)
    assert isinstance(taught.end_doubt(TRAINING), Doubt)
    assert taught.end_doubt("batch/Job") is None
    # Where the server has no such kind nothing of it can point anywhere.
    assert not list(taught.unclear(Discovery(resources=())))


@pytest.mark.parametrize("kind", [None, "", 3, "v1/Secret", "no kind"])
def test_a_profile_of_nobody_knows_which_kind_holds_all(kind: Any) -> None:
    taught = teach([read(kind=kind, finished="true")])
    (unread,) = taught.unclear(SERVED)
    assert unread.what == "kindprofiles.skoupa.dev"
    assert taught.end_doubt("batch/Job") is not None
    # What never ends is not said to.
    assert taught.end_doubt("ConfigMap") is None


def test_what_was_decoded_by_one_set_of_tables_the_next_can_read() -> None:
    volume = {"name": "v", "secret": {"secretName": "s"}}
    body = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"volumes": [volume]}}
    before, after = Taught().readings(), teach([read(uses=[secret("spec.x")])]).readings()
    decoded = msgspec.json.decode(msgspec.json.encode(body), type=before.view("Pod").type)
    assert after.found("Pod", decoded) == before.found("Pod", decoded) != Found()
    assert TRAINING in after.added
    assert not shipped().added


ENDED = {"metadata": {"creationTimestamp": "2026-05-01T10:00:00Z"}, "status": {"end": "2026-05-01T11:00:00Z"}}
AT = datetime(2026, 5, 1, 11, tzinfo=UTC)


def finish(*told: Told, body: dict[str, Any] = ENDED, **spec: Any) -> Finish | Doubt | None:
    ending = Ending(profile(**spec))
    return ending.finish(Result(True, "", told), ending.beside(body))


BOTH: dict[str, Any] = {"succeeded": "a", "failed": "b"}
ALL: dict[str, Any] = {"finished": "c", **BOTH}


@given(st.lists(st.sampled_from([True, False, None, "x"]), min_size=3, max_size=3))
def test_it_has_ended_only_where_all_answers_agree(answers: list[Any]) -> None:
    told = [Told(one, "" if one is not None else "has no answer") for one in answers]
    found = finish(*told, **ALL)
    finished, succeeded, failed = answers
    if (
        not all(isinstance(one, bool) for one in answers)
        or (succeeded and failed)
        or ((succeeded or failed) and not finished)
    ):
        assert isinstance(found, Doubt)
    elif not finished:
        assert found is None
    else:
        outcome = Outcome.SUCCEEDED if succeeded else Outcome.FAILED if failed else Outcome.UNKNOWN
        assert isinstance(found, Finish)
        assert found.outcome is outcome


@pytest.mark.parametrize("at", ["status.end", "object.status.end", "status.ends[]"])
def test_the_time_of_an_end_is_read_from_a_path(at: str) -> None:
    body = {**ENDED, "status": {"end": "2026-05-01T11:00:00Z", "ends": ["x", "2026-05-01T11:00:00Z"]}}
    found = finish(Told(True), body=body, finished="a", finishedAt=at)
    assert isinstance(found, Finish)
    assert found.at == AT


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-05-01T11:00:00+00:00", AT),
        ("2026-05-01T13:00:00+02:00", AT),
        ("2026-05-01T09:59:59Z", None),
        ("0001-01-01T00:00:00Z", None),
        ("soon", None),
        (True, None),
        (None, None),
    ],
)
def test_a_time_that_an_expression_gives_counts_unless_it_can_not_be(value: Any, at: datetime | None) -> None:
    when = Told(value, "" if value is not None else "has no answer")
    found = finish(Told(True), when, finished="a", finishedAt="timestamp(object.status.end)")
    assert isinstance(found, Finish)
    assert found.at == at


def test_a_child_that_died_is_a_doubt() -> None:
    ending = Ending(profile(finished="a"))
    found = ending.finish(Result(False, "took longer than 1 s"), ending.beside(ENDED))
    assert found == Doubt("KindProfile/training: took longer than 1 s")


def test_what_a_shipped_rule_knows_beside_the_end_stays() -> None:
    body = {**ENDED, "spec": {"ttlSecondsAfterFinished": 60}}
    found = finish(Told(True), body=body, kind="batch/Job", finished="a")
    assert isinstance(found, Finish)
    assert found.own_ttl == 60
    found = finish(Told(True), kind="velero.io/Backup", finished="a")
    assert isinstance(found, Finish)
    assert any("velero backup delete" in why for why in found.held_by)


def test_a_doubt_about_expressions_is_about_the_end_alone() -> None:
    found = read(finished="nonsense(", uses=[secret("spec.x")])
    assert found.reading.profile is not None
    wrong = read_profile(manifest(kind="v1/X")).problems
    taught = teach([Read(name="training", written=TRAINING, reading=found.reading, problems=wrong)])
    assert taught.end_doubt(TRAINING) is not None
    assert not taught.endings()
    assert not list(taught.unclear(SERVED))
    assert taught.tables[TRAINING].parts


def test_what_may_be_old_is_doubted_for_the_kinds_that_had_a_profile() -> None:
    taught = msgspec.structs.replace(teach([read(finished="true")]), behind="the server is away")
    (unread,) = taught.unclear(SERVED)
    assert "the server is away" in unread.why
    assert taught.end_doubt(TRAINING) is not None
    assert taught.end_doubt("batch/Job") is None

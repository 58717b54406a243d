"""An object comes back without what killed it, with owners that exist, and saying what differs."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.returning import made_ready, relinked
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim

pytestmark = pytest.mark.unit

TTL = "cleanup.kyverno.io/ttl"
CLAIM = Claim(
    mechanism="ttl", rule=f"{TTL}=1h", due=1.0, reason=reason("ttl-expired", key=TTL, value="1h", since="x")
)


def kept(resource: str = "configmaps", **fields: Any) -> Kept:
    metadata = {"name": "web", "namespace": "shop", **fields.pop("metadata", {})}
    manifest = {"metadata": metadata, **fields.pop("manifest", {})}
    plain: dict[str, Any] = {
        "api_version": "v1",
        "kind": "X",
        "resource": resource,
        "namespaced": True,
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
    }
    return Kept(**{**plain, **fields}, manifest=manifest)


def test_the_label_that_let_it_go_is_taken_off_and_the_others_stay() -> None:
    ready = made_ready(kept(metadata={"labels": {TTL: "1h", "app": "web"}}), claims=(CLAIM,))
    assert ready.manifest["metadata"]["labels"] == {"app": "web"}
    assert any(TTL in said for said in ready.differs)
    alone = made_ready(kept(metadata={"labels": {TTL: "1h"}}), claims=(CLAIM,))
    assert "labels" not in alone.manifest["metadata"]


def test_a_label_that_counted_from_its_end_is_taken_off_too() -> None:
    key, value = "skoupa.dev/ttl-after", "succeeded-1h.failed-7d"
    why = reason("after-moment", key=key, value=value, time="1h", since="x", last="it succeeded")
    claim = Claim(mechanism="retention", rule=f"{key}={value}", due=1.0, reason=why)
    ready = made_ready(kept(metadata={"labels": {key: value, "app": "web"}}), claims=(claim,))
    assert ready.manifest["metadata"]["labels"] == {"app": "web"}


@pytest.mark.parametrize("keep", ["", "2026-05-08T120000Z"])
def test_since_when_nobody_needed_it_does_not_count_any_more(keep: str) -> None:
    mark = {"skoupa.dev/unneeded-since": "2026-05-01T10:00:00Z"}
    marked = kept(metadata={"labels": {"skoupa.dev/ttl-after": "unused-1h"}, "annotations": mark})
    assert "annotations" not in made_ready(marked, keep=keep).manifest["metadata"]
    assert marked.manifest is not None
    assert marked.manifest["metadata"]["annotations"] == mark


def test_with_a_time_to_keep_it_all_labels_stay_and_one_holds_it() -> None:
    ready = made_ready(kept(metadata={"labels": {TTL: "1h"}}), claims=(CLAIM,), keep="2026-05-08T120000Z")
    assert ready.manifest["metadata"]["labels"] == {TTL: "1h", "skoupa.dev/keep": "2026-05-08T120000Z"}


def test_what_went_along_loses_a_date_that_is_over_and_keeps_a_duration() -> None:
    now = 1_777_636_800.0
    past = made_ready(kept(metadata={"labels": {TTL: "2026-01-01"}}), now=now)
    assert "labels" not in past.manifest["metadata"]
    for value in ("1h", "2027-01-01"):
        later = made_ready(kept(metadata={"labels": {TTL: value}}), now=now)
        assert later.manifest["metadata"]["labels"] == {TTL: value}


@pytest.mark.parametrize(
    ("field", "key", "value", "stays"),
    [
        ("labels", TTL, "0", False),
        ("labels", TTL, "0s", False),
        ("annotations", "janitor/expires", "2020-01-01T00:00:00Z", False),
        ("annotations", "janitor/expires", "2099-01-01", True),
        ("annotations", "janitor/ttl", "0s", False),
        ("annotations", "janitor/ttl", "7d", True),
        ("annotations", "janitor/ttl", "forever", True),
        ("annotations", "k8s-ttl-controller.twin.sh/ttl", "0s", False),
        ("annotations", "k8s-ttl-controller.twin.sh/ttl", "7d", True),
    ],
)
def test_what_went_along_loses_every_lifetime_that_would_be_over_at_once(
    field: str, key: str, value: str, *, stays: bool
) -> None:
    ready = made_ready(kept(metadata={field: {key: value}}), now=1_777_636_800.0)
    assert (field in ready.manifest["metadata"]) is stays
    assert any(key in said for said in ready.differs) is not stays


def test_a_binding_in_another_namespace_is_for_the_accounts_there_and_says_so() -> None:
    runner = {"kind": "ServiceAccount", "name": "runner", "namespace": "shop"}
    others = [
        {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"},
        {"kind": "User", "name": "anna", "apiGroup": "rbac.authorization.k8s.io"},
    ]
    binding = kept("rolebindings.rbac.authorization.k8s.io", manifest={"subjects": [runner, *others]})
    ready = made_ready(binding, into="lab")
    assert ready.manifest["subjects"] == [{**runner, "namespace": "lab"}, *others]
    assert "for the ServiceAccount runner of lab, not of shop" in ready.differs
    assert ready.manifest["metadata"]["namespace"] == "lab"
    at_home = made_ready(binding)
    assert at_home.manifest["subjects"] == [runner, *others]
    assert at_home.differs == ()


def test_another_namespace_is_written_and_said_and_not_for_what_lives_in_none() -> None:
    ready = made_ready(kept(), into="lab")
    assert ready.manifest["metadata"]["namespace"] == "lab"
    assert any("shop" in said for said in ready.differs)
    node = made_ready(kept("nodes", namespaced=False, metadata={"namespace": ""}), into="lab")
    assert node.manifest["metadata"]["namespace"] == ""


def test_a_secret_whose_values_were_not_kept_comes_back_with_empty_ones_and_says_so() -> None:
    ready = made_ready(kept("secrets", withheld=("password", "user")))
    assert ready.manifest["data"] == {"password": "", "user": ""}
    assert any("without its values" in said for said in ready.differs)
    assert not any("immutable" in said for said in ready.differs)


def test_an_immutable_secret_without_its_values_can_be_given_them() -> None:
    locked = {"immutable": True}
    ready = made_ready(kept("secrets", withheld=("password",), manifest=locked))
    assert "immutable" not in ready.manifest
    assert "it is not immutable, so that its values can be written" in ready.differs
    whole = made_ready(kept("secrets", manifest=locked))
    assert whole.manifest["immutable"] is True


def test_what_will_differ_is_said_for_kinds_that_do() -> None:
    assert any("runs again" in said for said in made_ready(kept("jobs.batch")).differs)
    balancer = kept("services", manifest={"spec": {"type": "LoadBalancer"}})
    assert any("load balancer" in said for said in made_ready(balancer).differs)
    assert made_ready(kept()).differs == ()


def test_what_was_kept_is_not_changed() -> None:
    whole = kept(metadata={"labels": {TTL: "1h"}})
    made_ready(whole, claims=(CLAIM,), into="lab", keep="true")
    assert whole == kept(metadata={"labels": {TTL: "1h"}})


def test_owners_get_their_new_uids_and_those_that_are_gone_are_left_out_and_named() -> None:
    owners = [
        {"kind": "A", "name": "a", "uid": "old-a", "controller": True},
        {"kind": "B", "name": "b", "uid": "old-b"},
    ]
    manifest = {"metadata": {"name": "x", "ownerReferences": owners}}
    linked, gone = relinked(manifest, {"old-a": "new-a", "old-b": None})
    assert linked["metadata"]["ownerReferences"] == [
        {"kind": "A", "name": "a", "uid": "new-a", "controller": True}
    ]
    assert gone == ("B b",)
    alone, gone = relinked(manifest, {})
    assert "ownerReferences" not in alone["metadata"]
    assert gone == ("A a", "B b")

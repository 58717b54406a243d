"""What is closed with a key opens with that key, in its own place, and in no other way."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import LedgerUnusable, SkoupaError, UsageError
from skoupa.ledger.rows import Body
from skoupa.ledger.trash.contents import Kept, packed
from skoupa.ledger.trash.sealing import PLAIN, Key, Seal, read_keys

pytestmark = pytest.mark.unit

ONE, TWO = Key(b"1" * 32), Key(b"2" * 32)


def kept(manifest: dict[str, Any] | None = None) -> Kept:
    return Kept(
        api_version="v1",
        kind="ConfigMap",
        resource="configmaps",
        namespaced=True,
        name="web",
        namespace="shop",
        uid="u-1",
        manifest=manifest or {"data": {"a": "needle-in-it"}},
    )


def closed(seal: Seal, part: str = "") -> Body:
    return seal.close(packed(kept()), uid="u-1", part=part)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    manifest=st.dictionaries(st.text(max_size=8), _json, min_size=1, max_size=4),
    cluster=st.text(max_size=8),
    uid=st.text(max_size=8),
    part=st.text(max_size=8),
    keys=st.lists(st.binary(min_size=32, max_size=32).map(Key), max_size=3, unique=True),
)
def test_what_goes_in_comes_out(
    manifest: dict[str, Any], cluster: str, uid: str, part: str, keys: list[Key]
) -> None:
    seal = Seal(cluster=cluster, keys=tuple(keys))
    whole = kept(manifest)
    assert seal.open(seal.close(packed(whole), uid=uid, part=part), uid=uid) == whole


def test_without_a_key_it_is_compressed_and_with_one_it_is_not_readable() -> None:
    assert closed(Seal(cluster="east")).form == PLAIN
    body = closed(Seal(cluster="east", keys=(ONE,)))
    assert ONE.fingerprint in body.form
    assert b"needle" not in body.data
    assert closed(Seal(cluster="east", keys=(ONE,))).data != body.data


def test_a_new_key_in_front_closes_and_the_old_one_still_opens() -> None:
    old = closed(Seal(cluster="east", keys=(ONE,)))
    rotated = Seal(cluster="east", keys=(TWO, ONE))
    assert rotated.open(old, uid="u-1") == kept()
    assert TWO.fingerprint in closed(rotated).form


def test_the_wrong_key_is_told_by_fingerprints_and_no_key_by_none() -> None:
    body = closed(Seal(cluster="east", keys=(ONE,)))
    for keys, given_ in (((TWO,), TWO.fingerprint), ((), "none")):
        with pytest.raises(UsageError) as wrong:
            Seal(cluster="east", keys=keys).open(body, uid="u-1")
        assert ONE.fingerprint in str(wrong.value)
        assert given_ in str(wrong.value)
        assert "--key-file" in str(wrong.value)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: (Seal(cluster="west", keys=(ONE,)), body, "u-1"),
        lambda body: (Seal(cluster="east", keys=(ONE,)), body, "u-2"),
        lambda body: (
            Seal(cluster="east", keys=(ONE,)),
            msgspec.structs.replace(body, part="configmaps/shop/other"),
            "u-1",
        ),
        lambda body: (
            Seal(cluster="east", keys=(ONE,)),
            msgspec.structs.replace(body, data=body.data[:-1] + bytes([body.data[-1] ^ 1])),
            "u-1",
        ),
        lambda body: (Seal(cluster="east", keys=(ONE,)), msgspec.structs.replace(body, data=b""), "u-1"),
    ],
    ids=["another cluster", "another object", "another part", "a flipped bit", "nothing"],
)
def test_a_body_in_another_place_or_changed_does_not_open(spoil: Any) -> None:
    seal, body, uid = spoil(closed(Seal(cluster="east", keys=(ONE,))))
    with pytest.raises(LedgerUnusable, match="damaged, or belongs to another"):
        seal.open(body, uid=uid)


@given(data=st.binary(max_size=60))
def test_a_damaged_plain_body_is_told_without_what_is_in_it(data: bytes) -> None:
    with pytest.raises(LedgerUnusable) as damaged:
        Seal(cluster="east").open(Body(form=PLAIN, data=data), uid="u-1")
    assert damaged.value.__cause__ is None


def test_an_unknown_form_asks_for_another_version() -> None:
    with pytest.raises(LedgerUnusable, match="does not know"):
        Seal(cluster="east").open(Body(form="json+zstd", data=b""), uid="u-1")


def test_keys_are_read_from_a_file_or_a_variable_in_both_spellings(tmp_path: Path) -> None:
    raw = secrets.token_bytes(32)
    spelt = [raw.hex(), base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")]
    for text in spelt:
        assert read_keys(variable="K", environ={"K": text}) == (Key(raw),)
    file = tmp_path / "keys"
    file.write_text(f"# new\n{spelt[0]}\n\n{ONE.secret.hex()}  # old\n")
    assert read_keys(file=str(file)) == (Key(raw), ONE)
    assert read_keys(variable="K", environ={"K": f"{spelt[0]},{ONE.secret.hex()}"}) == (Key(raw), ONE)
    assert read_keys() == ()


@pytest.mark.parametrize(
    "text", ["", "# nothing", "password", "a" * 63, "zz" * 32, base64.b64encode(b"x" * 16).decode()]
)
def test_what_is_no_key_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_keys(variable="K", environ={"K": text})
    assert "openssl rand" in str(refused.value)
    for word in text.replace("#", " ").split():
        if word != "nothing":
            assert word not in str(refused.value)


def test_a_file_that_is_not_there_and_a_variable_that_is_not_set_are_errors(tmp_path: Path) -> None:
    for given_ in ({"file": str(tmp_path / "none")}, {"variable": "NONE", "environ": {}}):
        with pytest.raises(UsageError):
            read_keys(**given_)
    with pytest.raises(UsageError, match="can't go together"):
        read_keys(file="a", variable="b")


def test_a_key_does_not_show_itself() -> None:
    assert "1111" not in repr(ONE)
    assert issubclass(UsageError, SkoupaError)

"""Keys are read anew when their file changes, and a file that is spoilt stops encrypting, not opening."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.errors import UsageError
from skoupa.ledger.trash.contents import Kept, packed
from skoupa.ledger.trash.keyring import Keyring
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.sim.clock import VirtualClock, run

pytestmark = pytest.mark.unit

OLD, NEW = Key(b"o" * 32), Key(b"n" * 32)
SOMETHING = packed(
    Kept(api_version="v1", kind="Secret", resource="secrets", namespaced=True, name="login", uid="u-1")
)


def write(file: Path, *keys: Key) -> None:
    """As the kubelet does it: another file takes its place."""
    beside = file.with_suffix(".new")
    beside.write_text("\n".join(key.secret.hex() for key in keys))
    beside.replace(file)


def test_a_new_key_in_front_encrypts_from_then_on_and_the_old_one_still_opens(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    write(file, OLD)

    async def main(clock: VirtualClock) -> None:
        ring = Keyring(cluster="east", clock=clock, file=str(file))
        before = ring.closing().close(SOMETHING, uid="u-1")
        write(file, NEW, OLD)
        await clock.sleep(2)
        after = ring.closing().close(SOMETHING, uid="u-1")
        assert before.form.endswith(OLD.fingerprint)
        assert after.form.endswith(NEW.fingerprint)
        assert {ring.opening().open(body, uid="u-1").name for body in (before, after)} == {"login"}

    run(main)


@pytest.mark.parametrize("trouble", ["garbage", "empty", "gone"])
def test_a_file_that_is_spoilt_encrypts_nothing_until_it_is_mended_and_opens_all_the_same(
    tmp_path: Path, trouble: str
) -> None:
    file = tmp_path / "keys"
    write(file, OLD)

    async def main(clock: VirtualClock) -> None:
        ring = Keyring(cluster="east", clock=clock, file=str(file))
        before = ring.closing().close(SOMETHING, uid="u-1")
        if trouble == "gone":
            file.unlink()
        else:
            file.write_text("hunter2" if trouble == "garbage" else "\n")
        await clock.sleep(2)
        for _ in range(3):
            with pytest.raises(UsageError, match="the key file") as refused:
                ring.closing()
            assert "hunter2" not in str(refused.value)
        assert ring.opening().open(before, uid="u-1").name == "login"
        write(file, NEW)
        await clock.sleep(2)
        assert ring.closing().close(SOMETHING, uid="u-1").form.endswith(NEW.fingerprint)

    run(main)


def test_without_a_file_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRASH_KEY", OLD.secret.hex())

    async def main(clock: VirtualClock) -> None:
        assert not Keyring(cluster="east", clock=clock).closing().encrypts
        ring = Keyring(cluster="east", clock=clock, variable="TRASH_KEY")
        closed = ring.closing().close(SOMETHING, uid="u-1")
        assert Seal(cluster="east", keys=(OLD,)).open(closed, uid="u-1").name == "login"

    run(main)


def test_keys_that_can_not_be_read_at_the_start_are_an_error_then(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> None:
        with pytest.raises(UsageError, match="can't be read"):
            Keyring(cluster="east", clock=clock, file=str(tmp_path / "none"))

    run(main)


def test_a_file_that_was_away_and_comes_back_as_it_was_encrypts_again(tmp_path: Path) -> None:
    file, aside = tmp_path / "keys", tmp_path / "aside"
    write(file, OLD)

    async def main(clock: VirtualClock) -> None:
        ring = Keyring(cluster="east", clock=clock, file=str(file))
        for _ in range(2):
            file.rename(aside)
            await clock.sleep(2)
            with pytest.raises(UsageError, match="No such file"):
                ring.closing()
            aside.rename(file)
            await clock.sleep(2)
            assert ring.closing().encrypts

    run(main)


def test_a_new_key_is_noticed_in_a_file_in_somebodys_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "keys", OLD)

    async def main(clock: VirtualClock) -> None:
        ring = Keyring(cluster="east", clock=clock, file="~/keys")
        write(tmp_path / "keys", NEW, OLD)
        await clock.sleep(2)
        assert ring.closing().close(SOMETHING, uid="u-1").form.endswith(NEW.fingerprint)
        with pytest.raises(UsageError, match="give its whole path"):
            Keyring(cluster="east", clock=clock, file="~nobody-of-that-name/keys")

    run(main)

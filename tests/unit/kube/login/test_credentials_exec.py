"""Credential plugins, as real programs: what they are told, what they may answer, and how they may fail."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import json
import os
import pty
import shlex
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.errors import KubeconfigError
from skoupa.kube.login.credentials import Credentials
from skoupa.kube.login.kubeconfig import load
from tests.unit.kube.login.greeter import greeted, serving
from tests.unit.kube.login.pki import DAY, NOW, HandClock, issue

pytestmark = pytest.mark.unit

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
TOKEN = "hidden-token-of-the-plugin"
CA = issue("cluster")


def answer(version: str = V1, **status: Any) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def says(text: str) -> str:
    return f"printf %s {shlex.quote(text)}"


class Setting:
    """A kubeconfig whose user is a plugin made of shell lines; each run is counted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.cluster: dict[str, Any] = {"server": "https://h:6443"}

    def script(self, *lines: str) -> None:
        text = "\n".join(("#!/bin/sh", f"echo run >> {self.folder}/runs", *lines, ""))
        path = self.folder / "new"
        path.write_text(text)
        path.chmod(0o755)
        path.rename(self.folder / "plugin")

    @property
    def runs(self) -> int:
        path = self.folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def kubeconfig(self, **plugin: Any) -> str:
        user = {"command": "./plugin", "apiVersion": V1, "interactiveMode": "Never", **plugin}
        config = {
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": {"exec": user}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = self.folder / "config"
        path.write_text(yaml.safe_dump(config))
        return str(path)

    def credentials(self, *, patience: float = 20, **plugin: Any) -> Credentials:
        connection = load(kubeconfig=self.kubeconfig(**plugin), environ={})
        return Credentials(connection, clock=self.clock, exec_timeout=patience)

    async def error(self, **plugin: Any) -> KubeconfigError:
        with pytest.raises(KubeconfigError) as caught:
            await self.credentials(**plugin).headers()
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert TOKEN not in shown
        assert caught.value.file == str(self.folder / "config")
        assert caught.value.field.startswith("users[0].user.exec")
        assert caught.value.advice
        return caught.value


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Bearer {token}"),)


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 60 s"
        await asyncio.sleep(0.01)


# What it answers


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_token_of_a_plugin_is_used_and_the_plugin_run_once(setting: Setting, version: str) -> None:
    setting.script(says(answer(version, token=TOKEN)))
    credentials = setting.credentials(apiVersion=version)
    for _ in range(3):
        assert await credentials.headers() == bearer(TOKEN)
        setting.clock.pass_time(1_000_000)
    assert setting.runs == 1


async def test_many_requests_at_once_run_the_plugin_once(setting: Setting) -> None:
    setting.script("sleep 0.05", says(answer(token=TOKEN)))
    credentials = setting.credentials()
    headers = await asyncio.gather(*(credentials.headers() for _ in range(20)))
    assert set(headers) == {bearer(TOKEN)}
    assert setting.runs == 1


def expiring(setting: Setting, seconds: float, token: str) -> str:
    ends = dt.datetime.fromtimestamp(setting.clock.now() + seconds, dt.UTC)
    return says(answer(token=token, expirationTimestamp=ends.strftime("%Y-%m-%dT%H:%M:%SZ")))


async def test_the_plugin_is_run_again_shortly_before_its_answer_expires(setting: Setting) -> None:
    setting.script(expiring(setting, 900, "first"))
    credentials = setting.credentials()
    assert await credentials.headers() == bearer("first")
    setting.script(expiring(setting, 1800, "second"))
    setting.clock.pass_time(800)
    assert await credentials.headers() == bearer("first")
    setting.clock.pass_time(50)
    assert await credentials.headers() == bearer("second")
    assert setting.runs == 2


async def test_an_answer_that_has_expired_already_is_tried_but_not_asked_for_every_time(
    setting: Setting,
) -> None:
    setting.script(expiring(setting, -60, "old"))
    credentials = setting.credentials()
    for _ in range(5):
        assert await credentials.headers() == bearer("old")
    assert setting.runs == 1
    setting.clock.pass_time(6)
    await credentials.headers()
    assert setting.runs == 2


async def test_a_failed_renewal_is_no_error_while_the_old_answer_is_good(setting: Setting) -> None:
    setting.script(expiring(setting, 600, "first"))
    credentials = setting.credentials()
    await credentials.headers()
    setting.script("exit 1")
    setting.clock.pass_time(550)
    for _ in range(3):
        assert await credentials.headers() == bearer("first")
    assert setting.runs == 2, "it is not tried for every request"
    setting.clock.pass_time(10)
    assert await credentials.headers() == bearer("first")
    assert setting.runs == 3
    setting.clock.pass_time(100)
    with pytest.raises(KubeconfigError, match="failed with exit code 1"):
        await credentials.headers()


async def test_a_refused_answer_is_asked_for_again_but_not_for_every_refusal(setting: Setting) -> None:
    setting.script(says(answer(token="first")))
    credentials = setting.credentials()
    await credentials.headers()
    setting.script("sleep 0.05", says(answer(token="second")))
    assert all(await asyncio.gather(*(credentials.refused() for _ in range(10))))
    assert await credentials.headers() == bearer("second")
    assert await credentials.refused(), "requests of before may still be refused"
    assert setting.runs == 2


async def test_a_plugin_that_answers_the_same_again_is_no_reason_to_retry(setting: Setting) -> None:
    setting.script(says(answer(token="same")))
    credentials = setting.credentials()
    await credentials.headers()
    assert not await credentials.refused()
    assert not await credentials.refused()
    assert setting.runs == 2
    setting.clock.pass_time(11)
    assert not await credentials.refused()
    assert setting.runs == 3


async def test_a_plugin_that_fails_after_a_refusal_says_so(setting: Setting) -> None:
    setting.script(says(answer(token="first")))
    credentials = setting.credentials()
    await credentials.headers()
    setting.script("echo log in again >&2", "exit 3")
    for call in (credentials.refused, credentials.headers):
        with pytest.raises(KubeconfigError, match="failed with exit code 3, saying: log in again"):
            await call()


# Client certificates


async def test_the_client_certificate_of_a_plugin_is_presented_and_replaced(setting: Setting) -> None:
    (setting.folder / "ca").write_text(CA.certificate)
    setting.cluster["certificate-authority"] = "ca"

    def handed_out(name: str, ends: dt.datetime) -> str:
        pair = issue(name, by=CA, ends=ends)
        return says(answer(clientCertificateData=pair.certificate, clientKeyData=pair.key))

    setting.script(handed_out("jane", NOW + DAY))
    credentials = setting.credentials()
    async with serving(issue("server", by=CA), clients_of=CA) as port:
        assert await credentials.headers() == ()
        first, generation = credentials.ssl_context(), credentials.generation
        assert first is not None
        assert await greeted(first, port) == "jane"
        # No expirationTimestamp: the date of the certificate counts.
        setting.script(handed_out("joe", NOW + 3 * DAY))
        setting.clock.pass_time(DAY.total_seconds() - 1)
        await credentials.headers()
        second = credentials.ssl_context()
        assert second is not None
        assert credentials.generation == generation + 1
        assert await greeted(second, port) == "joe"


async def test_a_certificate_that_can_not_be_used_is_an_error_of_the_plugin(setting: Setting) -> None:
    pair, other = issue("jane", by=CA), issue("joe", by=CA)
    for status, message in (
        ({"clientCertificateData": pair.certificate}, "answered with half of a certificate and key"),
        ({"clientKeyData": pair.key}, "answered with half of a certificate and key"),
        ({"clientCertificateData": "x", "clientKeyData": pair.key}, "there is no certificate in it"),
        ({"clientCertificateData": pair.certificate, "clientKeyData": other.key}, "the key does not belong"),
    ):
        setting.script(says(answer(**status)))
        error = await setting.error()
        assert message in str(error)
        assert pair.key.splitlines()[1] not in str(error)


# What it is told


async def test_the_plugin_gets_arguments_environment_and_what_is_asked(setting: Setting) -> None:
    setting.script(
        f'printf "%s|" "$@" "$GREETING" "$HOME" > {setting.folder}/seen',
        f'printf %s "$KUBERNETES_EXEC_INFO" > {setting.folder}/info',
        f"cat > {setting.folder}/stdin",
        says(answer(token=TOKEN)),
    )
    plugin = {"args": ["get token", "--x=1"], "env": [{"name": "GREETING", "value": "hello"}]}
    connection = load(kubeconfig=setting.kubeconfig(**plugin), environ={})
    await Credentials(
        connection, clock=setting.clock, environ={"HOME": "/h", "PATH": os.environ["PATH"]}
    ).headers()
    assert (setting.folder / "seen").read_text() == "get token|--x=1|hello|/h|"
    assert (setting.folder / "stdin").read_text() == ""
    assert json.loads((setting.folder / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


async def test_the_plugin_is_told_about_the_cluster_if_it_wants(setting: Setting) -> None:
    setting.script(
        f'printf %s "$KUBERNETES_EXEC_INFO" > {setting.folder}/info', says(answer(V1BETA1, token=TOKEN))
    )
    (setting.folder / "ca").write_text(CA.certificate)
    setting.cluster |= {
        "certificate-authority": "ca",
        "tls-server-name": "inner",
        "proxy-url": "http://u:p@proxy:1",
        "disable-compression": True,
        "extensions": [
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x", "n": [1, None]}},
        ],
    }
    await setting.credentials(apiVersion=V1BETA1, provideClusterInfo=True).headers()
    told = json.loads((setting.folder / "info").read_text())
    assert told["apiVersion"] == V1BETA1
    from base64 import b64encode

    assert told["spec"]["cluster"] == {
        "server": "https://h:6443",
        "tls-server-name": "inner",
        "certificate-authority-data": b64encode(CA.certificate.encode()).decode(),
        "proxy-url": "http://u:p@proxy:1",
        "disable-compression": True,
        "config": {"audience": "x", "n": [1, None]},
    }


async def test_a_bare_name_is_looked_up_on_the_path(setting: Setting) -> None:
    setting.script(says(answer(token=TOKEN)))
    connection = load(kubeconfig=setting.kubeconfig(command="plugin"), environ={})
    path = f"{setting.folder}{os.pathsep}{os.environ['PATH']}"
    credentials = Credentials(connection, clock=setting.clock, environ={"PATH": path})
    assert await credentials.headers() == bearer(TOKEN)


# How it may fail


async def test_a_missing_plugin_shows_how_to_install_it(setting: Setting) -> None:
    for command in ("./absent", "absent-plugin-of-skoupa"):
        error = await setting.error(command=command, installHint="run: \x1b[1mbrew install it\nand log in")
        assert "is not installed: run: [1mbrew install it | and log in" in str(error)
    assert "is not installed: install it, or give its full path" in str(
        await setting.error(command="./absent")
    )


async def test_a_plugin_that_can_not_be_started_says_why(setting: Setting) -> None:
    setting.script("exit 0")
    (setting.folder / "plugin").chmod(0o644)
    assert "can't be started (Permission denied)" in str(await setting.error())
    (setting.folder / "plugin").write_bytes(b"\x7fELF not really")
    (setting.folder / "plugin").chmod(0o755)
    assert "can't be started (Exec format error)" in str(await setting.error())


async def test_a_failing_plugin_shows_the_end_of_what_it_said_but_no_secret(setting: Setting) -> None:
    setting.script(
        says(answer(token=TOKEN)),
        f"echo the token is {TOKEN} and client secret $1 >&2",
        'echo "env $API_SECRET, jwt eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln" >&2',
        "echo session expired >&2",
        "exit 7",
    )
    error = await setting.error(
        args=["--client-secret=arg-secret", "--token", "next-secret"],
        env=[{"name": "API_SECRET", "value": "env-secret"}],
    )
    assert "failed with exit code 7, saying: the token is *** and client secret --client-secret=***" in str(
        error
    )
    assert "env ***, jwt *** | session expired: log in again" in str(error)


async def test_a_plugin_that_is_killed_says_so(setting: Setting) -> None:
    setting.script("kill -9 $$")
    assert "was ended by signal 9" in str(await setting.error())


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "did not answer with an ExecCredential (not JSON)"),
        (f"token: {TOKEN}", "did not answer with an ExecCredential (not JSON)"),
        (f'{{"token": "{TOKEN}"', "did not answer with an ExecCredential (not JSON)"),
        ("[]", "did not answer with an ExecCredential (Expected `object`, got `array`)"),
        ("{}", f"was asked for {V1} ExecCredential and answered with nothing of the kind"),
        (
            answer(V1BETA1, token=TOKEN),
            f"was asked for {V1} ExecCredential and answered with {V1BETA1} ExecCredential",
        ),
        (json.dumps({"kind": "Status", "apiVersion": "v1", "message": TOKEN}), "answered with v1 Status"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": V1}), "answered without credentials"),
        (answer(), "answered without credentials: log in again"),
        (answer(token="", clientKeyData=None), "answered without credentials"),
        (answer(token=[TOKEN]), "(Expected `str` - at `$.status.token`)"),
        (answer(token=f"{TOKEN}\n"), "has a line break or a control character in it"),
        (answer(token=TOKEN, expirationTimestamp="soon"), "$.status.expirationTimestamp"),
        (answer(token=TOKEN, expirationTimestamp="2026-01-01T00:00:00"), "$.status.expirationTimestamp"),
    ],
)
async def test_an_answer_that_is_none_is_described_and_not_quoted(
    setting: Setting, output: str, message: str
) -> None:
    setting.script(says(output))
    assert message in str(await setting.error())


async def test_bytes_that_are_no_text_are_no_answer(setting: Setting) -> None:
    setting.script(r"printf '{\"kind\": \"\377\"}'")
    assert "did not answer with an ExecCredential" in str(await setting.error())


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_slow_plugin_is_ended_with_its_children(setting: Setting) -> None:
    setting.script(
        "echo waiting for the browser >&2", f"sleep 600 & echo $! > {setting.folder}/child", "wait"
    )
    error = await setting.error(patience=0.5)
    assert "gave no answer within 0.5 s, saying: waiting for the browser: run it by hand" in str(error)
    child = int((setting.folder / "child").read_text())
    await eventually(lambda: not alive(child))


async def test_a_child_that_keeps_the_pipe_open_does_not_keep_us(setting: Setting) -> None:
    setting.script(f"sleep 600 & echo $! > {setting.folder}/child", says(answer(token=TOKEN)))
    error = await setting.error(patience=0.5)
    assert "gave no answer within 0.5 s" in str(error)
    child = int((setting.folder / "child").read_text())
    await eventually(lambda: not alive(child))


async def test_an_endless_answer_is_cut(setting: Setting) -> None:
    setting.script("yes")
    assert "answered far too much" in str(await setting.error())


async def test_a_cancelled_request_ends_the_plugin(setting: Setting) -> None:
    setting.script(
        f"echo $$ > {setting.folder}/pid.new; mv {setting.folder}/pid.new {setting.folder}/pid", "sleep 600"
    )
    credentials = setting.credentials()
    task = asyncio.ensure_future(credentials.headers())
    await eventually((setting.folder / "pid").exists)
    task.cancel()
    await eventually(task.cancelled)
    pid = int((setting.folder / "pid").read_text())
    await eventually(lambda: not alive(pid))
    setting.script(says(answer(token=TOKEN)))
    assert await credentials.headers() == bearer(TOKEN)


@pytest.mark.parametrize("turns", range(12))
async def test_a_request_cancelled_while_its_plugin_starts_leaves_nothing_behind(
    setting: Setting, turns: int
) -> None:
    setting.script("sleep 600 & wait")
    credentials = setting.credentials()
    before = _descriptors()
    task = asyncio.ensure_future(credentials.headers())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await eventually(task.cancelled)
    await eventually(lambda: _descriptors() == before)
    gc.collect()  # an open transport would warn here


def _descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


# Talking to a person


async def test_a_plugin_that_must_ask_a_person_is_not_run_without_a_terminal(setting: Setting) -> None:
    setting.script(says(answer(token=TOKEN)))
    error = await setting.error(interactiveMode="Always")
    assert "wants to ask something, and standard input is not a terminal: run this from a terminal" in str(
        error
    )
    assert setting.runs == 0


_IN_A_TERMINAL = """
import asyncio, sys
from skoupa.clock import SystemClock
from skoupa.kube.login.credentials import Credentials
from skoupa.kube.login.kubeconfig import load
credentials = Credentials(load(kubeconfig=sys.argv[1], environ={}), clock=SystemClock())
print(asyncio.run(credentials.headers()))
"""


@pytest.mark.parametrize(("mode", "asked"), [("Always", True), ("IfAvailable", True), ("Never", False)])
def test_a_plugin_in_a_terminal_can_prompt_and_read(setting: Setting, mode: str, *, asked: bool) -> None:
    setting.script(
        "printf 'password? ' >&2",
        "read word",
        'case "$KUBERNETES_EXEC_INFO" in *\'"interactive":true\'*) mode=asked;; *) mode=alone;; esac',
        f'printf \'{{"kind":"ExecCredential","apiVersion":"{V1}","status":{{"token":"%s-%s"}}}}\' "$mode" "$word"',
    )
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"swordfish\n")
        done = subprocess.run(
            [sys.executable, "-c", _IN_A_TERMINAL, setting.kubeconfig(interactiveMode=mode)],
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    token = "asked-swordfish" if asked else "alone-"
    assert done.stdout == f"{bearer(token)}\n"
    assert done.stderr == ("password? " if asked else ""), "a prompt has to reach the person"


def test_reading_a_kubeconfig_loads_neither_asyncio_nor_ssl_nor_aiohttp(setting: Setting) -> None:
    code = (
        "import sys; from skoupa.kube.login.kubeconfig import load; load(kubeconfig=sys.argv[1], environ={}); "
        "print([name for name in ('asyncio', 'ssl', 'aiohttp', 'difflib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, setting.kubeconfig()],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout == "[]\n"

"""`--as` asks with the rights of another; which settings count is read with our own where that one may not read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from skoupa.cli import connect
from skoupa.cli.connect import Reached
from skoupa.cli.options import Connecting
from skoupa.kube.client import Client
from skoupa.kube.login.connection import Connection
from skoupa.kube.login.secret import Secret
from skoupa.kube.skew import SkewMeter
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.test_installed_settings import PROTECT
from tests.unit.cli.worlds import Standing, config_map, granting, installed, obj

pytestmark = pytest.mark.unit

SWEEPER = "system:serviceaccount:skoupa:skoupa"
UNSEEN = "whether an installation has settings of its own can't be seen"
SPEC = {
    "schedule": "0 3 * * *",
    "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": ["shop"]}}]},
}
POLICY = obj("ClusterCleanupPolicy", "old", api="kyverno.io/v2", spec=SPEC)
READS = Rule(verbs=("list", "watch", "delete"), resources=("*",))


class Users:
    """A cluster in memory, reached as the user who is named by --as, or else as ourselves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = EmbeddedCluster(clock=Standing())
        self.cluster.load((obj("Namespace", "shop"), obj("Namespace", "skoupa"), config_map("a", "1h")))
        self.ourselves = ""
        monkeypatch.setattr(connect, "reached", self._reached)

    @asynccontextmanager
    async def _reached(self, connecting: Connecting) -> AsyncIterator[Reached]:
        async def token() -> Secret:
            return Secret()

        user = connecting.as_user or self.ourselves
        clock = self.cluster.clock
        meter = SkewMeter(self.cluster.as_user(user) if user else self.cluster, clock)
        connection = Connection(server="https://cluster.example", namespace=connecting.namespace or "shop")
        yield Reached(Client(meter, clock), connection, meter, token)


@pytest.fixture
def users(monkeypatch: pytest.MonkeyPatch) -> Users:
    return Users(monkeypatch)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(POLICY))
    return str(file)


@pytest.mark.parametrize(
    "command", [("check", "-f", "FILE"), ("plan", "-f", "FILE"), ("plan", "configmaps"), ("explain", "cm/a")]
)
def test_who_asks_as_another_reads_the_settings_all_the_same(
    skoupa: Shell, users: Users, policy: str, command: tuple[str, ...]
) -> None:
    granting(READS, user=SWEEPER)(users.cluster)
    words = [policy if word == "FILE" else word for word in command]
    said = skoupa(*words, "--as", SWEEPER)
    assert said.code == 0, said.err
    assert UNSEEN not in said.err
    users.cluster.load((installed(PROTECT),))
    said = skoupa(*words, "--as", SWEEPER)
    assert UNSEEN not in said.err
    if "plan" in command:
        assert "the namespace shop is protected" in said.out


def test_who_may_not_read_them_either_is_told(skoupa: Shell, users: Users, policy: str) -> None:
    for user in (SWEEPER, "bob"):
        granting(READS, user=user)(users.cluster)
    users.ourselves = "bob"
    said = skoupa("check", "-f", policy, "--as", SWEEPER)
    assert said.code == 0, said.err
    assert UNSEEN in said.err


def test_who_may_do_little_but_ask_as_another_reads_them_as_that_one(
    skoupa: Shell, users: Users, policy: str
) -> None:
    granting(READS)(users.cluster)
    users.ourselves = "bob"
    said = skoupa("check", "-f", policy, "--as", "admin")
    assert said.code == 0, said.err
    assert UNSEEN not in said.err

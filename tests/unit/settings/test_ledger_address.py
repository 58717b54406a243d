"""Where a ledger can't be is refused wherever it is written, and never quoted: it may have a password in it."""

from __future__ import annotations

import pytest

from skoupa.errors import UsageError
from skoupa.settings import decode, load

pytestmark = pytest.mark.unit

PASSWORD = "hunter2"
ELSEWHERE = (
    f"POSTGRESQL://skoupa:{PASSWORD}@db/skoupa",
    f" postgresql://skoupa:{PASSWORD}@db/skoupa",
    f"mysql://skoupa:{PASSWORD}@db/skoupa",
    f"host=db password={PASSWORD}",
    f"password = {PASSWORD} host=db",
    f"user=skoupa:{PASSWORD}",
)


@pytest.mark.parametrize("dsn", ELSEWHERE)
def test_what_looks_like_a_database_is_taken_for_no_path(dsn: str) -> None:
    with pytest.raises(UsageError, match=r"ledger\.dsn is no address.+write a path") as by_file:
        decode({"clusterName": "prod-eu", "ledger": {"dsn": dsn}}, source="the test")
    with pytest.raises(UsageError, match=r"ledger\.dsn is no address") as by_variable:
        load(environ={"SKOUPA_LEDGER_DSN": dsn, "SKOUPA_CLUSTER_NAME": "prod-eu"})
    for refused in (by_file, by_variable):
        assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://skoupa:{PASSWORD}@db/skoupa",
        f"postgres://db/skoupa?password={PASSWORD}",
        "/var/lib/skoupa/ledger.db",
        "~/user passwords/ledger.db",
        "none",
    ],
)
def test_a_ledger_can_be_in_postgresql_in_a_file_or_nowhere(dsn: str) -> None:
    settings = decode({"clusterName": "prod-eu", "ledger": {"dsn": dsn}}, source="the test")
    assert settings.ledger.dsn == dsn


@pytest.mark.parametrize("name", ["My Lease", "", "-a", "a/b", "a" * 254])
def test_a_lease_has_a_name_that_the_server_takes(name: str) -> None:
    with pytest.raises(UsageError, match=r"lease\.name: .+ can't be the name of a Lease"):
        decode({"lease": {"name": name}}, source="the test")

"""Operators of databases: the Secrets that they name after their object, and would make again with other passwords.

What their objects name themselves lies in many fields, which are walked. Some set no owner, so that a password outlives its database.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import of
from skoupa.usage.rules import Implied, KindRules, Means

_PERCONA: Final = ("secrets", "ssl", "ssl-internal", "vault")


def _making(kind: str, *names: str) -> KindRules:
    return of(kind, tuple(Implied(to="Secret", name=name, means=Means.PRODUCES) for name in names))


def _percona(kind: str, *names: str) -> KindRules:
    return _making(kind, *(f"{{metadata.name}}-{end}" for end in _PERCONA), *names)


RULES: Final = (
    _making(
        "postgresql.cnpg.io/Cluster",
        *(f"{{metadata.name}}-{end}" for end in ("app", "superuser", "ca", "server", "replication", "pull")),
    ),
    # A user's name comes first, and before it a namespace where the users of one database are in many.
    _making("acid.zalan.do/postgresql", "*.{metadata.name}.credentials.postgresql.acid.zalan.do"),
    _making("cassandra.datastax.com/CassandraDatacenter", "{spec.clusterName}-superuser"),
    _percona("pxc.percona.com/PerconaXtraDBCluster", "internal-{metadata.name}"),
    _percona("ps.percona.com/PerconaServerMySQL", "internal-{metadata.name}"),
    _percona(
        "psmdb.percona.com/PerconaServerMongoDB",
        "internal-{metadata.name}-users",
        "{metadata.name}-mongodb-keyfile",
        "{metadata.name}-mongodb-encryption-key",
    ),
)

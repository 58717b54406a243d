"""A real PostgreSQL as local processes, for tests and benchmarks.

with PostgresServer() as server:
    connection = await asyncpg.connect(server.dsn)
"""

from harness.postgres.programs import Programs, provide
from harness.postgres.server import PostgresServer

__all__ = ["PostgresServer", "Programs", "provide"]

"""The driver of PostgreSQL, its address without the password, and its errors in words.

An address that does not look as usual is not shown at all: a password with an unescaped `/`, `?` or `@` can be
anywhere in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from skoupa.errors import LedgerUnavailable, LedgerUnusable

_HOST: Final = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]*)(?::\d+)?"
_USUAL: Final = re.compile(
    rf"postgres(?:ql)?://(?:[^@/?#\s]*@)?(?P<host>{_HOST}(?:,{_HOST})*)(?P<database>/[^@?#\s]*)?(?:\?[^@#\s]*)?"
)

_LATER: Final = "see that PostgreSQL runs and can be reached from here"
_NOT_SHOWN: Final = "postgresql://…"
_REPORT: Final = "this is a mistake in Skoupa; please report it"
_SPELLING: Final = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %XX"
)


def is_usual(dsn: str) -> bool:
    """Whether its parts can be told apart."""
    return _USUAL.fullmatch(dsn) is not None


def shown(dsn: str) -> str:
    """Who may see it: anybody."""
    usual = _USUAL.fullmatch(dsn)
    if usual is None:
        return _NOT_SHOWN
    return f"postgresql://{usual['host']}{usual['database'] or ''}"


def driver() -> Any:
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, and it has no types
    except ModuleNotFoundError as error:
        raise LedgerUnusable(
            "a ledger in PostgreSQL needs a driver that is not installed",
            advice="run: pip install 'skoupa[postgres]'",
        ) from error
    return asyncpg


@contextmanager
def understood(where: str) -> Iterator[None]:
    """Around connecting: an address that can't be read is told without the cause, which quotes it."""
    try:
        yield
    except (ValueError, OverflowError):
        raise LedgerUnusable(
            f"the address of the ledger {where} is not understood", advice=_SPELLING
        ) from None


@contextmanager
def translated(pgdriver: Any, where: str) -> Iterator[None]:
    """Turns what the driver says into an error that says what to do."""
    refusals = (
        (pgdriver.InvalidAuthorizationSpecificationError, "look at user and password in ledger.dsn"),
        (pgdriver.InvalidCatalogNameError, "create the database, or name another one in ledger.dsn"),
        (pgdriver.InsufficientPrivilegeError, "let its user create tables there, and read and write them"),
    )
    try:
        yield
    except pgdriver.PostgresError as error:
        if getattr(error, "severity", None) is None:
            # Not the server's but the driver's own, which quotes values, and a value may be a Secret in the trash.
            raise LedgerUnavailable(
                f"the ledger {where} can't store a value ({type(error).__name__})", advice=_REPORT
            ) from None
        # Only the message: details may quote rows.
        said = str(error.args[0])
        for kind, advice in refusals:
            if isinstance(error, kind):
                raise LedgerUnusable(f"the ledger {where} refuses: {said}", advice=advice) from None
        raise LedgerUnavailable(f"the ledger {where} can't be used: {said}", advice=_LATER) from None
    except TimeoutError as error:
        raise LedgerUnavailable(f"the ledger {where} does not answer", advice=_LATER) from error
    except (OSError, pgdriver.InterfaceError, pgdriver.InternalClientError) as error:
        # The last one is what a connection that breaks in the middle of an answer may end with.
        # One whose parts can't be told apart has another host than was meant, as often as not.
        advice = f"{_LATER}, or {_SPELLING}" if where == _NOT_SHOWN else _LATER
        raise LedgerUnavailable(f"the ledger {where} can't be reached: {error}", advice=advice) from error

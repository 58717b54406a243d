"""The address of a ledger as everybody may see it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import LedgerUnavailable
from skoupa.ledger.dsn import driver, shown, translated

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("postgresql://me:pw@db:5432/skoupa", "postgresql://db:5432/skoupa"),
        ("postgres://db/skoupa?sslmode=require&password=pw", "postgresql://db/skoupa"),
        ("postgresql://me@[::1]:5432,db2:5433/skoupa", "postgresql://[::1]:5432,db2:5433/skoupa"),
        ("postgresql:///skoupa?host=/run/postgresql", "postgresql:///skoupa"),
        ("postgresql://me:pw", "postgresql://…"),
        ("postgresql://me:p/w@db/skoupa", "postgresql://…"),
    ],
)
def test_an_address_is_shown_without_user_and_password(dsn: str, expected: str) -> None:
    assert shown(dsn) == expected


@given(st.text("XYZ!@/?#:%[],& ", min_size=2))
def test_no_password_shows_however_badly_it_is_written(password: str) -> None:
    for dsn in (f"postgresql://me:{password}@db/skoupa", f"postgresql://db/skoupa?password={password}"):
        seen = shown(dsn)
        assert seen in {"postgresql://db/skoupa", "postgresql://…"}


@pytest.mark.parametrize(
    ("dsn", "says"), [("postgresql://me:p@ss@db/skoupa", "as %XX"), ("postgresql://db/skoupa", "")]
)
def test_an_address_that_may_be_meant_otherwise_says_how_to_write_it(dsn: str, says: str) -> None:
    with pytest.raises(LedgerUnavailable) as caught, translated(driver(), shown(dsn)):
        raise OSError("name or service not known")
    assert "see that PostgreSQL runs" in caught.value.advice
    assert ("as %XX" in caught.value.advice) is bool(says)

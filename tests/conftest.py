"""What tests of all folders share: one real control plane for the whole run, also with several workers."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from harness.controlplane.access import Access
from harness.controlplane.sharing import shared_control_plane
from tests.ordering import ordered

# The rules of the contract are checks too, though no test module.
pytest.register_assert_rewrite("tests.contract")


# Commands under test write their history where a test says so, and nowhere else.
os.environ["SKOUPA_LEDGER_DSN"] = "none"

# Where the environment forbids bytecode, each command under test would compile the whole package before it begins.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What a script starts in the background has interrupts ignored, and so would have every command under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about what else runs on the machine than about the code.
settings.register_profile("skoupa", deadline=None)
settings.load_profile("skoupa")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = ordered(items, workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def pytest_collection_finish() -> None:
    """Fifteen thousand tests that were found never become garbage, and looking at them again and again took a sixth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Access]:
    """Started by the first test that asks. It is everybody's: use names of your own, stop nothing, count nothing."""
    with shared_control_plane() as access:
        yield access

"""What is installed is what was locked, and the contract about the embedded cluster forgets no room."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.unit

REPOSITORY = Path(__file__).parents[2]
LOCK = (REPOSITORY / "requirements/dev.lock").read_text(encoding="utf-8")
# Rooms that may use the embedded cluster, and the embedded cluster.
ALLOWED = {"cli", "web", "sim"}


def project() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def direct() -> list[str]:
    """Every requirement that somebody wrote down and that `make setup` installs."""
    found = project()
    return [
        *found["project"]["dependencies"],
        *found["project"]["optional-dependencies"]["demo"],
        *found["dependency-groups"]["dev"],
    ]


def pins() -> dict[str, tuple[str, list[str]]]:
    """Version and hashes by name; an entry ends where the next line begins without a space."""
    found: dict[str, tuple[str, list[str]]] = {}
    for entry in re.split(r"\n(?=\S)", LOCK):
        head = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", entry)
        if head:
            found[canonicalize_name(head[1])] = (
                head[2],
                re.findall(r"--hash=sha256:([0-9a-f]{64})\b", entry),
            )
    return found


@pytest.mark.parametrize("wanted", direct())
def test_every_direct_requirement_is_locked_in_a_version_that_it_allows(wanted: str) -> None:
    requirement = Requirement(wanted)
    version, hashes = pins()[canonicalize_name(requirement.name)]
    assert SpecifierSet(str(requirement.specifier)).contains(version)
    assert hashes, f"{requirement.name} is locked without a hash"


def test_everything_in_the_lock_is_pinned_with_hashes_and_nothing_else_is_in_it() -> None:
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    named = [entry for entry in entries if not entry.startswith("#")]
    assert len(named) == len(pins()) > 20
    for name, (_, hashes) in pins().items():
        assert hashes, name


@pytest.mark.parametrize("word", ["://", "--index", "--extra-index", "--find-links", "-i ", " @ ", "file:"])
def test_the_lock_names_no_index_and_no_address(word: str) -> None:
    assert not [line for line in LOCK.splitlines() if word in line]


def rooms() -> set[str]:
    found = (REPOSITORY / "src/skoupa").iterdir()
    return {path.stem for path in found if path.suffix == ".py" or (path / "__init__.py").is_file()}


def test_no_room_but_the_command_line_may_reach_for_the_embedded_cluster() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if one.get("forbidden_modules") == ["skoupa.sim"]]
    assert rooms() >= {"kube", "facts", "judge", "sweep", "settings", "cli"}, "the rooms were not found"
    expected = {f"skoupa.{room}" for room in rooms() - ALLOWED if not room.startswith("__")}
    assert set(contract["source_modules"]) == expected

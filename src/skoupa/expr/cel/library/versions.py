"""Kubernetes' semver library. Its comparisons stand beside those of quantities, whose names they share."""

from __future__ import annotations

from typing import Any, Final

from skoupa.expr.cel.library.declaring import TYPES, function, method
from skoupa.expr.cel.library.tagged import tagged, untagged
from skoupa.expr.versions import Version

SEMVER: Final = TYPES["Semver"]


def semver(text: str, normalize: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - CEL has positions only
    version = _parse(text, normalize=normalize)
    pre = ".".join(str(part) for _, part in version.pre)
    # What follows the plus counts for nothing, also not for equality.
    return tagged(SEMVER, f"{version.major}.{version.minor}.{version.patch}" + (f"-{pre}" if pre else ""))


def _parse(text: str, *, normalize: bool) -> Version:
    # Normalizing takes a leading v, missing places and leading zeroes here, but no spaces.
    return Version.parse(text, tolerant=normalize and text == text.strip())


def version_of(value: object) -> Version:
    return Version.parse(untagged(SEMVER, value))


def is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - CEL has positions only
    try:
        _parse(text, normalize=normalize)
    except ValueError:
        return False
    return True


FUNCTIONS: Final = (
    function("semver", semver, "string -> Semver", "string, bool -> Semver"),
    function("isSemver", is_semver, "string -> bool", "string, bool -> bool"),
    method("major", lambda value: version_of(value).major, "Semver -> int"),
    method("minor", lambda value: version_of(value).minor, "Semver -> int"),
    method("patch", lambda value: version_of(value).patch, "Semver -> int"),
)

"""Which time zone: the one named by `--tz`, else the caller's.

$TZ and the files under /etc are read as the C library reads them, so that `date` and Skoupa agree; a $TZ that means
nothing is an error, where the C library would quietly take UTC. UTC and offsets need no time zone database.
"""

from __future__ import annotations

import difflib
import io
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from skoupa.errors import UsageError
from skoupa.expr.readings import quoted

_UTC_NAMES: Final = frozenset({"utc", "z", "gmt", "zulu", "etc/utc"})
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
_POSIX_RULES: Final = re.compile(r"[A-Za-z<][\x21-\x7e]*[0-9][\x21-\x7e]*")
_DATABASE: Final = "zoneinfo/"
# Some machines have files of these names, each with another zone in it, or with seconds that nobody else counts.
_OF_THE_MACHINE: Final = frozenset({"factory", "local", "localtime", "posixrules", "system"})
_VARIANTS: Final = ("posix/", "right/")


def named_zone(name: str) -> tzinfo:
    """The zone of that name (`Europe/Athens`, `UTC`, `+02:00`), or a UsageError with near names."""
    stripped = name.strip()
    offset = _OFFSET.fullmatch(stripped)
    if offset is not None and int(offset[2]) < 24:
        east = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(-east if offset[1] == "-" else east)
    zone = _from_database(stripped)
    if zone is None or stripped.lower() in _OF_THE_MACHINE or stripped.startswith(_VARIANTS):
        raise _unknown(stripped)
    return zone


def local_zone(environ: Mapping[str, str], *, root: Path = Path("/")) -> tzinfo:
    """The caller's zone: $TZ, what /etc/localtime links to, /etc/timezone, the rules in /etc/localtime; else UTC."""
    if "TZ" in environ:
        return _from_environment(environ["TZ"].removeprefix(":").strip())
    localtime, timezone_file = root / "etc/localtime", root / "etc/timezone"
    names: list[str] = []
    with suppress(OSError):
        names.append(str(localtime.readlink()).rpartition(_DATABASE)[2])
    with suppress(OSError, ValueError):
        names.append(timezone_file.read_text(encoding="utf-8").strip())
    known = next((zone for name in names if (zone := _from_database(name)) is not None), None)
    return known or _from_file(localtime) or UTC


def _from_environment(value: str) -> tzinfo:
    if not value:
        return UTC
    zone = _from_file(Path(value)) if value.startswith("/") else None
    zone = zone or _from_database(value.rpartition(_DATABASE)[2]) or _from_rules(value)
    if zone is None:
        error = _unknown(value)
        raise UsageError(f"$TZ: {error.message}", advice=f"{error.advice} (--tz NAME goes before $TZ)")
    return zone


def _from_database(name: str) -> tzinfo | None:
    if name.lower() in _UTC_NAMES:
        return UTC
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _from_file(path: Path) -> tzinfo | None:
    try:
        with path.open("rb") as rules:
            return ZoneInfo.from_file(rules)
    except (OSError, ValueError, struct.error):
        return None


def _from_rules(rules: str) -> tzinfo | None:
    """POSIX rules such as `EET-2EEST,M3.5.0/3,M10.5.0/4`: the footer of a time zone file that has nothing else."""
    if not _POSIX_RULES.fullmatch(rules):
        return None
    one_type = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, 4) + struct.pack(
        ">lbb4s", 0, 0, 0, b"UTC"
    )
    try:
        return ZoneInfo.from_file(io.BytesIO(one_type + one_type + b"\n" + rules.encode() + b"\n"))
    except ValueError:
        return None


def _unknown(name: str) -> UsageError:
    known = {key.lower(): key for key in available_timezones() if key not in _OF_THE_MACHINE}
    if not known:
        what = f"{quoted(name)} can't be looked up, for this machine has no time zone database"
        return UsageError(what, advice="install tzdata, or write an offset such as +02:00")
    wanted = name.lower().replace(" ", "_")
    for variant in _VARIANTS:
        wanted = wanted.removeprefix(variant)
    if wanted in _OF_THE_MACHINE:
        # Go's `Local` among them: a name that means another zone on another machine.
        advice = "write UTC, or the name of the zone that is meant, such as Europe/Athens"
        return UsageError(f"{quoted(name)} is no time zone", advice=advice)
    near = sorted(key for low, key in known.items() if low == wanted or low.endswith("/" + wanted))
    near = near or [known[low] for low in difflib.get_close_matches(wanted, known, n=3)]
    cities = {low.rpartition("/")[2]: key for low, key in known.items()}
    near = near or [cities[city] for city in difflib.get_close_matches(wanted, cities, n=1)]
    advice = f"did you mean {' or '.join(near[:3])}?" if near else "write a name such as Europe/Athens"
    return UsageError(f"{quoted(name)} is no time zone", advice=advice)

"""How a connection is closed whose log was taken from beside its file.

Nobody else has begun another log: then what is in ours goes into the file, as SQLite does it when the last one closes.
Somebody has: then ours would be mixed with theirs, page by page, and theirs removed. So SQLite is shown a lock that makes
it leave both alone; what only our log had is lost, and the file stays whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# https://www.sqlite.org/fileformat.html#the_lock_byte_page: who has the file open has a shared lock on these bytes.
_SHARED_FIRST: Final = 0x40000002
_SHARED_SIZE: Final = 510
# A lock of the open file, not of the process: SQLite minds it although it is our own. Linux has them.
_SET_LOCK: Final = getattr(fcntl, "F_OFD_SETLK", None)


@contextmanager
def leaving(path: Path) -> Iterator[None]:
    """Around the end of all connections to the file; of none that goes on, since closing it gives up their locks.

    Raises OSError where it can't be told what SQLite would do, and then nothing may be closed yet.
    """
    begun_anew = False
    with contextlib.suppress(FileNotFoundError):
        begun_anew = path.with_name(f"{path.name}-wal").stat().st_size > 0
    if not begun_anew or _SET_LOCK is None:
        yield
        return
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        # SQLite looks at that as well, and leaves the log of a file alone that is not there any more.
        yield
        return
    try:
        # Refused where somebody has the file alone; then SQLite can't either.
        with contextlib.suppress(OSError):
            lock = struct.pack("hhqqi0q", fcntl.F_RDLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
            fcntl.fcntl(file, _SET_LOCK, lock)
        yield
    finally:
        os.close(file)

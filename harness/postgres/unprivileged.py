"""Becomes another user and then the program it is given: PostgreSQL refuses to run as root.

A script of its own, on the standard library alone: unprivileged.py UID GID PROGRAM ARGUMENTS…
A change of user forgets the wish to die with the parent, so that is asked for again.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(uid: int, gid: int, argv: list[str]) -> None:
    parent = os.getppid()
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent is gone already")
    os.environ["HOME"] = "/"
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

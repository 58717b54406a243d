"""The keys of a running controller, read anew when their file changes: a key is changed without a restart.

A file that can't be read any more, or has no proper key in it, is an error for whoever wants to encrypt: what the old
key closed might never be opened again. For opening the keys that were read last go on.
"""

from __future__ import annotations

from skoupa.clock import Clock
from skoupa.errors import UsageError
from skoupa.kube.login.stamps import Stamps
from skoupa.ledger.trash.sealing import Seal, key_path, read_keys


class Keyring:
    """Raises UsageError when it is made with keys that can't be read; a variable is read then, and never again."""

    def __init__(self, *, cluster: str, clock: Clock, file: str = "", variable: str = "") -> None:
        self._cluster = cluster
        self._file = file
        self._path = str(key_path(file)) if file else ""
        self._clock = clock
        self._stamps = self._new_stamps()
        self._error: UsageError | None = None
        self._stamps.changed()
        self._seal = Seal(cluster=cluster, keys=read_keys(file=file, variable=variable))
        self._stamps.accept()

    def closing(self) -> Seal:
        self._look()
        if self._error is not None:
            # A traceback of its own for each.
            raise UsageError(self._error.message, advice=self._error.advice)
        return self._seal

    def opening(self) -> Seal:
        self._look()
        return self._seal

    def _look(self) -> None:
        if not self._file or not self._stamps.changed():
            return
        try:
            self._seal = Seal(cluster=self._cluster, keys=read_keys(file=self._file))
        except UsageError as error:
            if self._error is None:
                # It may come back as it was, which is no change: until it can be read it is tried at each look.
                self._stamps = self._new_stamps()
                self._stamps.changed()
            self._error = error
        else:
            self._error = None
            self._stamps.accept()

    def _new_stamps(self) -> Stamps:
        return Stamps((self._path,), clock=self._clock)

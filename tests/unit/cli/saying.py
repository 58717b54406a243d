"""Runs the command line inside the test, as `skoupa ARGS` with an environment of its own, and keeps what it says."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache

import msgspec
import pytest
import typer.main

from skoupa.__main__ import main

# A process declares its commands once; here they are the same for hundreds of calls.
_declared = cache(typer.main.get_command)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of a command that failed."""
        assert self.out == "", "a command that failed leaves standard output empty"
        assert "Traceback" not in self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("skoupa: "), self.err
        return self.err.removeprefix("skoupa: ").rstrip("\n")


class Shell:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *args: str, env: Mapping[str, str] | None = None) -> Said:
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["skoupa", *args])
            patched.setattr(typer.main, "get_command", _declared)
            for name in ("KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST", "SKOUPA_DEBUG"):
                patched.delenv(name, raising=False)
            for name, value in (env or {}).items():
                patched.setenv(name, value)
            self._capsys.readouterr()
            with pytest.raises(SystemExit) as left:
                main()
        said = self._capsys.readouterr()
        code = left.value.code
        return Said(code=code if isinstance(code, int) else int(code is not None), out=said.out, err=said.err)

"""Test results as JUnit XML, which every CI system reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skoupa.cli.checking.proving import Case
from skoupa.errors import UsageError

_NO_XML: Final = {code: "\N{REPLACEMENT CHARACTER}" for code in range(32) if code not in {9, 10, 13}}


def report(cases: Sequence[Case]) -> str:
    """A suite for each test file, a case for each expectation."""
    root = Element("testsuites", tests=str(len(cases)), failures=str(sum(bool(case.why) for case in cases)))
    for name in dict.fromkeys(case.trial for case in cases):
        within = [case for case in cases if case.trial == name]
        suite = SubElement(
            root,
            "testsuite",
            name=_text(name),
            tests=str(len(within)),
            failures=str(sum(bool(case.why) for case in within)),
            time=f"{sum(case.seconds for case in within):.3f}",
        )
        for case in within:
            shown = SubElement(
                suite,
                "testcase",
                classname=_text(f"{case.trial}.{case.policy}"),
                name=_text(f"{case.target} {case.expected}"),
                time=f"{case.seconds:.3f}",
            )
            if case.why:
                SubElement(shown, "failure", message=_text(case.why))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def write(cases: Sequence[Case], path: str) -> None:
    try:
        Path(path).write_text(report(cases), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} can't be written: {error.strerror}", advice="choose another --junit"
        ) from error


def _text(text: str) -> str:
    return text.translate(_NO_XML)

"""Versions and ranges of versions. `blang` are the tests of the library Kyverno uses, `semver` is the specification."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.versions import Range, Version

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("1.2.3", "blang"),
        ("0.0.1", "blang"),
        ("0.0.1-alpha.preview+123.456", "blang"),
        ("1.2.3-alpha.1+123.456", "blang"),
        ("1.2.3+123.456", "blang"),
        ("1.2.3-alpha.b-eta+123.b-uild", "blang"),
        ("1.0.0-0.3.7", "semver"),
        ("1.0.0-x.7.z.92", "semver"),
        ("1.0.0-x-y-z.--", "semver"),
        ("1.0.0-alpha+001", "semver"),
    ],
)
def test_a_version_is_written_as_it_was_read(text: str, source: str) -> None:
    assert str(Version.parse(text)) == text, source


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ".",
            "1.",
            ".1",
            "a.b.c",
            "1.a.b",
            "1.1.a",
            "..",
            "1.1.",
            "1..1",
            "1.1.+123",
            "1.1.-beta",
            "-1.1.1",
        ),
        *(
            "20000000000000000000.1.1",
            "1.1.20000000000000000000",
            "1.1.1-20000000000000000000",
            "01.1.1",
            "1.001.1",
        ),
        *(
            "1.1.01",
            "1.1.1-01",
            "1.1.1-beta.001",
            "0.0.0-!",
            "0.0.0+!",
            "0.0.0-.alpha",
            "0.0.0-alpha+",
            "1.0",
            "v1.0.0",
        ),
    ],
)
def test_what_blang_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("text", "version", "source"),
    [
        ("v1.2.3", "1.2.3", "blang"),
        ("1.2.0-alpha", "1.2.0-alpha", "blang"),
        ("1.2.00", "1.2.0", "blang"),
        ("\t1.2.3 ", "1.2.3", "blang"),
        ("01.02.03", "1.2.3", "blang"),
        ("000.0.03", "0.0.3", "blang"),
        ("1.2", "1.2.0", "blang"),
        ("1", "1.0.0", "blang"),
        ("v1", "1.0.0", "kubernetes"),
    ],
)
def test_tolerance_fills_in_what_is_missing(text: str, version: str, source: str) -> None:
    assert str(Version.parse(text, tolerant=True)) == version, source


@pytest.mark.parametrize("text", ["1.0+abc", "1.0-rc.1", "", "v", "one"])
def test_tolerance_ends_where_the_meaning_is_not_clear(text: str) -> None:
    with pytest.raises(ValueError, match="is no version: write three numbers, like 1"):
        Version.parse(text, tolerant=True)


def test_versions_are_ordered_as_the_specification_orders_them() -> None:
    # semver 2.0.0, sections 11.2 and 11.4
    written = (
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 "
        "1.0.0 2.0.0 2.1.0 2.1.1"
    )
    versions = [Version.parse(text) for text in written.split()]
    for left, right in itertools.combinations(versions, 2):
        assert left < right
        assert right > left
        assert left <= right
        assert right >= left
        assert left != right


def test_build_metadata_counts_for_nothing() -> None:
    assert Version.parse("1.0.0+1.2.3") == Version.parse("1.0.0")
    assert hash(Version.parse("1.0.0+1.2.3")) == hash(Version.parse("1.0.0"))


@pytest.mark.parametrize(
    ("text", "inside", "outside", "source"),
    [
        (">1.2.3", "1.2.4", "1.2.2 1.2.3", "blang"),
        (">=1.2.3", "1.2.3 1.2.4", "1.2.2", "blang"),
        ("<1.2.3", "1.2.2", "1.2.3 1.2.4", "blang"),
        ("<=1.2.3", "1.2.2 1.2.3", "1.2.4", "blang"),
        ("1.2.3", "1.2.3", "1.2.2 1.2.4", "blang"),
        ("=1.2.3", "1.2.3", "1.2.2 1.2.4", "blang"),
        ("==1.2.3", "1.2.3", "1.2.2 1.2.4", "blang"),
        ("!=1.2.3", "1.2.2 1.2.4", "1.2.3", "blang"),
        ("!1.2.3", "1.2.2 1.2.4", "1.2.3", "blang"),
        (">1.2.2 <1.2.4", "1.2.3", "1.2.2 1.2.4", "blang"),
        ("<1.2.2 <1.2.4", "1.2.1", "1.2.2 1.2.3 1.2.4", "blang"),
        (">1.2.2 <1.2.5 !1.2.4", "1.2.3", "1.2.2 1.2.4 1.2.5", "blang"),
        (">1.2.2 || <1.2.4", "1.2.2 1.2.3 1.2.4", "", "blang"),
        ("<1.2.2 || >1.2.4", "", "1.2.2 1.2.3 1.2.4", "blang"),
        (">1.x", "2.0.0", "0.1.9 1.2.6 1.9.0", "blang"),
        (">1.2.x", "1.3.0", "1.1.9 1.2.6", "blang"),
        (">1.2.2 <1.2.4 || >=2.0.0", "1.2.3 2.0.0 2.0.1", "1.2.2 1.2.4", "blang"),
        ("1.x || >=2.0.x <2.2.x", "1.2.2 2.0.0 2.1.8", "0.9.2 2.2.0", "blang"),
        (">1.2.2 <1.2.4 || >=2.0.0 <3.0.0", "1.2.3 2.0.0 2.9.9", "1.2.2 1.2.4 3.0.0", "blang"),
        ("  >=   1.2.3   <=  1.2.3   ", "1.2.3", "1.2.2", "blang"),
        (">=1.2.x", "1.2.0 1.3.0", "1.1.9", "blang"),
        ("<=1.2.x", "1.2.9 1.0.0", "1.3.0", "blang"),
        ("<1.2.x", "1.1.9", "1.2.0", "blang"),
        ("<=1.x", "1.9.9", "2.0.0", "blang"),
        ("<1.x", "0.9.9", "1.0.0", "blang"),
        (">=4.1.x", "4.1.3", "4.0.9", "kyverno"),
        ("!4.x.x", "3.9.9 5.0.0", "4.1.3 4.0.0", "kyverno"),
        (">1.0.0 <2.0.0", "1.8.6", "2.0.0", "kyverno"),
        ("<2.0.0 || >=3.0.0", "1.0.0", "2.1.5", "kyverno"),
        ("!=1.2.x", "1.1.9 1.3.0", "1.2.0 1.2.9", "documented"),
        (">=1.0.0", "2.0.0-beta", "1.0.0-beta", "semver"),
    ],
)
def test_a_range_has_what_it_says(text: str, inside: str, outside: str, source: str) -> None:
    found = Range.parse(text)
    assert all(found.has(Version.parse(version)) for version in inside.split()), source
    assert not any(found.has(Version.parse(version)) for version in outside.split()), source


@pytest.mark.parametrize(
    "text",
    [">>1.2.3", "1.0", "string", "", "fo.ob.ar.x", "x", "||", ">1.2.3 ||", "|| >1.2.3", "1.0.0 || || 2.0.0"],
)
def test_what_is_no_range_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"no (range|comparison) of versions"):
        Range.parse(text)


def test_a_lone_sign_is_refused_and_not_passed_over() -> None:
    with pytest.raises(ValueError, match=r'"!" in "! 1\.0\.0" is no comparison of versions'):
        Range.parse("! 1.0.0")


numbers = st.integers(0, 3)
versions = st.builds(
    lambda one, two, three, pre: Version.parse(f"{one}.{two}.{three}{pre}"),
    numbers,
    numbers,
    numbers,
    st.sampled_from(["", "-a", "-a.1", "-a.b", "-1", "-2"]),
)


@given(versions, versions)
def test_a_range_agrees_with_the_order(one: Version, other: Version) -> None:
    for sign, expected in (
        ("<", one < other),
        (">=", one >= other),
        ("=", one == other),
        ("!=", one != other),
    ):
        assert Range.parse(f"{sign}{other}").has(one) is expected


@given(versions, numbers)
def test_an_open_place_and_its_negation_share_nothing(version: Version, major: int) -> None:
    assert Range.parse(f"{major}.x").has(version) is not Range.parse(f"!={major}.x").has(version)


@given(st.text(alphabet="0123x.<>=!| -+a", max_size=30) | st.text())
def test_any_text_is_a_range_or_a_sentence(text: str) -> None:
    for read in (Range.parse, Version.parse, lambda written: Version.parse(written, tolerant=True)):
        try:
            read(text)
        except ValueError as error:
            assert "version" in str(error)  # noqa: PT017 - either outcome is right

"""Names of images. `kyverno` are the tests of its image parser, `distribution` those of the reference grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr import images
from skoupa.expr.images import Image, normalized

pytestmark = pytest.mark.unit

# What a name without a registry means.
HUB = "docker.io"

SHA = "sha256:dead07b4d8ed7e29e98de0f4504d87e8880d4347859d839686a31da35a3b532f"
HEX = "ffffffffffffffffffffffffffffffff"


@pytest.mark.parametrize(
    ("text", "registry", "path", "name", "tag", "digest", "full", "source"),
    [
        ("nginx", "docker.io", "nginx", "nginx", "latest", "", f"{HUB}/nginx:latest", "kyverno"),
        ("nginx:v10.3", "docker.io", "nginx", "nginx", "v10.3", "", f"{HUB}/nginx:v10.3", "kyverno"),
        (
            *(f"{HUB}/test/nginx:v10.3", "docker.io", "test/nginx", "nginx", "v10.3", ""),
            *(f"{HUB}/test/nginx:v10.3", "kyverno"),
        ),
        (
            "test/nginx",
            "docker.io",
            "test/nginx",
            "nginx",
            "latest",
            "",
            f"{HUB}/test/nginx:latest",
            "kyverno",
        ),
        (
            *("localhost:4443/test/nginx", "localhost:4443", "test/nginx", "nginx", "latest", ""),
            *("localhost:4443/test/nginx:latest", "kyverno"),
        ),
        (
            *(f"{HUB}/test/centos@{SHA}", "docker.io", "test/centos", "centos", "", SHA),
            *(f"{HUB}/test/centos@{SHA}", "kyverno"),
        ),
        (
            *("localhost/netd:v0.4.4-gke.0", "localhost", "netd", "netd", "v0.4.4-gke.0", ""),
            *("localhost/netd:v0.4.4-gke.0", "kyverno"),
        ),
        (
            *(f"test:5000/repo:tag@{SHA}", "test:5000", "repo", "repo", "tag", SHA),
            *(f"test:5000/repo@{SHA}", "distribution"),
        ),
        ("Uppercase/lowercase:tag", "Uppercase", "lowercase", "lowercase", "tag", "", None, "distribution"),
        (
            "sub-dom1.foo.com/bar/baz/quux",
            "sub-dom1.foo.com",
            "bar/baz/quux",
            "quux",
            "latest",
            "",
            None,
            "distribution",
        ),
        ("foo_bar.com:8080", "docker.io", "foo_bar.com", "foo_bar.com", "8080", "", None, "distribution"),
        (
            "foo/foo_bar.com:8080",
            "docker.io",
            "foo/foo_bar.com",
            "foo_bar.com",
            "8080",
            "",
            None,
            "distribution",
        ),
        ("192.168.1.1:8080/repo:tag", "192.168.1.1:8080", "repo", "repo", "tag", "", None, "distribution"),
        ("[2001:db8::1]:5000/repo", "[2001:db8::1]:5000", "repo", "repo", "latest", "", None, "distribution"),
        ("my_registry.io/team/web:1", "my_registry.io", "team/web", "web", "1", "", None, "kyverno"),
    ],
)
def test_an_image_is_taken_apart(  # noqa: PLR0917 - the columns of the table
    text: str, registry: str, path: str, name: str, tag: str, digest: str, full: str | None, source: str
) -> None:
    found = images.parse(text)
    assert found == Image(registry=registry, path=path, name=name, tag=tag, digest=digest), source
    assert full is None or normalized(text) == full == str(found), source


@pytest.mark.parametrize(
    ("text", "with_tag"),
    [
        ("nginx", f"{HUB}/nginx:latest"),
        ("localhost:4443/test/nginx", "localhost:4443/test/nginx:latest"),
        (f"{HUB}/test/centos@{SHA}", f"{HUB}/test/centos:"),
    ],
)
def test_the_reference_with_tag_is_kyvernos(text: str, with_tag: str) -> None:
    assert images.parse(text).reference_with_tag == with_tag


def test_another_default_registry_can_be_set() -> None:
    assert normalized("test/nginx", default_registry="images.example") == "images.example/test/nginx:latest"
    mirror = "123456789012.dkr.ecr.eu-west-3.amazonaws.com/docker"
    assert normalized("test/nginx:v10.3", default_registry=mirror) == f"{mirror}/test/nginx:v10.3"


@pytest.mark.parametrize(
    ("text", "says", "source"),
    [
        ("++", "write it like nginx", "kyverno"),
        ("", "write it like nginx", "distribution"),
        (":justtag", "write it like nginx", "distribution"),
        (f"@{SHA}", "write it like nginx", "distribution"),
        ("repo@sha256:ffff", "has a digest that is none", "distribution"),
        (f"validname@invaliddigest:{HEX}", "has a digest that is none", "distribution"),
        (f"validname@sha256:{(HEX * 2).upper()}", "has a digest that is none", "distribution"),
        ("test:5000/Uppercase/lowercase:tag", "capital letters are for tags only", "distribution"),
        ("Uppercase:tag", "capital letters are for tags only", "distribution"),
        ("aa/asdf$$^/aa", "write it like nginx", "distribution"),
        ("a/" * 128 + "a:tag", "longer than 255", "distribution"),
        ("-foo/bar", "write it like nginx", "distribution"),
        ("foo.com//bar", "write it like nginx", "distribution"),
        ("nginx:" + "t" * 129, "write it like nginx", "distribution"),
        ("nginx\n", "write it like nginx", "distribution"),
    ],
)
def test_what_names_no_image_is_refused(text: str, says: str, source: str) -> None:
    with pytest.raises(ValueError, match=says):
        images.parse(text)
    assert source


@given(
    st.from_regex(
        r"([a-z0-9]{1,5}(\.io|:5000)/)?[a-z]{1,5}(/[a-z0-9]{1,5})?(:[A-Za-z0-9_.]{1,5})?", fullmatch=True
    )
)
def test_a_name_in_full_stays_as_it_is(text: str) -> None:
    try:
        full = normalized(text)
    except ValueError:
        return
    assert normalized(full) == full
    assert images.parse(full) == images.parse(text)


@given(st.text() | st.text(alphabet="ab/:.-_@A[]", max_size=40))
def test_any_text_is_an_image_or_a_sentence(text: str) -> None:
    try:
        images.parse(text)
    except ValueError as error:
        assert "image" in str(error) or "digest" in str(error)  # noqa: PT017 - either outcome is right

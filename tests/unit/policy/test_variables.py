"""`{{ … }}` in the texts of a policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import BadExpression, ExpressionError, TooCostly, Unresolved
from skoupa.expr.jmespath import Context, Limits
from skoupa.policy.variables import Template, roots_of, substitute, variables_of

pytestmark = pytest.mark.unit

CONTEXT = Context(now=1_700_000_000)
POD: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "creationTimestamp": "2023-11-14T20:13:20Z",
        "labels": {"app": "a'b", "web": "yes", "corp.com/team": "blue"},
        "annotations": {"evil": "{{ target.metadata.name }}", "number": "5", "html": "<b>"},
    },
    "spec": {"replicas": 3, "paused": False, "ratio": 2.0, "node": None},
}
ROOTS = roots_of(POD, named={"limit": {"max": 10, "names": ["a", "b"]}, "field": "name", "json": "[1, 2]"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ target.spec.replicas }}", 3),
        ("{{target.spec.paused}}", False),
        ("{{ target.spec.node }}", None),
        ("{{ limit.names }}", ["a", "b"]),
        ("{{ target.metadata.labels }}", POD["metadata"]["labels"]),
        ("{{ request.namespace }}", "shop"),
        ("{{ request.name }}", "web"),
        ("{{ images }}", {}),
        ("{{ target.metadata.missing || 'none' }}", "none"),
        ("{{ {name: request.name, deep: {n: `1`}} }}", {"name": "web", "deep": {"n": 1}}),
        ("{{- request.name }}", "web"),
        # the policy for bare Pods in Kyverno's library
        ("{{ target.metadata.ownerReferences[] || `[]` }}", []),
        ("{{\n  request.name\n}}", "web"),
    ],
)
def test_a_text_that_is_a_variable_becomes_its_value(text: str, expected: Any) -> None:
    found = substitute(text, ROOTS, CONTEXT)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ request.namespace }}/{{ request.name }}", "shop/web"),
        (" {{ target.spec.replicas }}", " 3"),
        ("replicas: {{ target.spec.replicas }}", "replicas: 3"),
        ("{{ target.spec.paused }}!", "false!"),
        ("{{ target.spec.ratio }}x", "2x"),
        ("{{ target.spec.node }}?", "null?"),
        ("names {{ limit.names }}", 'names ["a","b"]'),
        (
            "{{ target.metadata.annotations }}.",
            '{"evil":"{{ target.metadata.name }}","html":"\\u003cb\\u003e","number":"5"}.',
        ),
        ("no variable", "no variable"),
        ("", ""),
        ("$(spec.x) and }} and {", "$(spec.x) and }} and {"),
    ],
)
def test_within_a_text_a_value_is_written_out(text: str, expected: str) -> None:
    assert substitute(text, ROOTS, CONTEXT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ target.metadata.labels.{{ request.name }} }}", "yes"),
        ("{{target.metadata.labels.{{request.name}}}}", "yes"),
        ("{{ target.metadata.{{ field }} }}-{{ field }}", "web-name"),
        ("{{ target.metadata.labels.\"{{ limit.key || 'corp.com/team' }}\" }}", "blue"),
        # as Kyverno's documentation writes them
        ("{{ time_diff('{{ target.metadata.creationTimestamp }}', '{{ time_now_utc() }}') }}", "2h0m0s"),
        ("{{ add('{{ target.spec.memory || `0` }}', '{{ target.spec.replicas }}') }}", "3"),
        ("{{ multiply(`{{ target.spec.replicas }}`, `2`) }}", 6),
        ("{{ label_match(`{{ target.metadata.labels }}`, `{{ target.metadata.labels || `{}` }}`) }}", True),
        ("{{ subtract(`{{ limit.max }}`, `{{ target.metadata.annotations.number }}`) }}", 5),
        ("{{ length(`{{ json }}`) }}", 2),
        ("{{ to_upper('{{ request.name }}-{{ target.spec.replicas }}') }}", "WEB-3"),
        ("{{ `[{{ target.spec.replicas }}, 2]` }}", [3, 2]),
    ],
)
def test_variables_nest(text: str, expected: Any) -> None:
    assert substitute(text, ROOTS, CONTEXT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\{{ request.name }}", "{{ request.name }}"),
        (r"\{{ a }} {{ request.name }}", "{{ a }} web"),
        (r"a\{{b", "a{{b"),
        (r"\\{{ x }}", r"\{{ x }}"),
    ],
)
def test_escaped_braces_are_braces(text: str, expected: str) -> None:
    assert substitute(text, ROOTS, CONTEXT) == expected
    assert variables_of(r"\{{ request.name }}") == ()


def test_lists_maps_and_keys_are_filled_in_and_the_rest_is_kept() -> None:
    value = {
        "{{ request.name }}": ["{{ target.spec.replicas }}", 1, None, {"x": r"\{{"}],
        "plain": {"number": 1.5, "flag": True},
        "n-{{ target.spec.replicas }}": "x",
    }
    filled = substitute(value, ROOTS, CONTEXT)
    assert filled == {"web": [3, 1, None, {"x": "{{"}], "plain": {"number": 1.5, "flag": True}, "n-3": "x"}
    assert value["plain"] == {"number": 1.5, "flag": True}


def test_what_a_variable_brings_is_never_read_as_an_expression() -> None:
    """Kyverno reads it again: whoever annotates an object could write into somebody else's policy."""
    written = "{{ target.metadata.name }}"
    assert substitute("{{ target.metadata.annotations.evil }}", ROOTS, CONTEXT) == written
    assert substitute("x{{ target.metadata.annotations.evil }}", ROOTS, CONTEXT) == f"x{written}"
    assert substitute("{{ target.metadata.annotations }}", ROOTS, CONTEXT)["evil"] == written
    assert (
        substitute("{{ to_upper('{{ target.metadata.annotations.evil }}') }}", ROOTS, CONTEXT)
        == written.upper()
    )


def test_quotes_in_a_value_do_not_end_the_text_that_it_stands_in() -> None:
    assert substitute("{{ to_upper('{{ target.metadata.labels.app }}') }}", ROOTS, CONTEXT) == "A'B"
    evil = roots_of({"metadata": {"name": "x') || to_upper('y"}})
    assert substitute("{{ to_upper('{{ request.name }}') }}", evil, CONTEXT) == "X') || TO_UPPER('Y"


@pytest.mark.parametrize(
    ("value", "expression", "reason"),
    [
        ("{{ target.status.phase }}", "target.status.phase", "target.status is not there"),
        (["x {{ target.spec.gone }}"], "target.spec.gone", "target.spec.gone is not there"),
        ("{{ to_upper('{{ target.gone }}') }}", "target.gone", "target.gone is not there"),
        ("{{ nobody }}", "nobody", "nobody is not there"),
    ],
)
def test_what_cannot_be_resolved_is_an_error_with_the_expression_and_the_reason(
    value: Any, expression: str, reason: str
) -> None:
    with pytest.raises(Unresolved) as error:
        substitute(value, ROOTS, CONTEXT)
    assert (error.value.expression, error.value.reason) == (expression, reason)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{{ target.metadata.name", "{{ has no }}: close it, or write \\{{ for two braces"),
        ("{{ a.{{ b }} ", "{{ has no }}"),
        ("{{ }}", "there is nothing between the braces"),
        ("{{ target. }}", "it ends too early"),
        ("{{ time_since(target.x) }}", "write time_since(layout, start, end)"),
        ("{{ time_diff('{{ target.x }}') }}", "write time_diff(start, end)"),
        ("{{ a." * 12 + "b" + " }}" * 12, "nested more than 10 deep"),
    ],
)
def test_a_variable_that_makes_no_sense_is_refused_when_it_is_read(value: str, said: str) -> None:
    with pytest.raises(BadExpression) as refused:
        Template({"conditions": [value]})
    assert said in str(refused.value)


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = "{{ request.name }}"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(BadExpression, match="nested more than 100 deep"):
        Template(deep)


@pytest.mark.parametrize(
    "text",
    [
        "{{ target.metadata.name }}",
        "{{ request.name }}",
        "{{ request.namespace }}",
        "{{ images.containers.*.registry }}",
        "{{ limit.max }}",
        "{{ target.spec.node == null }}",
        "{{ time_now() }}",
        "{{ target.metadata.labels.{{ request.name }} }}",
    ],
)
def test_known_roots_pass_the_check(text: str) -> None:
    Template(text).check(["limit"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ targt.metadata.name }}", "there is no variable targt: did you mean target?"),
        ("{{ limits.max }}", "there is no variable limits: did you mean limit?"),
        (
            "{{ request.object.metadata.name }}",
            "there is no request.object, only request.namespace and request.name: write target",
        ),
        ("{{ request.operation }}", "there is no request.operation"),
        ("{{ element.image }}", "there is no variable element: cleanup policies have no foreach"),
        ("{{ target.x == true }}", "there is no variable true: write `true` in backticks"),
        ("{{ serviceAccountName }}", "there is no variable serviceAccountName"),
        ("{{ @ }}", "it looks at all variables at once"),
        ("{{ to_upper('{{ targt.x }}') }}", "there is no variable targt"),
        ("{{ a.{{ targt.x }} }}", "there is no variable targt"),
    ],
)
def test_unknown_roots_are_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(BadExpression) as refused:
        Template(text).check(["limit"])
    assert said in str(refused.value)


def test_variables_and_what_they_look_at() -> None:
    template = Template({"key": "{{ target.metadata.labels.app || '' }}", "value": ["{{ limit.max }}", "x"]})
    assert [variable.text for variable in template.variables] == [
        "target.metadata.labels.app || ''",
        "limit.max",
    ]
    assert template.paths == {("target", "metadata", "labels", "app"), ("limit", "max")}
    assert template.parts("target") == frozenset({"metadata"})
    assert Template("{{ time_diff('{{ target.metadata.creationTimestamp }}', time_now()) }}").parts(
        "target"
    ) == frozenset({"metadata"})
    # What stands outside of quotes becomes syntax, and is known only then.
    assert Template("{{ target.{{ field }} }}").parts("target") is None
    assert Template("{{ target.{{ field }} }}").paths == {()}
    assert Template("plain").parts("target") == frozenset()


def test_a_key_must_become_a_string() -> None:
    with pytest.raises(ExpressionError, match=r"a key must become a string: use to_string"):
        substitute({"{{ target.spec.replicas }}": 1}, ROOTS, CONTEXT)
    assert substitute({"{{ to_string(target.spec.replicas) }}": 1}, ROOTS, CONTEXT) == {"3": 1}


def test_objects_without_a_namespace_have_none_to_ask_for() -> None:
    roots = roots_of({"metadata": {"name": "pv"}})
    assert substitute("{{ request.namespace || '' }}", roots, CONTEXT) == ""
    with pytest.raises(Unresolved):
        substitute("{{ request.namespace }}", roots, CONTEXT)


def test_a_text_that_would_become_too_long_is_an_error() -> None:
    roots = {"target": {"text": "x" * 10_000}}
    small = Context(now=0, limits=Limits(output=50_000))
    with pytest.raises(TooCostly, match="more than 50,000 bytes"):
        substitute("{{ target.text }}" * 10, roots, small)


def test_a_value_that_is_too_deep_to_be_written_out_is_an_error() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TooCostly, match="target: a value is nested too deeply"):
        substitute("x{{ target }}", {"target": deep}, CONTEXT)


def test_what_a_value_breaks_is_an_error_about_the_object_and_not_about_the_policy() -> None:
    roots = roots_of({"metadata": {"name": "a/b"}, "spec": {"a/b": 1}})
    with pytest.raises(ExpressionError, match=r"write variables within one in quotes") as error:
        substitute("{{ target.spec.{{ request.name }} }}", roots, CONTEXT)
    assert not isinstance(error.value, BadExpression)
    assert substitute('{{ target.spec."{{ request.name }}" }}', roots, CONTEXT) == 1


pieces = st.sampled_from(
    [
        "{{",
        "}}",
        "{",
        "}",
        "\\",
        "'",
        "`",
        '"',
        " ",
        "a",
        "target",
        ".metadata",
        ".name",
        "-",
        "@",
        "|",
        "{{ request.name }}",
        "\ue000",
        "0",
    ]
)


@given(text=st.one_of(st.text(), st.lists(pieces, max_size=15).map("".join)))
@settings(max_examples=300, deadline=None)
def test_any_text_is_filled_in_or_refused(text: str) -> None:
    try:
        substitute(text, ROOTS, CONTEXT)
    except ExpressionError:
        return
    if "{{" not in text:
        assert substitute(text, ROOTS, CONTEXT) == text


@given(text=st.text(alphabet="a{}\\ '`\"", max_size=12))
@settings(max_examples=200, deadline=None)
def test_escaping_makes_any_text_plain(text: str) -> None:
    """Every pair of braces is escaped; a pair that begins within another begins after an escape, too."""
    escaped = text.replace("{", "{ ")
    assert substitute(escaped, ROOTS, CONTEXT) == escaped
    assert substitute(f"\\{{{{{escaped}", ROOTS, CONTEXT) == f"{{{{{escaped}"


def test_all_variables_of_one_value_share_what_it_may_cost() -> None:
    few = Context(now=0, limits=Limits(steps=500))
    one = "{{ length(map(&@, target.l)) }}"
    roots = roots_of({"l": list(range(100))})
    assert substitute(one, roots, few) == 100
    nested = f"{{{{ starts_with('{one}', '{one}') }}}}"
    for several in (one + one, [one, one], {"a": one, "b": one}, nested):
        with pytest.raises(TooCostly, match="more than 500 steps"):
            substitute(several, roots, few)

"""What is wrong with expressions, what they look at, and how variables and conditions go together."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skoupa.expr.cel import environment, syntax
from skoupa.expr.cel.library.shelf import NAMES
from skoupa.expr.cel.refused import DIFFERENCES, LIMITS, REFUSED
from tests.unit.expr.cel.asking import ask, compiled, compiler, source

pytestmark = pytest.mark.unit

PROBLEMS = [
    ("quantitty('1') == quantity('2')", r"no function quantitty: did you mean quantity\?"),
    ("now() > timestamp(0)", r"no function now: did you mean time\.now\?"),
    ("object.metadata.name.startWith('a')", r"startWith: did you mean startsWith\?"),
    ("frobnicate(1) == 1", r"no function frobnicate: functions are those of CEL, Kubernetes and Kyverno"),
    ("size() == 1", "size can't be used with so many or so few arguments"),
    ("time.now > timestamp(0)", r"time\.now is a function, and is not called: write time\.now\("),
    ("objct.metadata.name == 'a'", r"did you mean object\?"),
    ("variables.missing == 1", r"no variable variables\.missing"),
    ("objct.metadata.name == 'a'", "no variable objct"),
    ("object.metadata.name ==", "not written as CEL"),
    ("object.metadata.name == 'a", "not written as CEL"),
    ("", "not written as CEL"),
    ("'a' + 1 == 'a1'", r"\+ can't be used on \(string, int\)"),
    ("object.spec.replicas", None),
    ("1 + 1", "answers int, but a condition answers true or false"),
    ("'true'", "answers string, but a condition"),
    ("object.items.all(i, v, v > 1)", "comprehensions take one variable"),
    ("object.items.sortBy(e, e.name)[0].name == 'a'", "sortBy is a macro"),
    ("oldObject.spec == object.spec", "no admission request"),
    ("request.operation == 'DELETE'", "no admission request"),
    ("authorizer.group('').resource('pods').check('get').allowed()", "leave permissions to roles"),
    ("regex.replace('a', 'b', 'c') == 'a'", "use replace"),
    ("generator.Apply('a', [])", "makes nothing"),
    ("type(ip('::1')) == net.IP", "isIP"),
    ("+".join(["1"] * 60) + " == 60", "nested more than 32 deep: split it into variables"),
    ("true || " + " " * 20_001, "at most 20,000"),
    ("skoupa_variable('a')", "no function skoupa_variable"),
    ("'%s'.format([quantity('1')]) == '1'", r"format can't be used on \(list<kubernetes.Quantity>\)"),
    ("'%s'.format([1, ip('::1')]) == '1'", r"format can't be used on \(net.IP\)"),
    (
        "'%s'.format(['1'].map(x, quantity(x))) == '1'",
        r"format can't be used on \(list<kubernetes.Quantity>\)",
    ),
    ("object.metadata.name.matches('(')", "invalid regular expression"),
    ("object.metadata.name.find('(') == ''", "is no regular expression"),
    (
        "timestamp('yesterday') < timestamp(0)",
        r"line 1, column 10: reads a text as a timestamp that is none: write it",
    ),
    (
        "true &&\n duration('1d') > duration('1s')",
        r"line 2, column 10: reads a text as a duration that is none",
    ),
    ("timestamp('2026-01-31T12:00:00Z') < timestamp(0) && duration('36h') > duration('1s')", None),
    ("object.metadata.name.matches(object.spec.pattern) && object.x.matches('^a.*b$')", None),
    ("dyn(quantity('1')).size() == 2", "dyn can't be used on"),
    ("type(quantity('1')) == map", "type can't be used on"),
    ("url('/x').getScheme(1) == ''", "can't be used with so many or so few arguments"),
]


@pytest.mark.parametrize(("expression", "words"), PROBLEMS)
def test_a_problem_is_told_in_words(expression: str, words: str | None) -> None:
    problems = compiled(expression).problems
    if words is None:
        assert not problems
        return
    assert problems
    assert problems[0].where == "conditions[0]"
    assert problems[0].expression == expression
    assert re.search(words, str(problems[0])), str(problems[0])


def test_a_problem_says_where_it_is() -> None:
    (problem,) = compiled("true &&\n  nope == 1").problems
    assert (problem.line, problem.column) == (2, 3)
    assert str(problem).startswith("conditions[0] at line 2, column 3: there is no variable nope")


def test_all_expressions_are_checked_and_a_broken_variable_is_told_once() -> None:
    report = compiled("variables.a == 1", "nope == 2", variables={"a": "1 +", "b": "variables.a + 1"})
    assert [problem.where for problem in report.problems] == ["variables[0]", "conditions[1]"]


@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: refusal.name)
def test_what_is_refused_says_why_and_what_to_write(refusal: object) -> None:
    name, reason, instead = (getattr(refusal, part) for part in ("name", "reason", "instead"))
    calls = [f"{name} == 1", f"{name}('a') == 1", f"object.a.{name}(e, e.b) == 1", f"{name}.x == 1"]
    told = [str(problem) for text in calls for problem in compiled(text).problems]
    assert any(reason in text and instead in text for text in told), told


def test_nothing_that_is_refused_exists() -> None:
    assert not {refusal.name for refusal in REFUSED} & NAMES
    assert all(text.endswith(".") for text in (*LIMITS, *DIFFERENCES))


LOOKS: list[tuple[str, tuple[str, ...] | None]] = [
    ("object.metadata.name == 'a'", ("metadata",)),
    ("object.metadata.labels.exists(k, k == 'a') && has(object.spec.x)", ("metadata", "spec")),
    ("object['data']['a'] == 'b'", ("data",)),
    ("object.?status.?phase.orValue('') == 'a'", ("status",)),
    ("object[?'spec'].hasValue()", ("spec",)),
    ("has(object.status)", ("status",)),
    ("'metadata' in object", None),
    ("object == null", None),
    ("object.exists(k, k == 'a')", None),
    ("object[namespaceObject.metadata.name] == 1", None),
    ("[object].size() == 1", None),
    ("cel.bind(o, object, o.spec.x == 1)", None),
    ("images.containers.size() == 0", ("kind", "spec")),
    ("true", ()),
]


@pytest.mark.parametrize(("expression", "fields"), LOOKS)
def test_the_fields_that_are_looked_at_are_known(expression: str, fields: tuple[str, ...] | None) -> None:
    assert compiled(expression).fields == fields


def test_only_the_variables_that_are_reached_are_looked_through() -> None:
    report = compiled(
        "variables.b == 1",
        variables={"a": "object.spec.x", "b": "variables.a", "c": "object.status.y", "d": "object"},
    )
    assert report.fields == ("spec",)


def test_metadata_is_enough_when_nothing_looks_further() -> None:
    assert compiled("object.metadata.name == 'a' && object.kind == 'Pod'").needs_only_metadata
    assert not compiled("object.spec.x == 1").needs_only_metadata
    assert not compiled("object == null").needs_only_metadata


def test_a_namespace_is_its_own_namespace_object_so_its_fields_count() -> None:
    report = compiled("namespaceObject.metadata.labels.team == 'a' && object.metadata.name == 'x'")
    assert (report.namespace_fields, report.needs_only_metadata) == (("metadata",), True)
    report = compiled("namespaceObject.status.phase == 'Terminating'")
    assert (report.namespace_fields, report.needs_only_metadata) == (("status",), False)
    assert compiled("namespaceObject == null").namespace_fields is None


def test_or_value_on_a_plain_field_is_the_field_as_in_kyverno() -> None:
    data = {"object": {"spec": {"x": [1], "items": [{"y": 2}]}}}
    assert ask("object.spec.x.orValue([]) == [1]", data=data).matched
    assert ask("object.spec.items.all(i, i.y.orValue(3) == 2)", data=data).matched
    assert "looks at 'z'" in ask("object.spec.z.orValue([]) == []", data=data).error
    assert ask("object.spec.?z.orValue([]) == [] && object.?spec.x.orValue([]) == [1]", data=data).matched
    assert ask("object.spec.items[0].y.orValue(1) == 2", data=data).matched
    assert "no optional" in ask("dyn(1).orValue(2) == 1").error


def test_it_is_known_who_has_to_be_asked() -> None:
    report = compiled(
        "variables.x == null && http.Client('').Get('https://a') == null",
        variables={"x": 'resource.List("v1", "pods", namespaceObject.metadata.name)'},
    )
    assert report.asks == ("http.Get", "resource.List")
    assert report.looks_at_namespace


def test_a_variable_is_worked_out_only_when_it_is_reached() -> None:
    assert ask("true || variables.broken == 1", variables={"broken": "object.nope"}).matched
    assert ask("false ? variables.broken == 1 : true", variables={"broken": "1 / int(object.size())"}).matched


def test_the_error_of_a_variable_is_that_of_the_condition_that_reaches_it() -> None:
    result = ask("variables.broken == 1", variables={"broken": "object.nope"})
    assert not result.matched
    assert result.error.startswith("condition c0 fails: variable broken looks at 'nope', which is not there")


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        (".team", ".?team"),
        ("['example.org/team']", "[?'example.org/team']"),
        (r"['it\'s']", r"[?'it\'s']"),
    ],
)
def test_a_key_that_is_not_there_is_told_with_what_can_stand_in_its_place(key: str, instead: str) -> None:
    data: dict[str, Any] = {"object": {"labels": {}}}
    result = ask(f"object.labels{key} == 'blue'", data=data)
    assert "which is not there" in result.error
    assert result.error.endswith(f"or write {instead}")
    assert not ask(f"object.labels{instead}.orValue('') == 'blue'", data=data).error


def test_a_variable_is_asked_once_per_object() -> None:
    asked: list[object] = []

    def answered(question: object) -> int:
        asked.append(question)
        return 1

    result = ask(
        "variables.x == 1 && variables.x == 1",
        "variables.y == 2",
        variables={"x": 'globalContext.Get("a")', "y": "variables.x + 1"},
        answer=answered,
    )
    assert result.matched, result.error
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("kind", "expression", "use"),
    [
        ("timestamp", "timestamp('2024-01-01T00:00:00Z')", "variables.x + duration('1s') > variables.x"),
        ("duration", "duration('1h')", "variables.x + variables.x == duration('2h')"),
        ("uint", "2u", "variables.x + 1u == 3u"),
        (
            "times",
            "[timestamp(0), timestamp(1)]",
            "variables.x.max() == timestamp(1) && variables.x[0] == timestamp(0)",
        ),
        ("durations", "[duration('1s')]", "variables.x.sum() == duration('1s')"),
        ("quantity", "quantity('1Gi')", "variables.x.isGreaterThan(quantity('1G'))"),
        ("bytes", "b'ab'", "variables.x + b'c' == b'abc'"),
        ("null", "null", "variables.x == null"),
        ("list", "[1, 2]", "variables.x.map(y, y + 1) == [2, 3]"),
    ],
)
def test_a_variable_keeps_its_type(kind: str, expression: str, use: str) -> None:
    result = ask(use, variables={"x": expression})
    assert result.matched, (kind, result.error)


def test_a_variable_in_a_loop_is_worked_out_once() -> None:
    data = {"object": {"n": list(range(50)), "spec": {"l": [1, 2]}}}
    result = ask(
        "object.n.all(x, variables.l.size() == 2 && variables.m == 2 && variables.t == timestamp(0))",
        variables={"l": "object.spec.l", "m": "variables.l.max()", "t": "timestamp(0)"},
        data=data,
    )
    assert result.matched, result.error


@pytest.mark.parametrize("name", ["", "my-variable", "1a", "a b", "\u00e4"])
def test_a_variable_needs_a_name_that_can_be_written(name: str) -> None:
    (problem,) = compiled("true", variables={name: "1"}).problems
    assert "is no name for a variable" in problem.reason


def test_the_type_of_a_variable_is_checked() -> None:
    assert compiled("variables.x == 'a'", variables={"x": "1 + 1"}).problems


@pytest.mark.parametrize("expression", ["object.?spec", "type(1)"])
def test_a_variable_that_can_not_be_kept_is_refused(expression: str) -> None:
    (problem,) = compiled("true", variables={"x": expression}).problems
    assert "a variable can't hold" in problem.reason


def test_the_first_false_condition_ends_it_whatever_came_before() -> None:
    assert ask("object.nope == 1", "false") == ask("false")
    assert ask("object.nope == 1", "false").error == ""


def test_an_error_without_a_false_condition_keeps_the_object() -> None:
    result = ask("true", "object.nope == 1", "true")
    assert not result.matched
    assert "condition c1 looks at 'nope'" in result.error


def test_no_conditions_match_everything() -> None:
    assert ask().matched


def test_a_condition_that_turns_out_not_to_be_true_or_false_is_an_error() -> None:
    assert "answers string" in ask("object.x", data={"object": {"x": "true"}}).error


def test_numbers_beyond_64_bits_are_an_error() -> None:
    assert "out of range" in ask("object.x > 1", data={"object": {"x": 2**70}}).error


ROOTS = st.sampled_from(
    ["object", "variables.a", "'a'", "1", "2.5", "null", "true", "[1, 'a']", "{'a': 1}", "x"]
)
GLUE = st.sampled_from(
    [" == ", " + ", " < ", " in ", " && ", " || ", "[", "(", "]", ")", " ? ", " : ", ", ", "!"]
)
STEPS = st.sampled_from(
    [
        ".metadata",
        ".?name",
        "[0]",
        "[?'a']",
        ".size()",
        ".exists(x, x == 1)",
        ".map(x, x.y)",
        ".orValue(1)",
        ".first()",
    ]
)
CALLS = st.sampled_from(
    [
        "quantity('1Gi')",
        "ip('::1')",
        "has(object.a)",
        "format.named('uuid')",
        "timestamp(0)",
        "url('/').getQuery()",
    ]
)
WORDS = st.one_of(ROOTS, GLUE, STEPS, CALLS)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=12).map("".join))
@example("object.?metadata")
@example("format.named('a')")
@example("[{'a': quantity('1')}, {'b': 2}]")
@example("{'a': variables.a, 'b': [variables.a]}")
@example("object.x.map(y, variables.a)")
def test_any_text_is_compiled_or_told_to_be_wrong(text: str) -> None:
    program, report = compiler()[0].compile(source(text, variables={"a": "object.metadata.name"}))
    assert (program is None) == bool(report.problems)
    if program is not None:
        assert isinstance(ask(text, variables={"a": "object.metadata.name"}).matched, bool)


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=40))
def test_no_text_makes_the_compiler_fail(text: str) -> None:
    program, report = compiler()[0].compile(source(text))
    assert (program is None) == bool(report.problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abx", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=120, deadline=None)
@given(
    JSON,
    st.sampled_from(
        [
            "object.a > 1",
            "object.?a.orValue(0) == 1",
            "object.a.exists(x, x == 1)",
            "object.a.b == object.b",
            "object.a",
            "quantity(object.a).isInteger()",
            "object.a.size() > object.b.size()",
            "object.a in object.b",
            "string(object.a) == 'x' || object.b",
            "variables.v == 1",
            "object.a.map(x, x + 1) == [2]",
            "has(object.a.b)",
            "object.a ? object.b : true",
            "object.a.sort() == object.b",
            "sets.contains(object.a, object.b)",
        ]
    ),
)
def test_an_error_never_matches(value: Any, expression: str) -> None:
    result = ask(expression, variables={"v": "object.a.b"}, data={"object": value})
    assert not (result.matched and result.error)


@pytest.mark.parametrize(
    "expression",
    [
        "object.a[0].?b",
        "[1, ?object.?a]",
        "{'a': 1, ?'b': object.?c}",
        "[1].map(x, x > 0, {'y': x})",
        "-1.5e3",
        "b'a'",
    ],
)
def test_a_tree_that_is_written_back_is_the_same(expression: str) -> None:
    env = environment.checker({}, namespaced=False)
    serialized = env.compile(f"[dyn({expression})]").serialize()
    assert syntax.write(syntax.read(serialized)) == serialized


def test_the_parent_does_not_load_the_engine() -> None:
    code = "import sys, skoupa.expr.cel.pool; print([m for m in sys.modules if m.startswith('cel_expr')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("namespace", "expression", "words"),
    [
        (
            "shop",
            "resource.List('v1','configmaps','conf').items.size() > 0",
            "resource.List names a namespace: in a policy of a namespace leave the namespace out: resource.List('v1', 'configmaps')",
        ),
        (
            "shop",
            "true &&\n  resource.Get('apps/v1', 'deployments', 'conf', object.metadata.name).spec.x == 'b'",
            "leave the namespace out: resource.Get('apps/v1', 'deployments', 'NAME')",
        ),
        (
            "shop",
            "resource.list(resource.toGVR('v1', 'Pod'), 'conf', {'a': 'b, c'}).items == []",
            "leave the namespace out: resource.list(resource.toGVR('v1', 'Pod'))",
        ),
        (
            "",
            "resource.List('v1', 'configmaps').items.size() > 0",
            "in which namespace: in a policy of the whole cluster name it: resource.List('v1', 'configmaps', 'NAMESPACE'), or '' for all",
        ),
        (
            "",
            "resource.Get('v1', 'configmaps', 'x').data == {}",
            "name it: resource.Get('v1', 'configmaps', 'NAMESPACE', 'NAME')",
        ),
    ],
)
def test_a_call_that_belongs_into_the_other_kind_of_policy_is_one_problem(
    namespace: str, expression: str, words: str
) -> None:
    (problem,) = compiled(expression, namespace=namespace).problems
    assert words in str(problem)


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("resource.List(1).items.size() > 0", 1),
        ("size(resource.List('v1', 'pods', 'a').items.map(x, x.a + 'b')) > 0 && 'a' + 1 == 'b'", 2),
        ("[1].join().x == 1", 1),
    ],
)
def test_what_only_follows_from_another_problem_is_not_told(expression: str, count: int) -> None:
    problems = compiled(expression, namespace="shop").problems
    assert len(problems) == count
    assert not any("*error*" in str(problem) for problem in problems)

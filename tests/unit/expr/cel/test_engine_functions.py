"""What CEL itself has, also where the checker is told by us: examples of the language's own documentation of extensions."""

from __future__ import annotations

import pytest

from tests.unit.expr.cel.asking import ask, compiled

pytestmark = pytest.mark.unit

HOLDS = r"""
'hello'.charAt(4) == 'o'
'hello mellow'.indexOf('ello') == 1
'hello mellow'.indexOf('ello', 2) == 7
'hello mellow'.lastIndexOf('ello') == 7
'hello mellow'.lastIndexOf('ello', 6) == 1
['hello', 'mellow'].join() == 'hellomellow'
['hello', 'mellow'].join(' ') == 'hello mellow'
'TacoCat'.lowerAscii() == 'tacocat'
'TacoCat'.upperAscii() == 'TACOCAT'
strings.quote('single-quote with "double quote"') == '"single-quote with \\"double quote\\""'
'hello hello'.replace('he', 'we') == 'wello wello'
'hello hello'.replace('he', 'we', 1) == 'wello hello'
'hello hello hello'.split(' ') == ['hello', 'hello', 'hello']
'hello hello hello'.split(' ', 2) == ['hello', 'hello hello']
'tacocat'.substring(4) == 'cat'
'tacocat'.substring(0, 4) == 'taco'
'  \ttrim\n    '.trim() == 'trim'
'gums'.reverse() == 'smug'
"%s, %d, %.2f".format(["a", 1, 2.5]) == "a, 1, 2.50"
string(1) == '1' && string(true) == 'true' && string(1.5) == '1.5' && string(duration('1s')) == '1s'
[1, 2, 3, 4].slice(1, 3) == [2, 3]
[1, [2, 3], [4]].flatten() == [1, 2, 3, 4]
[1, [2, [3, [4]]]].flatten(2) == [1, 2, 3, [4]]
[3, 2, 1].sort() == [1, 2, 3]
['b', 'c', 'a'].sort() == ['a', 'b', 'c']
[1, 2, 2, 3, 3, 3].distinct() == [1, 2, 3]
['b', 'b', 'c', 'a', 'c'].distinct() == ['b', 'c', 'a']
[1, '1', true].distinct().size() == 3
[5, 3, 1, 2].reverse() == [2, 1, 3, 5]
[1u, 2u].sum() + 1u == 4u && [1u, 2u].max() == 2u && [2u, 1u].min() + 1u == 2u
[timestamp(1), timestamp(0)].min() == timestamp(0) && [duration('1s')].max() + duration('1s') == duration('2s')
lists.range(5) == [0, 1, 2, 3, 4]
[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !dyn([]).first().hasValue()
sets.contains([], []) && !sets.contains([], [1])
sets.contains([1, 2, 3, 4], [2, 3])
sets.contains([1, 2.0, 3u], [1.0, 2u, 3])
sets.equivalent([], []) && sets.equivalent([1], [1, 1])
sets.equivalent([1], [1u, 1.0])
sets.equivalent([1, 2, 3], [3u, 2.0, 1])
sets.intersects([1], []) == false
sets.intersects([1], [1, 2])
sets.intersects([[1], [2, 3]], [[1, 2], [2, 3.0]])
math.greatest(1, 2) == 2 && math.least(-0.5, 0.25) == -0.5
math.ceil(1.2) == 2.0 && math.floor(1.2) == 1.0 && math.round(1.5) == 2.0 && math.trunc(-1.3) == -1.0
math.abs(-1) == 1 && math.sign(-42) == -1 && math.isNaN(0.0/0.0) && !math.isInf(1.0/2.0) && math.isFinite(1.0)
math.bitOr(1, 2) == 3 && math.bitAnd(3, 2) == 2 && math.bitXor(3, 5) == 6 && math.bitNot(1) == -2
math.bitShiftLeft(1, 2) == 4 && math.bitShiftRight(1024, 2) == 256 && math.sqrt(81) == 9.0
base64.decode('aGVsbG8=') == b'hello' && base64.encode(b'hello') == 'aGVsbG8='
cel.bind(x, 3, x * x) == 9
{'a': 1}.?b.orValue(2) == 2 && {'a': 1}.?a.orValue(2) == 1 && {'a': {'b': 1}}.?a.?b.optMap(x, x + 1).value() == 2
[1, 2][?5].hasValue() == false
'café'.substring(1, 4) == 'afé' && 'café'.substring(0, 4) == 'café' && 'a'.substring(1, 1) == '' && ''.substring(0, 0) == ''
dyn('tmp').substring(0, 3) == 'tmp' && 'a👍b'.substring(1, 3) == '👍b'
dyn(1) == 1.0 && 1 < 1.5 && 2u > 1 && dyn(3u) == 3
timestamp('2024-01-01T10:00:00Z').getHours('Europe/Athens') == 12
['a', 'b'].exists_one(x, x == 'a') && [1, 2].map(x, x > 1, x * 2) == [4]
"""


@pytest.mark.parametrize("expression", HOLDS.strip().splitlines())
def test_what_the_language_promises_holds(expression: str) -> None:
    result = ask(expression)
    assert result.matched, result.error


@pytest.mark.parametrize(
    "expression",
    [
        "'tmp'.substring(0, 4) == 'tmp'",
        "'tmp'.substring(2, 1) == ''",
        "'tmp'.substring(-1, 2) == ''",
        "dyn([1, 2]).substring(0, 1) == ''",
        "[1, 2].slice(1, 5) == []",
        "[1, 2].slice(-1, 1) == []",
        "[1].flatten(-1) == []",
        "dyn([1, 'a']).sort() == []",
        "dyn([1, 1.5]).sum() == 2.5",
        "[9223372036854775807, 1].sum() == 0",
        "lists.range(100000000).size() == 1",
        "lists.range(20000).all(x, x >= 0)",
    ],
)
def test_what_can_not_be_answered_is_an_error(expression: str) -> None:
    result = ask(expression)
    assert not result.matched
    assert result.error


@pytest.mark.parametrize(
    "expression", ["'a' + 1 == 'a1'", "[1].join() == ''", "math.round('a', 1) == 1.0", "string({}) == ''"]
)
def test_types_are_checked_for_what_the_engine_has_itself(expression: str) -> None:
    assert compiled(expression).problems

"""Every filter, test, method and function, on examples."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from whorl.language import Expression, LanguageError, MappingScope, evaluate, functions

CALL_SCOPE = MappingScope(
    {"text": "Hello World", "numbers": [1, 2, 3, 2], "object": {"a": 1, "b": None}, "null": None}
)
FILTER_SCOPE = MappingScope(
    {
        "text": "Hello big World",
        "lines": "one\n\ntwo",
        "html": "<p>A  <b>b</b> &amp; c</p><!-- no -->",
        "numbers": [3, 1, 2, 3],
        "words": ["pear", "Fig", "apple", "fig"],
        "object": {"b": 1, "A": 3, "c": 2},
        "people": [
            {"name": "Ada", "team": "red", "age": 36, "home": {"city": "Rome"}},
            {"name": "bob", "team": "blue", "age": 25, "home": {"city": "Oslo"}},
            {"name": "Cy", "team": "red", "age": 41},
        ],
        "null": None,
    }
)

TRUE = (
    *("[1, 2] | select('!=', 1) | list == [2]", "[1, 2] | select('<', 2) | list == [1]"),
    *("[1, 2] | select('<=', 2) | list == [1, 2]", "[1, 2] | select('==', 2) | list == [2]"),
    *("[1, 2] | select('>', 1) | list == [2]", "[1, 2] | select('>=', 1) | list == [1, 2]"),
    *("true is boolean", "numbers is contains(2)", "text is contains('World')", "null is defined"),
    *("a.b is not defined", "9 is divisibleby 3", "1 is eq 1", "2 is even", "false is false"),
    *("1.5 is float", "2 is ge 2", "3 is gt 2", "2 is in numbers"),
    *("1 is integer", "numbers is iterable", "1 is lessthan 2", "'abc' is lower", "1 is lt 2"),
    *("object is mapping", "text is match('Hel+o')", "1 is ne 2", "null is none", "1.5 is number"),
    *("3 is odd", "text is search('W.r')"),
    *("text is search('w.r', ignorecase=true)", "numbers is sequence", "text is string"),
    *("true is true", "missing is undefined", "object.z is undefined"),
    "'ABC' is upper",
)
FALSE = (
    *("1 is boolean", "object is contains('z')", "missing is defined"),
    *("9 is divisibleby(2)", "1 is equalto 2", "0 is false"),
    *("1 is float", "2 is greaterthan 2", "'z' is in text", "true is integer"),
    *("1 is iterable", "2 is le 1", "text is lower", "numbers is mapping"),
    *("text is match('World')", "missing is none", "'1' is number"),
    *("1 is sequence", "1 is true"),
)
CALLS = (
    *("'aB'.capitalize() == 'Ab'", "text.count('l') == 3"),
    *("text.endswith('ld') == true", "text.endswith(['x', 'd']) == true"),
    *("text.find('World') == 6", "text.find('z') == -1"),
    *("text.index('W') == 6", "'a1'.isalnum() == true", "'a1'.isalpha() == false"),
    *("'12'.isdigit() == true", "'a'.islower() == true", "' '.isspace() == true"),
    *("'a'.isupper() == false", "', '.join(['a', 'b']) == 'a, b'"),
    *("text.lower() == 'hello world'", "' a '.lstrip() == 'a '"),
    "text.replace('l', 'L', 1) == 'HeLlo World'",
    "' a '.rstrip() == ' a'",
    *("'a b'.split() == ['a', 'b']", "'a,b'.split(sep=',') == ['a', 'b']"),
    *("'a\\nb'.splitlines() == ['a', 'b']", "text.startswith('He') == true"),
    *("' a '.strip() == 'a'", "'xax'.strip('x') == 'a'"),
    *("'a b'.title() == 'A B'", "text.upper() == 'HELLO WORLD'"),
    *("numbers.count(2) == 2", "numbers.index(3) == 2", "object.get('a') == 1"),
    *("object.get('z', 5) == 5", "object.get('z') == none", "missing.get('z', 5) == 5"),
    *("object.items() == [['a', 1], ['b', none]]", "object.keys() == ['a', 'b']"),
    *("object.values() == [1, none]", "range(3) == [0, 1, 2]", "range(5, 1, -2) == [5, 3]"),
    *("range(3, 1) == []", "dict(a=1, b=2) == {'a': 1, 'b': 2}"),
    *("dict([['a', 1]], b=2) == {'a': 1, 'b': 2}", "dict(object, a=2) == {'a': 2, 'b': none}"),
)
FILTERS = (
    *("-3 | abs == 3", "-2.5 | abs == 2.5", "object | attr('b') == 1"),
    *("object | attr('__class__') is defined == false", "'aMOp' | b64decode == 'hé'"),
    *("'hé' | b64encode == 'aMOp'", "'é' | b64encode | b64decode == 'é'"),
    "'hELLO wORLD' | capitalize == 'Hello world'",
    *("words | count == 4", "missing | d('x') == 'x'", "missing | default('x') == 'x'"),
    *("missing.deep[3].er | default('x') == 'x'", "missing | default == ''"),
    *("null | default('x') == none", "null | default('x', true) == 'x'"),
    *("'' | default('x', boolean=true) == 'x'", "0 | default(5) == 0"),
    "'<a>' | e == '&lt;a&gt;'",
    *("text | endswith('World') == true", "text | endswith('x') == false"),
    "'<&\"\\'>' | escape == '&lt;&amp;&#34;&#39;&gt;'",
    "words | first == 'pear'",
    *("[] | first | default('no') == 'no'", "text | first == 'H'", "'2.5' | float == 2.5"),
    *("'x' | float(1.5) == 1.5", "'nan' | float(0.0) == 0.0"),
    "'%s is %d' | format('x', 3) == 'x is 3'",
    "'%(a)s-%(b).1f' | format(a='x', b=2.25) == 'x-2.2'",
    "'%05.1f|%-4s|%%' | format(2.5, 'a') == '002.5|a   |%'",
    "'%s' | format([1, 'a']) == '[1, \"a\"]'",
    "'{\"a\": [1, 2.5, null]}' | fromjson == {'a': [1, 2.5, none]}",
    "people | groupby('team') | map(attribute='grouper') == ['blue', 'red']",
    "(people | groupby('team') | last).list | map(attribute='name') == ['Ada', 'Cy']",
    "people | groupby('home.city', default='') | map(attribute='grouper') | first == ''",
    *("lines | indent(2) == 'one\\n\\n  two'", "lines | indent(2, true) == '  one\\n\\n  two'"),
    *("lines | indent('> ', blank=true) == 'one\\n> \\n> two'", "'12' | int == 12"),
    *("'3.9' | int == 3", "'x' | int(7) == 7", "'ff' | int(base=16) == 255"),
    *("'0b11' | int(0, 2) == 3", "2.9 | int == 2", "object | items | first == ['b', 1]"),
    *("missing | items == []", "words | join(', ') == 'pear, Fig, apple, fig'"),
    *("numbers | join == '3123'", "people | join('/', attribute='home.city') == 'Rome/Oslo/'"),
    *("[true, none, 1.5] | join(',') == 'true,,1.5'", "numbers | last == 3"),
    *("[] | last is defined == false", "text | length == 15", "object | length == 3"),
    *("missing | length == 0", "'abc' | list == ['a', 'b', 'c']"),
    *("object | list == ['b', 'A', 'c']", "text | lower == 'hello big world'"),
    "words | map('upper') == ['PEAR', 'FIG', 'APPLE', 'FIG']",
    "people | map(attribute='home.city') == ['Rome', 'Oslo', none]",
    "people | map(attribute='home.city', default='?') == ['Rome', 'Oslo', '?']",
    "words | map('replace', 'p', 'P') | first == 'Pear'",
    "people | map(attribute='home.city') | select('defined') | list == ['Rome', 'Oslo']",
    "numbers | max == 3",
    "people | max(attribute='age') == {'name': 'Cy', 'team': 'red', 'age': 41}",
    *("words | min == 'apple'", "[] | min | default('none') == 'none'"),
    "'a1b22' | regex_findall('[0-9]+') == ['1', '22']",
    "'a1b22' | regex_findall('([a-z])([0-9])') == [['a', '1'], ['b', '2']]",
    "'a1b22' | regex_findall('([a-z])[0-9]') == ['a', 'b']",
    "'a1b22' | regex_replace('[0-9]+', '#') == 'a#b#'",
    "'John Smith' | regex_replace('(\\\\w+) (?P<l>\\\\w+)', '\\\\g<l>, \\\\1') == 'Smith, John'",
    "'ÄÖx' | regex_replace('x', '\\\\\\\\') == 'ÄÖ\\\\'",
    "'score: 0.85!' | regex_search('[0-9.]+') == '0.85'",
    "'SCORE: 7' | regex_search('score: ([0-9])', 1, ignorecase=true) == '7'",
    *("'x' | regex_search('y') == none", "'ab' | regex_search('(?P<last>b)', 'last') == 'b'"),
    *("numbers | reject('odd') == [2]", "[0, 1, ''] | reject == [0, '']"),
    "people | rejectattr('home') | map(attribute='name') == ['Cy']",
    "text | replace('o', '0') == 'Hell0 big W0rld'",
    *("text | replace('o', '0', 1) == 'Hell0 big World'", "'ab' | replace('', '-') == '-a-b-'"),
    *("numbers | reverse == [3, 2, 1, 3]", "'abc' | reverse == 'cba'", "2.567 | round(1) == 2.6"),
    *("2.1 | round(0, 'ceil') == 3.0", "2.9 | round(method='floor') == 2.0", "7 | round == 7"),
    *("'<b>' | safe == '<b>'", "numbers | select('gt', 1) == [3, 2, 3]"),
    "[0, 1, ''] | select == [1]",
    "people | selectattr('age', 'ge', 36) | map(attribute='name') == ['Ada', 'Cy']",
    "people | selectattr('home') | length == 2",
    "'' | sha256 == 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
    "numbers | sort == [1, 2, 3, 3]",
    "words | sort == ['apple', 'Fig', 'fig', 'pear']",
    "words | sort(case_sensitive=true) == ['Fig', 'apple', 'fig', 'pear']",
    "people | sort(attribute='team,age') | map(attribute='name') == ['bob', 'Ada', 'Cy']",
    *("numbers | sort(reverse=true) | first == 3", "'x = 1' | code == 'x = 1'"),
    "'Here:\\n```python\\nx = 1\\n```\\nDone.' | code == 'x = 1\\n'",
    "'```sh\\nls\\n```\\n```python\\nx = 1\\n```' | code('python') == 'x = 1\\n'",
    "'```sh\\nls\\n```' | code('python') == 'ls\\n'",
    "'````md\\n```\\nx\\n```\\n````' | code == '```\\nx\\n```\\n'",
    "'```python\\ncut off' | code == 'cut off'",
    *("'use ```x``` here' | code == 'use ```x``` here'", "'a,b,c' | split(',', 1) == ['a', 'b,c']"),
    *("' a  b ' | split == ['a', 'b']", "text | startswith('Hello') == true"),
    *("1.5 | string == '1.5'", "true | string == 'true'", "null | string == ''"),
    *("numbers | sum == 9", "people | sum('age', 100) == 202"),
    *("[] | sum == 0", "\"it's a-b (c)\" | title == 'It\\'s A-B (C)'"),
    "{'b': [1, none, true], 'ä': '<'} | tojson == '{\"b\": [1, null, true], \"ä\": \"<\"}'",
    *("[1] | tojson(2) == '[\\n  1\\n]'", "'a' | tojson == '\"a\"'", "'  a ' | trim == 'a'"),
    *("'xax' | trim('x') == 'a'", "text | truncate(9, leeway=0) == 'Hello...'"),
    "text | truncate(9, true, '…', 0) == 'Hello bi…'",
    *("text | truncate(12) == 'Hello big World'", "words | unique == ['pear', 'Fig', 'apple']"),
    *("words | unique(true) | length == 4", "[[1], [1], {'a': 1}] | unique == [[1], {'a': 1}]"),
    *("people | unique(attribute='team') | length == 2", "text | upper == 'HELLO BIG WORLD'"),
    *("missing | upper == ''", "'a b/ä' | urlencode == 'a%20b/%C3%A4'"),
    "{'q': 'a b', 'n': 1} | urlencode == 'q=a+b&n=1'",
    *("text | wordcount == 3", "text | wordwrap(9) == 'Hello big\\nWorld'"),
    "text | wordwrap(9, wrapstring=' / ') == 'Hello big / World'",
)
CALL_FAULTS = (
    *("numbers.upper()", "missing.upper()", "(1).upper()", "text.index('z')", "numbers.index(9)"),
    *("text.count(1)", "text.replace('a')"),
    *("text.upper(1)", "text.strip(3)", "', '.join([1, 2])"),
    *("range('a')", "range()"),
    *("range(1, 2, 0)", "dict(1)", "dict([1])", "1 is divisibleby 0", "'a' is odd"),
    *("1 is in 2", "'a' is search('(')"),
)
FILTER_FAULTS = (
    *("'x' | abs", "[1, 'a'] | sort", "[1, none] | max", "[1, 'a'] | sum", "3 | join", "3 | list"),
    *("3 | length", "'x' | int(base=37)"),
    *("1.5 | round('a')", "1.5 | round(1, 'up')", "'%d' | format('a')"),
    *("'%s %s' | format('a')", "'%s' | format('a', 'b')", "'%q' | format('a')"),
    *("'%(a)s' | format(b=1)", "'%s' | format('a', b=1)", "'{' | fromjson", "'[NaN]' | fromjson"),
    *("3 | fromjson", "'a' | b64decode", "'ä' | b64decode", "3 | items"),
    *("'abc' | truncate(1)", "'a' | split('')"),
    *("[1] | map", "[1] | map(attribute=1.5)"),
    *("[1] | map(attribute='a', other=1)", "[1] | map('replace')", "[1] | select(3)"),
    *("[1] | selectattr", "'a' | regex_search('b', 1.5)", "'a' | regex_search('a', 5)"),
    *("'a' | regex_search(3)", "[1] | tojson(99)"),
)
EXAMPLES = [
    *((source, CALL_SCOPE) for source in CALLS),
    *((f"{source} == true", CALL_SCOPE) for source in TRUE),
    *((f"{source} == false", CALL_SCOPE) for source in FALSE),
    *((source, FILTER_SCOPE) for source in FILTERS),
]


def _value(source: str, scope: MappingScope = FILTER_SCOPE) -> object:
    return evaluate(Expression("jinja", source), scope)


@pytest.mark.parametrize(("example", "scope"), EXAMPLES)
def test_a_call_gives_the_documented_value(example: str, scope: MappingScope) -> None:
    source, _, expected = example.rpartition(" == ")
    actual, wanted = _value(source, scope), _value(expected)

    assert wanted == actual
    assert type(wanted) is type(actual)


def test_every_filter_test_and_method_has_an_example() -> None:
    filters, tests, methods = (
        [entry.name for entry in functions() if entry.kind == kind]
        for kind in ("filter", "test", "method")
    )
    tried = re.findall(r" is (?:not )?(\w+)|select\('(.+?)'", " ".join((*TRUE, *FALSE)))

    assert set(tests) == {word or operator for word, operator in tried}
    assert not set(filters) - {*re.findall(r"\| (\w+)", " ".join(FILTERS))}
    assert not Counter(methods) - Counter(re.findall(r"\.(\w+)\(", " ".join(CALLS)))


@pytest.mark.parametrize(
    ("source", "scope"),
    [
        *((source, CALL_SCOPE) for source in CALL_FAULTS),
        *((source, FILTER_SCOPE) for source in FILTER_FAULTS),
    ],
)
def test_call_refuses_what_it_cannot_do(source: str, scope: MappingScope) -> None:
    with pytest.raises(LanguageError) as caught:
        _value(source, scope)

    assert caught.value.offset is not None
    assert caught.value.message[0].islower()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *((f"{name}()", "replayed") for name in ("now", "lipsum", "random")),
        *(
            (f"[1] | {name}", f"filter '{name}' is not available: ")
            for name in ("random", "urlize", "shuffle")
        ),
    ],
)
def test_what_is_left_out_says_why(source: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        _value(source)

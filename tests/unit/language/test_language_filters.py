"""Every filter, on examples."""

from __future__ import annotations

import pytest

from whorl.language import (
    EvaluationError,
    Expression,
    Json,
    LanguageError,
    MappingScope,
    evaluate,
    functions,
)

SCOPE = MappingScope(
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

CASES: dict[str, list[tuple[str, Json]]] = {
    "abs": [("-3 | abs", 3), ("-2.5 | abs", 2.5)],
    "attr": [("object | attr('b')", 1), ("object | attr('__class__') is defined", False)],
    "b64decode": [("'aMOp' | b64decode", "hé")],
    "b64encode": [("'hé' | b64encode", "aMOp")],
    "batch": [
        ("numbers | batch(3)", [[3, 1, 2], [3]]),
        ("numbers | batch(3, 0)", [[3, 1, 2], [3, 0, 0]]),
    ],
    "capitalize": [("'hELLO wORLD' | capitalize", "Hello world")],
    "center": [("'ab' | center(6)", "  ab  ")],
    "count": [("words | count", 4)],
    "d": [("missing | d('x')", "x")],
    "default": [
        ("missing | default('x')", "x"),
        ("missing.deep[3].er | default('x')", "x"),
        ("missing | default", ""),
        ("null | default('x')", None),
        ("null | default('x', true)", "x"),
        ("'' | default('x', boolean=true)", "x"),
        ("0 | default(5)", 0),
    ],
    "dictsort": [
        ("object | dictsort", [["A", 3], ["b", 1], ["c", 2]]),
        ("object | dictsort(true)", [["A", 3], ["b", 1], ["c", 2]]),
        ("object | dictsort(by='value')", [["b", 1], ["c", 2], ["A", 3]]),
        ("object | dictsort(reverse=true) | first", ["c", 2]),
    ],
    "e": [("'<a>' | e", "&lt;a&gt;")],
    "endswith": [("text | endswith('World')", True), ("text | endswith('x')", False)],
    "escape": [("'<&\"\\'>' | escape", "&lt;&amp;&#34;&#39;&gt;")],
    "filesizeformat": [
        ("1 | filesizeformat", "1 Byte"),
        ("13500 | filesizeformat", "13.5 kB"),
        ("2048 | filesizeformat(true)", "2.0 KiB"),
        ("3.5e25 | filesizeformat", "35.0 YB"),
    ],
    "first": [
        ("words | first", "pear"),
        ("[] | first | default('no')", "no"),
        ("text | first", "H"),
    ],
    "float": [("'2.5' | float", 2.5), ("'x' | float(1.5)", 1.5), ("'nan' | float(0.0)", 0.0)],
    "forceescape": [("'<' | forceescape", "&lt;")],
    "format": [
        ("'%s is %d' | format('x', 3)", "x is 3"),
        ("'%(a)s-%(b).1f' | format(a='x', b=2.25)", "x-2.2"),
        ("'%05.1f|%-4s|%%' | format(2.5, 'a')", "002.5|a   |%"),
        ("'%s' | format([1, 'a'])", '[1, "a"]'),
    ],
    "fromjson": [("'{\"a\": [1, 2.5, null]}' | fromjson", {"a": [1, 2.5, None]})],
    "groupby": [
        ("people | groupby('team') | map(attribute='grouper')", ["blue", "red"]),
        ("(people | groupby('team') | last).list | map(attribute='name')", ["Ada", "Cy"]),
        ("people | groupby('home.city', default='') | map(attribute='grouper') | first", ""),
    ],
    "indent": [
        ("lines | indent(2)", "one\n\n  two"),
        ("lines | indent(2, true)", "  one\n\n  two"),
        ("lines | indent('> ', blank=true)", "one\n> \n> two"),
    ],
    "int": [
        ("'12' | int", 12),
        ("'3.9' | int", 3),
        ("'x' | int(7)", 7),
        ("'ff' | int(base=16)", 255),
        ("'0b11' | int(0, 2)", 3),
        ("2.9 | int", 2),
    ],
    "items": [("object | items | first", ["b", 1]), ("missing | items", [])],
    "join": [
        ("words | join(', ')", "pear, Fig, apple, fig"),
        ("numbers | join", "3123"),
        ("people | join('/', attribute='home.city')", "Rome/Oslo/"),
        ("[true, none, 1.5] | join(',')", "true,,1.5"),
    ],
    "last": [("numbers | last", 3), ("[] | last is defined", False)],
    "length": [("text | length", 15), ("object | length", 3), ("missing | length", 0)],
    "list": [("'abc' | list", ["a", "b", "c"]), ("object | list", ["b", "A", "c"])],
    "lower": [("text | lower", "hello big world")],
    "map": [
        ("words | map('upper')", ["PEAR", "FIG", "APPLE", "FIG"]),
        ("people | map(attribute='home.city')", ["Rome", "Oslo", None]),
        ("people | map(attribute='home.city', default='?')", ["Rome", "Oslo", "?"]),
        ("words | map('replace', 'p', 'P') | first", "Pear"),
        ("people | map(attribute='home.city') | select('defined') | list", ["Rome", "Oslo"]),
    ],
    "max": [
        ("numbers | max", 3),
        ("people | max(attribute='age')", {"name": "Cy", "team": "red", "age": 41}),
    ],
    "min": [("words | min", "apple"), ("[] | min | default('none')", "none")],
    "pprint": [("{'a': 1} | pprint", '{\n  "a": 1\n}')],
    "regex_findall": [
        ("'a1b22' | regex_findall('[0-9]+')", ["1", "22"]),
        ("'a1b22' | regex_findall('([a-z])([0-9])')", [["a", "1"], ["b", "2"]]),
        ("'a1b22' | regex_findall('([a-z])[0-9]')", ["a", "b"]),
    ],
    "regex_replace": [
        ("'a1b22' | regex_replace('[0-9]+', '#')", "a#b#"),
        (
            "'John Smith' | regex_replace('(\\\\w+) (?P<l>\\\\w+)', '\\\\g<l>, \\\\1')",
            "Smith, John",
        ),
        ("'ÄÖx' | regex_replace('x', '\\\\\\\\')", "ÄÖ\\"),
    ],
    "regex_search": [
        ("'score: 0.85!' | regex_search('[0-9.]+')", "0.85"),
        ("'SCORE: 7' | regex_search('score: ([0-9])', 1, ignorecase=true)", "7"),
        ("'x' | regex_search('y')", None),
        ("'ab' | regex_search('(?P<last>b)', 'last')", "b"),
    ],
    "reject": [("numbers | reject('odd')", [2]), ("[0, 1, ''] | reject", [0, ""])],
    "rejectattr": [("people | rejectattr('home') | map(attribute='name')", ["Cy"])],
    "replace": [
        ("text | replace('o', '0')", "Hell0 big W0rld"),
        ("text | replace('o', '0', 1)", "Hell0 big World"),
        ("'ab' | replace('', '-')", "-a-b-"),
    ],
    "reverse": [("numbers | reverse", [3, 2, 1, 3]), ("'abc' | reverse", "cba")],
    "round": [
        ("2.567 | round(1)", 2.6),
        ("2.1 | round(0, 'ceil')", 3.0),
        ("2.9 | round(method='floor')", 2.0),
        ("7 | round", 7),
    ],
    "safe": [("'<b>' | safe", "<b>")],
    "select": [("numbers | select('gt', 1)", [3, 2, 3]), ("[0, 1, ''] | select", [1])],
    "selectattr": [
        ("people | selectattr('age', 'ge', 36) | map(attribute='name')", ["Ada", "Cy"]),
        ("people | selectattr('home') | length", 2),
    ],
    "sha256": [
        ("'' | sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ],
    "slice": [
        ("numbers | slice(3)", [[3, 1], [2], [3]]),
        ("numbers | slice(3, 0)", [[3, 1], [2, 0], [3, 0]]),
    ],
    "sort": [
        ("numbers | sort", [1, 2, 3, 3]),
        ("words | sort", ["apple", "Fig", "fig", "pear"]),
        ("words | sort(case_sensitive=true)", ["Fig", "apple", "fig", "pear"]),
        ("people | sort(attribute='team,age') | map(attribute='name')", ["bob", "Ada", "Cy"]),
        ("numbers | sort(reverse=true) | first", 3),
    ],
    "code": [
        ("'x = 1' | code", "x = 1"),
        ("'Here:\\n```python\\nx = 1\\n```\\nDone.' | code", "x = 1\n"),
        ("'```sh\\nls\\n```\\n```python\\nx = 1\\n```' | code('python')", "x = 1\n"),
        ("'```sh\\nls\\n```' | code('python')", "ls\n"),
        ("'````md\\n```\\nx\\n```\\n````' | code", "```\nx\n```\n"),
        ("'```python\\ncut off' | code", "cut off"),
        ("'use ```x``` here' | code", "use ```x``` here"),
    ],
    "split": [("'a,b,c' | split(',', 1)", ["a", "b,c"]), ("' a  b ' | split", ["a", "b"])],
    "startswith": [("text | startswith('Hello')", True)],
    "string": [("1.5 | string", "1.5"), ("true | string", "true"), ("null | string", "")],
    "striptags": [("html | striptags", "A b & c")],
    "sum": [("numbers | sum", 9), ("people | sum('age', 100)", 202), ("[] | sum", 0)],
    "title": [('"it\'s a-b (c)" | title', "It's A-B (C)")],
    "tojson": [
        ("{'b': [1, none, true], 'ä': '<'} | tojson", '{"b": [1, null, true], "ä": "<"}'),
        ("[1] | tojson(2)", "[\n  1\n]"),
        ("'a' | tojson", '"a"'),
    ],
    "trim": [("'  a ' | trim", "a"), ("'xax' | trim('x')", "a")],
    "truncate": [
        ("text | truncate(9, leeway=0)", "Hello..."),
        ("text | truncate(9, true, '…', 0)", "Hello bi…"),
        ("text | truncate(12)", "Hello big World"),
    ],
    "unique": [
        ("words | unique", ["pear", "Fig", "apple"]),
        ("words | unique(true) | length", 4),
        ("[[1], [1], {'a': 1}] | unique", [[1], {"a": 1}]),
        ("people | unique(attribute='team') | length", 2),
    ],
    "upper": [("text | upper", "HELLO BIG WORLD"), ("missing | upper", "")],
    "urlencode": [
        ("'a b/ä' | urlencode", "a%20b/%C3%A4"),
        ("{'q': 'a b', 'n': 1} | urlencode", "q=a+b&n=1"),
        ("[['a', '/']] | urlencode", "a=%2F"),
    ],
    "wordcount": [("text | wordcount", 3)],
    "wordwrap": [
        ("text | wordwrap(9)", "Hello big\nWorld"),
        ("text | wordwrap(9, wrapstring=' / ')", "Hello big / World"),
    ],
    "xmlattr": [
        ("{'a': 1, 'b': none, 'c': '<'} | xmlattr", ' a="1" c="&lt;"'),
        ("{'a': 1} | xmlattr(false)", 'a="1"'),
    ],
}

FAULTS = (
    "'x' | abs",
    "[1, 'a'] | sort",
    "[1, none] | max",
    "[1, 'a'] | sum",
    "3 | join",
    "3 | list",
    "3 | length",
    "'x' | batch(0)",
    "[1] | slice(-1)",
    "[1] | batch('a')",
    "'x' | int(base=99)",
    "1.5 | round('a')",
    "1.5 | round(1, 'up')",
    "'x' | filesizeformat",
    "'%d' | format('a')",
    "'%s %s' | format('a')",
    "'%s' | format('a', 'b')",
    "'%q' | format('a')",
    "'%(a)s' | format(b=1)",
    "'%s' | format('a', b=1)",
    "'{' | fromjson",
    "'[NaN]' | fromjson",
    "3 | fromjson",
    "'a' | b64decode",
    "'ä' | b64decode",
    "3 | items",
    "object | dictsort(by='size')",
    "'abc' | truncate(1)",
    "'a' | split('')",
    "[1] | urlencode",
    "{'a b': 1} | xmlattr",
    "[1] | xmlattr",
    "[1] | map",
    "[1] | map(attribute=1.5)",
    "[1] | map(attribute='a', other=1)",
    "[1] | map('replace')",
    "[1] | select(3)",
    "[1] | selectattr",
    "'a' | regex_search('b', 1.5)",
    "'a' | regex_search('a', 5)",
    "'a' | regex_search(3)",
    "[1] | tojson(99)",
)


@pytest.mark.parametrize(
    ("source", "expected"), [case for cases in CASES.values() for case in cases]
)
def test_filter_gives_the_documented_value(source: str, expected: Json) -> None:
    actual = evaluate(Expression("jinja", source), SCOPE)

    assert expected == actual
    assert type(expected) is type(actual)


def test_every_filter_has_an_example() -> None:
    names = {entry.name for entry in functions() if entry.kind == "filter"}

    assert names == set(CASES)


@pytest.mark.parametrize("source", FAULTS)
def test_filter_refuses_what_it_cannot_do(source: str) -> None:
    with pytest.raises(LanguageError) as caught:
        evaluate(Expression("jinja", source), SCOPE)

    assert caught.value.offset is not None
    assert caught.value.message[0].islower()


@pytest.mark.parametrize("name", ["random", "urlize", "shuffle"])
def test_a_filter_that_is_left_out_says_why(name: str) -> None:
    with pytest.raises(LanguageError, match=f"filter '{name}' is not available: "):
        evaluate(Expression("jinja", f"[1] | {name}"), SCOPE)


def test_a_fault_in_a_filter_names_the_kinds() -> None:
    with pytest.raises(EvaluationError, match="a number and a text") as caught:
        evaluate(Expression("jinja", "  [1, 'a'] | sort"), SCOPE)

    assert caught.value.offset == 13

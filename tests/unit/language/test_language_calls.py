"""Every test, method and function, on examples."""

from __future__ import annotations

import pytest

from whorl.language import (
    Expression,
    Json,
    LanguageError,
    MappingScope,
    evaluate,
    functions,
    render,
)

SCOPE = MappingScope(
    {"text": "Hello World", "numbers": [1, 2, 3, 2], "object": {"a": 1, "b": None}, "null": None}
)

TESTS: dict[str, list[tuple[str, bool]]] = {
    "!=": [("[1, 2] | select('!=', 1) | list == [2]", True)],
    "<": [("[1, 2] | select('<', 2) | list == [1]", True)],
    "<=": [("[1, 2] | select('<=', 2) | list == [1, 2]", True)],
    "==": [("[1, 2] | select('==', 2) | list == [2]", True)],
    ">": [("[1, 2] | select('>', 1) | list == [2]", True)],
    ">=": [("[1, 2] | select('>=', 1) | list == [1, 2]", True)],
    "boolean": [("true is boolean", True), ("1 is boolean", False)],
    "callable": [("text is callable", False)],
    "contains": [
        ("numbers is contains(2)", True),
        ("text is contains('World')", True),
        ("object is contains('z')", False),
    ],
    "defined": [
        ("missing is defined", False),
        ("null is defined", True),
        ("a.b is not defined", True),
    ],
    "divisibleby": [("9 is divisibleby 3", True), ("9 is divisibleby(2)", False)],
    "eq": [("1 is eq 1", True)],
    "equalto": [("1 is equalto 2", False)],
    "escaped": [("text is escaped", False)],
    "even": [("2 is even", True)],
    "false": [("false is false", True), ("0 is false", False)],
    "filter": [("'upper' is filter", True), ("'nope' is filter", False), ("1 is filter", False)],
    "float": [("1.5 is float", True), ("1 is float", False)],
    "ge": [("2 is ge 2", True)],
    "greaterthan": [("2 is greaterthan 2", False)],
    "gt": [("3 is gt 2", True)],
    "in": [("2 is in numbers", True), ("'z' is in text", False)],
    "integer": [("1 is integer", True), ("true is integer", False)],
    "iterable": [("numbers is iterable", True), ("1 is iterable", False)],
    "le": [("2 is le 1", False)],
    "lessthan": [("1 is lessthan 2", True)],
    "lower": [("'abc' is lower", True), ("text is lower", False)],
    "lt": [("1 is lt 2", True)],
    "mapping": [("object is mapping", True), ("numbers is mapping", False)],
    "match": [("text is match('Hel+o')", True), ("text is match('World')", False)],
    "ne": [("1 is ne 2", True)],
    "none": [("null is none", True), ("missing is none", False)],
    "number": [("1.5 is number", True), ("'1' is number", False)],
    "odd": [("3 is odd", True)],
    "sameas": [("1 is sameas 1", True), ("1 is sameas true", False), ("null is sameas none", True)],
    "search": [("text is search('W.r')", True), ("text is search('w.r', ignorecase=true)", True)],
    "sequence": [("numbers is sequence", True), ("1 is sequence", False)],
    "string": [("text is string", True)],
    "test": [("'odd' is test", True), ("'nope' is test", False)],
    "true": [("true is true", True), ("1 is true", False)],
    "undefined": [("missing is undefined", True), ("object.z is undefined", True)],
    "upper": [("'ABC' is upper", True)],
}

METHODS: dict[str, list[tuple[str, Json]]] = {
    "text.capitalize": [("'aB'.capitalize()", "Ab")],
    "text.center": [("'a'.center(3, '-')", "-a-")],
    "text.count": [("text.count('l')", 3)],
    "text.endswith": [("text.endswith('ld')", True), ("text.endswith(['x', 'd'])", True)],
    "text.find": [("text.find('World')", 6), ("text.find('z')", -1)],
    "text.format": [
        ("'{} {}'.format('a', 1)", "a 1"),
        ("'{1}{0}{n}'.format('a', 'b', n='c')", "bac"),
        ("'{0[a]}{o.a}'.format(object, o=object)", "11"),
        ("'{:.2f}|{:>5}|{:,}'.format(1.234, 'ab', 12345)", "1.23|   ab|12,345"),
        ("'{{}}'.format()", "{}"),
        ("'{}-{n}'.format(no_such_name, n=no_such_name)", "-"),
    ],
    "text.index": [("text.index('W')", 6)],
    "text.isalnum": [("'a1'.isalnum()", True)],
    "text.isalpha": [("'a1'.isalpha()", False)],
    "text.isdigit": [("'12'.isdigit()", True)],
    "text.islower": [("'a'.islower()", True)],
    "text.isspace": [("' '.isspace()", True)],
    "text.isupper": [("'a'.isupper()", False)],
    "text.join": [("', '.join(['a', 'b'])", "a, b")],
    "text.ljust": [("'a'.ljust(3, '.')", "a..")],
    "text.lower": [("text.lower()", "hello world")],
    "text.lstrip": [("' a '.lstrip()", "a ")],
    "text.replace": [("text.replace('l', 'L', 1)", "HeLlo World")],
    "text.rfind": [("text.rfind('l')", 9)],
    "text.rjust": [("'a'.rjust(3)", "  a")],
    "text.rsplit": [("'a,b,c'.rsplit(',', 1)", ["a,b", "c"])],
    "text.rstrip": [("' a '.rstrip()", " a")],
    "text.split": [("'a b'.split()", ["a", "b"]), ("'a,b'.split(sep=',')", ["a", "b"])],
    "text.splitlines": [("'a\\nb'.splitlines()", ["a", "b"])],
    "text.startswith": [("text.startswith('He')", True)],
    "text.strip": [("' a '.strip()", "a"), ("'xax'.strip('x')", "a")],
    "text.swapcase": [("'aB'.swapcase()", "Ab")],
    "text.title": [("'a b'.title()", "A B")],
    "text.upper": [("text.upper()", "HELLO WORLD")],
    "text.zfill": [("'7'.zfill(3)", "007")],
    "list.count": [("numbers.count(2)", 2)],
    "list.index": [("numbers.index(3)", 2)],
    "object.get": [
        ("object.get('a')", 1),
        ("object.get('z', 5)", 5),
        ("object.get('z')", None),
        ("missing.get('z', 5)", 5),
    ],
    "object.items": [("object.items()", [["a", 1], ["b", None]])],
    "object.keys": [("object.keys()", ["a", "b"])],
    "object.values": [("object.values()", [1, None])],
}

FAULTS = (
    "numbers.upper()",
    "missing.upper()",
    "(1).upper()",
    "text.index('z')",
    "numbers.index(9)",
    "text.zfill('a')",
    "text.count(1)",
    "text.ljust(20, 'ab')",
    "text.replace('a')",
    "text.upper(1)",
    "text.strip(3)",
    "', '.join([1, 2])",
    "'{}'.format()",
    "'{'.format(1)",
    "'{0!r}'.format(1)",
    "'{:zz}'.format(1)",
    "'{:d}'.format('a')",
    "range('a')",
    "range()",
    "range(1, 2, 0)",
    "dict(1)",
    "dict([1])",
    "cycler()",
    "1 is divisibleby 0",
    "'a' is odd",
    "1 is in 2",
    "'a' is search('(')",
)


@pytest.mark.parametrize(("source", "expected"), [c for cases in TESTS.values() for c in cases])
def test_test_gives_the_documented_answer(source: str, expected: bool) -> None:
    assert evaluate(Expression("jinja", source), SCOPE) is expected


@pytest.mark.parametrize(("source", "expected"), [c for cases in METHODS.values() for c in cases])
def test_method_gives_the_documented_value(source: str, expected: Json) -> None:
    assert expected == evaluate(Expression("jinja", source), SCOPE)


def test_every_test_and_method_has_an_example() -> None:
    tests = {entry.name for entry in functions() if entry.kind == "test"}
    methods = {f"{entry.family}.{entry.name}" for entry in functions() if entry.kind == "method"}

    assert tests == set(TESTS)
    # The methods of loops and cyclers are shown with the statements.
    assert {name for name in methods if name.split(".")[0] not in ("loop", "cycler")} == set(
        METHODS
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("range(3)", [0, 1, 2]),
        ("range(5, 1, -2)", [5, 3]),
        ("range(3, 1)", []),
        ("dict(a=1, b=2)", {"a": 1, "b": 2}),
        ("dict([['a', 1]], b=2)", {"a": 1, "b": 2}),
        ("dict(object, a=2)", {"a": 2, "b": None}),
    ],
)
def test_function_gives_the_documented_value(source: str, expected: Json) -> None:
    assert expected == evaluate(Expression("jinja", source), SCOPE)


def test_cycler_and_joiner_keep_count() -> None:
    source = (
        "{% set c = cycler('a', 'b') %}{% set comma = joiner('|') %}"
        "{% for x in range(3) %}{{ comma() }}{{ c.next() }}{% endfor %}{{ c.current }}"
        "{{ c.reset() }}{{ c.current }}"
    )

    assert render(Expression("template", source), SCOPE) == "a|b|aba"


@pytest.mark.parametrize("source", FAULTS)
def test_call_refuses_what_it_cannot_do(source: str) -> None:
    with pytest.raises(LanguageError) as caught:
        evaluate(Expression("jinja", source), SCOPE)

    assert caught.value.offset is not None


@pytest.mark.parametrize("name", ["now", "lipsum", "random"])
def test_a_function_that_is_left_out_says_why(name: str) -> None:
    with pytest.raises(LanguageError, match="replayed"):
        evaluate(Expression("jinja", f"{name}()"), SCOPE)


def test_every_function_is_documented() -> None:
    for entry in functions():
        assert entry.doc, entry.name
        assert entry.doc[-1] != "."
        assert entry.signature.startswith(f"{entry.name}(")
        assert entry.arguments_max is None or entry.arguments_max >= entry.arguments_min


def test_a_signature_is_written_as_authors_write_it() -> None:
    signatures = {entry.name: entry.signature for entry in functions() if entry.kind == "filter"}

    assert signatures["replace"] == "replace(old, new, count=none)"
    assert signatures["default"] == "default(default_value='', boolean=false)"

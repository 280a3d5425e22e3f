"""Every statement of templates, what is refused, and the names that a template needs."""

from __future__ import annotations

import pytest

from whorl.language import Expression, LanguageError, MappingScope, free_names, render

SCOPE = MappingScope(
    {
        "items": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
        "numbers": [1, 2, 3, 4],
        "pairs": [["k", 1], ["l", 2]],
        "object": {"one": 1, "two": 2},
        "name": "Ada",
        "x": "outer",
    }
)

CASES = [
    *(("plain\ntext\n", "plain\ntext\n"), ("a{# {{ b }} #}c", "ac")),
    ("{% raw %}{{ a }}{% if %}{% endraw %}", "{{ a }}{% if %}"),
    ("a  {{- ' b ' -}}  c {%- if true -%} d {%- endif %}", "a b cd"),
    ("{% if numbers %}y{% endif %}{% if missing %}n{% endif %}", "y"),
    ("{% if missing.x.y %}a{% elif 0 %}b{% else %}c{% endif %}", "c"),
    ("{% for k in object %}{{ k }} {% endfor %}", "one two "),
    (
        "{% for i, (k, v) in [[0, pairs[0]], [1, pairs[1]]] %}{{ i }}{{ k }}{{ v }} {% endfor %}",
        "0k1 1l2 ",
    ),
    ("{% for x in numbers %}{% endfor %}{{ x }}", "outer"),
    (
        "{% for n in [1, 2] %}{{ x }}{% set x = n %}{{ x }} {% endfor %}{{ x }}",
        "outer1 outer2 outer",
    ),
    (
        "{% for n in [7, 8] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}"
        "{{ loop.revindex0 }}{{ loop.length }}{{ loop.first }}{{ loop.last }} {% endfor %}",
        "10212truefalse 21102falsetrue ",
    ),
    (
        "{% for a in [1, 2] %}{% set outer = loop %}{% for b in [1] %}{{ outer.index }}."
        "{{ loop.index }} {% endfor %}{% endfor %}",
        "1.1 2.1 ",
    ),
    ("{% for loop in items %}{{ loop.a }}{{ loop.b }};{% endfor %}", "1x;2y;"),
    ("{% for loop, v in pairs %}{{ loop }}{{ v }}{% endfor %}", "k1l2"),
    ("{% if true %}{% set x = 1 %}{% endif %}{{ x }}", "1"),
    ("{% if false %}{% set x = 1 %}{% endif %}{{ x }}", "outer"),
    *(("{% print 1, name %}", "1Ada"), ("a\r\nb\r{{ name }}\r\n", "a\nb\nAda\n")),
]

REFUSED = [
    ("{% extends 'a' %}", "tag 'extends' is not supported"),
    ("{% block a %}{% endblock %}", "tag 'block' is not supported"),
    ("{% include 'a' %}", "tag 'include' is not supported"),
    ("{% import 'a' as b %}", "tag 'import' is not supported"),
    ("{% from 'a' import b %}", "tag 'from' is not supported"),
    ("{% autoescape true %}{% endautoescape %}", "not supported"),
    ("{% for a in b recursive %}{% endfor %}", "recursive loops are not supported"),
    ("{% for a in b %}{{ loop(a) }}{% endfor %}", "unknown function 'loop'"),
    *(("{% do x %}", "unknown tag 'do'"), ("{{ f(*args) }}", "cannot be unpacked")),
    ("{{ f(**args) }}", "cannot be unpacked"),
    ("{{ (1)(2) }}", "only functions and methods can be called"),
    ("{% with a = 1 %}{% endwith %}", "tag 'with' is not supported"),
    ("{% filter upper %}{% endfilter %}", "tag 'filter' is not supported"),
    ("{% macro m() %}{% endmacro %}", "tag 'macro' is not supported"),
    ("{% call range(1) %}{% endcall %}", "tag 'call' is not supported"),
    ("{{ caller() }}", "unknown function 'caller'"),
    ("{% for a in [1] %}{{ loop }}{% endfor %}", "a loop variable cannot be printed"),
    ("{% set a, b = [1] %}", "cannot unpack 1 values into 2 names"),
    ("{% for a, b in numbers %}{% endfor %}", "cannot unpack a number"),
    ("{% for a in 5 %}{% endfor %}", "needs a list, not a number"),
    ("{% set name.x = 1 %}", "cannot set a member of 'name'"),
    ("{% set f = 1 %}{{ f() }}", "unknown function 'f'"),
]


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_statement_gives_the_documented_text(source: str, expected: str) -> None:
    assert expected == render(Expression("template", source), SCOPE)


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_statement_is_refused_with_a_reason(source: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message.replace("(", "\\(")) as caught:
        render(Expression("template", source), SCOPE)

    assert caught.value.offset is not None


def test_a_template_may_have_many_statements() -> None:
    """Only blocks inside blocks are nested; a list of statements is not."""
    source = "{% set a = 1 %}{% if a %}{% endif %}{% set b %}{% endset %}" * 1_000

    assert render(Expression("template", source), SCOPE) == ""


def _uses(syntax: str, source: str) -> list[str]:
    """Write each use as `name.path`, with a `?` where it is guarded."""
    return [
        ".".join(map(str, (use.name, *use.path))) + "?" * use.guarded
        for use in free_names(Expression(syntax, source))
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("no {# {{ a }} #} names", []),
        ("{{ a }} {{ a }}", ["a", "a"]),
        ("{% for x in xs %}{{ x.y }}{{ loop.index }}{{ z }}{% endfor %}", ["xs", "z"]),
        ("{% for x in x %}{{ x }}{% endfor %}{{ x }}", ["x", "x"]),
        (
            "{% for k, v in o.items() if v > n %}{{ k }}{% else %}{{ v }}{% endfor %}",
            ["o", "n", "v"],
        ),
        ("{% set a = b %}{{ a }}{{ b }}", ["b", "b"]),
        ("{{ a }}{% set a = 1 %}{{ a }}", ["a"]),
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a }}", ["c"]),
        ("{% set a %}{{ b }}{% endset %}{{ a }}", ["b"]),
        ("{% if a is defined %}{{ a.b }}{% else %}{{ a }}{% endif %}", ["a?", "a.b?", "a"]),
        ("{% if a is undefined %}x{% elif b %}{{ a }}{% endif %}", ["a?", "b", "a?"]),
        ("{% set ns = namespace(x=a) %}{% set ns.x = b %}{{ ns.x }}", ["a", "b"]),
        ("{% raw %}{{ a }}{% endraw %}", []),
        ("{{ (a if b else c) | default('') }}{{ d[e].f }}", ["a?", "b", "c?", "d", "e"]),
    ],
)
def test_names_that_a_template_needs_from_outside(source: str, expected: list[str]) -> None:
    assert expected == _uses("template", source)
    assert _uses("plain", "{{ a.b[0] }} {{ x | y }} {{ a-b.c }}") == ["a.b.0", "a-b.c"]

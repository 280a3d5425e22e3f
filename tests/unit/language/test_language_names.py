"""The free names of expressions and templates."""

from __future__ import annotations

import pytest

from whorl.language import Expression, NameUse, free_names


def _uses(syntax: str, source: str) -> list[str]:
    """Write each use as `name.path`, with a `?` where it is guarded."""
    return [
        ".".join(map(str, (use.name, *use.path))) + "?" * use.guarded
        for use in free_names(Expression(syntax, source))
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(("1 + 2", []), ("a", ["a"])),
        ("review.score >= limit", ["review.score", "limit"]),
        *(("a.b[0]['c'].d", ["a.b.0.c.d"]), ("a[b].c", ["a", "b"])),
        *(("a[b.c].d[e]", ["a", "b.c", "e"]), ("a.b[1:n]", ["a.b", "n"]), ("a.b.items()", ["a.b"])),
        *(("range(n)", ["n"]), ("a | default(b)", ["a?", "b"])),
        *(("a.b.c | d('x') | upper", ["a.b.c?"]), ("a | upper | default('x')", ["a"])),
        ("(a or b) | default(c)", ["a?", "b?", "c"]),
        ("(a if b else c) | default('')", ["a?", "b", "c?"]),
        *(("a is defined", ["a?"]), ("a.b is undefined", ["a.b?"]), ("a is not defined", ["a?"])),
        ("a is defined and a.b > 1", ["a?", "a.b?"]),
        ("a.b is defined and a.b > 1 and c", ["a.b?", "a.b?", "c"]),
        *(("a is undefined or a.b", ["a?", "a.b?"]), ("a is defined or a.b", ["a?", "a.b"])),
        ("a.x if a is defined else b", ["a.x?", "a?", "b"]),
        ("b if a is not defined else a.x", ["b", "a?", "a.x?"]),
        *(("not (a is defined) or a", ["a?", "a?"]), ("a ~ b + c", ["a", "b", "c"])),
        *(("[a, {'k': b, c: 1}]", ["a", "b", "c"]), ("x | map('replace', a, b)", ["x", "a", "b"])),
        *(("x | join(', ', attribute=y)", ["x", "y"]), ("loop.index", ["loop.index"])),
        ("-a < (b if c)", ["a", "b", "c"]),
    ],
)
def test_names_of_expressions(source: str, expected: list[str]) -> None:
    assert expected == _uses("jinja", source)


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
    ],
)
def test_names_of_templates(source: str, expected: list[str]) -> None:
    assert expected == _uses("template", source)


def test_names_of_plain_placeholders() -> None:
    source = "{{ a.b[0] }} {{ x | y }} {{ step-one.out }}"

    assert _uses("plain", source) == ["a.b.0", "step-one.out"]


@pytest.mark.parametrize(
    "source",
    [
        "Write {{ task }}.\n\n{{ task.x }}",
        "a\r\n\r\n{{ task }}\r{{ task }}",
        "  {{- task -}}  \n {%- if task %}{% endif %}",
        "{# 'task' #}{{ 'task' }}{{ ('(' ~ task) }}",
        "ä€😀 {{ task }}{% raw %} {{ task }} {% endraw %}{{ task|d(task) }}",
    ],
)
def test_offsets_point_at_the_name(source: str) -> None:
    uses = free_names(Expression("template", source))

    assert uses
    for use in uses:
        assert source[use.offset : use.offset + 4] == "task"


def test_offsets_count_from_the_start_of_the_source() -> None:
    assert free_names(Expression("jinja", " {{ a.b }}")) == (NameUse("a", ("b",), 4, False),)
    assert free_names(Expression("plain", "é {{ a }}")) == (NameUse("a", (), 5, False),)

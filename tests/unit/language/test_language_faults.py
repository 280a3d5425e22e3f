"""What parse errors say, and where; and that nothing but LanguageError ever comes out."""

from __future__ import annotations

import itertools

import pytest

from whorl.language import Expression, LanguageError, MappingScope, evaluate, functions, parse

SCOPE = MappingScope({"a": {"b": [1, "x", None]}, "s": "text", "n": 3, "l": [1, 2], "u": None})


@pytest.mark.parametrize(
    ("syntax", "source", "message", "offset"),
    [
        ("jinja", "a | uper", "unknown filter 'uper'", 4),
        ("jinja", "a is defned", "unknown test 'defned'", 2),
        ("jinja", "1 + rnge(3)", "unknown function 'rnge'", 4),
        ("jinja", "a.uper()", "unknown method 'uper'", 1),
        ("jinja", "l | map('uper')", "unknown filter 'uper'", 4),
        ("jinja", "l | select('od')", "unknown test 'od'", 4),
        ("jinja", "a | replace('x')", "filter 'replace' needs the argument 'new'", 4),
        ("jinja", "a | upper(1)", "filter 'upper' takes no arguments, 1 were given", 4),
        ("jinja", "a | trim(1, 2)", "filter 'trim' takes 1 argument, 2 were given", 4),
        ("jinja", "a | trim(char='x')", "'char' but has no such parameter", 4),
        ("jinja", "a | trim('x', chars='x')", "was given 'chars' twice", 4),
        ("jinja", "dict(a=1, a=2)", "the argument 'a' is given twice", 4),
        ("jinja", "", "the expression is empty", 0),
        ("jinja", "   ", "the expression is empty", 0),
        ("jinja", "{{ }}", "the expression is empty", 0),
        ("jinja", "a b", "unexpected 'b' after the expression", 2),
        ("jinja", "{{ a }} {{ b }}", "after the expression", 5),
        ("jinja", "a +", "unexpected 'end of expression'|unexpected end of expression", None),
        ("jinja", "a ? b", "unexpected char", 2),
        ("jinja", "(a", "expected|unexpected", None),
        ("jinja", "a)", "unexpected", 1),
        ("jinja", "'abc", "unexpected char", 0),
        ("jinja", "{{ a | uper }}", "unknown filter", 7),
        ("template", "x\ny {{ a | uper }}", "unknown filter", 11),
        ("template", "x\r\ny {{ a | uper }}", "unknown filter", 12),
        ("template", "x  {{- a | uper }}", "unknown filter", 11),
        ("template", "{# ä #}{% if a | uper %}{% endif %}", "unknown filter", 17),
        ("template", "{{ a", "is not closed by", 0),
        ("template", "{% if a %}x", "unexpected end of template", None),
        ("template", "{% endif %}", "unknown tag 'endif'", 3),
        ("template", "a {% iff b %}", "unknown tag 'iff'", 5),
        ("template", "{% for x y %}{% endfor %}", "expected", 9),
        ("template", "{# open", "missing end of comment tag", 2),
        ("template", "{% raw %}x", "missing end of raw", None),
    ],
)
def test_a_parse_error_says_what_and_where(
    syntax: str, source: str, message: str, offset: int | None
) -> None:
    with pytest.raises(LanguageError, match=message) as caught:
        parse(Expression(syntax, source))

    assert caught.value.offset is not None
    if offset is not None:
        assert caught.value.offset == offset
    assert caught.value.message[0] == caught.value.message[0].lower()
    assert caught.value.message[-1] != "."


SUBJECTS = ("a", "s", "n", "l", "u", "missing", "true", "1.5", "''", "[]", "{}", "[l, 'x', u]")
ARGUMENTS = ("1", "'x'", "l", "missing")


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", ["filter", "test", "method", "function"])
def test_any_function_on_any_values_gives_a_value_or_a_language_error(kind: str) -> None:
    forms = {"filter": "{0} | {1}({2})", "test": "{0} is {1}({2})", "method": "({0}).{1}({2})"}
    form = forms.get(kind, "{1}({2})")
    for entry in functions():
        if entry.kind != kind or not entry.name.isidentifier():
            continue
        most = 2 if entry.arguments_max is None else min(entry.arguments_max, 2)
        for subject in SUBJECTS:
            for count in range(entry.arguments_min, max(entry.arguments_min, most) + 1):
                for given_ in itertools.product(ARGUMENTS, repeat=min(count, 2)):
                    _no_other_error(form.format(subject, entry.name, ", ".join(given_)))


def _no_other_error(source: str) -> None:
    offset: int | None = 0
    try:
        evaluate(Expression("jinja", source), SCOPE)
    except LanguageError as error:
        offset = error.offset
    assert offset is not None, source

"""What evaluations pay: at least as much as they take, whatever they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.language import (
    LIMITS,
    Expression,
    LanguageError,
    LimitExceeded,
    Limits,
    MappingScope,
    evaluate,
    evaluate_metered,
    render,
)
from whorl.language.patterns import pattern


def fuel(source: str, **names: Any) -> int:
    value, used = evaluate_metered(Expression("jinja", source), MappingScope(names), LIMITS.fuel)
    assert not isinstance(value, LanguageError), value.message
    return used


def test_an_expression_cannot_pay_for_the_worst_search() -> None:
    source = Expression("jinja", "('a' * 190000) | regex_search('((a{0,30}){0,30})*b')")
    value, _ = evaluate_metered(source, MappingScope({}), LIMITS.fuel)
    assert isinstance(value, LimitExceeded)


def test_a_free_search_is_bounded_too() -> None:
    """Scores are looked for by patterns, outside of expressions."""
    program = pattern("((a{0,30}){0,30})*b")
    program.check_price(13_466)
    with pytest.raises(LimitExceeded, match="1901 states searches at most 13466 characters"):
        program.check_price(50_000)


@pytest.mark.sample(4)
@pytest.mark.parametrize("size", [1_500_000, 25_000_000])
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("text | length > 3", True),
        ("text | default('') | length > 3", True),
        ("text | wordcount > 3", True),
        ("text[:4] ~ text | truncate(5, true)", "ab aab..."),
        ("'b a' in text and text.startswith('ab')", True),
        ("text | sha256 | length", 64),
        ("[text] | map('length') | first > 3", True),
    ],
)
def test_a_text_of_any_size_can_be_made_less_of(source: str, expected: object, size: int) -> None:
    scope = MappingScope({"text": ("ab " * (size // 3))[:size]})
    assert evaluate(Expression("jinja", source), scope) == expected


@pytest.mark.parametrize(
    "made", ["~ '!'", "| upper", "| list", "| indent", "| wordwrap(9)", ".split()", ".splitlines()"]
)
def test_what_is_made_of_a_long_text_is_limited(made: str) -> None:
    scope = MappingScope({"text": "ab\n" * 500_000})
    with pytest.raises(LimitExceeded, match="would give"):
        evaluate(Expression("jinja", f"text {made}"), scope)


MANY_NAMES = "".join(f"{{% set n{number} = 1 %}}" for number in range(40))


def _cost(source: str, count: int) -> int:
    """The least fuel that a template needs for so many items."""
    scope = MappingScope({"items": list(range(count))})
    too_little, enough = 0, 10**6
    while enough - too_little > 1:
        fuel = (too_little + enough) // 2
        try:
            render(Expression("template", source), scope, limits=Limits(fuel=fuel))
            enough = fuel
        except LimitExceeded:
            too_little = fuel
    return enough


@pytest.mark.parametrize(
    ("source", "least"),
    [
        pytest.param("{% for x in items %}{% endfor %}", 1, id="a loop"),
        pytest.param("{% for x in items %}{{ x + 1 }}{% endfor %}", 4, id="its body"),
        pytest.param("{% for x in items if x < 0 %}{% endfor %}", 4, id="its filter"),
        pytest.param(
            "{% for x in items if x > 3 and x < 2 or x == 1 %}{% endfor %}", 11, id="a long filter"
        ),
        pytest.param("{% for x in items if x %}{{ x }}{% endfor %}", 5, id="both"),
        pytest.param(MANY_NAMES + "{% for x in items %}{% endfor %}", 11, id="names around"),
        pytest.param(
            MANY_NAMES + "{% for x in items if 0 %}{% endfor %}", 12, id="names around a filter"
        ),
        pytest.param("{{ items|select('odd')|list }}", 3, id="select"),
        pytest.param("{{ items|map('string')|list }}", 3, id="map"),
        pytest.param("{{ items|sort|join }}", 8, id="sort"),
        pytest.param("{{ items|sum }}", 1, id="sum"),
    ],
)
def test_each_item_is_paid_for(source: str, least: int) -> None:
    each = (_cost(source, 600) - _cost(source, 200)) / 400

    assert least <= each <= 4 * least + 8

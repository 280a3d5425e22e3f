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
    is_light,
    render,
)
from whorl.language.patterns import pattern


def fuel(source: str, **names: Any) -> int:
    value, used = evaluate_metered(Expression("jinja", source), MappingScope(names), LIMITS.fuel)
    assert not isinstance(value, LanguageError), value.message
    return used


@pytest.mark.parametrize("states", [10, 40, 160])
def test_a_search_costs_the_states_of_its_pattern_times_the_text(states: int) -> None:
    program = pattern(f"(?:a?){{{states}}}b")
    assert program.cost >= states

    for length in (1_000, 10_000):
        text = "a" * length
        least = length * program.cost // 200
        assert fuel(f"text | regex_search('{program.source}')", text=text) >= least


def test_bounded_repeats_count_as_often_as_they_repeat() -> None:
    nested, flat = pattern("((a{0,30}){0,30})*b"), pattern("((a{0,3}){0,3})*b")
    assert nested.cost > 50 * flat.cost
    assert nested.price(5_000) > 50 * flat.price(5_000) - 50


def test_an_expression_cannot_pay_for_the_worst_search() -> None:
    source = Expression("jinja", "('a' * 190000) | regex_search('((a{0,30}){0,30})*b')")
    value, _ = evaluate_metered(source, MappingScope({}), LIMITS.fuel)
    assert isinstance(value, LimitExceeded)


def test_a_search_that_nobody_pays_for_is_bounded_too() -> None:
    """Scores are looked for by patterns, outside of expressions."""
    program = pattern("((a{0,30}){0,30})*b")
    program.check_price(13_466)
    with pytest.raises(LimitExceeded, match="1901 states searches at most 13466 characters"):
        program.check_price(50_000)


def test_every_match_pays_for_the_text_that_it_may_have_read() -> None:
    short = fuel("('a' * 1000) | regex_findall('a*b|a') | length")
    assert fuel("('a' * 4000) | regex_findall('a*b|a') | length") > 8 * short // 2
    assert fuel("('a' * 1000) | regex_findall('(?:[a-c]{1,9}){5}d|a') | length") > 4 * short


def test_each_part_of_a_path_is_paid_for() -> None:
    rows = [{"a": {"b": {"c": 1}}}] * 100
    one = fuel("rows | map(attribute='a') | list | length", rows=rows)
    assert fuel("rows | map(attribute='a.b.c') | list | length", rows=rows) >= one + 200
    for step in ("sort(attribute='a.b.c')", "unique(attribute='a.b.c') | list", "sum('a.b.c')"):
        shallow = fuel(f"rows | {step}".replace("a.b.c", "x"), rows=[{"x": 1}] * 100)
        assert fuel(f"rows | {step}", rows=rows) >= shallow + 200


def test_filtered_loops_and_tests_pay_for_each_item() -> None:
    rows = [{"a": n} for n in range(1_000)]
    assert fuel("rows | selectattr('a', 'odd') | list | length", rows=rows) >= 3_000
    template = "{% for n in numbers if n > 5000 %}{{ n }}{% endfor %}"
    scope = MappingScope({"numbers": list(range(1_000))})
    _, used = evaluate_metered(Expression("template", template), scope, LIMITS.fuel)
    assert used >= 3_000


LIGHT = [
    "{{ answer }}",
    "{{ answer | trim | upper }} {{ round.text | default('none') }}",
    "{{ iteration * 10 + 1 }}",
    "{% if score >= 0.8 %}yes{% else %}{{ notes | join(', ') }}{% endif %}",
]
HEAVY = [
    *("{{ 'a' * 100000 }}", "{{ n * answer }}", "{{ range(9) | list }}"),
    *("{{ answer | regex_search('a') }}", "{% for n in numbers %}.{% endfor %}"),
    *("{{ numbers | map('upper') | list }}", "{% if answer is search('a') %}yes{% endif %}"),
    *("{{ answer.replace('a', answer) }}", "{{ 2 ** 60 }}"),
]


@pytest.mark.parametrize(
    ("source", "expected"), [*((one, True) for one in LIGHT), *((one, False) for one in HEAVY)]
)
def test_what_cannot_make_much_of_little_is_light(source: str, expected: bool) -> None:
    assert is_light(Expression("template", source)) is expected


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


def test_a_filter_that_lets_nothing_through_uses_up_the_fuel() -> None:
    inner = "{% for y in items if x == y and x != y %}{% endfor %}"
    scope = MappingScope({"items": list(range(300))})

    with pytest.raises(LimitExceeded, match="steps"):
        render(Expression("template", f"{{% for x in items %}}{inner}{{% endfor %}}"), scope)

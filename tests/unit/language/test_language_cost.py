"""What evaluation costs: all that is repeated is paid for each time, filters of loops too."""

from __future__ import annotations

import pytest

from whorl.language import Expression, LimitExceeded, Limits, MappingScope, render

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
        pytest.param(
            "{% macro m(x) %}{{ x }}{% endmacro %}{% for x in items %}{{ m(x) }}{% endfor %}",
            5,
            id="a macro",
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

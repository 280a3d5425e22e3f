"""What evaluation costs: all that is repeated is paid for each time, filters of loops too."""

from __future__ import annotations

import pytest

from whorl.language import Expression, LimitExceeded, MappingScope, render


def test_a_filter_that_lets_nothing_through_uses_up_the_fuel() -> None:
    inner = "{% for y in items if x == y and x != y %}{% endfor %}"
    scope = MappingScope({"items": list(range(300))})

    with pytest.raises(LimitExceeded, match="steps"):
        render(Expression("template", f"{{% for x in items %}}{inner}{{% endfor %}}"), scope)

"""How fast the condition of a polling loop is; a loop checks it once per iteration."""

from __future__ import annotations

import pytest

from stopwatch import within
from whorl.language import Expression, MappingScope, evaluate

WANTED_PER_S = 20_000


@pytest.mark.slow
def test_condition_is_evaluated_often_enough() -> None:
    expression = Expression("logic", "@equals(body('x')?['status'], 'complete')")
    scope = MappingScope({"$actions": {"x": {"outputs": {"body": {"status": "complete"}}}}})
    assert evaluate(expression, scope) is True

    def evaluate_often() -> None:
        for _ in range(WANTED_PER_S):
            evaluate(expression, scope)

    within(1, evaluate_often, tries=3)

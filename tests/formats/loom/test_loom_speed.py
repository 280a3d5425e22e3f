"""Work and state grow with what there is to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import read, run

from whorl import errors
from whorl.errors import InvalidWorkflow, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


def test_what_appending_keeps_grows_with_the_items_not_with_their_square() -> None:
    """The state of the run holds each item a few times, not once for each that came after it."""
    loop = {
        "type": "Foreach",
        "foreach": "@range(0, 400)",
        "actions": {
            "Add": {"type": "AppendToArrayVariable", "inputs": {"name": "all", "value": "@item()"}}
        },
    }
    start = {
        "type": "InitializeVariable",
        "inputs": {"variables": [{"name": "all", "type": "array"}]},
    }
    each = loop | {"runAfter": {"Start": ["Succeeded"]}}
    ran = run({"definition": {"actions": {"Start": start, "Each": each}}})

    assert ran.status == "succeeded"
    assert len(ran.machine.snapshot()) < 400 * 300


@pytest.mark.slow
def test_many_wrong_names_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are compared for those that are told, not for all that a hostile file has."""
    actions: dict[str, Any] = {
        f"A{number}": {"type": "Compose", "inputs": [f"@outputs('B{number}{i}')" for i in range(6)]}
        for number in range(1_000)
    }
    compared: list[str] = []

    def counting(name: str, candidates: Iterable[str]) -> str | None:
        compared.append(name)
        return nearest(name, candidates)

    monkeypatch.setattr(errors, "nearest", counting)
    with pytest.raises(InvalidWorkflow) as caught:
        read({"definition": {"actions": actions}})

    assert len(caught.value.diagnostics) == 100
    assert len(compared) == 100


@pytest.mark.parametrize("count", [3, 300])
def test_an_ended_loop_keeps_only_its_last_iteration(count: int) -> None:
    """That one is kept so that a person can have the loop go on."""
    loop = {
        "type": "until",
        "condition": f"@equals(variables('loopIndex'), {count})",
        "actions": {"x": {"type": "compose", "inputs": "@variables('loopIndex')"}},
        "limit": {"count": 1000},
    }
    state = run({"actions": {"turn": loop}}).machine.state

    assert state["pending"] == {}
    assert len(state["frames"]) == 3
    assert len(state["scopes"]) == 2

"""The kinds of tasks whose intents need no worker, and what a call in doubt counts with then."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whorl.providers.registry import KINDS
from whorl.runtimes.temporal.messages import EFFECTS


def _kinds() -> dict[str, Any]:
    found = {}
    for name, place in KINDS.items():
        module, _, kind = place.partition(":")
        found[name] = getattr(import_module(module), kind)
    return found


def test_all_kinds_that_always_have_effects_are_known_with_their_calls() -> None:
    """Whether `use` has one depends on the function that it names."""
    kinds = {name: kind for name, kind in _kinds().items() if name != "use"}

    assert {name: k.calls for name, k in kinds.items() if k.effect != "none"} == EFFECTS

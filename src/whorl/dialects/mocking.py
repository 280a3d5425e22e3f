"""How tests speak of the steps of a dialect: statuses, outputs, what a step was given, triggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whorl.dialects.reader import dialects
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from whorl.ir import Node, Workflow
    from whorl.language import Json

STATUSES = ("succeeded", "failed", "timed_out", "skipped")


class MockWords:
    """The engine's own words; a reader whose `mocking` names another object brings its own."""

    # How a step can be said to have ended, by the words of the dialect.
    statuses: dict[str, str] = dict(zip(STATUSES, STATUSES, strict=True))  # noqa: RUF012

    def answer(self, node: Node, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of an answer as the engine takes them; `outputs` is what later steps see."""
        return fields

    def given(self, node: Node, inputs: Json) -> Json:
        """What a step was given, as its file would write it."""
        return inputs

    def trigger(self, workflow: Workflow) -> str:
        """The name of what starts a run; nothing where files have no such thing."""
        return ""

    def inputs(self, workflow: Workflow, fields: dict[str, Any]) -> dict[str, Json]:
        """What a run is given by the trigger of a test."""
        return {}


def mock_words(dialect: str) -> MockWords:
    plugins = dialects()
    reader = plugins.load(dialect) if plugins.has(dialect) else None
    reference = getattr(reader, "mocking", "")
    return cast("MockWords", load_reference(reference)) if reference else MockWords()

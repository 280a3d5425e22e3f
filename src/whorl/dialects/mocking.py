"""The words of tests for the steps of a dialect: statuses, outputs, inputs, triggers."""

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
        """Returns the fields of an answer for the engine; `outputs` is what later steps see."""
        return fields

    def given(self, node: Node, inputs: Json) -> Json:
        """Returns the inputs of a step, as its file would write them."""
        return inputs

    def trigger(self, workflow: Workflow) -> str:
        """Returns the name of the trigger of a run; "" if files of the dialect have no triggers."""
        return ""

    def inputs(self, workflow: Workflow, fields: dict[str, Any]) -> dict[str, Json]:
        """Returns the inputs of a run by the trigger of a test."""
        return {}


def mock_words(dialect: str) -> MockWords:
    plugins = dialects()
    reader = plugins.load(dialect) if plugins.has(dialect) else None
    reference = getattr(reader, "mocking", "")
    return cast("MockWords", load_reference(reference)) if reference else MockWords()

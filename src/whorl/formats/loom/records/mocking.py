"""How tests speak of actions and triggers: the statuses, outputs and errors of Azure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mocking import STATUSES, MockWords
from whorl.formats.loom.external_actions import STATUS_CODES
from whorl.formats.loom.records.history import inputs_of, trigger_of
from whorl.formats.loom.records.records import status_of

if TYPE_CHECKING:
    from whorl.language import Json

# What a web service, a connector or a workflow that is called answers with.
_ANSWERING = ("http", "connector")
_PARTS = ("body", "headers", "queries", "relativePathParameters")


class ActionWords(MockWords):
    """An action is `Succeeded` or `Failed`, and one that calls has a `statusCode`."""

    statuses = MockWords.statuses | {status_of(word): word for word in STATUSES}

    def answer(self, node: ir.Node, fields: dict[str, Any]) -> dict[str, Any]:
        """A status code of 400 or more is a failure, unless the mock says how the action ended."""
        calls = isinstance(node, ir.Call) or (isinstance(node, ir.Task) and node.kind in _ANSWERING)
        outputs = fields.get("outputs")
        if not calls or "function" in fields or not isinstance(outputs, dict | None):
            return fields
        code = _code_of((outputs or {}).get("statusCode"))
        status = str(fields.get("status", ""))
        is_failed = "error" in fields or status.lower() == "failed"
        is_failed = is_failed or (not status and code is not None and code >= 400)
        code = code or (500 if is_failed else 200)
        whole = {"statusCode": code, "headers": {}, **(outputs or {})} | {"statusCode": code}
        if not is_failed:
            return {**fields, "outputs": whole}
        error = fields.get("error", {})
        error = {"message": error} if isinstance(error, str) else error
        error = {"status": code, "message": f"status {code}", **error}
        return {"status": "failed", **fields, "error": error, "outputs": whole}

    def given(self, node: ir.Node, inputs: Json) -> Json:
        return inputs_of(node, {"inputs": inputs, "output": None})

    def trigger(self, workflow: ir.Workflow) -> str:
        return trigger_of(workflow)

    def inputs(self, workflow: ir.Workflow, fields: dict[str, Any]) -> dict[str, Json]:
        """What the outputs of a trigger give to a run: its body, its headers, its queries."""
        outputs = fields.get("outputs")
        if not isinstance(outputs, dict) or not set(outputs) & set(_PARTS):
            outputs = {"body": outputs}
        names = {port.name for port in workflow.inputs}
        return {name: value for name, value in outputs.items() if name in names}


def _code_of(written: object) -> int | None:
    """A status code, which may be written by its name."""
    if isinstance(written, int) and not isinstance(written, bool):
        return written
    text = str(written).lower()
    return int(text) if text.isdecimal() else STATUS_CODES.get(text)


WORDS = ActionWords()

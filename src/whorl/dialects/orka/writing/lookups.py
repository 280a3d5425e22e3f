"""Agents that look things up: the memory, answers from it, and the web."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.remembering import _RAG, SEARCH_TASK, USUAL_LIMIT, USUAL_NAMESPACE
from whorl.dialects.orka.writing.asking import write_ask
from whorl.dialects.orka.writing.calls import called
from whorl.dialects.orka.writing.texts import write_text, write_value

if TYPE_CHECKING:
    from whorl.dialects.orka.writing.page import Here

    Inputs = dict[str, ir.Value]

_ASKED = _RAG.replace("results_of_search", "memories.response")


def is_memory(node: ir.Task) -> bool:
    """Whether a task keeps or finds texts, as agents of the dialect do."""
    return node.kind == "memory" and called(node.shape).function == "orka_memories"


def is_search(node: ir.Task) -> bool:
    """Whether a task is a search in the web."""
    task = dict(node.inputs.entries).get("task")
    is_named = node.kind == "use" and task == ir.Constant(SEARCH_TASK)
    return is_named and called(node.shape).function == "orka_search"


def is_rag(node: ir.Group) -> bool:
    """Whether a group looks something up and has a question answered from it."""
    return node.shape == ir.Expression("jinja", "it.answer") and len(node.body.nodes) == 2


def write_memory(here: Here, node: ir.Task) -> dict[str, Any]:
    """An agent that keeps texts, or finds them again."""
    inputs = _inputs(node)
    operation = inputs.pop("operation")
    config: dict[str, Any] = {"operation": write_value(here, operation)}
    config |= _namespace(here, inputs)
    config |= _limit(here, inputs)
    metadata = inputs.pop("metadata", ir.Fields())
    if metadata not in (ir.Fields(), ir.Constant({})):
        config["metadata"] = write_value(here, metadata)
    text = inputs.pop("content", None) or inputs.pop("query")
    return {"type": "memory", "config": config, "prompt": write_text(here, text)}


def write_search(here: Here, node: ir.Task) -> dict[str, Any]:
    """A search in the web."""
    given = _inputs(node)["with"]
    fields = dict(given.entries) if isinstance(given, ir.Fields) else {}
    found: dict[str, Any] = {"type": "duckduckgo"}
    found["prompt"] = write_text(here, fields.get("query", ir.Constant("")))
    if "max_results" in fields:
        found["max_results"] = write_value(here, fields["max_results"])
    return found


def write_rag(here: Here, node: ir.Group) -> dict[str, Any]:
    """An agent that answers from the memory."""
    search, answer = node.body.nodes
    assert isinstance(search, ir.Task)
    assert isinstance(answer, ir.Task)
    inputs = _inputs(search)
    fields = write_ask(here, answer, None) | {"type": "rag"}
    fields["prompt"] = str(fields["prompt"]).removeprefix(_ASKED)
    fields |= _namespace(here, inputs) | _limit(here, inputs)
    if answer.timeout_s is not None:
        fields["timeout"] = answer.timeout_s
    return fields


def _inputs(node: ir.Task) -> Inputs:
    return {key: value for key, value in node.inputs.entries if isinstance(key, str)}


def _namespace(here: Here, inputs: Inputs) -> dict[str, Any]:
    namespace = inputs.pop("namespace", ir.Constant(USUAL_NAMESPACE))
    if namespace == ir.Constant(USUAL_NAMESPACE):
        return {}
    return {"namespace": write_text(here, namespace)}


def _limit(here: Here, inputs: Inputs) -> dict[str, Any]:
    limit = inputs.pop("limit", ir.Constant(USUAL_LIMIT))
    return {} if limit == ir.Constant(USUAL_LIMIT) else {"limit": write_value(here, limit)}

"""Steps: prompts, loops that a judge ends, and the fields that both have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mcp_cli.execution import TURNS
from whorl.dialects.mcp_cli.variables import RESERVED
from whorl.dialects.mcp_cli.writing.loops import write_loop
from whorl.dialects.mcp_cli.writing.models import model_fields
from whorl.dialects.mcp_cli.writing.texts import write_condition, write_text
from whorl.dialects.writing import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.mcp_cli.writing.page import Here

_SHARED = ("name", "after", "when", "on_failure", "retry", "timeout_s")
_LOOP = ("body", "until", "limits", "on_iteration_failure", "facts", "history_keep")


def write_block(here: Here, block: ir.Block) -> list[dict[str, Any]]:
    """The steps of a block, one after the other."""
    before: str | None = None
    steps: list[dict[str, Any]] = []
    for node in block.nodes:
        inner = here.at(node)
        usual = () if before is None else (ir.After(before),)
        if node.after != usual:
            inner.lose("an order of its own", "steps run one after the other, with all or none")
        steps.append(_write_step(inner, node))
        before = node.name
    return steps


def readable(block: ir.Block) -> Iterator[tuple[tuple[str, ...], str]]:
    """The results of steps that later texts can read, with their placeholders."""
    for node in block.nodes:
        path = result_path(node)
        # Where a step was skipped, its placeholder would stay in the text.
        if path is not None and node.when is None:
            yield path, node.name


def result_path(node: ir.Node) -> tuple[str, ...] | None:
    """The names by which the IR reads what a step gives there: a text."""
    if isinstance(node, ir.Task) and node.kind == "ask" and node.returns is None:
        return (node.name,)
    if isinstance(node, ir.Loop) and node.body.nodes:
        return (node.name, node.body.nodes[-1].name)
    return None


def _write_step(here: Here, node: ir.Node) -> dict[str, Any]:
    if node.name in RESERVED:
        here.lose(f"the name {node.name!r}", "that word has a meaning there")
    step: dict[str, Any] = {"name": node.name}
    match node:
        case ir.Task() if node.kind == "ask":
            here.lose_unsaid(node, (*_SHARED, "kind", "inputs"))
            step |= _ask(here, node)
        case ir.Loop():
            here.lose_unsaid(node, (*_SHARED, *_LOOP))
            step["loop"] = write_loop(here, node, write_block, readable)
        case _:
            kind = node.kind if isinstance(node, ir.Task) else type(node).__name__.lower()
            here.lose(f"a step of kind {kind!r}", "there are prompts and loops of prompts only")
            return step | {"run": ""}
    return step | _shared(here, node)


def _ask(here: Here, node: ir.Task) -> dict[str, Any]:
    inputs = {key: value for key, value in node.inputs.entries if isinstance(key, str)}
    step: dict[str, Any] = {"run": write_text(here, inputs.pop("prompt", ir.Constant("")))}
    step |= model_fields(here, inputs.pop("provider", None), inputs.pop("model", None))
    for name in ("temperature", "max_tokens"):
        if name in inputs:
            step[name] = _constant(here, name, inputs.pop(name))
    if "tools" in inputs:
        step["servers"] = _constant(here, "tools", inputs.pop("tools"))
        turns = _constant(here, "max_turns", inputs.pop("max_turns", ir.Constant(TURNS)))
        if turns != TURNS:
            step["max_iterations"] = turns
    for name in inputs:
        here.lose(f"the input {name!r} of a prompt", "a step has no field for it")
    return step


def _constant(here: Here, name: str, value: ir.Value) -> Any:
    if isinstance(value, ir.Constant):
        return value.value
    here.lose(f"{name!r}, which is computed", "it is written down there")
    return None


def _shared(here: Here, node: ir.Node) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if node.when is not None:
        found["if"] = write_condition(here, node.when)
    if node.timeout_s is not None:
        found["timeout"] = duration_text(node.timeout_s)
    if node.retry is not None and node.retry.times == 0:
        here.lose("a step that is tried once", "questions are tried again after a passing fault")
    if node.retry is not None and node.retry.times > 0:
        if node.on_failure != "halt" or node.retry != ir.Retry(node.retry.times, on=("*",)):
            here.lose("how it is retried", "every fault is retried, after the usual waits")
        found |= {"on_failure": "retry", "max_retries": node.retry.times}
    elif node.on_failure != "halt":
        found["on_failure"] = node.on_failure
    return found

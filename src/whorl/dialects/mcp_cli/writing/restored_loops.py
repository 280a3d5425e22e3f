"""Loops as their file had them: until a judge is content, or over items."""

from __future__ import annotations

from typing import Any

from whorl import ir
from whorl.dialects.mcp_cli.execution import WORKERS
from whorl.dialects.mcp_cli.writing.restored_calls import file_stem, given_to
from whorl.dialects.mcp_cli.writing.restored_texts import place_of, restore_text
from whorl.dialects.writing import duration_text
from whorl.language import parse, tree

# The least rate, which stands for: one item must succeed.
_ANY = 1e-9


def restore_refine(node: ir.Loop) -> dict[str, Any]:
    """A loop that a judge ends."""
    found = _called(node.body)
    if isinstance(node.until, ir.Judge):
        # The judge reads the output of the iteration under the name that the body gives it.
        question = restore_text(node.until.question)
        found["until"] = question.replace("{{output}}", "{{loop.output}}")
    found["max_iterations"] = node.limits.iterations
    if node.limits.iteration_time_s is not None:
        found["timeout_per_item"] = duration_text(node.limits.iteration_time_s)
    if isinstance(node.limits.time_s, float):
        found["total_timeout"] = duration_text(node.limits.time_s)
    failure = node.on_iteration_failure
    if failure.action != "halt":
        found["on_failure"] = failure.action
    if failure.action == "retry":
        found["max_retries"] = failure.times
        if failure.wait_s:
            found["retry_delay"] = duration_text(failure.wait_s)
    if node.collect:
        found["accumulate"] = f"{node.name}_accumulator"
    return found


def restore_each(node: ir.ForEach) -> dict[str, Any]:
    """A loop over items."""
    assert isinstance(node.items, ir.Expression)
    listed = parse(node.items).value
    assert isinstance(listed, tree.Apply)
    source, most = listed.arguments
    assert isinstance(most, tree.Literal)
    found = {"mode": "iterate", "items": place_of(source)} | _called(node.body)
    found["max_iterations"] = most.value
    if node.concurrency > 1:
        found["parallel"] = True
        if node.concurrency != WORKERS:
            found["max_workers"] = node.concurrency
    if node.item_timeout_s is not None:
        found["timeout_per_item"] = duration_text(node.item_timeout_s)
    if node.timeout_s is not None:
        found["total_timeout"] = duration_text(node.timeout_s)
    return found | _failure(node)


def _failure(node: ir.ForEach) -> dict[str, Any]:
    retry = node.body.nodes[0].retry
    if retry is not None:
        delay = {"retry_delay": duration_text(retry.wait_s)} if retry.wait_s else {}
        return {"on_failure": "retry", "max_retries": retry.times} | delay
    if node.on_item_failure == "halt":
        return {}
    rate = {} if node.min_success_rate == _ANY else {"min_success_rate": node.min_success_rate}
    return {"on_failure": "continue"} | rate


def _called(body: ir.Block) -> dict[str, Any]:
    call = body.nodes[0]
    assert isinstance(call, ir.Call)
    return {"workflow": file_stem(call.workflow)} | given_to(call)

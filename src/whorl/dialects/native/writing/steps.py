"""Blocks of steps: their order, the fields that every step has, and each step by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from whorl import ir
from whorl.dialects.native.writing import actions, control, loops, tasks
from whorl.dialects.writing import Inline, duration_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from whorl.dialects.native.writing.here import Here

_SHARED = ("name", "after", "when", "on_failure", "retry", "timeout_s", "shape", "description")
_PASSED = ("passed",)
_ANY = ("succeeded", "failed", "skipped", "timed_out", "cancelled")


def write_block(here: Here, block: ir.Block, *, is_ordered: bool = True) -> dict[str, Any]:
    """The steps of a block, by name."""
    _check_block(here, block)
    steps: dict[str, Any] = {}
    previous: str | None = None
    path = here.spot.path
    for node in block.nodes:
        inner = here.at(f"{path}/{node.name}" if path else node.name, node.place)
        steps[here.naming.of(node.name)] = _write_step(inner, node, previous)
        previous = node.name if is_ordered else None
    if not steps:
        here.lose("a block without steps", "it must hold one")
        steps["nothing"] = {"value": None}
    return steps


def _check_block(here: Here, block: ir.Block) -> None:
    if _is_chain(block):
        # One after the other, and none behind a failure: the limits of a block change nothing.
        return
    if block.concurrency is not None:
        here.lose(f"at most {block.concurrency} steps at once", "steps of a block have no limit")
    if block.on_failure != "go_on":
        here.lose("what happens to other steps after a failure", "they go on in the native format")


def _is_chain(block: ir.Block) -> bool:
    pairs = zip(block.nodes, block.nodes[1:], strict=False)
    return all(ir.After(before.name) in node.after for before, node in pairs)


def _write_step(here: Here, node: ir.Node, previous: str | None) -> dict[str, Any]:
    step = _write_kind(here, node)
    usual = () if previous is None else (ir.After(previous),)
    if node.after != usual:
        step["after"] = _after(here, node.after)
    if node.when is not None:
        step["if"] = here.test(node.when)
    if node.description:
        step["description"] = node.description
    if node.retry is not None:
        step["retry"] = _retry(here, node.retry)
    if node.timeout_s is not None and not isinstance(node, ir.Gate):
        step["timeout"] = duration_text(node.timeout_s)
    if node.on_failure != "halt":
        step["on_failure"] = node.on_failure
    here.lose_unsaid(node, (*_SHARED, *_said(node)))
    return step


def _write_kind(here: Here, node: ir.Node) -> dict[str, Any]:
    match node:
        case ir.Task():
            return tasks.write_task(here, node)
        case ir.Loop():
            return loops.write_loop(here, node, write_block)
        case ir.ForEach():
            return control.write_each(here, node, write_block)
        case ir.Branch():
            return control.write_branch(here, node, write_block)
        case ir.Group():
            return control.write_group(here, node, write_block)
        case ir.Call():
            return control.write_call(here, node)
        case ir.Compute():
            return actions.write_compute(here, node)
        case ir.Assign():
            return actions.write_assign(here, node)
        case ir.Wait():
            return actions.write_wait(here, node)
        case ir.Gate():
            return actions.write_gate(here, node)
        case ir.Stop():
            return actions.write_stop(here, node)
        case ir.Break():
            return actions.write_break(here, node)
        case ir.Continue():
            return actions.write_continue(here, node)
        case _:
            assert_never(node)


def _said(node: ir.Node) -> Collection[str]:
    """The fields beside the shared ones that the writer of a kind writes or lists itself."""
    match node:
        case ir.Task():
            return tasks.SAID
        case ir.Loop():
            return loops.SAID
        case ir.ForEach():
            return ("items", "body", "item_name", "index_name", "concurrency")
        case ir.Branch():
            return ("cases", "subject", "default")
        case ir.Group():
            return ("body",)
        case ir.Call():
            return ("workflow", "inputs", "unnamed")
        case ir.Compute():
            return ("value",)
        case ir.Assign():
            return ("sets", "operation")
        case ir.Wait():
            return ("duration", "until")
        case ir.Gate():
            return ("message", "show", "on_timeout", "on_reject")
        case ir.Stop():
            return ("status", "message", "output")
        case ir.Break() | ir.Continue():
            return ("loop",)
        case _:
            assert_never(node)


def _after(here: Here, after: tuple[ir.After, ...]) -> Any:
    names = [here.naming.of(one.node) for one in after]
    if all(one.statuses == _PASSED for one in after):
        return names[0] if len(names) == 1 else names
    return Inline(zip(names, (_statuses(one.statuses) for one in after), strict=True))


def _statuses(statuses: tuple[str, ...]) -> Any:
    if statuses == _ANY:
        return "any"
    return statuses[0] if len(statuses) == 1 else list(statuses)


def _retry(here: Here, retry: ir.Retry) -> Any:
    here.lose_unsaid(retry, ("times", "wait_s", "backoff", "wait_max_s", "on"))
    found: dict[str, Any] = Inline(times=retry.times)
    if retry.wait_s != 1.0:
        found["wait"] = duration_text(retry.wait_s)
    if retry.backoff != 2.0:
        found["backoff"] = retry.backoff
    if retry.wait_max_s != max(60.0, retry.wait_s):
        found["wait_max"] = duration_text(retry.wait_max_s)
    if retry.on:
        found["on"] = retry.on[0] if len(retry.on) == 1 else list(retry.on)
    return retry.times if len(found) == 1 else found

"""Loops: a file of its own for the body, and a judge that ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mcp_cli.texts import PLACE
from whorl.dialects.native.subjects import last_with_result, result_text
from whorl.dialects.writing import duration_text
from whorl.ir.expressions import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.dialects.mcp_cli.writing.page import Here

    WriteBlock = Callable[[Here, ir.Block], list[dict[str, Any]]]
    Readable = Callable[[ir.Block], Iterator[tuple[tuple[str, ...], str]]]

_ENDERS: dict[type, str] = {
    type(None): "no condition",
    ir.When: "an expression",
    ir.Score: "a score",
    ir.BranchTaken: "a branch",
    ir.Stable: "a stable result",
    ir.Plateau: "a plateau",
    ir.AnyOf: "any of several conditions",
    ir.AllOf: "several conditions together",
}
_JUDGED = "a loop ends where a judge finds a written statement true of the last step's text"


def write_loop(
    here: Here, node: ir.Loop, write_block: WriteBlock, readable: Readable
) -> dict[str, Any]:
    """The fields of a loop; its body becomes a file that it calls."""
    given = _given(here, node)
    found: dict[str, Any] = {"workflow": _body(here, node, write_block, readable)}
    if given:
        found["with"] = given
    found["until"] = _question(here, node)
    found |= _limits(here, node.limits)
    found |= _failure(here, node.on_iteration_failure)
    return found


def _given(here: Here, node: ir.Loop) -> dict[str, str]:
    """What the body reads from around the loop."""
    read = Names().in_block(node.body) - {one.name for one in node.body.nodes}
    names = [path[0] for path in here.names if len(path) == 1 and path[0] in read]
    return {name: f"{{{{{here.names[(name,)]}}}}}" for name in names}


def _body(here: Here, node: ir.Loop, write_block: WriteBlock, readable: Readable) -> str:
    last = node.body.nodes[-1] if node.body.nodes else None
    names: dict[tuple[str, ...], str] = {path: path[0] for path in here.names if len(path) == 1}
    facts = {fact: name for name, fact in node.facts}
    if "number" in facts:
        names[(facts["number"],)] = "loop.iteration"
    if "previous" in facts and last is not None:
        names[(facts["previous"], last.name)] = "loop.last.output"
    inside = replace(here, names=names | dict(readable(node.body)))
    if last is None or last_with_result(node.body) is not last:
        here.lose("a loop whose last step gives no text", "the text of the last step is its result")
    steps = write_block(inside, node.body)
    document: dict[str, Any] = {"$schema": "workflow/v2.0", "name": node.name}
    if here.page.execution:
        # A workflow that is called knows nothing of its caller's settings.
        document["execution"] = here.page.execution
    return here.page.add_file(node.name, document | {"steps": steps})


def _question(here: Here, node: ir.Loop) -> str:
    judge = node.until
    last = node.body.nodes[-1] if node.body.nodes else None
    if not isinstance(judge, ir.Judge):
        here.lose(f"a loop that {_ENDERS[type(judge)]} ends", _JUDGED)
        return "It is done"
    here.lose_unsaid(judge, ("question", "subject"))
    if last is None or judge.subject != result_text(last):
        here.lose("a judge that reads something else", _JUDGED)
    asked = judge.question.value if isinstance(judge.question, ir.Constant) else None
    if isinstance(asked, str) and asked.strip() and not PLACE.search(asked):
        return asked
    here.lose("a question that is computed", _JUDGED)
    return "It is done"


def _limits(here: Here, limits: ir.LoopLimits) -> dict[str, Any]:
    here.lose_unsaid(limits, ("iterations", "time_s", "iteration_time_s", "interrupts"))
    found: dict[str, Any] = {"max_iterations": limits.iterations}
    if isinstance(limits.iterations, ir.Expression) or isinstance(limits.time_s, ir.Expression):
        here.lose("a limit that is computed", "limits are written down there")
        return {"max_iterations": 1}
    if limits.iteration_time_s is not None:
        found["timeout_per_item"] = duration_text(limits.iteration_time_s)
    if limits.time_s is not None:
        found["total_timeout"] = duration_text(limits.time_s)
        if not limits.interrupts:
            here.lose("a time limit that lets an iteration finish", "the time interrupts it there")
    return found


def _failure(here: Here, failure: ir.IterationFailure) -> dict[str, Any]:
    here.lose_unsaid(failure, ("action", "times", "wait_s"))
    if failure.action == "halt":
        return {}
    found: dict[str, Any] = {"on_failure": failure.action}
    if failure.action == "retry":
        found["max_retries"] = failure.times
        if failure.wait_s:
            found["retry_delay"] = duration_text(failure.wait_s)
    return found

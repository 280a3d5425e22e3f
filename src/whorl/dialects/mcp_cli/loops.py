"""Loops: a workflow that is called until a model finds the condition met, or for each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.mcp_cli.calls import (
    call_inputs,
    main_output,
    read_given,
    reads_history,
)
from whorl.dialects.mcp_cli.finding import find_workflow
from whorl.dialects.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.dialects.mcp_cli.iterate import read_iterate
from whorl.dialects.mcp_cli.nodes import RETRIES, read_shared
from whorl.dialects.mcp_cli.scalars import duration_of, text_of, whole_of
from whorl.dialects.mcp_cli.texts import places
from whorl.dialects.mcp_cli.variables import LIBRARY, View
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Item
    from whorl.dialects.mcp_cli.nodes import Page
    from whorl.dialects.reader import Called

HISTORY_KEEP = 1_000
_OUTPUT = ir.Expression("jinja", "output")
_SHAPE: tuple[tuple[str, ir.Value], ...] = (
    ("output", ir.Expression("jinja", "it.output | default('', true)")),
    ("iterations", ir.Expression("jinja", "it.loop.iterations | string")),
    ("exit_reason", ir.Expression("jinja", "it.loop.exit_reason")),
)
_ACCUMULATED = ("accumulator", ir.Expression("jinja", "joined(it.accumulator)", LIBRARY))


def read_loop(page: Page, item: Item, fields: Mapping) -> ir.Node:
    """Reads a loop, at top level or as a step."""
    called = find_workflow(page.draft, item, fields.get("workflow"))
    if item.is_iterate:
        return read_iterate(page, item, fields, called)
    _check_refine(page, item, fields)
    accumulates = _accumulates(page, item, fields)
    shared = read_shared(page, item)
    return ir.Loop(
        body=_body(page, item, fields, called),
        until=_judge(page, item, fields),
        limits=_limits(fields),
        limit_fields=(("max_iterations", "max_iterations"), ("budget", "--budget")),
        on_iteration_failure=_failure(fields),
        facts=((NUMBER, "number"), (PREVIOUS, "previous"), (HISTORY, "history")),
        bind=(("loop", ir.Expression("jinja", "loop_state()", LIBRARY)),),
        history_keep=_history(page, fields, called),
        collect=(ir.Collect("accumulator", "all", _OUTPUT),) if accumulates else (),
        shape=ir.Fields((*_SHAPE, _ACCUMULATED) if accumulates else _SHAPE),
        **shared,
    )


def _body(page: Page, item: Item, fields: Mapping, called: Called | None) -> ir.Block:
    given = read_given(page.draft, item, called, fields.get("with"))
    view = View(item, inside=item)
    # Without `with`, the first iteration reads the caller's input, a later one the last output.
    flow = "input if loop.iteration == '1' else loop.output"
    input_: ir.Value = ir.Expression("jinja", flow)
    if given.entries:
        input_ = page.texts.lines(given, view, strict=True)
    else:
        page.texts.variables.reads_input = True
    call = ir.Call(
        name="output",
        workflow=called.key if called else "",
        inputs=call_inputs(page.texts, called, given, view, input_=input_),
        shape=main_output(),
        unnamed=True,
    )
    return ir.Block((call,))


def _judge(page: Page, item: Item, fields: Mapping) -> ir.Judge | None:
    until = fields.get("until")
    if not isinstance(until, Scalar) or not until.text.strip():
        return None
    _check_until(page, item, until)
    defaults = page.execution.model(Mapping((), item.key.span))
    judge = ir.Judge(
        question=page.texts.strict(until, View(item, inside=item, judged=True)),
        subject=_OUTPUT,
        inputs=ir.Fields((("defaults", ir.Constant(defaults)),)),
    )
    page.draft.places.remember_part(judge, until.span)
    return judge


def _check_until(page: Page, item: Item, until: Scalar) -> None:
    for offset, name in places(until):
        if name == "loop.output":
            page.draft.warn(
                "W023",
                f"'until' of {item.words} holds the output itself, so the judge finds the answer "
                "in the question",
                until.locate(offset, len(name) + 4),
                label="the output is judged anyway",
                help='describe what the output should say: until: "The output says PASS"',
            )
        elif name == "output":
            page.draft.report(
                "W012",
                f"'until' of {item.words} cannot read a variable called 'output': there, that is "
                "the output of the iteration",
                until.locate(offset, len(name) + 4),
                label="which one?",
                help="give the step another name",
            )


def _limits(fields: Mapping) -> ir.LoopLimits:
    return ir.LoopLimits(
        iterations=whole_of(fields.get("max_iterations")) or 1,
        time_s=duration_of(fields.get("total_timeout")),
        iteration_time_s=duration_of(fields.get("timeout_per_item")),
    )


def _failure(fields: Mapping) -> ir.IterationFailure:
    word = text_of(fields.get("on_failure"))
    if word == "retry":
        times = whole_of(fields.get("max_retries")) or RETRIES
        return ir.IterationFailure("retry", times, duration_of(fields.get("retry_delay")) or 0.0)
    action: Literal["halt", "continue"] = "continue" if word == "continue" else "halt"
    return ir.IterationFailure(action)


def _history(page: Page, fields: Mapping, called: Called | None) -> int:
    """How many outputs are kept for `loop.history`; none where nobody reads it."""
    if not reads_history(page.draft, called):
        return 0
    return min(whole_of(fields.get("max_iterations")) or 1, HISTORY_KEEP)


def _accumulates(page: Page, item: Item, fields: Mapping) -> bool:
    """Whether all outputs are kept: where they have a name, or are mentioned without one."""
    if text_of(fields.get("accumulate")) or f"{item.name}_accumulator" in page.order.mentioned:
        return True
    is_looked_back_at = item.name in page.order.looked_back_at
    return is_looked_back_at and "loop.history" in page.order.mentioned


def _check_refine(page: Page, item: Item, fields: Mapping) -> None:
    if not text_of(fields.get("until")).strip():
        page.draft.report(
            "W006",
            f"{item.words} lacks the field 'until'",
            item.key.span,
            label="'until' is missing",
            help='add until: "The output says DONE", or mode: iterate with items',
        )
    for name in ("items", "parallel", "max_workers", "min_success_rate"):
        entry = fields.entry(name)
        if entry is not None:
            page.draft.warn(
                "W023",
                f"{name!r} of {item.words} has no effect: each iteration sees the one before it",
                entry.key.span,
                label="not used",
                help="remove it, or write mode: iterate to go over items",
            )

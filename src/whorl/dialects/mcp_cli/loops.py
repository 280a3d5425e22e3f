"""Loops: a workflow that is called until a model finds the condition met, or for each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.mcp_cli.calls import (
    MAIN_OUTPUT,
    call_inputs,
    find_workflow,
    read_arguments,
    reads_history,
    takes,
)
from whorl.dialects.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.dialects.mcp_cli.steps import RETRIES, WORKERS, read_shared
from whorl.dialects.mcp_cli.texts import LIBRARY, PLACE, View, places
from whorl.dialects.reading.scalars import duration_of, is_true, number_of, text_of, whole_of
from whorl.dialects.reading.texts import quoted
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.format import Item
    from whorl.dialects.mcp_cli.steps import ParsedFile
    from whorl.dialects.reader import Called

HISTORY_KEEP = 1_000
_OUTPUT = ir.Expression("jinja", "output")
_SHAPE: tuple[tuple[str, ir.Value], ...] = (
    ("output", ir.Expression("jinja", "it.output | default('', true)")),
    ("iterations", ir.Expression("jinja", "it.loop.iterations | string")),
    ("exit_reason", ir.Expression("jinja", "it.loop.exit_reason")),
)
_ACCUMULATED = ("accumulator", ir.Expression("jinja", "joined(it.accumulator)", LIBRARY))
# At least one item must succeed where failures are tolerated.
_ANY = 1e-9
_FILE = "file://"


def read_loop(file: ParsedFile, item: Item, fields: Mapping) -> ir.Node:
    """Reads a loop, at top level or as a step."""
    called = find_workflow(file.context, item, fields.get("workflow"))
    if item.is_iterate:
        return _read_iterate(file, item, fields, called)
    _check_refine(file, item, fields)
    accumulates = _accumulates(file, item, fields)
    shared = read_shared(file, item)
    return ir.Loop(
        body=_refine_body(file, item, fields, called),
        until=_judge(file, item, fields),
        limits=ir.LoopLimits(
            iterations=_iterations(fields),
            time_s=duration_of(fields.get("total_timeout")),
            iteration_time_s=duration_of(fields.get("timeout_per_item")),
        ),
        words={"fields": {"max_iterations": "max_iterations", "budget": "--budget"}},
        on_iteration_failure=_failure(fields),
        facts=((NUMBER, "number"), (PREVIOUS, "previous"), (HISTORY, "history")),
        bind=(("loop", ir.Expression("jinja", "loop_state()", LIBRARY)),),
        # No output is kept for `loop.history` where nobody reads it.
        history_keep=min(_iterations(fields), HISTORY_KEEP)
        if reads_history(file.context, called)
        else 0,
        collect=(ir.Collect("accumulator", "all", _OUTPUT),) if accumulates else (),
        shape=ir.Fields((*_SHAPE, _ACCUMULATED) if accumulates else _SHAPE),
        **shared,
    )


def _iterations(fields: Mapping) -> int:
    return whole_of(fields.get("max_iterations")) or 1


def _refine_body(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> ir.Block:
    arguments = read_arguments(file.context, item, called, fields.get("with"))
    view = View(item, inside=item)
    # Without `with`, the first iteration reads the caller's input, a later one the last output.
    flow = "input if loop.iteration == '1' else loop.output"
    input_: ir.Value = ir.Expression("jinja", flow)
    if arguments.entries:
        input_ = file.texts.lines(arguments, view, strict=True)
    else:
        file.texts.variables.reads_input = True
    return _call(called, call_inputs(file.texts, called, arguments, view, input_=input_))


def _call(called: Called | None, inputs: ir.Fields, retry: ir.Retry | None = None) -> ir.Block:
    workflow = called.key if called else ""
    call = ir.Call(
        name="output",
        workflow=workflow,
        inputs=inputs,
        shape=MAIN_OUTPUT,
        unnamed=True,
        retry=retry,
    )
    return ir.Block((call,))


def _judge(file: ParsedFile, item: Item, fields: Mapping) -> ir.Judge | None:
    until = fields.get("until")
    if not isinstance(until, Scalar) or not until.text.strip():
        return None
    _check_until(file, item, until)
    defaults = file.execution.model(Mapping((), item.key.span))
    judge = ir.Judge(
        question=file.texts.read(until, View(item, inside=item, judged=True), strict=True),
        subject=_OUTPUT,
        inputs=ir.Fields((("defaults", ir.Constant(defaults)),)),
    )
    file.context.places.remember_part(judge, until.span)
    return judge


def _check_until(file: ParsedFile, item: Item, until: Scalar) -> None:
    for place in places(until):
        span = until.locate(place.offset - 2, len(place.name) + 4)
        if place.name == "loop.output":
            message = f"'until' of {item.words} holds the output itself, so the judge finds the "
            message += "answer in the question"
            advice = 'describe what the output should say: until: "The output says PASS"'
            label = "the output is judged anyway"
            file.context.warn("W023", message, span, label=label, help=advice)
        elif place.name == "output":
            message = f"'until' of {item.words} cannot read a variable called 'output': there, "
            message += "that is the output of the iteration"
            advice = "give the step another name"
            file.context.report("W012", message, span, label="which one?", help=advice)


def _failure(fields: Mapping) -> ir.IterationFailure:
    word = text_of(fields.get("on_failure"))
    if word == "retry":
        times = whole_of(fields.get("max_retries")) or RETRIES
        return ir.IterationFailure("retry", times, duration_of(fields.get("retry_delay")) or 0.0)
    action: Literal["halt", "continue"] = "continue" if word == "continue" else "halt"
    return ir.IterationFailure(action)


def _accumulates(file: ParsedFile, item: Item, fields: Mapping) -> bool:
    """Whether all outputs are kept: where they have a name, or are mentioned without one."""
    if text_of(fields.get("accumulate")) or f"{item.name}_accumulator" in file.mentioned:
        return True
    return "loop.history" in file.mentioned and item in file.loop_before.values()


def _check_refine(file: ParsedFile, item: Item, fields: Mapping) -> None:
    if not text_of(fields.get("until")).strip():
        message, span = f"{item.words} lacks the field 'until'", item.key.span
        advice = 'add until: "The output says DONE", or mode: iterate with items'
        file.context.report("W006", message, span, label="'until' is missing", help=advice)
    for name in ("items", "parallel", "max_workers", "min_success_rate"):
        entry = fields.entry(name)
        if entry is not None:
            message = f"{name!r} of {item.words} has no effect: each iteration sees the one before "
            message += "it"
            advice = "remove it, or write mode: iterate to go over items"
            file.context.warn("W023", message, entry.key.span, label="not used", help=advice)


def _read_iterate(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> ir.Node:
    """Reads a loop over items: of a JSON array, of JSON lines or of plain lines."""
    shared = read_shared(file, item)
    limits = [shared["timeout_s"], duration_of(fields.get("total_timeout"))]
    shared["timeout_s"] = min((time for time in limits if time is not None), default=None)
    word = text_of(fields.get("on_failure"))
    rate = number_of(fields.get("min_success_rate"))
    halts = word == "halt" or (word != "continue" and rate is None)
    parallel = is_true(fields.get("parallel"))
    _check_iterate(file, item, fields)
    return ir.ForEach(
        items=_items(file, item, fields),
        body=_iterate_body(file, item, fields, called),
        item_name="loop",
        concurrency=(whole_of(fields.get("max_workers")) or WORKERS) if parallel else 1,
        item_timeout_s=duration_of(fields.get("timeout_per_item")),
        min_success_rate=1.0 if halts else max(rate or 0.0, _ANY),
        on_item_failure="halt" if halts else "continue",
        shape=ir.Expression("jinja", "each_result(it)", LIBRARY),
        **shared,
    )


def _iterate_body(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> ir.Block:
    arguments = read_arguments(file.context, item, called, fields.get("with"))
    view = View(item, inside=item)
    # The input for one item is a JSON object with all of `with`, and the item.
    source = f"item_input({file.texts.source(arguments, view)}, loop.item)"
    input_ = ir.Expression("jinja", source, LIBRARY)
    inputs = call_inputs(file.texts, called, arguments, view, input_=input_)
    if takes(called, "item"):
        entries = [(name, value) for name, value in inputs.entries if name != "item"]
        inputs = ir.Fields((*entries, ("item", ir.Expression("jinja", "loop.item"))))
    retry = None
    if text_of(fields.get("on_failure")) == "retry":
        times = whole_of(fields.get("max_retries")) or RETRIES
        delay = duration_of(fields.get("retry_delay")) or 0.0
        retry = ir.Retry(times, wait_s=delay, backoff=1.0, wait_max_s=delay, on=("*",))
    return _call(called, inputs, retry)


def _items(file: ParsedFile, item: Item, fields: Mapping) -> ir.Value:
    value = fields.get("items")
    if not isinstance(value, Scalar):
        return ir.Constant([])
    if value.text.startswith(_FILE):
        source = _source_of_file(file, item, value)
    else:
        source = file.texts.source(value, file.view(item))
    if source is None:
        return ir.Constant([])
    expression = ir.Expression("jinja", f"items_in({source}, {_iterations(fields)})", LIBRARY)
    file.context.places.remember_part(expression, value.span)
    return expression


def _source_of_file(file: ParsedFile, item: Item, value: Scalar) -> str | None:
    env = file.context.root.get("env")
    values = {e.name: text_of(e.value) for e in env} if isinstance(env, Mapping) else {}
    reference = PLACE.sub(
        lambda place: values.get(place[1].strip().removeprefix("env."), place[0]),
        value.text.removeprefix(_FILE),
    )
    try:
        return quoted(file.context.files.text(reference, value.span)[1])
    except InvalidWorkflow as fault:
        message = f"'items' of {item.words}: {fault.diagnostics[0].message}"
        advice = "name a file of the project (file://items.json), or give the items as input: "
        advice += 'items: "{{input}}"'
        file.context.report("W016", message, value.span, label="this file", help=advice)
        return None


def _check_iterate(file: ParsedFile, item: Item, fields: Mapping) -> None:
    if not text_of(fields.get("items")).strip():
        message = f"{item.words} goes over items, but lacks the field 'items'"
        advice = 'add items: "{{input}}": a JSON array, JSON lines, or one item per line'
        label = "'items' is missing"
        file.context.report("W006", message, item.key.span, label=label, help=advice)
    entry = fields.entry("until")
    if entry is not None:
        message = f"'until' of {item.words} has no effect: it ends when no items are left"
        advice = "remove it, or leave out mode: iterate"
        file.context.warn("W023", message, entry.key.span, label="not used", help=advice)

"""Steps that repeat a workflow: until a model finds a condition met, or for each item of a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.reading.fields import duration_of, is_true, number_of, text_of, whole_of
from whorl.dialects.reading.texts import placeholders, quoted
from whorl.errors import InvalidWorkflow
from whorl.formats.mcp_cli.calls import MAIN_OUTPUT, call_inputs, find_workflow
from whorl.formats.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.formats.mcp_cli.steps import RETRIES, WORKERS, read_shared
from whorl.formats.mcp_cli.texts import LIBRARY, PLACE, View
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.reader import Called
    from whorl.formats.mcp_cli.format import FileContext, Item
    from whorl.formats.mcp_cli.steps import ParsedFile


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
_INPUT = re.compile(r"\{\{\s*+input\s*+\}\}")


def read_loop(file: ParsedFile, item: Item, fields: Mapping) -> ir.Node:
    called = find_workflow(file.context, item, fields.get("workflow"))
    if item.is_iterate:
        return _read_iterate(file, item, fields, called)
    _check_refine(file, item, fields, called)
    # All outputs are kept where they have a name, or are mentioned without one.
    is_before = "loop.history" in file.mentioned and item in file.loop_before.values()
    is_mentioned = f"{item.name}_accumulator" in file.mentioned or is_before
    accumulates = is_mentioned or bool(text_of(fields.get("accumulate")))
    shared = read_shared(file, item)
    action: Any = text_of(fields.get("on_failure")) or "halt"
    iterations = _iterations(fields)
    # Without `with`, the first iteration reads the caller's input, a later one the last output.
    flow = "input if loop.iteration == '1' else loop.output"
    return ir.Loop(
        body=_call(called, call_inputs(file, item, called, fields.get("with"), flow)),
        until=_judge(file, item, fields),
        limits=ir.LoopLimits(
            iterations=iterations,
            time_s=duration_of(fields.get("total_timeout")),
            iteration_time_s=duration_of(fields.get("timeout_per_item")),
        ),
        words={"fields": {"max_iterations": "max_iterations", "budget": "--budget"}},
        on_iteration_failure=ir.IterationFailure(action, *_retries(fields)),
        facts=((NUMBER, "number"), (PREVIOUS, "previous"), (HISTORY, "history")),
        bind=(("loop", ir.Expression("jinja", "loop_state()", LIBRARY)),),
        # No output is kept for `loop.history` where nobody reads it.
        history_keep=min(iterations, HISTORY_KEEP) if _reads_history(file.context, called) else 0,
        collect=(ir.Collect("accumulator", "all", _OUTPUT),) if accumulates else (),
        shape=ir.Fields((*_SHAPE, _ACCUMULATED) if accumulates else _SHAPE),
        **shared,
    )


def _iterations(fields: Mapping) -> int:
    return whole_of(fields.get("max_iterations")) or 1


def _retries(fields: Mapping) -> tuple[()] | tuple[int, float]:
    """How often a failed iteration is repeated, and after what delay; empty where it is not."""
    if text_of(fields.get("on_failure")) != "retry":
        return ()
    times = whole_of(fields.get("max_retries")) or RETRIES
    return times, duration_of(fields.get("retry_delay")) or 0.0


def _reads_history(context: FileContext, called: Called | None) -> bool:
    """Whether the file or what it calls mentions `loop.history` anywhere."""
    sources = {context.file: context.document.text}
    sources |= called.reading.sources if called is not None else {}
    for file, source in sources.items():
        if file not in context.historians:
            context.historians[file] = "loop.history" in source
    return any(context.historians[file] for file in sources)


def _call(called: Called | None, inputs: ir.Fields, retry: ir.Retry | None = None) -> ir.Block:
    options: Any = {"shape": MAIN_OUTPUT, "unnamed": True, "retry": retry}
    workflow = called.key if called else ""
    return ir.Block((ir.Call(name="output", workflow=workflow, inputs=inputs, **options),))


def _judge(file: ParsedFile, item: Item, fields: Mapping) -> ir.Judge | None:
    until = fields.get("until")
    if not isinstance(until, Scalar) or not until.text.strip():
        return None
    for place in placeholders(until, PLACE):
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
    defaults = file.execution.model(Mapping((), item.key.span))
    judge = ir.Judge(
        question=file.texts.read(until, View(item, inside=item, judged=True), strict=True),
        subject=_OUTPUT,
        inputs=ir.Fields((("defaults", ir.Constant(defaults)),)),
    )
    file.context.places.remember_part(judge, until.span)
    return judge


def _check_refine(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> None:
    if not text_of(fields.get("until")).strip():
        message, span = f"{item.words} lacks the field 'until'", item.key.span
        advice = 'add until: "The output says DONE", or mode: iterate with items'
        file.context.report("W006", message, span, label="'until' is missing", help=advice)
    texts = called.reading.sources.values() if called is not None and "with" not in fields else ()
    if (whole_of(fields.get("max_iterations")) or 1) > 1 and any(map(_INPUT.search, texts)):
        message = f"{item.words} has no 'with': from its second iteration on, {{{{input}}}} is the "
        message += "output of the one before, and no longer the task"
        advice = 'to keep the task: with: {input: "{{input}}"}; the workflow that is called reads '
        advice += "the last output as {{loop.output}}"
        file.context.warn("W023", message, item.key.span, label="loses its task", help=advice)
    why = ": each iteration sees the one before it"
    advice = "remove it, or write mode: iterate to go over items"
    for name in ("items", "parallel", "max_workers", "min_success_rate"):
        file.context.warn_unused(fields, name, item.words, why, advice)


def _read_iterate(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> ir.Node:
    """Reads a loop over items: of a JSON array, of JSON lines or of plain lines."""
    shared = read_shared(file, item)
    limits = [shared["timeout_s"], duration_of(fields.get("total_timeout"))]
    shared["timeout_s"] = min((time for time in limits if time is not None), default=None)
    word = text_of(fields.get("on_failure"))
    rate = number_of(fields.get("min_success_rate"))
    halts = word == "halt" or (word != "continue" and rate is None)
    parallel = is_true(fields.get("parallel"))
    why, advice = ": it ends when no items are left", "remove it, or leave out mode: iterate"
    file.context.warn_unused(fields, "until", item.words, why, advice)
    retry = None
    if retries := _retries(fields):
        times, delay = retries
        retry = ir.Retry(times, wait_s=delay, backoff=1.0, wait_max_s=delay, on=("*",))
    items = _items(file, item, fields)
    return ir.ForEach(
        items=items,
        body=_call(called, call_inputs(file, item, called, fields.get("with")), retry),
        item_name="loop",
        concurrency=(whole_of(fields.get("max_workers")) or WORKERS) if parallel else 1,
        item_timeout_s=duration_of(fields.get("timeout_per_item")),
        min_success_rate=1.0 if halts else max(rate or 0.0, _ANY),
        on_item_failure="halt" if halts else "continue",
        shape=ir.Expression("jinja", "each_result(it)", LIBRARY),
        **shared,
    )


def _items(file: ParsedFile, item: Item, fields: Mapping) -> ir.Value:
    value = fields.get("items")
    if not text_of(value).strip():
        message = f"{item.words} goes over items, but lacks the field 'items'"
        advice = 'add items: "{{input}}": a JSON array, JSON lines, or one item per line'
        file.context.report("W006", message, item.key.span, label="'items' is missing", help=advice)
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
    if reference.startswith("/"):
        # A place of another machine: the same path in the project is meant.
        inside = reference.lstrip("/")
        reference = file.context.files.find([inside]) or inside
    try:
        return quoted(file.context.files.text(reference, value.span)[1])
    except InvalidWorkflow as fault:
        message = f"'items' of {item.words}: {fault.diagnostics[0].message}"
        advice = "name a file of the project (file://items.json), or give the items as input: "
        advice += 'items: "{{input}}"'
        file.context.report("W016", message, value.span, label="this file", help=advice)
        return None

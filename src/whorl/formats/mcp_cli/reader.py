"""Reads a workflow file of mcp-cli: its steps and loops, their order, its inputs, its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.reading.fields import (
    duration_of,
    is_true,
    number_of,
    scalar_of,
    text_of,
    whole_of,
)
from whorl.dialects.reading.texts import placeholders, quoted
from whorl.errors import InvalidWorkflow, did_you_mean
from whorl.formats.mcp_cli import calls, texts
from whorl.formats.mcp_cli.calls import (
    MAIN_OUTPUT,
    RETRIES,
    WORKERS,
    call_inputs,
    find_workflow,
    read_shared,
    read_template,
)
from whorl.formats.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.formats.mcp_cli.texts import (
    LIBRARY,
    PLACE,
    PROVIDED,
    FileContext,
    Item,
    View,
    check_structure,
)
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Called, Files, Reading
    from whorl.formats.mcp_cli.calls import ParsedFile
    from whorl.language import Json
    from whorl.source import Document

ITEMS_MAX = 1_000
_NAME = re.compile(r"[^\s{}\x00-\x1f](?:[^{}\x00-\x1f]{0,126}[^\s{}\x00-\x1f])?")

# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    # The exit reasons of loops, by the engine's words; those that are the same are left out.
    "exit_reasons": {"failed": "error"},
    # A line for each judgement, filled from the facts of the note `iteration.finished`:
    # `question`, and the word below for the `met` of the fact (true, false, null).
    "judgement": {
        "line": "[INFO] Condition evaluation: '{question}' -> {verdict}",
        "met": "YES",
        "not_met": "NO",
        "ambiguous": "AMBIGUOUS ({answer})",
    },
}


class McpCliReader:
    name = "mcp-cli"
    looks_for = 'the field `$schema: "workflow/v2.0"` at the top'
    joined: frozenset[str] | None = frozenset({"steps", "loops"})
    editing = "whorl.formats.mcp_cli.sketch:McpCliChanges"

    def claims(self, document: Document) -> bool:
        """Whether the file has that schema, or lacks it and looks like such a file all the same."""
        root = document.root
        if not isinstance(root, Mapping):
            return False
        schema = root.get("$schema")
        if isinstance(schema, Scalar):
            return schema.text.startswith("workflow/")
        listed = any(isinstance(root.get(name), Sequence) for name in ("steps", "loops"))
        return schema is None and listed and isinstance(root.get("execution"), Mapping)

    def read(self, document: Document, files: Files) -> Reading:
        context = FileContext(document, files)
        check_structure(context)
        workflow = _read_workflow(context)
        context.check(workflow)
        return context.finish(workflow, context.mentions)


def _read_workflow(context: FileContext) -> ir.Workflow:
    by_name = _named_once(context, _read_items(context))
    _check_accumulators(context, by_name)
    items = list(by_name.values())
    variables = texts.collect_variables(items, context.root.get("env"))
    settings = context.root.get("execution")
    fields = settings if isinstance(settings, Mapping) else Mapping((), context.root.span)
    execution = calls.Execution(fields)
    file = calls.ParsedFile(context, texts.Texts(context, variables), execution)
    _find_order(file, items)
    calls.check_execution(context, fields)
    nodes = [_read_node(file, item) for item in items]
    if nodes:
        # Its result is that of the workflow, which has none where it failed.
        nodes[-1] = replace(nodes[-1], on_failure="halt")
    context.mentions.update((name, port.span) for name, port in variables.inputs.items())
    if variables.reads_input:
        context.mentions[texts.MAIN] = context.root.span
    last = variables.find(items[-1].name, texts.View()) if items else None
    result = ir.Expression("jinja", last.expression, texts.LIBRARY) if last else None
    return ir.Workflow(
        name=text_of(context.root.get("name")) or "workflow",
        description=text_of(context.root.get("description")),
        inputs=_inputs(variables),
        main_input=texts.MAIN,
        open_inputs=True,
        body=ir.Block(tuple(nodes), concurrency=execution.workers, on_failure=execution.on_failure),
        outputs=(("output", result),) if result else (),
        variables=_env(context),
        workflows=tuple(context.workflows.items()),
        dialect=McpCliReader.name,
        words=VOCABULARY,
    )


def _read_node(file: calls.ParsedFile, item: Item) -> ir.Node:
    file.context.places.remember_node(item.name, item.key.span)
    for name, reason in calls.UNUSED.items():
        if item.loop is not item.fields:
            file.context.warn_unused(item.fields, name, item.words, *reason)
    if item.loop is not None:
        return read_loop(file, item, item.loop)
    if isinstance(template := item.get("template"), Mapping):
        return read_template(file, item, template)
    if isinstance(consensus := item.get("consensus"), Mapping):
        return calls.read_consensus(file, item, consensus)
    kind = next((name for name in PROVIDED if item.get(name) is not None), "")
    return calls.read_provided(file, item, kind) if kind else calls.read_run(file, item)


def _read_items(context: FileContext) -> list[Item]:
    """The steps and loops in the order of the document, each name once."""
    items: list[Item] = []
    for section in ("steps", "loops"):
        listed = context.root.get(section)
        for fields in listed.items if isinstance(listed, Sequence) else ():
            name = fields.get("name") if isinstance(fields, Mapping) else None
            if isinstance(fields, Mapping) and isinstance(name, Scalar) and name.text:
                own = fields if section == "loops" else fields.get("loop")
                loop = own if isinstance(own, Mapping) else None
                items.append(Item(name.text, name, fields, loop))
    span = context.root.span
    if len(items) > ITEMS_MAX:
        message = f"the workflow has {len(items):,} steps and loops; the limit is {ITEMS_MAX:,}"
        advice = "go over items with `loop: {mode: iterate}`, or call other workflows"
        context.report("W015", message, span, label="too many", help=advice)
        return []
    items.sort(key=lambda item: (item.fields.span.line, item.fields.span.column))
    if not items and not context.diagnostics:
        message = "the workflow has neither steps nor loops"
        advice = 'add steps: [{name: write, run: "Write {{input}}"}]'
        context.report("W006", message, span, label="nothing to do", help=advice)
    return items


def _named_once(context: FileContext, items: list[Item]) -> dict[str, Item]:
    by_name: dict[str, Item] = {}
    for item in items:
        first = by_name.setdefault(item.name, item)
        if first is not item:
            message = f"two steps or loops are called {item.name[:60]!r}"
            label = f"the first one is on line {first.key.span.line}"
            advice = "choose another name for one of them"
            context.report("W012", message, item.key.span, label=label, help=advice)
        elif item.name in texts.RESERVED or not _NAME.fullmatch(item.name):
            message = f"a step or loop cannot be called {item.name[:60]!r}"
            label = "reserved" if item.name in texts.RESERVED else "not a name"
            advice = f"choose another name, such as {'my_' + item.name[:40]!r}"
            context.report("W012", message, item.key.span, label=label, help=advice)
    return by_name


def _check_accumulators(context: FileContext, items: dict[str, Item]) -> None:
    taken = dict(items)
    for item in items.values():
        name = scalar_of(item.loop.get("accumulate")) if item.loop is not None else None
        if name is None or not name.text:
            continue
        first = taken.setdefault(name.text, item)
        if first is not item or name.text in texts.RESERVED or name.text == item.name:
            message = f"{item.words} cannot accumulate as {name.text[:60]!r}: that name has a "
            advice = f"choose another name, such as {item.name[:40] + '_history'!r}"
            context.report("W012", message + "meaning", name.span, label="taken", help=advice)


def _inputs(variables: texts.Variables) -> tuple[ir.Port, ...]:
    """The main input, and every name that texts mention and nothing in the file gives.

    One that only prompts mention stays in them as it is written unless it is given.
    """
    main = ir.Port(texts.MAIN, "string", required=False, default="")
    others = [
        ir.Port(name, required=port.required, default=None if port.required else port.written)
        for name, port in variables.inputs.items()
    ]
    return (main, *others)


def _env(context: FileContext) -> tuple[tuple[str, ir.Value], ...]:
    """What `env` sets, over what the caller's file set."""
    env = context.root.get("env")
    if not isinstance(env, Mapping) or not env.entries:
        return ()
    pairs = ", ".join(f"{quoted(e.name)}: {quoted(text_of(e.value))}" for e in env)
    return (("env", ir.Expression("jinja", f"merged(env, {{{pairs}}})", texts.LIBRARY)),)


def _find_order(file: calls.ParsedFile, items: list[Item]) -> None:
    """Computes the order of a file; reports what is not there and what waits for itself."""
    variables = file.texts.variables
    for item in items:
        mentioned = list(texts.names_in(item.fields))
        file.mentioned.update(mentioned)
        names = (*mentioned, *texts.operands_in(item.get("if")))
        owners = map(variables.owner, names)
        waits = {owner.name for owner in owners if owner is not None and owner is not item}
        file.waits[item.name] = _needed(file.context, item, variables) | waits
    for item in items:
        # Texts may mention a loop that has ended; those inside of a loop mean that loop.
        outside = item.fields if item.loop is None else item.loop.get("items")
        names = (*texts.operands_in(item.get("if")), *texts.names_in(outside))
        if any(name.startswith("loop.") for name in names):
            _look_back(file, items, item)
    left = list(items)
    while left:
        ready = (item for item in left if file.waits[item.name] <= file.ordered.keys())
        item = next(ready, None) or _break_circle(file, left)
        left.remove(item)
        file.ordered[item.name] = len(file.ordered)


def _needed(context: FileContext, item: Item, variables: texts.Variables) -> set[str]:
    needs = item.get("needs")
    names: set[str] = set()
    for value in needs.items if isinstance(needs, Sequence) else (needs,):
        scalar = scalar_of(value)
        if scalar is None:
            continue
        if scalar.text in variables.items and scalar.text != item.name:
            names.add(scalar.text)
            continue
        code, label, message = "W011", "itself", f"{item.words} needs itself"
        if scalar.text != item.name:
            code, label = "W010", "not there"
            message = (
                f"{item.words} needs {scalar.text[:60]!r}, which is not a step or loop of this "
            )
            message += "file"
        advice = did_you_mean(scalar.text, variables.items) or "remove it"
        context.report(code, message, scalar.span, label=label, help=advice)
    return names


def _look_back(file: calls.ParsedFile, items: list[Item], item: Item) -> None:
    """Finds the loop that `loop.*` means: the last that it waits for, else the last before it."""
    waited = file.closure(item.name)
    loops = [other for other in items if other.loop is not None and other is not item]
    candidates = [other for other in loops if other.name in waited]
    if not candidates:
        earlier = [other for other in items[: items.index(item)] if other in loops]
        candidates = [other for other in earlier if item.name not in file.closure(other.name)]
    if candidates:
        file.loop_before[item.name] = candidates[-1]
        file.waits[item.name].add(candidates[-1].name)


def _break_circle(file: calls.ParsedFile, left: list[Item]) -> Item:
    """Reports steps that wait for each other, and reads on as if the first one did not wait."""
    names = [item.name for item in left]
    path: list[str] = []
    name = names[0]
    while name not in path:
        path.append(name)
        name = next(other for other in names if other in file.waits[name])
    circle = path[path.index(name) :]
    first = next(item for item in left if item.name == circle[0])
    message = f"steps wait for each other: {' -> '.join([*circle[:8], circle[0]])}"
    advice = "remove one `needs` or one mention; to do steps again, put them into a loop"
    file.context.report("W011", message, first.key.span, label="waits for itself", help=advice)
    file.waits[first.name] = set()
    return first


# Steps that repeat a workflow: until a model finds a condition met, or for each item of a list.

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

"""Steps: they ask models, call workflows, or repeat them until a condition or for each item."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.files import ENDINGS, FILES_MAX, Names
from whorl.dialects.reader import parse
from whorl.dialects.reading.fields import (
    check_arguments,
    duration_of,
    is_true,
    number_of,
    span_of,
    text_of,
    texts_of,
    whole_of,
)
from whorl.dialects.reading.texts import placeholders, quoted
from whorl.errors import InvalidWorkflow, Span, did_you_mean
from whorl.formats.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.formats.mcp_cli.variables import LIBRARY, MAIN, PLACE, RESERVED, View, spelled
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.dialects.files import NamedFile, SourceFiles
    from whorl.dialects.reader import Called
    from whorl.formats.mcp_cli.variables import FileContext, Item, Texts
    from whorl.language import Json
    from whorl.source import Value

# The result of a call: the main output of the workflow.
MAIN_OUTPUT = ir.Expression("jinja", "main_output(it)", LIBRARY)
_SCHEMA = "workflow/"
_TOP = Span("", 1, 1)


def read_step(file: ParsedFile, item: Item) -> ir.Node:
    file.context.places.remember_node(item.name, item.key.span)
    for name, advice in UNUSED.items() if item.loop is not item.fields else ():
        file.context.warn_unused(item.fields, name, item.words, "", advice)
    if item.loop is not None:
        return read_loop(file, item, item.loop)
    if isinstance(template := item.get("template"), Mapping):
        called = find_workflow(file.context, item, template.get("name"))
        inputs = call_inputs(file, item, called, template.get("with"), "input")
        return _call(called, inputs, **read_shared(file, item))
    if isinstance(consensus := item.get("consensus"), Mapping):
        return read_consensus(file, item, consensus)
    return read_task(file, item)


def _call(called: Called | None, inputs: ir.Fields, **options: Any) -> ir.Call:
    workflow = called.key if called else ""
    return ir.Call(workflow=workflow, inputs=inputs, shape=MAIN_OUTPUT, **options)


# Steps that call workflows: which file is meant, and what it is given.


def find_workflow(context: FileContext, item: Item, value: Value | None) -> Called | None:
    name = text_of(value)
    if not name or value is None:
        return None
    is_file = name.endswith(ENDINGS)
    names = [name] if is_file else [name + ending for ending in ENDINGS]
    reference = context.files.find(names)
    # Elsewhere the name inside of a file counts.
    places = () if is_file else context.files.named(_name_of, value.span)
    if reference is not None:
        called = context.call(reference, value.span)
        if called is not None and called.reading.workflow.name != name.rpartition("/")[2]:
            for other in _named_in(places, name):
                message = f"{item.words} calls the file {reference}, although {other.reference} "
                message += f"has the name {name[:60]!r}"
                advice = f"write the name of the file, such as {other.reference!r}"
                context.warn("W023", message, value.span, label="which one?", help=advice)
        return called
    meant = _named_in(places, name)
    if len(meant) == 1:
        return context.call(meant[0].reference, value.span)
    if meant:
        listed = " or ".join(file.reference for file in meant[:3])
        message = f"{item.words} calls the workflow {name[:60]!r}, which could be {listed}"
        advice = "write the folder before the name, or the name of the file"
        context.report("W016", message, value.span, label="which one?", help=advice)
    else:
        _report_missing(context, item, names[0], value)
    return None


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """Returns the files for a name: their `name:` is it, with or without folders before it."""
    return [file.reference for file in _named_in(Names(files).around(base, _name_of, _TOP), name)]


def _named_in(places: Iterable[list[NamedFile]], name: str) -> list[NamedFile]:
    """Returns the files in the nearest place that match; whole names come before their ends."""
    for place in places:
        exact = [file for file in place if file.key == name]
        files = exact or [file for file in place if file.near and file.key.endswith(f"/{name}")]
        if files:
            return list({file.path: file for file in files}.values())
    return []


def _name_of(text: str, file: str) -> str:
    """Returns the `name:` of a workflow of this format; "" for another file."""
    try:
        root = parse(text, file, lenient=True).root if _SCHEMA in text else None
    except InvalidWorkflow:
        return ""
    fields = root if isinstance(root, Mapping) else Mapping((), _TOP)
    return text_of(fields.get("name")) if text_of(fields.get("$schema")).startswith(_SCHEMA) else ""


def _report_missing(context: FileContext, item: Item, file: str, value: Value) -> None:
    """Reports that no workflow has a name, with the nearest name, or the folder to put it in."""
    name = text_of(value)
    files = [file for place in context.files.named(_name_of, value.span) for file in place]
    elsewhere = next((file.key for file in files if file.name == name), "")
    advice = f"did you mean {elsewhere!r}?" if elsewhere else ""
    advice = advice or did_you_mean(name, (f.name if f.near else f.key for f in files))
    advice = advice or f"write {file} beside {context.file} or below it"
    cut = f" among the {FILES_MAX:,} nearest files" if context.files.is_cut else ""
    message = f"{item.words} calls the workflow {name[:60]!r}, which does not exist{cut}"
    label = f"no file {file[:60]}, and no workflow of that name"
    context.report("W016", message, value.span, label=label, help=advice)


def call_inputs(
    file: ParsedFile, item: Item, called: Called | None, given: Value | None, input_: str = ""
) -> ir.Fields:
    """Returns the inputs of a call: each key of `with`, and the inputs that every workflow has.

    If `with` names no input, that is all of `with` as one text, or the expression `input_`; for an
    item it is a JSON object with all of `with`, and the item.
    """
    strict, owner, span = item.loop is not None, item.words, item.key.span
    view = View(item, inside=item) if strict else file.view(item)
    arguments = given if isinstance(given, Mapping) else Mapping((), span)
    names = {entry.name: entry.key.span for entry in arguments}
    for name in names.keys() & RESERVED - {MAIN}:
        message = f"'with' of {owner} cannot give {name!r}, which is a reserved name"
        advice = "choose another name"
        file.context.report("W012", message, names[name], label="reserved", help=advice)
    is_open, taken = True, set[str]()
    if called is not None:
        others = frozenset({MAIN, "item"} if item.is_iterate else {MAIN})
        options: Any = {"owner": owner, "span": span, "others": others, "is_joined": True}
        check_arguments(file.context, called.reading, names, **options)
        is_open = called.reading.workflow.open_inputs
        taken = {port.name for port in called.reading.workflow.inputs}
    main: ir.Value = ir.Expression("jinja", input_, "" if strict else LIBRARY)
    if item.is_iterate:
        source = f"item_input({file.texts.source(arguments, view)}, loop.item)"
        main = ir.Expression("jinja", source, LIBRARY)
    elif arguments.entries:
        main = file.texts.lines(arguments, view, strict=strict)
    else:
        file.texts.variables.reads_input = True
    entries: dict[str, ir.Value] = {
        entry.name: file.texts.values(entry.value, view, strict=strict) for entry in arguments
    }
    if is_open or MAIN in taken:
        entries.setdefault(MAIN, main)
    if is_open:
        entries |= {name: ir.Expression("jinja", name, LIBRARY) for name in ("env", "loop")}
    if item.is_iterate and (is_open or "item" in taken):
        entries["item"] = ir.Expression("jinja", "loop.item")
    return ir.Fields(tuple(entries.items()))


# Steps that ask a model, or several that must agree; their models, and settings of all steps.

# The default number of tool calls before a model must answer.
TURNS = 10
WORKERS = 3
# The default number of retries of `retry`.
RETRIES = 3
# Where the text of a skill is, seen from the file, its project or one of its folders.
_SKILL_FILES = ("config/skills/{}/SKILL.md", "skills/{}/SKILL.md", "{}/SKILL.md")
# A name that means a server elsewhere, and here a text for the model.
_SKILL_SERVICE = "skills"
# Fields of a step that have no effect: why, and what to write instead.
UNUSED = {
    "execution_order": "write `needs` to order steps",
    "input": "write what the step must read in `run`",
}


def _first(
    layers: Iterable[Mapping], name: str, read: Callable[[Value | None], float | None]
) -> float | None:
    """Returns a number from the first of some objects that has it."""
    numbers = (read(layer.get(name)) for layer in layers)
    return next((number for number in numbers if number is not None), None)


def _model_in(fields: Mapping) -> dict[str, Json]:
    return {name: text for name in ("provider", "model") if (text := text_of(fields.get(name)))}


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The data that the readers of steps and loops share: texts, settings, and the order.

    `execution` are the settings for all steps. `waits` has the dependencies of each step: `needs`
    and mentioned variables decide. `ordered` holds the names in the order of a serial run.
    `loop_before` is the loop of an item's `loop.*`, `mentioned` are the names of all placeholders.
    """

    context: FileContext
    texts: Texts
    execution: Mapping
    waits: dict[str, set[str]] = field(default_factory=dict)
    ordered: dict[str, int] = field(default_factory=dict)
    loop_before: dict[str, Item] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)

    def view(self, item: Item) -> View:
        return View(item, before=self.loop_before.get(item.name))

    def after(self, item: Item) -> tuple[ir.After, ...]:
        """Returns what an item waits for; its predecessor unless steps run in parallel."""
        names = sorted(self.waits[item.name], key=lambda name: self.ordered[name])
        position = self.ordered[item.name]
        if not self.parallel and position:
            names.append(list(self.ordered)[position - 1])
        return tuple(ir.After(name) for name in dict.fromkeys(names))

    @property
    def parallel(self) -> bool:
        """Returns whether steps that do not wait for each other run side by side."""
        return is_true(self.execution.get("parallel"))

    def block(self, nodes: Iterable[ir.Node]) -> ir.Block:
        """Returns the block of the steps, with its parallelism and its rule for failed steps."""
        if not self.parallel:
            return ir.Block(tuple(nodes), on_failure="go_on")
        count = whole_of(self.execution.get("max_workers")) or WORKERS
        cancels = text_of(self.execution.get("on_error")) == "cancel_all"
        return ir.Block(tuple(nodes), concurrency=count, on_failure="cancel" if cancels else "halt")

    def model(self, *step: Mapping) -> dict[str, Json]:
        """Returns the model of a step, or that of the file; a provider brings its own model."""
        for fields in (*step, self.execution):
            if listed := objects_in(fields.get("providers")):
                return {"model": [_model_in(provider) for provider in listed]}
            if model := _model_in(fields):
                provider = _model_in(self.execution).get("provider")
                return ({"provider": provider} if provider else {}) | model
        return {}

    def asking(self, prompt: ir.Value, *layers: Mapping, system: str = "") -> ir.Fields:
        """Returns the inputs of a model call: each from the first layer with it, or a default."""
        inputs: dict[str, Json] = dict(self.model(layers[0]))
        fields = (*layers, self.execution)
        for name in ("temperature", "max_tokens"):
            if (number := _first(fields, name, number_of)) is not None:
                inputs[name] = number
        servers = next((layer.get("servers") for layer in fields if "servers" in layer), None)
        if tools := [name for name in texts_of(servers) if name != _SKILL_SERVICE]:
            inputs["tools"] = [*tools]
            inputs["max_turns"] = _first(fields, "max_iterations", whole_of) or TURNS
        if system:
            inputs["system"] = system
        constants = [(name, ir.Constant(value)) for name, value in inputs.items()]
        return ir.Fields((("prompt", prompt), *constants))

    def timeout(self, *layers: Mapping) -> float | None:
        return _first((*layers, self.execution), "timeout", duration_of)


def read_shared(file: ParsedFile, item: Item) -> dict[str, Any]:
    """Reads the fields that every step has; a top-level loop has them itself."""
    is_step = item.loop is not item.fields
    failure = text_of(item.get("on_failure")) if is_step else ""
    tolerated = (failure or text_of(file.execution.get("on_error"))) == "continue"
    times = whole_of(item.get("max_retries")) or RETRIES
    return {
        "name": item.name,
        "after": file.after(item),
        "when": file.texts.condition(item.get("if"), file.view(item)) if is_step else None,
        "on_failure": "continue" if tolerated else "halt",
        "retry": ir.Retry(times, on=("*",)) if failure == "retry" else None,
        "timeout_s": duration_of(item.get("timeout")) if is_step else None,
        "place": f"{item.key.span.line}:{item.key.span.column}",
    }


def read_task(file: ParsedFile, item: Item) -> ir.Task:
    """Reads a step that asks a model, or runs a task of the operator."""
    shared = read_shared(file, item)
    shared["timeout_s"] = file.timeout(item.fields)
    view = file.view(item)
    if kind := item.provided:
        # The task receives the value of the field that names its kind.
        asked = item.get(kind)
        given = file.texts.values(asked, view, strict=False) if asked else ir.Fields()
        inputs = ir.Fields((("task", ir.Constant(kind)), ("with", given)))
    else:
        older = item.get("llm")
        fields = older if isinstance(older, Mapping) else item.fields
        asked = fields.get("run") or fields.get("prompt")
        parts = (text_of(fields.get("system_prompt")), _skills(file, item))
        system = "\n\n".join(filter(None, parts))
        layers = dict.fromkeys((fields, item.fields))
        inputs = file.asking(file.texts.read(asked, view), *layers, system=system)
    warns = file.texts.left_over(view, asked)
    return ir.Task(kind="use" if kind else "ask", inputs=inputs, warns=warns, **shared)


def _skills(file: ParsedFile, item: Item) -> str:
    """Returns the text of the skills of a step, or of the skills that all steps have."""
    named = item.fields if "skills" in item.fields else file.execution
    skills, span = named.get("skills"), span_of(named, "skills")
    parts: list[str] = []
    for name in texts_of(skills):
        reference = file.context.files.find([path.format(name) for path in _SKILL_FILES])
        if reference is None:
            message = f"there is no skill {name[:60]!r}, so {item.words} runs without it"
            advice = f"write config/skills/{name[:60]}/SKILL.md"
            file.context.warn("W023", message, span, label="no such skill", help=advice)
            continue
        text = file.context.files.text(reference, span)[1]
        parts.append(f"## {name}\n{text.strip()}")
    return "You have these skills; use what fits.\n\n" + "\n\n".join(parts) if parts else ""


def read_consensus(file: ParsedFile, item: Item, consensus: Mapping) -> ir.Group:
    voters = objects_in(consensus.get("executions"))
    if len(voters) < 2 and "executions" in consensus:
        message = f"{item.words} needs at least two 'executions' to agree, not {len(voters)}"
        advice = "add another one: {provider: ..., model: ...}"
        file.context.report("W007", message, item.key.span, label="too few", help=advice)
    prompt = file.texts.read(consensus.get("prompt"), file.view(item))
    counts = {"vote": 1}
    tasks: list[ir.Task] = []
    for voter in voters:
        label = " ".join(map(str, _model_in(voter).values())) or "model"
        number = counts[label] = counts.get(label, 0) + 1
        task = ir.Task(
            name=label if number == 1 else f"{label} {number}",
            kind="ask",
            inputs=file.asking(prompt, voter, item.fields),
            on_failure="continue",
            timeout_s=file.timeout(voter, consensus, item.fields),
        )
        tasks.append(task)
    answers = ", ".join(spelled(task.name) for task in tasks)
    share = quoted(text_of(consensus.get("require")) or "unanimous")
    least = 1 if is_true(consensus.get("allow_partial")) else 2
    # A validating step passes when the models agree on SUCCESS, not on just anything.
    wanted = quoted("SUCCESS") if "validate" in item.name.lower() else "none"
    vote = ir.Compute(
        name="vote",
        after=tuple(ir.After(task.name) for task in tasks),
        value=ir.Expression("jinja", f"vote([{answers}], {share}, {least}, {wanted})", LIBRARY),
        warns=file.texts.left_over(file.view(item), consensus.get("prompt")),
    )
    shared = read_shared(file, item)
    shared["timeout_s"] = None
    body = ir.Block((*tasks, vote))
    return ir.Group(body=body, shape=ir.Expression("jinja", "it.vote"), **shared)


def objects_in(value: Value | None) -> list[Mapping]:
    listed = value if isinstance(value, Sequence) else ()
    return [item for item in listed if isinstance(item, Mapping)]


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
    mentioned = {"loop.history", f"{item.name}_accumulator"} & file.mentioned
    accumulates = bool(mentioned or text_of(fields.get("accumulate")))
    action: Any = text_of(fields.get("on_failure")) or "halt"
    iterations = whole_of(fields.get("max_iterations")) or 1
    # Outputs for `loop.history` are kept only if a text reads it.
    called_texts = called.reading.sources.values() if called is not None else ()
    keeps = any("loop.history" in text for text in (file.context.document.text, *called_texts))
    # Without `with`, the first iteration reads the caller's input, a later one the last output.
    flow = "input if loop.iteration == '1' else loop.output"
    return ir.Loop(
        body=_iteration(called, call_inputs(file, item, called, fields.get("with"), flow)),
        until=_judge(file, item, fields),
        limits=ir.LoopLimits(
            iterations=iterations,
            time_s=duration_of(fields.get("total_timeout")),
            iteration_time_s=duration_of(fields.get("timeout_per_item")),
        ),
        words={
            "fields": {
                "max_iterations": "max_iterations",
                "timeout": "total_timeout",
                "budget": "--budget",
            }
        },
        on_iteration_failure=ir.IterationFailure(action, *_retries(fields)),
        facts=((NUMBER, "number"), (PREVIOUS, "previous"), (HISTORY, "history")),
        bind=(("loop", ir.Expression("jinja", "loop_state()", LIBRARY)),),
        history_keep=min(iterations, HISTORY_KEEP) if keeps else 0,
        collect=(ir.Collect("accumulator", "all", _OUTPUT),) if accumulates else (),
        shape=ir.Fields((*_SHAPE, _ACCUMULATED) if accumulates else _SHAPE),
        **read_shared(file, item),
    )


def _retries(fields: Mapping) -> tuple[()] | tuple[int, float]:
    """Returns how often a failed iteration is repeated, and its delay; empty without retries."""
    if text_of(fields.get("on_failure")) != "retry":
        return ()
    times = whole_of(fields.get("max_retries")) or RETRIES
    return times, duration_of(fields.get("retry_delay")) or 0.0


def _iteration(called: Called | None, inputs: ir.Fields, retry: ir.Retry | None = None) -> ir.Block:
    return ir.Block((_call(called, inputs, name="output", unnamed=True, retry=retry),))


def _judge(file: ParsedFile, item: Item, fields: Mapping) -> ir.Judge | None:
    until = fields.get("until")
    if not isinstance(until, Scalar) or not until.text.strip():
        message, span = f"{item.words} lacks the field 'until'", item.key.span
        advice = 'add until: "The output says DONE", or mode: iterate with items'
        file.context.report("W006", message, span, label="'until' is missing", help=advice)
        return None
    for place in placeholders(until, PLACE):
        if place.name in ("output", "loop.output"):
            span = until.locate(place.offset - 2, len(place.name) + 4)
            message = f"'until' of {item.words} contains the output, which the judge reads anyway"
            advice = 'describe what the output should say: until: "The output says PASS"'
            file.context.warn("W023", message, span, label="not needed", help=advice)
    judge = ir.Judge(
        question=file.texts.read(until, View(item, inside=item, judged=True), strict=True),
        subject=_OUTPUT,
        inputs=ir.Fields((("defaults", ir.Constant(file.model())),)),
    )
    file.context.places.remember_part(judge, until.span)
    return judge


def _check_refine(file: ParsedFile, item: Item, fields: Mapping, called: Called | None) -> None:
    texts = called.reading.sources.values() if called is not None and "with" not in fields else ()
    if (whole_of(fields.get("max_iterations")) or 1) > 1 and any(map(_INPUT.search, texts)):
        message = f"{item.words} has no 'with': from iteration 2 on, {{{{input}}}} is the last "
        message += "output and no longer the task"
        advice = 'to keep the task: with: {input: "{{input}}"}; the called workflow reads '
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
    workers = whole_of(fields.get("max_workers")) or WORKERS
    why, advice = ": it ends when no items are left", "remove it, or leave out mode: iterate"
    file.context.warn_unused(fields, "until", item.words, why, advice)
    retry = None
    if retries := _retries(fields):
        times, delay = retries
        retry = ir.Retry(times, wait_s=delay, backoff=1.0, wait_max_s=delay, on=("*",))
    return ir.ForEach(
        items=_items(file, item, fields),
        body=_iteration(called, call_inputs(file, item, called, fields.get("with")), retry),
        item_name="loop",
        concurrency=workers if is_true(fields.get("parallel")) else 1,
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
    is_file, view = value.text.startswith(_FILE), file.view(item)
    source = _source_of_file(file, value) if is_file else file.texts.source(value, view)
    if source is None:
        return ir.Constant([])
    most = whole_of(fields.get("max_iterations")) or 1
    expression = ir.Expression("jinja", f"items_in({source}, {most})", LIBRARY)
    file.context.places.remember_part(expression, value.span)
    return expression


def _source_of_file(file: ParsedFile, value: Scalar) -> str | None:
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
        file.context.adopt(fault.diagnostics)
        return None

"""Calls of other workflows, once or in a loop: which file is meant, and what it is given.

A loop calls a workflow until a model finds the condition met, or for each item.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.files import ENDINGS, FILES_MAX, Names
from whorl.dialects.mcp_cli.functions import HISTORY, NUMBER, PREVIOUS
from whorl.dialects.mcp_cli.steps import RETRIES, WORKERS, read_shared
from whorl.dialects.mcp_cli.texts import LIBRARY, PLACE, RESERVED, View
from whorl.dialects.reader import parse
from whorl.dialects.reading.fields import duration_of, is_true, number_of, text_of, whole_of
from whorl.dialects.reading.structure import check_arguments
from whorl.dialects.reading.texts import placeholders, quoted
from whorl.errors import InvalidWorkflow, Span, did_you_mean
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.files import NamedFile, SourceFiles
    from whorl.dialects.mcp_cli.format import FileContext, Item
    from whorl.dialects.mcp_cli.steps import ParsedFile
    from whorl.dialects.reader import Called
    from whorl.source import Value

HISTORY_KEEP = 1_000
# What a call gives: the main output of the workflow.
_MAIN_OUTPUT = ir.Expression("jinja", "main_output(it)", LIBRARY)
_OUTPUT = ir.Expression("jinja", "output")
_SHAPE: tuple[tuple[str, ir.Value], ...] = (
    ("output", ir.Expression("jinja", "it.output | default('', true)")),
    ("iterations", ir.Expression("jinja", "it.loop.iterations | string")),
    ("exit_reason", ir.Expression("jinja", "it.loop.exit_reason")),
)
_ACCUMULATED = ("accumulator", ir.Expression("jinja", "joined(it.accumulator)", LIBRARY))
_SCHEMA = "workflow/"
# The lines that tell what a file is called, where it is written as YAML mostly is.
_LINES = re.compile(r"""^(["']?)(?:\$schema|name)\1[ \t]*:.*""", re.MULTILINE)
_COMPARED_MAX = 1_000
# At least one item must succeed where failures are tolerated.
_ANY = 1e-9
_FILE = "file://"
_TOP = Span("", 1, 1)


def _find_workflow(context: FileContext, item: Item, value: Value | None) -> Called | None:
    name = text_of(value)
    if not name or value is None:
        return None
    is_file = name.endswith(ENDINGS)
    names = [name] if is_file else [name + ending for ending in ENDINGS]
    reference = context.files.find(names)
    if reference is not None:
        called = context.call(reference, value.span)
        if called is not None and not is_file:
            _warn_of_namesake(context, item, called, value)
        return called
    meant = [] if is_file else _find_named(context, name, value.span)
    if len(meant) == 1:
        return context.call(meant[0].reference, value.span)
    if meant:
        listed = " or ".join(file.reference for file in meant[:3])
        listed += f" or {len(meant) - 3} others" if len(meant) > 3 else ""
        message = f"{item.words} calls the workflow {name[:60]!r}, which could be {listed}"
        advice = "give them different names, write the folder before the name, or the name of the "
        context.report("W016", message, value.span, label="which one?", help=advice + "file")
    else:
        _report_missing(context, item, names[0], value)
    return None


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """The files that a name may mean: the `name:` inside of them, with folders before it or not."""
    return [file.reference for file in _named_in(Names(files).around(base, _name_of, _TOP), name)]


def _find_named(context: FileContext, name: str, span: Span) -> list[NamedFile]:
    """The files that a name may mean: that one, or those in the nearest place that has any.

    In a place, one where the whole name fits comes before those in folders further below.
    """
    return _named_in(context.files.named(_name_of, span), name)


def _named_in(places: Iterable[list[NamedFile]], name: str) -> list[NamedFile]:
    for place in places:
        exact = [file for file in place if file.key == name]
        files = exact or [file for file in place if file.near and file.key.endswith(f"/{name}")]
        if files:
            return list({file.path: file for file in files}.values())
    return []


def _name_of(text: str, file: str) -> str:
    """The name that a workflow of this format gives itself; nothing for another file.

    Reading two lines is enough for most files, and also works for those with mistakes in them.
    """
    if _SCHEMA not in text:
        return ""
    lines = "\n".join(line[0] for line in _LINES.finditer(text))
    for part, name in ((lines, "lines.yaml"), (text, file)):
        try:
            root = parse(part, name, lenient=True).root
        except InvalidWorkflow:
            continue
        fields = root if isinstance(root, Mapping) else Mapping((), root.span)
        named = text_of(fields.get("name"))
        if named and text_of(fields.get("$schema")).startswith(_SCHEMA):
            return named
    return ""


def _warn_of_namesake(context: FileContext, item: Item, called: Called, value: Value) -> None:
    """Elsewhere the name inside of a file counts: where it means another file, that is told."""
    name = text_of(value)
    workflow = called.reading.workflow
    if workflow.dialect != "mcp-cli" or workflow.name == name.rpartition("/")[2]:
        return
    for other in _find_named(context, name, value.span):
        message = f"{item.words} calls the file {called.key}, although {other.reference} has the "
        message += f"name {name[:60]!r}"
        advice = f"write the name of the file, such as {other.reference!r}, or rename one of them"
        context.warn("W023", message, value.span, label="which one?", help=advice)


def _report_missing(context: FileContext, item: Item, file: str, value: Value) -> None:
    """Reports that no workflow has a name, with the nearest one, or where one would be found."""
    name = text_of(value)
    files = [file for place in context.files.named(_name_of, value.span) for file in place]
    names = (
        name
        for file in files
        for name in (file.key, file.name if file.near else "", file.reference.rpartition(".")[0])
    )
    elsewhere = next((file.key for file in files if file.name == name), "")
    advice = f"did you mean {elsewhere!r}?" if elsewhere else ""
    advice = advice or did_you_mean(name, islice(dict.fromkeys(names), _COMPARED_MAX))
    if not advice:
        advice = f"write {file} beside {context.file} or in a folder below it, or a file with "
        advice += f"`name: {name[:60]}`"
    cut = f" among the {FILES_MAX:,} nearest files" if context.files.is_cut else ""
    message = f"{item.words} calls the workflow {name[:60]!r}, which is not there{cut}"
    label = f"no file {file[:60]}, and no workflow of that name"
    context.report("W016", message, value.span, label=label, help=advice)


def _read_arguments(
    context: FileContext, item: Item, called: Called | None, value: Value | None
) -> Mapping:
    """What `with` holds; reports what the called workflow does not take, or lacks."""
    fields = value if isinstance(value, Mapping) else Mapping((), item.key.span)
    for entry in fields:
        if entry.name in RESERVED - {"input"}:
            message = f"'with' of {item.words} cannot give {entry.name!r}: that word has a meaning"
            advice = "choose another name"
            context.report("W012", message, entry.key.span, label="reserved", help=advice)
    if called is not None:
        names = {entry.name: entry.key.span for entry in fields}
        others = frozenset({"input", "item"} if item.is_iterate else {"input"})
        owner, span = item.words, item.key.span
        check_arguments(
            context, called.reading, names, owner=owner, span=span, others=others, is_joined=True
        )
    return fields


def _call_inputs(
    file: ParsedFile, item: Item, called: Called | None, given: Value | None, input_: str = ""
) -> ir.Fields:
    """The inputs of a call: each key of `with`, and what every workflow sees.

    Where `with` names no input, that is all of `with` as one text, or the expression `input_`; for
    an item it is a JSON object with all of `with`, and the item.
    """
    view = file.view(item) if item.loop is None else View(item, inside=item)
    arguments = _read_arguments(file.context, item, called, given)
    strict = item.loop is not None
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
    if _takes(called, "input"):
        entries.setdefault("input", main)
    if called is None or called.reading.workflow.open_inputs:
        entries |= {name: ir.Expression("jinja", name, LIBRARY) for name in ("env", "loop")}
    if item.is_iterate and _takes(called, "item"):
        entries.pop("item", None)
        entries["item"] = ir.Expression("jinja", "loop.item")
    return ir.Fields(tuple(entries.items()))


def _takes(called: Called | None, name: str) -> bool:
    """Whether a workflow can be given something under a name."""
    if called is None or called.reading.workflow.open_inputs:
        return True
    return any(port.name == name for port in called.reading.workflow.inputs)


def read_template(file: ParsedFile, item: Item, template: Mapping) -> ir.Call:
    called = _find_workflow(file.context, item, template.get("name"))
    inputs = _call_inputs(file, item, called, template.get("with"), "input")
    workflow = called.key if called else ""
    return ir.Call(workflow=workflow, inputs=inputs, shape=_MAIN_OUTPUT, **read_shared(file, item))


def read_loop(file: ParsedFile, item: Item, fields: Mapping) -> ir.Node:
    called = _find_workflow(file.context, item, fields.get("workflow"))
    if item.is_iterate:
        return _read_iterate(file, item, fields, called)
    _check_refine(file, item, fields)
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
        body=_call(called, _call_inputs(file, item, called, fields.get("with"), flow)),
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
    options: Any = {"shape": _MAIN_OUTPUT, "unnamed": True, "retry": retry}
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


def _check_refine(file: ParsedFile, item: Item, fields: Mapping) -> None:
    if not text_of(fields.get("until")).strip():
        message, span = f"{item.words} lacks the field 'until'", item.key.span
        advice = 'add until: "The output says DONE", or mode: iterate with items'
        file.context.report("W006", message, span, label="'until' is missing", help=advice)
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
        body=_call(called, _call_inputs(file, item, called, fields.get("with")), retry),
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

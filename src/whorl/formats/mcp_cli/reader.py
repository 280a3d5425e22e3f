"""Reads a workflow file of mcp-cli: its steps and loops, their order, its inputs, its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import scalar_of, text_of
from whorl.dialects.reading.texts import quoted
from whorl.errors import did_you_mean
from whorl.formats.mcp_cli import steps, texts
from whorl.formats.mcp_cli.calls import read_template
from whorl.formats.mcp_cli.format import PROVIDED, FileContext, Item, check_structure
from whorl.formats.mcp_cli.loops import read_loop
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Files, Reading
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
    execution = steps.Execution(fields)
    file = steps.ParsedFile(context, texts.Texts(context, variables), execution)
    _find_order(file, items)
    steps.check_execution(context, fields)
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


def _read_node(file: steps.ParsedFile, item: Item) -> ir.Node:
    file.context.places.remember_node(item.name, item.key.span)
    for name, reason in steps.UNUSED.items():
        if item.loop is not item.fields:
            file.context.warn_unused(item.fields, name, item.words, *reason)
    if item.loop is not None:
        return read_loop(file, item, item.loop)
    if isinstance(template := item.get("template"), Mapping):
        return read_template(file, item, template)
    if isinstance(consensus := item.get("consensus"), Mapping):
        return steps.read_consensus(file, item, consensus)
    kind = next((name for name in PROVIDED if item.get(name) is not None), "")
    return steps.read_provided(file, item, kind) if kind else steps.read_run(file, item)


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


def _find_order(file: steps.ParsedFile, items: list[Item]) -> None:
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


def _look_back(file: steps.ParsedFile, items: list[Item], item: Item) -> None:
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


def _break_circle(file: steps.ParsedFile, left: list[Item]) -> Item:
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

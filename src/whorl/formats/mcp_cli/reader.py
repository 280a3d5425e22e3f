"""Reads a workflow file of mcp-cli: its steps and loops, their order, its inputs, its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import (
    Field,
    Table,
    check_table,
    scalar_of,
    shown,
    text_of,
    words,
)
from whorl.dialects.reading.texts import quoted
from whorl.errors import did_you_mean
from whorl.formats.mcp_cli import steps, variables
from whorl.formats.mcp_cli.variables import LIBRARY, MAIN, PROVIDED, RESERVED, FileContext, Item
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Files, Reading
    from whorl.dialects.reading import ReadContext
    from whorl.formats.mcp_cli.steps import ParsedFile
    from whorl.language import Json
    from whorl.source import Document

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
    joined: frozenset[str] | None = frozenset({"steps", "loops"})
    editing = "whorl.formats.mcp_cli.sketch:McpCliChanges"

    def claims(self, document: Document) -> bool:
        """Returns whether the file has that schema, or lacks one and looks like such a file."""
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
    items = _named_once(context, _read_items(context))
    written = context.root.get("env")
    env = written if isinstance(written, Mapping) else None
    known = variables.collect_variables(items, env)
    settings = context.root.get("execution")
    fields = settings if isinstance(settings, Mapping) else Mapping((), context.root.span)
    file = steps.ParsedFile(context, variables.Texts(context, known), fields)
    _find_order(file, items)
    workers = fields.entry("max_workers")
    if workers is not None and not file.parallel:
        message = "'max_workers' of 'execution' has no effect without 'parallel'"
        advice = "add parallel: true, or remove it"
        context.report("W007", message, workers.key.span, label="not used", help=advice)
    nodes = [steps.read_step(file, item) for item in items]
    if nodes:
        # Its result is that of the workflow, which has none if this step failed.
        nodes[-1] = replace(nodes[-1], on_failure="halt")
    context.mentions.update((name, port.span) for name, port in known.inputs.items())
    if known.reads_input:
        context.mentions[MAIN] = context.root.span
    # A name that only prompts mention stays in them as it is written unless it is given.
    others = [
        ir.Port(name, required=port.required, default=None if port.required else port.written)
        for name, port in known.inputs.items()
    ]
    # The `env` of a file overrides the caller's.
    pairs = [f"{quoted(e.name)}: {quoted(text_of(e.value))}" for e in env or ()]
    merged = ir.Expression("jinja", f"merged(env, {{{', '.join(pairs)}}})", LIBRARY)
    last = known.find(items[-1].name, variables.View()) if items else None
    result = ir.Expression("jinja", last[0], LIBRARY) if last else None
    return ir.Workflow(
        name=text_of(context.root.get("name")) or "workflow",
        description=text_of(context.root.get("description")),
        inputs=(ir.Port(MAIN, "string", required=False, default=""), *others),
        main_input=MAIN,
        open_inputs=True,
        body=file.block(nodes),
        outputs=(("output", result),) if result else (),
        variables=(("env", merged),) if pairs else (),
        workflows=tuple(context.workflows.items()),
        dialect=McpCliReader.name,
        words=VOCABULARY,
    )


def _read_items(context: FileContext) -> list[Item]:
    """Reads the steps and loops in the order of the document, each name once."""
    items: list[Item] = []
    for section in ("steps", "loops"):
        listed = context.root.get(section)
        for fields in listed.items if isinstance(listed, Sequence) else ():
            name = fields.get("name") if isinstance(fields, Mapping) else None
            if isinstance(fields, Mapping) and isinstance(name, Scalar) and name.text:
                own = fields if section == "loops" else fields.get("loop")
                loop = own if isinstance(own, Mapping) else None
                items.append(Item(name.text, name, fields, loop))
                context.count_step(fields.span)
    items.sort(key=lambda item: (item.fields.span.line, item.fields.span.column))
    if not items and not context.diagnostics:
        message = "the workflow has neither steps nor loops"
        advice = 'add steps: [{name: write, run: "Write {{input}}"}]'
        context.report("W006", message, context.root.span, label="nothing to do", help=advice)
    return items


def _named_once(context: FileContext, items: list[Item]) -> list[Item]:
    """Returns the items; of several with one name the first. Reports others and invalid names."""
    by_name: dict[str, Item] = {}
    for item in items:
        first = by_name.setdefault(item.name, item)
        if first is not item:
            message = f"two steps or loops are called {item.name[:60]!r}"
            label = f"the first one is on line {first.key.span.line}"
            _report_name(context, item.key, message, label)
        elif item.name in RESERVED or not _NAME.fullmatch(item.name):
            message = f"a step or loop cannot be called {item.name[:60]!r}"
            _report_name(context, item.key, message, "not a name, or reserved")
    taken = dict(by_name)
    for item in by_name.values():
        name = scalar_of(item.loop.get("accumulate")) if item.loop is not None else None
        if name is None or not name.text:
            continue
        first = taken.setdefault(name.text, item)
        if first is not item or name.text in RESERVED or name.text == item.name:
            problem = f"cannot accumulate as {name.text[:60]!r}: the name is reserved or taken"
            _report_name(context, name, f"{item.words} {problem}", "taken")
    return list(by_name.values())


def _report_name(context: FileContext, name: Scalar, message: str, label: str) -> None:
    advice = f"choose another name, such as {'my_' + name.text[:40]!r}"
    context.report("W012", message, name.span, label=label, help=advice)


def _find_order(file: ParsedFile, items: list[Item]) -> None:
    """Computes the order of a file; reports missing names."""
    known = file.texts.variables
    for item in items:
        mentioned = list(variables.names_in(item.fields))
        file.mentioned.update(mentioned)
        names = (*mentioned, *variables.operands_in(item.get("if")))
        waits = {owner.name for owner in filter(None, map(known.owner, names))} - {item.name}
        file.waits[item.name] = _read_needs(file.context, item, known.items) | waits
    for item in items:
        # Texts may mention a loop that has ended; those inside of a loop mean that loop.
        outside = item.fields if item.loop is None else item.loop.get("items")
        names = (*variables.operands_in(item.get("if")), *variables.names_in(outside))
        if any(name.startswith("loop.") for name in names):
            _look_back(file, items, item)
    left = list(items)
    while left:
        ready = (item for item in left if file.waits[item.name] <= file.ordered.keys())
        # Circles of dependencies are reported by the rules for all workflows.
        item = next(ready, left[0])
        left.remove(item)
        file.ordered[item.name] = len(file.ordered)


def _read_needs(context: FileContext, item: Item, items: dict[str, Item]) -> set[str]:
    needs = item.get("needs")
    listed = map(scalar_of, needs if isinstance(needs, Sequence) else (needs,))
    names = {scalar.text: scalar for scalar in listed if scalar is not None}
    for name, scalar in names.items():
        if name not in items:
            problem = f"needs {name[:60]!r}, which is not a step or loop of this file"
            advice = did_you_mean(name, items) or "remove it"
            message = f"{item.words} {problem}"
            context.report("W005", message, scalar.span, label="not there", help=advice)
    return names.keys() & items.keys()


def _look_back(file: ParsedFile, items: list[Item], item: Item) -> None:
    """Finds the loop of `loop.*`: the last one that the item waits for, else the last before it."""
    waits = file.waits[item.name]
    loops = [other for other in items if other.loop is not None and other is not item]
    earlier = items[: items.index(item)]
    candidates = [loop for loop in loops if loop.name in waits]
    if candidates := candidates or [loop for loop in loops if loop in earlier]:
        file.loop_before[item.name] = candidates[-1]
        waits.add(candidates[-1].name)


# The fields of a file, and those of each of its parts.

_FIELDS: dict[str, Field] = {
    **dict.fromkeys(words("provider model run input if items until accumulate"), Field("text")),
    **dict.fromkeys(words("$schema version description system_prompt"), Field("text")),
    **dict.fromkeys(words("servers skills needs"), Field("texts")),
    **dict.fromkeys(words("no_color parallel allow_partial"), Field("flag")),
    **dict.fromkeys(words("timeout retry_delay timeout_per_item total_timeout"), Field("duration")),
    **dict.fromkeys(words("with env rag embeddings"), Field("object")),
    **dict.fromkeys(words("max_workers max_retries"), Field("count", low=1, high=100)),
    "temperature": Field("number", low=0, high=2),
    "max_tokens": Field("count", low=1, high=10_000_000),
    "max_iterations": Field("count", low=1, high=1_000),
    "min_success_rate": Field("number", low=0, high=1),
    "execution_order": Field("count"),
    "logging": Field("word", words=words("error warn info step steps debug verbose noisy")),
    "on_error": Field("word", words=("halt", "cancel_all", "complete_running", "continue")),
    "on_failure": Field("word", words=("halt", "continue", "retry")),
    "mode": Field("word", words=("refine", "iterate")),
    "require": Field("word", words=("unanimous", "2/3", "majority")),
}


def _fields(names: str, **others: Field) -> dict[str, Field]:
    return {name: _FIELDS[name] for name in words(names)} | others


def _needed(example: str, kind: str = "text", inner: Table | None = None) -> Field:
    return Field(kind, required=True, example=example, inner=inner)


_ASKING = _fields(
    "provider model servers skills temperature max_tokens timeout max_iterations logging no_color",
    providers=Field("list", inner=Table("provider", _fields("provider model"))),
)
_VOTING = "provider model temperature max_tokens timeout"
EXECUTION = Table("execution", _ASKING | _fields("parallel max_workers on_error"))
_WORKFLOW = _needed("the workflow to call")
_LIMIT = Field(
    "count", required=True, low=1, high=ITERATIONS_MAX, example="the most iterations, such as 5"
)
LOOP = Table(
    "loop",
    _fields(
        "mode items with until on_failure max_retries retry_delay min_success_rate "
        "timeout_per_item total_timeout accumulate parallel max_workers",
        workflow=_WORKFLOW,
        max_iterations=_LIMIT,
    ),
)
_NAMED = {"name": _needed("a name of its own")}
TEMPLATE = Table("template", _fields("with", name=_WORKFLOW))
LLM = Table("llm", _fields(f"system_prompt {_VOTING}", prompt=_needed("the question to the model")))
CONSENSUS = Table(
    "consensus",
    _fields(
        "require allow_partial timeout",
        prompt=_needed("the question to all models"),
        executions=_needed(
            "at least two of {provider, model}", "list", Table("execution", _fields(_VOTING))
        ),
    ),
)

# What does the work of a step; a step has exactly one of them.
KINDS = ("run", "template", "loop", "consensus", *PROVIDED, "llm")


def _check_kind(context: ReadContext, step: Mapping, owner: str) -> None:
    kinds = [entry for entry in step if entry.name in KINDS]
    if len(kinds) > 1:
        message = (
            f"{owner} has both {kinds[0].name!r} and {kinds[1].name!r}, but a step does one thing"
        )
        advice = "make one step for each"
        context.report("W009", message, kinds[1].key.span, label="a second kind", help=advice)
    # An unknown field, which may have been meant to say it, is reported already.
    elif not kinds and all(entry.name in STEP.fields for entry in step):
        message = f"{owner} does not say what it does"
        advice = "give it `run` with a prompt, or one of " + ", ".join(KINDS[1:4])
        context.report("W009", message, step.span, label="no kind of step", help=advice)


STEP = Table(
    "step",
    _NAMED
    | _ASKING
    | _fields(
        "run rag embeddings input if needs execution_order on_failure max_retries",
        template=Field("object", inner=TEMPLATE),
        loop=Field("object", inner=LOOP),
        consensus=Field("object", inner=CONSENSUS),
        llm=Field("object", inner=LLM),
    ),
    check=_check_kind,
)

ROOT = Table(
    "workflow",
    _fields(
        "$schema version description env",
        name=_needed("the name of the workflow"),
        execution=Field("object", inner=EXECUTION),
        steps=Field("list", inner=STEP),
        loops=Field("list", inner=replace(LOOP, fields={**_NAMED, **LOOP.fields})),
    ),
)


def check_structure(context: FileContext) -> None:
    """Reports every unknown, missing or wrong field of the file."""
    check_table(context, context.root, ROOT, "the workflow")
    schema = context.root.get("$schema")
    if schema is None:
        message, span = "the workflow lacks the field '$schema'", context.root.span
        advice = 'add $schema: "workflow/v2.0"'
        context.warn("W006", message, span, label="'$schema' is missing", help=advice)
    elif text_of(schema) != "workflow/v2.0":
        message = f"'$schema' must be 'workflow/v2.0', not {shown(schema)}"
        advice = 'write $schema: "workflow/v2.0" and check the fields'
        context.report("W007", message, schema.span, label="another version", help=advice)

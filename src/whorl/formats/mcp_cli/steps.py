"""Steps that ask a model, or several that must agree; who is asked, and what all steps share."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from whorl import ir
from whorl.dialects.reading import fields as scalars
from whorl.dialects.reading.texts import quoted
from whorl.formats.mcp_cli.texts import LIBRARY, View, spelled
from whorl.lazily import dataclass
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from whorl.formats.mcp_cli.format import FileContext, Item
    from whorl.formats.mcp_cli.texts import Texts
    from whorl.language import Json
    from whorl.source import Value

# How often a model may call tools before it must answer, where the file does not say.
TURNS = 10
WORKERS = 3
# How often `retry` tries again where the file does not say.
RETRIES = 3
# Where the text of a skill is, seen from the file, its project or one of its folders.
_SKILL_FILES = ("config/skills/{}/SKILL.md", "skills/{}/SKILL.md", "{}/SKILL.md")
_SKILL_MAX = 50_000
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:[ \t]*(.+)$", re.MULTILINE)
# The name of what is a server elsewhere, and here is what the model is told.
_SKILL_SERVICE = "skills"
# Fields of a step that have no effect: why, and what to write instead.
UNUSED = {
    "execution_order": ("", "write `needs` to order steps"),
    "input": ("", "write what the step must read in `run`"),
}


@dataclass(frozen=True, slots=True)
class Execution:
    """The settings of a file for all of its steps: the fields of `execution`."""

    fields: Mapping

    @property
    def parallel(self) -> bool:
        """Whether steps that do not wait for each other run side by side."""
        return scalars.is_true(self.fields.get("parallel"))

    @property
    def workers(self) -> int | None:
        """How many steps run at once; None where they run one after the other."""
        count = scalars.whole_of(self.fields.get("max_workers")) or WORKERS
        return count if self.parallel else None

    @property
    def on_failure(self) -> Literal["go_on", "halt", "cancel"]:
        """What happens to other steps when one has failed; one after the other, there are none."""
        if not self.parallel:
            return "go_on"
        return "cancel" if scalars.text_of(self.fields.get("on_error")) == "cancel_all" else "halt"

    def model(self, step: Mapping) -> dict[str, Json]:
        """The model of a step: its own, or that of the file. A provider brings its own model."""
        for fields in (step, self.fields):
            if listed := objects_in(fields.get("providers")):
                return {"model": [_model_in(provider) for provider in listed]}
            if model := _model_in(fields):
                provider = _model_in(self.fields).get("provider")
                return ({"provider": provider} if provider else {}) | model
        return {}

    def asking(self, prompt: ir.Value, *layers: Mapping, system: str = "") -> ir.Fields:
        """The inputs of a model call: each from the first layer that says it, else from us."""
        inputs: dict[str, Json] = dict(self.model(layers[0]))
        fields = (*layers, self.fields)
        for name in ("temperature", "max_tokens"):
            numbers = [scalars.number_of(layer.get(name)) for layer in fields]
            number = next((number for number in numbers if number is not None), None)
            if number is not None:
                inputs[name] = number
        servers = next((layer.get("servers") for layer in fields if "servers" in layer), None)
        if tools := [name for name in scalars.texts_of(servers) if name != _SKILL_SERVICE]:
            turns = (scalars.whole_of(layer.get("max_iterations")) for layer in fields)
            inputs["tools"] = [*tools]
            inputs["max_turns"] = next(filter(None, turns), TURNS)
        if system:
            inputs["system"] = system
        constants = [(name, ir.Constant(value)) for name, value in inputs.items()]
        return ir.Fields((("prompt", prompt), *constants))

    def timeout(self, step: Mapping) -> float | None:
        own = scalars.duration_of(step.get("timeout"))
        return scalars.duration_of(self.fields.get("timeout")) if own is None else own


def _model_in(fields: Mapping) -> dict[str, Json]:
    names = {name: scalars.text_of(fields.get(name)) for name in ("provider", "model")}
    return {name: value for name, value in names.items() if value}


def check_execution(context: FileContext, fields: Mapping) -> None:
    """Tells what has no effect in `execution`."""
    workers = fields.entry("max_workers")
    if workers is not None and not scalars.is_true(fields.get("parallel")):
        message = "'max_workers' of 'execution' has no effect without 'parallel'"
        advice = "add parallel: true, or remove it"
        context.report("W007", message, workers.key.span, label="not used", help=advice)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What the readers of steps and loops share: the texts, the settings, and the order.

    `waits` says who waits for whom: `needs` and mentioned variables decide. `ordered` holds the
    names one after the other, as they would run; `loop_before` is the loop that an item's `loop.*`
    means, `mentioned` are the names of all placeholders.
    """

    context: FileContext
    texts: Texts
    execution: Execution
    waits: dict[str, set[str]] = field(default_factory=dict)
    ordered: dict[str, int] = field(default_factory=dict)
    loop_before: dict[str, Item] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)

    def view(self, item: Item) -> View:
        return View(item, before=self.loop_before.get(item.name))

    def after(self, item: Item) -> tuple[ir.After, ...]:
        """What an item waits for; one after the other unless steps run in parallel."""
        names = sorted(self.waits[item.name], key=lambda name: self.ordered[name])
        position = self.ordered[item.name]
        if not self.execution.parallel and position:
            names.append(list(self.ordered)[position - 1])
        return tuple(ir.After(name) for name in dict.fromkeys(names))

    def closure(self, name: str) -> set[str]:
        """All that must have ended before an item runs."""
        closure: set[str] = set()
        queue = [name]
        while queue:
            new = self.waits.get(queue.pop(), set()) - closure
            closure |= new
            queue.extend(new)
        return closure


def read_shared(file: ParsedFile, item: Item) -> dict[str, Any]:
    """Reads the fields that every step has; those of a top-level loop are the loop's own."""
    is_step = item.loop is not item.fields
    failure = scalars.text_of(item.get("on_failure")) if is_step else ""
    tolerated = (failure or scalars.text_of(file.execution.fields.get("on_error"))) == "continue"
    times = scalars.whole_of(item.get("max_retries")) or RETRIES
    return {
        "name": item.name,
        "after": file.after(item),
        "when": file.texts.condition(item.get("if"), file.view(item)) if is_step else None,
        "on_failure": "continue" if tolerated else "halt",
        "retry": ir.Retry(times, on=("*",)) if failure == "retry" else None,
        "timeout_s": scalars.duration_of(item.get("timeout")) if is_step else None,
        "place": f"{item.key.span.line}:{item.key.span.column}",
    }


def read_run(file: ParsedFile, item: Item) -> ir.Task:
    shared = read_shared(file, item)
    shared["timeout_s"] = file.execution.timeout(item.fields)
    older = item.get("llm")
    fields = older if isinstance(older, Mapping) else item.fields
    view, asked = file.view(item), fields.get("run") or fields.get("prompt")
    prompt = file.texts.read(asked, view)
    parts = (scalars.text_of(fields.get("system_prompt")), _skills(file, item))
    layers = dict.fromkeys((fields, item.fields))
    inputs = file.execution.asking(prompt, *layers, system="\n\n".join(filter(None, parts)))
    warns = file.texts.left_over(view, asked)
    return ir.Task(kind="ask", inputs=inputs, warns=warns, **shared)


def read_provided(file: ParsedFile, item: Item, kind: str) -> ir.Task:
    """A step that a task of the operator does: what stands below its kind is given to it."""
    shared = read_shared(file, item)
    shared["timeout_s"] = file.execution.timeout(item.fields)
    written = item.get(kind)
    view = file.view(item)
    given = file.texts.values(written, view, strict=False) if written else ir.Fields()
    inputs = ir.Fields((("task", ir.Constant(kind)), ("with", given)))
    warns = file.texts.left_over(view, written)
    return ir.Task(kind="use", inputs=inputs, warns=warns, **shared)


def _skills(file: ParsedFile, item: Item) -> str:
    """What a model is told of the skills that a step has, or else all steps of the file."""
    named = item.fields if "skills" in item.fields else file.execution.fields
    entry = named.entry("skills")
    parts: list[str] = []
    for name in scalars.texts_of(entry.value) if entry is not None else ():
        assert entry is not None
        span = entry.value.span
        reference = file.context.files.find([path.format(name) for path in _SKILL_FILES])
        if reference is None:
            message = f"there is no skill {name[:60]!r}, so {item.words} runs without it"
            advice = f"write config/skills/{name[:60]}/SKILL.md"
            file.context.warn("W023", message, span, label="no such skill", help=advice)
            continue
        _, text = file.context.files.text(reference, span)
        head = _HEAD.match(text)
        about = _DESCRIPTION.search(head[1]) if head else None
        body = text[head.end() :] if head else text
        if len(body.strip()) > _SKILL_MAX:
            message = f"{item.words} is told the first {_SKILL_MAX:,} characters of skill {name!r}"
            file.context.warn("W023", message, span, label="too long", help="shorten the skill")
        parts.append(f"## {name}: {about[1] if about else ''}\n{body.strip()[:_SKILL_MAX]}")
    return "You have these skills; use what fits.\n\n" + "\n\n".join(parts) if parts else ""


def read_consensus(file: ParsedFile, item: Item, consensus: Mapping) -> ir.Group:
    voters = objects_in(consensus.get("executions"))
    if len(voters) < 2 and "executions" in consensus:
        message = f"{item.words} needs at least two 'executions' to agree, not {len(voters)}"
        advice = "add another one: {provider: ..., model: ...}"
        file.context.report("W007", message, item.key.span, label="too few", help=advice)
    prompt = file.texts.read(consensus.get("prompt"), file.view(item))
    timeout = scalars.duration_of(consensus.get("timeout"))
    if timeout is None:
        timeout = file.execution.timeout(item.fields)
    counts = {"vote": 1}
    tasks: list[ir.Task] = []
    for voter in voters:
        label = " ".join(map(str, _model_in(voter).values())) or "model"
        number = counts[label] = counts.get(label, 0) + 1
        own = scalars.duration_of(voter.get("timeout"))
        task = ir.Task(
            name=label if number == 1 else f"{label} {number}",
            kind="ask",
            inputs=file.execution.asking(prompt, voter, item.fields),
            on_failure="continue",
            timeout_s=timeout if own is None else own,
        )
        tasks.append(task)
    after = tuple(ir.After(task.name) for task in tasks)
    warns = file.texts.left_over(file.view(item), consensus.get("prompt"))
    vote = ir.Compute(name="vote", after=after, value=_vote(item, consensus, tasks), warns=warns)
    shared = read_shared(file, item)
    shared["timeout_s"] = None
    body = ir.Block((*tasks, vote))
    return ir.Group(body=body, shape=ir.Expression("jinja", "it.vote"), **shared)


def _vote(item: Item, consensus: Mapping, tasks: list[ir.Task]) -> ir.Expression:
    answers = ", ".join(spelled(task.name) for task in tasks)
    share = scalars.text_of(consensus.get("require")) or "unanimous"
    least = 1 if scalars.is_true(consensus.get("allow_partial")) else 2
    # A validating step passes when the models agree on SUCCESS, not on just anything.
    wanted = quoted("SUCCESS") if "validate" in item.name.lower() else "none"
    return ir.Expression("jinja", f"vote([{answers}], {quoted(share)}, {least}, {wanted})", LIBRARY)


def objects_in(value: Value | None) -> list[Mapping]:
    listed = value if isinstance(value, Sequence) else ()
    return [item for item in listed if isinstance(item, Mapping)]

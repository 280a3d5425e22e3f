"""The format of a file: its fields as tables, its steps and loops, and what reading it shares."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import ReadContext
from whorl.dialects.reading.fields import shown, text_of, texts_of, words
from whorl.dialects.reading.structure import Field, Table, check_table
from whorl.errors import nearest
from whorl.ir.loop_rules import ITERATIONS_MAX
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.errors import Span
    from whorl.source import Value


@dataclass(slots=True)
class FileContext(ReadContext):
    """A file of mcp-cli while it is read.

    `mentions` are the names that it takes from its caller, `historians` the files that mention
    `loop.history`, or do not.
    """

    historians: dict[str, bool] = field(default_factory=dict)
    mentions: dict[str, Span] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources[self.file] = self.document.text
        # JSON readers let a repeated key pass with a warning; here it is a mistake.
        self.adopt(replace(warning, severity="error") for warning in self.document.warnings)

    def warn_unused(self, fields: Mapping, name: str, owner: str, why: str, advice: str) -> None:
        """Warns of a field that says something, but has no effect."""
        entry = fields.entry(name)
        if entry is not None and texts_of(entry.value):
            message = f"{name!r} of {owner} has no effect{why}"
            self.warn("W023", message, entry.key.span, label="not used", help=advice)


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A step or a loop of the file, in its place in the document.

    `loop` holds the fields of a loop, wherever they stand; `fields` those of the step around it.
    """

    name: str
    key: Scalar
    fields: Mapping
    loop: Mapping | None = None

    @property
    def words(self) -> str:
        """What it is, for a message."""
        return f"{'loop' if self.loop is self.fields else 'step'} {self.name[:60]!r}"

    @property
    def is_iterate(self) -> bool:
        """Whether it goes over items, and not round until a condition is met."""
        mode = self.loop.get("mode") if self.loop is not None else None
        return isinstance(mode, Scalar) and mode.value == "iterate"

    @property
    def is_provided(self) -> bool:
        """Whether a task of the operator does it, which may give an object."""
        return any(self.fields.get(name) is not None for name in PROVIDED)

    @property
    def accumulators(self) -> tuple[str, ...]:
        """The names under which all outputs of a loop are known."""
        if self.loop is None:
            return ()
        named = self.loop.get("accumulate")
        own = (named.text,) if isinstance(named, Scalar) and named.value is not None else ()
        return (*own, f"{self.name}_accumulator")

    def get(self, name: str) -> Value | None:
        return self.fields.get(name)


TEXT = Field("text")
TEXTS = Field("texts")
FLAG = Field("flag")
DURATION = Field("duration")
WORKERS = Field("count", low=1, high=100)
FAILURE = Field("word", words=("halt", "continue", "retry"))
RETRIES = Field("count", low=1, high=100)

_ASKING: dict[str, Field] = {
    "provider": TEXT,
    "model": TEXT,
    "providers": Field("list", inner=Table("provider", {"provider": TEXT, "model": TEXT})),
    "servers": TEXTS,
    "skills": TEXTS,
    "temperature": Field("number", low=0, high=2),
    "max_tokens": Field("count", low=1, high=10_000_000),
    "timeout": DURATION,
    "max_iterations": Field("count", low=1, high=1_000),
    "logging": Field("word", words=words("error warn info step steps debug verbose noisy")),
    "no_color": FLAG,
}

_VOTING = ("provider", "model", "temperature", "max_tokens", "timeout")

EXECUTION = Table(
    "execution",
    _ASKING
    | {
        "parallel": FLAG,
        "max_workers": WORKERS,
        "on_error": Field("word", words=("halt", "cancel_all", "complete_running", "continue")),
    },
)

LOOP_FIELDS: dict[str, Field] = {
    "workflow": Field("text", required=True, example="the workflow to call"),
    "mode": Field("word", words=("refine", "iterate")),
    "items": TEXT,
    "with": Field("values"),
    "max_iterations": Field(
        "count", required=True, low=1, high=ITERATIONS_MAX, example="the most iterations, such as 5"
    ),
    "until": TEXT,
    "on_failure": FAILURE,
    "max_retries": RETRIES,
    "retry_delay": DURATION,
    "min_success_rate": Field("number", low=0, high=1),
    "timeout_per_item": DURATION,
    "total_timeout": DURATION,
    "accumulate": TEXT,
    "parallel": FLAG,
    "max_workers": WORKERS,
}
_LOOP_INSTEAD = {
    "needs": "a loop waits for every step that its texts mention; or make it a step with `loop:`",
    "condition": "write it as `until`",
    "for_each": "write `mode: iterate` with `items`",
    "item_name": "the item is `{{item}}` in the workflow that is called",
    "prompt": "a loop calls a `workflow`; put the prompt into a step of that workflow",
    "run": "a loop calls a `workflow`; put the prompt into a step of that workflow",
    "steps": "put the steps into a file of their own and name it as `workflow`",
}
_NAME = {"name": Field("text", required=True, example="a name of its own")}

TEMPLATE = Table("template", {"name": LOOP_FIELDS["workflow"], "with": Field("values")})

LLM = Table(
    "llm",
    {
        "prompt": Field("text", required=True, example="the question to the model"),
        "system_prompt": TEXT,
        **{name: _ASKING[name] for name in _VOTING},
    },
)

CONSENSUS = Table(
    "consensus",
    {
        "prompt": Field("text", required=True, example="the question to all models"),
        "executions": Field(
            "list",
            required=True,
            example="at least two of {provider, model}",
            inner=Table("execution", {name: _ASKING[name] for name in _VOTING}),
        ),
        "require": Field("word", words=("unanimous", "2/3", "majority")),
        "allow_partial": FLAG,
        "timeout": DURATION,
    },
)

# What does the work of a step; a step has exactly one of them.
KINDS = ("run", "template", "loop", "consensus", "rag", "embeddings", "llm")
# Kinds that a task of the operator does, under the same name.
PROVIDED = ("rag", "embeddings")


def _check_kind(context: ReadContext, step: Mapping, owner: str) -> None:
    kinds = [entry for entry in step if entry.name in KINDS]
    unknown = [entry.name for entry in step if entry.name not in STEP.fields]
    if len(kinds) > 1:
        message = (
            f"{owner} has both {kinds[0].name!r} and {kinds[1].name!r}, but a step does one thing"
        )
        advice = "make one step for each"
        context.report("W009", message, kinds[1].key.span, label="a second kind", help=advice)
    # An unknown field that was meant to say what the step does is reported already.
    elif not kinds and not any(name in STEP.instead or nearest(name, KINDS) for name in unknown):
        message = f"{owner} does not say what it does"
        advice = "give it `run` with a prompt, or one of " + ", ".join(KINDS[1:4])
        context.report("W009", message, step.span, label="no kind of step", help=advice)
    for entry in kinds:
        if entry.name == "llm":
            message = f"{owner} has its prompt under 'llm', which is an older form"
            advice = "write it as `run`; `provider` and `model` are fields of the step"
            context.warn("W023", message, entry.key.span, label="older form", help=advice)


STEP = Table(
    "step",
    _ASKING
    | _NAME
    | {
        "run": TEXT,
        "template": Field("object", inner=TEMPLATE),
        "loop": Field("object", inner=Table("loop", LOOP_FIELDS, _LOOP_INSTEAD)),
        "consensus": Field("object", inner=CONSENSUS),
        "rag": Field("values"),
        "embeddings": Field("values"),
        "llm": Field("object", inner=LLM),
        "input": TEXT,
        "if": TEXT,
        "needs": TEXTS,
        "execution_order": Field("count"),
        "on_failure": FAILURE,
        "max_retries": RETRIES,
    },
    {
        "prompt": "write it as `run`",
        "system_prompt": "write it at the beginning of `run`",
        "output": "a result is known by the name of its step: {{name}}",
        "output_var": "a result is known by the name of its step: {{name}}",
        "template_input": "write `template: {name: ..., with: {input: ...}}`",
        "condition": "write it as `if`",
        "on_error": "write it as `on_failure`",
        "for_each": "write `loop: {mode: iterate, items: ..., workflow: ...}`",
        "item_name": "the item is `{{item}}` in the workflow that is called",
        "until": "write `loop: {workflow: ..., until: ..., max_iterations: ...}`",
        "depends_on": "write it as `needs`",
    },
    check=_check_kind,
)

ROOT = Table(
    "workflow",
    {
        "$schema": TEXT,
        "name": Field("text", required=True, example="the name of the workflow"),
        "version": TEXT,
        "description": TEXT,
        "execution": Field("object", inner=EXECUTION),
        "env": Field("values"),
        "steps": Field("list", inner=STEP),
        "loops": Field("list", inner=Table("loop", _NAME | LOOP_FIELDS, _LOOP_INSTEAD)),
    },
    {
        "variables": "write constants as `env` and use them as {{env.NAME}}",
        "inputs": "the input is {{input}}; every other unknown {{name}} is an input, too",
        "outputs": "the output is that of the last step or loop",
        "provider": "write it below `execution`",
        "model": "write it below `execution`",
        "loop": "write `loops:` with a list, or `loop:` in a step",
        "until": "it belongs in a loop",
    },
)


def check_structure(context: FileContext) -> None:
    """Reports every unknown, missing or wrong field of the file."""
    check_table(context, context.root, ROOT, "the workflow")
    schema = context.root.get("$schema")
    if schema is None:
        message, span = "the workflow lacks the field '$schema'", context.root.span
        advice = 'add $schema: "workflow/v2.0", which says what the file is'
        context.warn("W006", message, span, label="'$schema' is missing", help=advice)
    if schema is not None and text_of(schema) != "workflow/v2.0":
        message = f"'$schema' must be 'workflow/v2.0', not {shown(schema)}"
        advice = 'write $schema: "workflow/v2.0" and check the fields'
        context.report("W007", message, schema.span, label="another version", help=advice)

"""The fields of a workflow file as tables: what each takes, and what to write instead of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whorl.ir.nodes import ITERATIONS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal[
    "text", "texts", "count", "number", "duration", "flag", "word", "object", "list", "values"
]


@dataclass(frozen=True, slots=True)
class Field:
    """What a field takes; `inner` describes an object, or the objects of a list."""

    kind: Kind
    required: bool = False
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    inner: Table | None = None
    example: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of one place, and advice about fields that people expect there."""

    title: str
    fields: Mapping[str, Field]
    instead: Mapping[str, str] = field(default_factory=dict)


TEXT = Field("text")
TEXTS = Field("texts")
FLAG = Field("flag")
DURATION = Field("duration")
TEMPERATURE = Field("number", low=0, high=2)
TOKENS = Field("count", low=1, high=10_000_000)
WORKERS = Field("count", low=1, high=100)
TURNS = Field("count", low=1, high=1_000)
FAILURE = Field("word", words=("halt", "continue", "retry"))
RETRIES = Field("count", low=1, high=100)
LOGGING = Field(
    "word", words=("error", "warn", "info", "step", "steps", "debug", "verbose", "noisy")
)

PROVIDER = Table("provider", {"provider": TEXT, "model": TEXT})

_ASKING: dict[str, Field] = {
    "provider": TEXT,
    "model": TEXT,
    "providers": Field("list", inner=PROVIDER),
    "servers": TEXTS,
    "skills": TEXTS,
    "temperature": TEMPERATURE,
    "max_tokens": TOKENS,
    "timeout": DURATION,
    "max_iterations": TURNS,
    "logging": LOGGING,
    "no_color": FLAG,
}

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
    "needs": "a loop waits for whatever its texts mention; or make it a step with `loop:`",
    "condition": "write it as `until`",
    "for_each": "write `mode: iterate` with `items`",
    "item_name": "the item is `{{item}}` in the workflow that is called",
    "prompt": "a loop calls a `workflow`; put the prompt into a step of that workflow",
    "run": "a loop calls a `workflow`; put the prompt into a step of that workflow",
    "steps": "put the steps into a file of their own and name it as `workflow`",
}
STEP_LOOP = Table("loop", LOOP_FIELDS, _LOOP_INSTEAD)
LOOP = Table(
    "loop",
    {"name": Field("text", required=True, example="a name of its own")} | LOOP_FIELDS,
    _LOOP_INSTEAD,
)

TEMPLATE = Table(
    "template",
    {
        "name": Field("text", required=True, example="the workflow to call"),
        "with": Field("values"),
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
            inner=Table(
                "execution",
                {
                    "provider": TEXT,
                    "model": TEXT,
                    "temperature": TEMPERATURE,
                    "max_tokens": TOKENS,
                    "timeout": DURATION,
                },
            ),
        ),
        "require": Field("word", words=("unanimous", "2/3", "majority")),
        "allow_partial": FLAG,
        "timeout": DURATION,
    },
)

# What does the work of a step; a step has exactly one of them.
KINDS = ("run", "template", "loop", "consensus", "rag", "embeddings")

STEP = Table(
    "step",
    _ASKING
    | {
        "name": Field("text", required=True, example="a name of its own"),
        "run": TEXT,
        "template": Field("object", inner=TEMPLATE),
        "loop": Field("object", inner=STEP_LOOP),
        "consensus": Field("object", inner=CONSENSUS),
        "rag": Field("values"),
        "embeddings": Field("values"),
        "input": TEXT,
        "if": TEXT,
        "needs": TEXTS,
        "execution_order": Field("count"),
        "on_failure": FAILURE,
        "max_retries": RETRIES,
    },
    {
        "prompt": "write it as `run`",
        "llm": "write its prompt as `run`; `provider` and `model` are fields of the step",
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
)

ROOT = Table(
    "workflow",
    {
        "$schema": Field(
            "text", required=True, example='"workflow/v2.0", which tells what the file is'
        ),
        "name": Field("text", required=True, example="the name of the workflow"),
        "version": TEXT,
        "description": TEXT,
        "execution": Field("object", inner=EXECUTION),
        "env": Field("values"),
        "steps": Field("list", inner=STEP),
        "loops": Field("list", inner=LOOP),
    },
    {
        "variables": "write constants as `env` and use them as {{env.NAME}}",
        "inputs": "the input is {{input}}; every other unknown {{name}} is an input, too",
        "outputs": "the output is that of the last step or loop",
        "provider": "write it below `execution`",
        "model": "write it below `execution`",
        "loop": "write `loops:` with a list, or `loop:` in a step",
        "until": "it belongs into a loop",
    },
)

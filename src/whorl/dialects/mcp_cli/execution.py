"""Who answers a prompt and how: the fields of `execution`, and those of a step over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.mcp_cli.scalars import (
    duration_of,
    is_true,
    number_of,
    text_of,
    texts_of,
    whole_of,
)
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft
    from whorl.language import Json
    from whorl.source import Value

# How many times a model may call tools before it must answer, where the file does not say.
TURNS = 10
WORKERS = 3


@dataclass(frozen=True, slots=True)
class Execution:
    """The settings of a file for all of its steps."""

    fields: Mapping

    @property
    def parallel(self) -> bool:
        """Whether steps that do not wait for each other run side by side."""
        return is_true(self.fields.get("parallel"))

    @property
    def workers(self) -> int | None:
        """How many steps run at once; None where they run one after the other."""
        return (whole_of(self.fields.get("max_workers")) or WORKERS) if self.parallel else None

    @property
    def tolerates(self) -> bool:
        """Whether the failure of a step stops nothing, unless the step says otherwise."""
        return text_of(self.fields.get("on_error")) == "continue"

    @property
    def on_failure(self) -> Literal["go_on", "halt", "cancel"]:
        """What happens to other steps when one has failed; one after the other, there are none."""
        if not self.parallel:
            return "go_on"
        return "cancel" if text_of(self.fields.get("on_error")) == "cancel_all" else "halt"

    def model(self, step: Mapping) -> dict[str, Json]:
        """The model of a step: its own, or that of the file. A provider brings its own model."""
        for fields in (step, self.fields):
            listed = fields.get("providers")
            if isinstance(listed, Sequence) and listed.items:
                return {"model": [_named(one) for one in listed if isinstance(one, Mapping)]}
            named = _named(fields)
            if "provider" in named:
                return named
            if "model" in named and fields is step:
                provider = _named(self.fields).get("provider")
                return ({"provider": provider} if provider else {}) | named
            if named:
                return named
        return {}

    def asking(self, *layers: Mapping) -> dict[str, Json]:
        """The inputs of a model call, its prompt aside: the first layer that says one, else we."""
        found: dict[str, Json] = dict(self.model(layers[0]))
        fields = (*layers, self.fields)
        for name in ("temperature", "max_tokens"):
            numbers = (number_of(layer.get(name)) for layer in fields)
            number = next((one for one in numbers if one is not None), None)
            if number is not None:
                found[name] = number
        servers = next((layer.get("servers") for layer in fields if "servers" in layer), None)
        if texts_of(servers):
            turns = (whole_of(layer.get("max_iterations")) for layer in fields)
            found["tools"] = list(texts_of(servers))
            found["max_turns"] = next((one for one in turns if one), TURNS)
        return found

    def timeout(self, step: Mapping) -> float | None:
        """How long one model call of a step may take."""
        own = duration_of(step.get("timeout"))
        return duration_of(self.fields.get("timeout")) if own is None else own


def read_execution(draft: Draft) -> Execution:
    """Reads `execution`, and warns of what has no effect here."""
    found = draft.root.get("execution")
    fields = found if isinstance(found, Mapping) else Mapping((), draft.root.span)
    workers = fields.entry("max_workers")
    if workers is not None and not is_true(fields.get("parallel")):
        draft.report(
            "W007",
            "'max_workers' of 'execution' has no effect without 'parallel'",
            workers.key.span,
            label="not used",
            help="add parallel: true, or remove it",
        )
    warn_of_skills(draft, fields, "'execution'")
    return Execution(fields)


def warn_of_skills(draft: Draft, fields: Mapping, owner: str) -> None:
    """Skills are files of another program; a prompt that asks for them gets none."""
    entry = fields.entry("skills")
    if entry is not None and texts_of(entry.value):
        draft.warn(
            "W023",
            f"'skills' of {owner} has no effect: there are no skills here",
            entry.key.span,
            label="not used",
            help="offer the same tools by an MCP server: servers: [name]",
        )


def inputs_of(asking: dict[str, Json], prompt: ir.Value) -> ir.Fields:
    """The inputs of a model call."""
    settings = [(name, ir.Constant(value)) for name, value in asking.items()]
    return ir.Fields((("prompt", prompt), *settings))


def _named(fields: Mapping) -> dict[str, Json]:
    found = {name: text_of(fields.get(name)) for name in ("provider", "model")}
    return {name: value for name, value in found.items() if value}


def sequence_of(value: Value | None) -> tuple[Mapping, ...]:
    """The objects of a list."""
    if not isinstance(value, Sequence):
        return ()
    return tuple(item for item in value if isinstance(item, Mapping))

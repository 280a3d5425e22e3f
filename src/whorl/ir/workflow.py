"""A whole workflow: its inputs, its body, its outputs, and the workflows that it calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.ir.nodes import Block
    from whorl.ir.values import Fields, Port, Value
    from whorl.language import Json


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What bounds a whole run."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow as every runtime runs it.

    The first output is the main one. `defaults` fill the inputs of tasks by task kind. `workflows`
    holds every workflow that is called from here, by the key that `Call.workflow` names.
    `statuses` are the dialect's words for how nodes end, by ours; where there are any, expressions
    see a record of each node that has ended (`$actions`) and the variables as one (`$variables`).
    Outputs that are `hidden` come from a secure task, and nobody asked for them: whoever calls the
    workflow has them, whoever looks at the run does not. `vocabulary` is the dialect's own words
    for events and reasons, in the shape of decision 0006: the interpreter never reads it.
    """

    name: str
    body: Block
    inputs: tuple[Port, ...] = ()
    main_input: str = ""
    outputs: tuple[tuple[str, Value], ...] = ()
    variables: tuple[tuple[str, Value], ...] = ()
    limits: RunLimits = RunLimits()
    defaults: tuple[tuple[str, Fields], ...] = ()
    workflows: tuple[tuple[str, Workflow], ...] = ()
    dialect: str = "native"
    description: str = ""
    vocabulary: Json = None
    open_inputs: bool = False
    statuses: tuple[tuple[str, str], ...] = ()
    hidden_outputs: tuple[str, ...] = ()
    format: int = 1

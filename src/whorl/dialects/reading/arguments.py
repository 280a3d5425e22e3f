"""What a call gives to another workflow, checked against what that workflow takes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.ir.checks.subject import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl import ir
    from whorl.dialects.reader import Reading
    from whorl.dialects.reading.context import Findings
    from whorl.errors import Span

_COMPARED_MAX = 200


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call gives: the names of its `with`, each where it is written.

    `owner` says in messages who calls, `span` is where the call stands. `others` are given without
    being written; `is_joined` means that what is written is also put together as the input.
    """

    owner: str
    span: Span
    names: Mapping[str, Span]
    others: frozenset[str] = frozenset()
    is_joined: bool = False


def check_arguments(context: Findings, arguments: Arguments, reading: Reading) -> None:
    """Reports what the called workflow lacks, and what it does not take or never uses."""
    if not reading.workflow.open_inputs:
        _check_unknown(context, arguments, reading.workflow)
    elif reading.mentions is not None:
        _check_unused(context, arguments, reading.workflow, reading.mentions)
    _check_lacking(context, arguments, reading)


def _check_lacking(context: Findings, arguments: Arguments, reading: Reading) -> None:
    workflow = reading.workflow
    names = arguments.names.keys() | arguments.others
    for port in workflow.inputs:
        if not port.required or port.name in names:
            continue
        message = f"{arguments.owner} does not give {port.name!r} to workflow {workflow.name!r}"
        advice = f"add it: with: {{{port.name}: ...}}"
        context.report("W006", message, arguments.span, label="an input is missing", help=advice)
    required = {port.name for port in workflow.inputs if port.required}
    known = (*arguments.names, *arguments.others, *(node.name for node in workflow.body.nodes))
    for name, span in (reading.mentions or {}).items():
        if name in names or name in required:
            continue
        message = f"there is no variable {name[:60]!r} where {arguments.owner} calls workflow "
        message += repr(workflow.name)
        advice = _meant(name, known) or f"give it there: with: {{{name[:60]}: ...}}"
        context.report("W005", message, span, label="not given", help=advice)


def _check_unknown(context: Findings, arguments: Arguments, workflow: ir.Workflow) -> None:
    known = {port.name for port in workflow.inputs}
    aliases = {alias for port in workflow.inputs for alias in port.aliases}
    if "*" in aliases:
        return
    for name, span in arguments.names.items():
        if name in known | aliases:
            continue
        message = f"workflow {workflow.name!r} has no input {name!r}"
        advice = suggest(name, sorted(known)) or "it takes no inputs"
        context.report("W004", message, span, label="unknown input", help=advice)


def _check_unused(
    context: Findings, arguments: Arguments, workflow: ir.Workflow, mentions: Mapping[str, Span]
) -> None:
    main = workflow.main_input
    if arguments.is_joined and main in mentions and main not in arguments.names:
        return
    for name, span in arguments.names.items():
        if name in mentions:
            continue
        message = f"{arguments.owner} gives {name!r} to workflow {workflow.name!r}, "
        message += "which never mentions it"
        advice = _meant(name, mentions) or f"write {{{{{name}}}}} where it is needed, or remove it"
        context.warn("W023", message, span, label="not used", help=advice)


def _meant(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, islice(known, _COMPARED_MAX))

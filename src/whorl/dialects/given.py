"""What a call gives to another workflow, checked against what that workflow takes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl import ir
    from whorl.dialects.findings import Findings
    from whorl.dialects.reader import Reading
    from whorl.errors import Span

_COMPARED_MAX = 200


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives: the names of its `with`, each where it is written.

    `words` are for messages, `span` is where the call stands. `others` are given without being
    written; `is_joined` means that what is written is also put together as the input.
    """

    words: str
    span: Span
    names: Mapping[str, Span]
    others: frozenset[str] = frozenset()
    is_joined: bool = False


def check_given(draft: Findings, given: Given, reading: Reading) -> None:
    """Reports what the called workflow lacks, and what it does not take or never uses."""
    if not reading.workflow.open_inputs:
        _check_unknown(draft, given, reading.workflow)
    elif reading.mentions is not None:
        _check_unused(draft, given, reading.workflow, reading.mentions)
    _check_lacking(draft, given, reading)


def _check_lacking(draft: Findings, given: Given, reading: Reading) -> None:
    workflow = reading.workflow
    names = given.names.keys() | given.others
    for port in workflow.inputs:
        if not port.required or port.name in names:
            continue
        draft.report(
            "W006",
            f"{given.words} does not give {port.name!r} to workflow {workflow.name!r}",
            given.span,
            label="an input is missing",
            help=f"add it: with: {{{port.name}: ...}}",
        )
    required = {port.name for port in workflow.inputs if port.required}
    known = (*given.names, *given.others, *(node.name for node in workflow.body.nodes))
    for name, span in (reading.mentions or {}).items():
        if name in names or name in required:
            continue
        draft.report(
            "W005",
            f"there is no variable {name[:60]!r} where {given.words} calls workflow "
            f"{workflow.name!r}",
            span,
            label="not given",
            help=_meant(name, known) or f"give it there: with: {{{name[:60]}: ...}}",
        )


def _check_unknown(draft: Findings, given: Given, workflow: ir.Workflow) -> None:
    known = {port.name for port in workflow.inputs}
    aliases = {alias for port in workflow.inputs for alias in port.aliases}
    if "*" in aliases:
        return
    for name, span in given.names.items():
        if name in known | aliases:
            continue
        draft.report(
            "W004",
            f"workflow {workflow.name!r} has no input {name!r}",
            span,
            label="unknown input",
            help=suggest(name, sorted(known)) or "it takes no inputs",
        )


def _check_unused(
    draft: Findings, given: Given, workflow: ir.Workflow, mentions: Mapping[str, Span]
) -> None:
    main = workflow.main_input
    if given.is_joined and main in mentions and main not in given.names:
        return
    for name, span in given.names.items():
        if name in mentions:
            continue
        draft.warn(
            "W023",
            f"{given.words} gives {name!r} to workflow {workflow.name!r}, which never mentions it",
            span,
            label="not used",
            help=_meant(name, mentions) or f"write {{{{{name}}}}} where it is needed, or remove it",
        )


def _meant(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, islice(known, _COMPARED_MAX))

"""Values from a command line: NAME=VALUE, NAME:=JSON, NAME=@file, and the main text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.ir import Workflow
    from whorl.language import Json

FROM_HERE = "the path is seen from the current folder; @- reads standard input"
FORMS = "write NAME=VALUE for a text, NAME:=JSON for any value, NAME=@FILE for the text of a file"
_OPTION = re.compile(r": `-i [^`]*`$")


def read_values(written: Iterable[str], option: str, stdin: Callable[[], str]) -> dict[str, Json]:
    """The values that an option gives; each name once."""
    found: dict[str, Json] = {}
    for one in written:
        name, value = _read_value(one, option, stdin)
        if name in found:
            raise UsageError(f"{option} gives {name!r} twice", help="leave one of them out")
        found[name] = value
    return found


def add_main_text(
    workflow: Workflow, given: dict[str, Json], text: str | None, stdin: Callable[[], str]
) -> dict[str, Json]:
    """The inputs with the main one; `-` stands for the text on standard input."""
    if text is None:
        return given
    name = workflow.main_input
    if not name:
        known = ", ".join(f"-i {port.name}=..." for port in workflow.inputs) or "none"
        raise UsageError(
            f"workflow {workflow.name!r} takes no text; its inputs: {known}",
            help=FORMS if workflow.inputs else "leave the text out",
        )
    if name in given:
        raise UsageError(f"the input {name!r} is given twice: as text and with -i")
    return {name: stdin() if text == "-" else text} | given


def check_given(workflow: Workflow, given: dict[str, Json], *, advice: str = FORMS) -> None:
    """Refuses inputs that the workflow would refuse, before a run is made.

    Whoever gives other `advice` is not told how a command line gives values.
    """
    from whorl.interpreter.run import InputError, check_inputs

    try:
        check_inputs(workflow, given)
    except InputError as fault:
        words = str(fault) if advice == FORMS else _OPTION.sub("", str(fault))
        raise UsageError(words, help=advice, code="R111") from fault


def _read_value(written: str, option: str, stdin: Callable[[], str]) -> tuple[str, Json]:
    name, equals, value = written.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":").strip()
    if not equals or not name:
        raise UsageError(f"{option} {written[:60]!r} names no value", help=FORMS)
    if is_json:
        return name, _read_json(value, f"{option} {name}")
    if value.startswith("@"):
        return name, stdin() if value == "@-" else _read_file(value[1:], f"{option} {name}")
    return name, value


def _read_json(text: str, place: str) -> Json:
    from whorl.source import plain, read_json

    try:
        return plain(read_json(text, place).root)
    except InvalidWorkflow as fault:
        message = fault.diagnostics[0].message
        raise UsageError(
            f"{place} is no JSON: {message}", help="a text in JSON stands in quotes: NAME:='\"a\"'"
        ) from fault


def _read_file(path: str, place: str) -> str:
    from whorl.source import open_file

    try:
        return open_file(path)
    except InvalidWorkflow as fault:
        found = fault.diagnostics[0]
        raise UsageError(f"{place}: {found.message}", help=found.help or FROM_HERE) from fault

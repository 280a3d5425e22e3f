"""Checking what a workflow is given against the inputs that it declares."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from whorl.ir import Port, Workflow
    from whorl.language import Json


class InputError(ValueError):
    """An input is missing, unknown or of another type."""


def check_inputs(
    workflow: Workflow, given: dict[str, Json], *, written: bool = True
) -> dict[str, Json]:
    """The values of all inputs, defaults filled in.

    Where they are `written` by a person, objects and lists may be written as JSON texts, too.
    """
    ports = {port.name: port for port in workflow.inputs}
    given = _renamed(workflow, given)
    for name in given:
        if name not in ports and not workflow.open_inputs:
            known = ", ".join(map(repr, ports)) or "none"
            hint = did_you_mean(name, list(ports))
            message = f"workflow {workflow.name!r} has no input {name!r}; it has {known}"
            raise InputError(f"{message}; {hint}" if hint else message)
    values = {port.name: _value(workflow, port, given, written) for port in workflow.inputs}
    return values | {name: value for name, value in given.items() if name not in ports}


def _renamed(workflow: Workflow, given: dict[str, Json]) -> dict[str, Json]:
    """The values under the names of the inputs that they are meant for."""
    found = dict(given)
    names = {port.name for port in workflow.inputs}
    used: set[str] = set()
    claimed = {alias for port in workflow.inputs for alias in port.aliases}
    for port in workflow.inputs:
        known = [alias for alias in port.aliases if alias in given and alias not in names]
        if not known and "*" in port.aliases and len(given) == 1:
            known = [name for name in given if name not in names | claimed]
        if known and port.name not in given:
            found[port.name] = given[known[0]]
        used.update(known)
    return {name: value for name, value in found.items() if name not in used}


def _value(workflow: Workflow, port: Port, given: dict[str, Json], written: bool) -> Json:
    if given.get(port.name) is None:
        if port.default is not None or not port.required:
            return port.default
        raise InputError(
            f"workflow {workflow.name!r} needs the input {port.name!r} ({port.type}): "
            f"`-i {port.name}=VALUE`"
        )
    value = _converted(port, given[port.name])
    if written and isinstance(value, str) and port.type in ("json", "list", "files"):
        value = _from_json(value)
    if not _fits(port, value):
        raise InputError(f"the input {port.name!r} must be a {port.type}, not {value!r:.80}")
    return value


def _converted(port: Port, value: Json) -> Json:
    """Text from a command line is read as what the input is declared to be."""
    if not isinstance(value, str):
        return value
    if port.type == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if port.type in ("number", "integer"):
        for read in (int, float):
            with suppress(ValueError):
                return read(value)
    return value


def _from_json(text: str) -> Json:
    """The object or list that a text is; any other text stays a text."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            found: Json = json.loads(text, parse_constant=_refuse)
            return found
    return text


def _refuse(word: str) -> None:
    raise ValueError(word)


def _fits(port: Port, value: Json) -> bool:
    match port.type:
        case "string" | "file":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and -math.inf < value < math.inf  # type: ignore[operator]
        case "list" | "files":
            return isinstance(value, list)
        case "json" | "any":
            return True

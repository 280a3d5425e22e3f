"""Steps that are work: ask, agent, run, http and use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whorl import ir
from whorl.dialects.native.returns import read_returns
from whorl.dialects.native.scalars import is_true, text_of, word_of
from whorl.dialects.native.values import read_fields, read_value
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common

_ASK = ("system", "model", "temperature", "max_tokens", "max_turns", "tools")
_AGENT = ("prompt", "system", "model", "folder", "tools")
_RUN = ("folder", "env", "stdin", "check")
_HTTP = ("method", "url", "headers", "query", "body", "accept_status")
_DELIVERIES = ("at_least_once", "at_most_once", "ask")


def read_ask(draft: Draft, step: Step, common: Common) -> ir.Task:
    """Reads a question to a model."""
    inputs = (("prompt", read_value(draft, step.get("ask"))), *_given(draft, step.fields, _ASK))
    return _task(step, common, inputs)


def read_agent(draft: Draft, step: Step, common: Common) -> ir.Task:
    """Reads the use of an agent command line."""
    inputs = (("agent", read_value(draft, step.get("agent"))), *_given(draft, step.fields, _AGENT))
    return _task(step, common, inputs)


def read_http(draft: Draft, step: Step, common: Common) -> ir.Task:
    """Reads an HTTP request."""
    request = step.get("http")
    if isinstance(request, Mapping):
        return _task(step, common, tuple(_given(draft, request, _HTTP)))
    return _task(step, common, (("url", read_value(draft, request)),))


def read_use(draft: Draft, step: Step, common: Common) -> ir.Task:
    """Reads the use of a task that the operator or a plugin provides."""
    inputs = (
        ("task", ir.Constant(text_of(step.get("use")) or "")),
        ("with", read_fields(draft, step.get("with"))),
    )
    return _task(step, common, inputs)


def read_run(draft: Draft, step: Step, common: Common) -> ir.Task:
    """Reads a command: a list of arguments, or a script for the shell."""
    command = step.get("run")
    if isinstance(command, Scalar):
        inputs = _script(draft, command)
    else:
        inputs = (("argv", read_value(draft, command)),)
    return _task(step, common, (*inputs, *_given(draft, step.fields, _RUN)))


def _script(draft: Draft, scalar: Scalar) -> tuple[tuple[str, ir.Value], ...]:
    from whorl.dialects.native.shell import PREFIX, read_script

    script = read_script(scalar.text)
    for fault in script.faults:
        span = scalar.locate(fault.offset, fault.length)
        draft.report("W021", fault.message, span, label="here", help=fault.help)
    variables: list[tuple[str, ir.Value]] = []
    for number, placed in enumerate(script.placed, start=1):
        expression = ir.Expression("jinja", placed.source)
        draft.places.remember(expression, scalar, placed.offset)
        variables.append((f"{PREFIX}{number}", expression))
    return (
        ("script", ir.Constant(script.text)),
        ("variables", ir.Fields(tuple(variables))),
    )


def _given(draft: Draft, fields: Mapping, names: tuple[str, ...]) -> Iterator[tuple[str, ir.Value]]:
    for name in names:
        value = fields.get(name)
        if value is not None:
            yield name, read_value(draft, value)


def _task(step: Step, common: Common, inputs: tuple[tuple[str, ir.Value], ...]) -> ir.Task:
    delivery = word_of(step.get("delivery"), _DELIVERIES, "at_least_once")
    return ir.Task(
        kind=step.kind,
        inputs=ir.Fields(inputs),
        returns=read_returns(step.get("returns")),
        session=text_of(step.get("session")) or "",
        delivery=cast("Literal['at_least_once', 'at_most_once', 'ask']", delivery),
        secure=is_true(step.get("secure")),
        secure_outputs=is_true(step.get("secure")),
        **common,
    )

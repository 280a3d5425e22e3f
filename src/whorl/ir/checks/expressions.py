"""Checks of expressions: they parse, their names are known, and they are no verdict and no code."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Final

from whorl.errors import Diagnostic, Span, did_you_mean
from whorl.ir.checks import scopes
from whorl.ir.nodes import Task
from whorl.ir.values import Constant, Expression, Items, When
from whorl.language import LanguageError, free_names, path_in
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.values import Value
    from whorl.language import NameUse

    # A name, and the keys behind it.
    Path = tuple[str, tuple[str | int, ...]]

# results['first-draft'] reads a node whose name no expression can spell.
RESULTS = "results"
_LENGTHS = frozenset({"length", "size", "count"})
_SHOWN_MAX = 60
# How other languages call no value.
_NOTHING = frozenset({"null", "nil", "NULL", "undefined"})
_UNKNOWN = regex(r"unknown (?:function|filter|test|method)(?: '([^']+)')?")
_ANSWERING = ("ask", "agent")
_WHOLE = {"argv": "whole command", "script": "script of a shell", "shell": "program"}
_VALUE_BEGINS: Final = regex(r"\{[{%]")
# Where a command of a script begins that reads what the script does.
_PARTS: Final = regex(r"[;&|\n({]|\b(?:then|do|else)\b")


def check_expressions(subject: scopes.Subject) -> Iterator[Diagnostic]:
    """Checks that every expression parses (W008), and that every name in it is known (W005).

    Names are functions, values at its place, and their members.
    """
    for use in scopes.uses_in(subject.workflow):
        try:
            names = subject.names.uses(use.expression)
        except LanguageError as fault:
            unknown = _UNKNOWN.match(fault.message)
            # The whole name is marked, where the message is about one.
            length = len(unknown[1]) if unknown and unknown[1] else 1
            code = "W005" if unknown or " is not available" in fault.message else "W008"
            span = _span(subject, use, fault.offset, length)
            yield Diagnostic(code, fault.message, span, "here", fault.help)
            continue
        for name in names if not subject.workflow.open_inputs else ():
            if diagnostic := _check(subject, use, name):
                yield diagnostic


def _check(subject: scopes.Subject, use: scopes.Use, name: NameUse) -> Diagnostic | None:
    if name.name.startswith("$"):
        return None
    if name.name == RESULTS and not use.view.find(RESULTS)[0]:
        if not name.path or not isinstance(name.path[0], str):
            return None
        offset = use.expression.source.find(name.path[0], name.offset)
        name = replace(name, name=name.path[0], path=name.path[1:], offset=max(offset, name.offset))
    is_seen, shape = use.view.find(name.name)
    return _check_path(subject, use, name, shape) if is_seen else _unknown(subject, use, name)


def _check_path(
    subject: scopes.Subject, use: scopes.Use, name: NameUse, shape: scopes.Shape | None
) -> Diagnostic | None:
    """Follows a path as far as the shapes on it are known."""
    holder, offset = name.name, name.offset + len(name.name)
    for key in name.path:
        if shape is None:
            return None
        offset = max(use.expression.source.find(str(key), offset), name.offset)
        if scopes.lacks(shape, key):
            shown = str(key)[:_SHOWN_MAX]
            message = f"{holder[:_SHOWN_MAX]!r} has no {shown!r}"
            span = _span(subject, use, offset, len(str(key)))
            advice = member_advice(shape, holder, shown)
            return Diagnostic("W005", message, span, "unknown name", advice)
        shape, holder = scopes.part_of(shape, key), joined_path(holder, key)
    return None


def joined_path(holder: str, key: str | int) -> str:
    """Returns the path to a member or an item as an expression writes it."""
    return f"{holder}.{key}" if isinstance(key, str) else f"{holder}[{key}]"


def member_advice(shape: scopes.Shape, holder: str, key: str) -> str:
    """Returns advice in place of a member that a value of this shape does not have."""
    if shape.kind == "object":
        return scopes.suggest(key, sorted(shape.fields))
    if key in _LENGTHS:
        return f"write {holder} | length"
    if shape.kind == "list":
        return f"it is a list: write {holder}[0].{key}, or loop over it"
    return "it is a text or another plain value, which has no fields"


def _unknown(subject: scopes.Subject, use: scopes.Use, name: NameUse) -> Diagnostic:
    shown = name.name[:_SHOWN_MAX]
    if use.view.later(name.name):
        message = f"the result of {shown!r} is not known yet at this place"
        advice = f"put this step after {shown!r}, or add after: {shown}"
    else:
        message = f"unknown name {shown!r}"
        names = [*use.view.names(), *(subject.facts if use.view.is_in_loop() else ())]
        advice = "write none" if name.name in _NOTHING else _dashed(use, name)
        advice = advice or _inside(use, name.name) or did_you_mean(name.name, names)
        advice = advice or scopes.suggest(name.name, use.view.names())
    span = _span(subject, use, name.offset, len(name.name))
    advice = advice or f"declare it: inputs: {{{shown}: string}}"
    return Diagnostic("W005", message, span, "unknown name", advice)


def _inside(use: scopes.Use, name: str) -> str:
    """Returns advice on a name that is a field of a result, such as `idea` of `naming.idea`."""
    for holder in islice(use.view.names(), scopes.COMPARED_MAX):
        shape = use.view.find(holder)[1]
        if shape is not None and shape.kind == "object" and name in shape.fields:
            path = holder if holder.isidentifier() else f"{RESULTS}[{holder!r}]"
            return f"write {path}.{name}"
    return ""


def _dashed(use: scopes.Use, name: NameUse) -> str:
    """Returns advice on a name with a dash, which an expression reads as a subtraction."""
    match = re.compile(r"[\w-]+").match(use.expression.source, name.offset)
    if match is None or "-" not in match[0] or not use.view.find(match[0])[0]:
        return ""
    return f"write {RESULTS}[{match[0]!r}]: a '-' subtracts here"


def _span(subject: scopes.Subject, use: scopes.Use, offset: int | None, length: int) -> Span | None:
    return subject.places.span(use.expression, offset, length) or subject.places.node(use.path)


def check_truths(subject: scopes.Subject) -> Iterator[Diagnostic]:
    """Warns of a loop that a model's text ends: any text but an empty one counts as true (W023).

    It warns only if the condition is nothing but the answer.
    """
    tests = {id(c.test) for _, _, c, _ in subject.conditions() if isinstance(c, When)}
    for use in scopes.uses_in(subject.workflow) if subject.is_text_suspicious and tests else ():
        path = path_in(use.expression) if id(use.expression) in tests else None
        if path is not None and _is_text(use, path):
            yield _counts_as_true(subject, use, path)


def _is_text(use: scopes.Use, path: Path) -> bool:
    giver = use.view.origin(path[0])
    if not isinstance(giver, Task) or giver.kind not in _ANSWERING or giver.when is not None:
        return False
    shape = reduce(scopes.part_of, path[1], use.view.find(path[0])[1])
    return shape is not None and shape.kind == "text"


def _counts_as_true(subject: scopes.Subject, use: scopes.Use, path: Path) -> Diagnostic:
    name, keys = path
    shown = reduce(joined_path, keys, name)[:60]
    instead = f"give {name[:60]!r} returns: {{done: boolean}} and write {name[:60]}.done"
    if keys:
        instead = f"make it a boolean in the 'returns' of {name[:60]!r}"
    return Diagnostic(
        "W023",
        f"{shown!r} is a text, and every text that is not empty counts as true",
        subject.places.span(use.expression) or subject.places.node(use.path),
        "also true when it says no",
        f"compare it: {shown} == 'yes', or {instead}",
        severity="warning",
    )


def check_commands(subject: scopes.Subject) -> Iterator[Diagnostic]:
    """Checks that no value is where the program of a command would take it for code (W021).

    It checks lists of arguments such as `[sh, -c, "echo {{ x }}"]`, and the input of commands.
    """
    for path, node in subject.nodes():
        if not isinstance(node, Task) or node.kind != "run":
            continue
        inputs = {name: value for name, value in node.inputs.entries if isinstance(name, str)}
        from whorl.ir.checks.commands import ADVICE

        for item, message in _misread(inputs):
            span = subject.places.span(item) or subject.places.node(path)
            yield Diagnostic("W021", message, span, "here", ADVICE)


def _misread(inputs: dict[str, Value]) -> Iterator[tuple[Expression, str]]:
    """Returns the values of a command that are read as code, and why."""
    from whorl.ir.checks.commands import VALUE, input_reader, refusal

    argv, script, stdin = (inputs.get(name) for name in ("argv", "script", "stdin"))
    commands: list[list[str]] = []
    for name in ("argv", "script", "shell"):
        whole = inputs.get(name)
        # What other formats hand to a shell, they ask a person about.
        if isinstance(whole, Expression) and not whole.library and _has_names(whole):
            yield whole, f"a value would be the {_WHOLE[name]}"
    if isinstance(argv, Items):
        words: list[str] = []
        for item in argv.items:
            if isinstance(item, Constant):
                words.append(str(item.value))
                continue
            prefix = _before_value(item)
            if isinstance(item, Expression) and (message := refusal(words, prefix)):
                yield item, message
            words.append(prefix + VALUE)
        commands.append(words)
    elif isinstance(argv, Constant) and isinstance(argv.value, list):
        commands.append([str(word) for word in argv.value])
    elif isinstance(script, Constant):
        commands += [part.split() for part in _PARTS.split(str(script.value))]
    if isinstance(stdin, Expression):
        for reader in filter(None, map(input_reader, commands)):
            yield stdin, f"{reader!r} would run the value as code"
            return


def _has_names(expression: Expression) -> bool:
    try:
        return bool(free_names(expression))
    except LanguageError:
        return True


def _before_value(value: Value) -> str:
    """Returns the text of a template before its first value."""
    if not isinstance(value, Expression) or value.syntax != "template":
        return ""
    return str(_VALUE_BEGINS.split(value.source, maxsplit=1)[0])

"""Actions that run code of the file: inline JavaScript, and transformations of XML."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.formats.loom.external_actions import read_connector, task_of
from whorl.formats.loom.forms import find, text_at
from whorl.formats.loom.texts import IT, bodied, computed, has_expression, quote, text_term
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.formats.loom.action import Action

# How long code may run, and as much as Azure lets it.
TIME_S = 15.0
_READ = re.compile(
    r"""workflowContext\s*\??\.\s*(?:
        actions\s*(?:\??\.\s*([A-Za-z_$][\w$]*)|(?:\?\.)?\s*\[\s*(['"`])(.+?)\2\s*\])
        |(trigger|workflow)\b)""",
    re.VERBOSE,
)
# What of a map is not run here, and why.
_NOT_RUN = (
    (
        re.compile(r"<(?:\w+:)?(?:stylesheet|transform)\b[^>]*?\sversion\s*=\s*['\"][23]"),
        "maps in XSLT 2.0 and 3.0, as the data mapper makes them, are not run here",
    ),
    (
        re.compile(r"<\w+:script\b[^>]*\slanguage\s*="),
        "its map has scripts in it, which are not run here",
    ),
)
_MAPS = ("Artifacts/Maps/", "../Artifacts/Maps/")


def read_javascript(action: Action) -> ir.Node:
    """Runs code, which sees the actions that it names, the trigger and the run."""
    code = action.setting("code")
    if not isinstance(code, Scalar):
        advice = 'write "inputs": {"code": "return workflowContext.trigger.outputs.body"}'
        action.missing("has no code", "no code", advice)
        code = Scalar("", action.span)
    entries: dict[str, ir.Value] = {
        "code": action.context.value(code),
        "inputs": ir.Fields((("workflowContext", _workflow_context(action, code)),)),
        "name": ir.Constant(action.name),
        "sealed": ir.Constant(True),
    }
    task = task_of(action, "javascript", entries, computed("returned", IT))
    return replace(task, timeout_s=TIME_S)


def _workflow_context(action: Action, code: Scalar) -> ir.Fields:
    """The parts of the workflow's state that code reads, and those that it is said to need."""
    found = _READ.findall(code.text)
    needed = find(action.inputs, "explicitDependencies")
    listed = find(needed, "actions")
    names = [dotted or quoted for dotted, _, quoted, _ in found if dotted or quoted]
    items = listed if isinstance(listed, Sequence) else ()
    names += [item.text for item in items if isinstance(item, Scalar)]
    records = {name: f"@actions({quote(name)})" for name in names}
    parts = {part for *_, part in found if part}
    if text_at(needed, "includeTrigger").lower() == "true":
        parts.add("trigger")
    read = ((name, action.context.expression(code, source)) for name, source in records.items())
    others = ((part, action.context.expression(code, f"@{part}()")) for part in sorted(parts))
    return ir.Fields((("actions", ir.Fields(tuple(read))), *others))


def read_xslt(action: Action) -> ir.Node:
    """Transforms XML by a map of the project; one that is not in it is asked for as a connector."""
    place = find(action.inputs, "map", "name")
    place = place or find(action.inputs, "integrationAccount", "map", "name")
    name = place.text if isinstance(place, Scalar) else ""
    is_plain = bool(name) and not has_expression(name) and "/" not in name
    endings = ("", ".xslt", ".xsl") if is_plain else ()
    names = [f"{folder}{name}{ending}" for ending in endings for folder in _MAPS]
    reference = action.context.files.find(names) if names else None
    if place is None or reference is None or reference not in names:
        return read_connector(action)
    file, text = action.context.files.text(reference, place.span)
    action.context.sources[file] = text
    if why := next((words for pattern, words in _NOT_RUN if pattern.search(text)), ""):
        return read_connector(action, why)
    content = action.setting("content")
    given = action.context.value(content)
    if isinstance(content, Scalar) and has_expression(content.text):
        given = action.context.expression(content, f"@string({text_term(content.text)})")
    entries = {"content": given, "map": ir.Constant(text), "name": ir.Constant(name)}
    return task_of(action, "xslt", entries, bodied(computed("transformed", IT)))

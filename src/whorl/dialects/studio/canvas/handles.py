"""The handles of nodes: what edges leave by, where they end, and which can only be misspelt.

A handle that a node does not have carries all of its result, or is not looked at. One that is
nearly the name of another is taken for a mistake; any other one is told, as it changes the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.ir.checks.suggest import suggest
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.draft import Draft
    from whorl.errors import Span

# The fields of what a node gives, which are its handles, too. Nodes of other types give anything.
RESULTS: dict[str, frozenset[str]] = {
    "llm": frozenset({"response", "content", "usage", "cost"}),
    "http_request": frozenset({"status", "headers", "body", "encoding"}),
    "shell_exec": frozenset({"stdout", "stderr", "exit_code"}),
    "file_glob": frozenset({"files", "count", "paths"}),
    "file_read": frozenset({"path", "content", "size", "rows"}),
    "file_write": frozenset({"path", "size", "bytes"}),
    "validator": frozenset({"valid", "data", "errors"}),
    "router": frozenset({"selectedBranch", "value", "explanation"}),
    "loop": frozenset({"iterations", "count", "exit_reason"}),
    "iterator": frozenset({"item", "items", "index", "total", "result", "count"}),
    "aggregator": frozenset({"result", "count"}),
}
_LEFT_BY = {**RESULTS, "approval": frozenset({"approved", "rejected"})}

_ENDED_AT: dict[str, frozenset[str]] = {
    "llm": frozenset({"prompt", "system", "context"}),
    "http_request": frozenset({"url", "body", "headers"}),
    "shell_exec": frozenset({"command", "stdin", "workingDir"}),
    "file_glob": frozenset({"directory", "pattern"}),
    "file_read": frozenset({"path"}),
    "file_write": frozenset({"path", "content"}),
}


def check_source(draft: Draft, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge leaves by and that its node does not have."""
    if (node.type, handle) == ("approval", "rejected"):
        draft.warn(
            "W023",
            f"nothing ever leaves approval {node.id!r} by 'rejected': the run fails instead",
            span,
            label="never taken",
            help="remove the edge",
        )
    known = _LEFT_BY.get(node.type)
    if known is None or handle in known or handle == "output":
        return
    near = did_you_mean(handle, sorted(known))
    message = f"{node.type} {node.id!r} has no handle {handle[:60]!r}"
    if near:
        draft.report("W010", message, span, label="no such handle", help=near)
        return
    draft.warn(
        "W010",
        f"{message}: the edge carries all of its result",
        span,
        label="no such handle",
        help=suggest(handle, sorted({*known, "output"})),
    )


def check_target(draft: Draft, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge ends at and that is nearly the name of another one.

    Texts of a node may name any handle, so that those which they name are not misspelt.
    """
    known = {*_ENDED_AT.get(node.type, ()), "input"}
    if node.type not in _ENDED_AT or handle in known or _is_named(node, handle):
        return
    near = did_you_mean(handle, sorted(known))
    if near:
        message = f"{node.type} {node.id!r} takes nothing in at the handle {handle[:60]!r}"
        draft.report("W010", message, span, label="no such handle", help=near)


def _is_named(node: CanvasNode, handle: str) -> bool:
    return any(
        "{{" in entry.value.text and handle in entry.value.text
        for entry in node.fields
        if isinstance(entry.value, Scalar)
    )

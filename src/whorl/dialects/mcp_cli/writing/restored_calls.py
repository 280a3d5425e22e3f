"""Calls as their file had them: the name of a workflow, and what it is given."""

from __future__ import annotations

from typing import Any

from whorl import ir
from whorl.dialects.mcp_cli.calls import ENDINGS
from whorl.dialects.mcp_cli.writing.restored_texts import restore_text


def given_to(node: ir.Call) -> dict[str, Any]:
    """`with`, without what every workflow that is called is given anyway."""
    entries = {str(key): value for key, value in node.inputs.entries}
    for name in ("env", "loop", "item"):
        entries.pop(name, None)
    given = entries.get("input")
    if isinstance(given, ir.Expression) and _is_usual(given, list(entries)):
        del entries["input"]
    restored = {name: _restore_given(value) for name, value in entries.items()}
    return {"with": restored} if restored else {}


def _is_usual(given: ir.Expression, names: list[str]) -> bool:
    """Whether the input is what a call is given without being told."""
    return given.syntax == "jinja" or (names[0] != "input" and given.source.startswith(names[0]))


def _restore_given(value: ir.Value) -> Any:
    match value:
        case ir.Items():
            return [_restore_given(item) for item in value.items]
        case ir.Fields():
            return {str(key): _restore_given(one) for key, one in value.entries}
        case _:
            return restore_text(value)


def file_stem(key: str) -> str:
    """The name by which a workflow is called."""
    return next((key.removesuffix(end) for end in ENDINGS if key.endswith(end)), key)

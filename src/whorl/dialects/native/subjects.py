"""What a condition reads: the text of a step's result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.names import read_result
from whorl.dialects.native.scalars import is_template
from whorl.dialects.native.values import read_text
from whorl.ir.checks.suggest import suggest
from whorl.ir.walk import names_given
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.source import Value

_STEP_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# The part of a result that is its text, where the result is an object by nature.
_TEXTS = {"run": ".stdout", "http": ".body"}
_SILENT = (ir.Assign, ir.Wait, ir.Stop, ir.Break, ir.Continue)


def read_subject(draft: Draft, of: Value | None, body: ir.Block) -> ir.Value:
    """Reads `of`: a step of the body, a template or an expression; default: the last step."""
    if not isinstance(of, Scalar) or not isinstance(of.value, str):
        return _last(body)
    if is_template(of.value):
        return read_text(draft, of)
    name = of.value.strip()
    known = dict(names_given(body))
    if name in known:
        return result_text(known[name])
    if _STEP_NAME.fullmatch(name):
        draft.report(
            "W010",
            f"'of' names {name!r}, but the loop has no such step",
            of.span,
            label="no step of the loop",
            help=suggest(name, known),
        )
    expression = ir.Expression("jinja", of.value)
    draft.places.remember(expression, of)
    return expression if not _STEP_NAME.fullmatch(name) else ir.Constant(None)


def result_text(node: ir.Node) -> ir.Value:
    """The text of a node's result."""
    part = _TEXTS.get(node.kind, "") if isinstance(node, ir.Task) else ""
    return read_result(node.name, part)


def last_with_result(block: ir.Block) -> ir.Node | None:
    """The last step that has a result, or the last step at all."""
    for node in reversed(block.nodes):
        if not isinstance(node, _SILENT):
            return node
    return block.nodes[-1] if block.nodes else None


def _last(body: ir.Block) -> ir.Value:
    node = last_with_result(body)
    return ir.Constant(None) if node is None else result_text(node)

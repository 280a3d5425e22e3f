"""Function nodes: a body in JavaScript that is given the inputs and returns the outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import scalar_of
from whorl.dialects.shodan.nodes.shared import common, packed_ports
from whorl.dialects.shodan.sources import called, expression, quoted
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def read_function(level: Level, node: GraphNode) -> list[ir.Node]:
    """Runs the body, or the default export of a file."""
    code, file = scalar_of(node.fields, "code"), scalar_of(node.fields, "file")
    text, is_module, name = "", False, ""
    if code is not None:
        text = code.text
    elif file is not None:
        try:
            name, text = level.draft.files.text(level.draft.reference(file.text), file.span)
            is_module = True
        except InvalidWorkflow as fault:
            level.draft.adopt(fault.diagnostics)
    else:
        level.draft.report(
            "W006",
            f"function {node.id!r} lacks its 'code'",
            node.span,
            label="no code",
            help="add code: return { ... }, or file: with a default export",
        )
    given = ((one, expression(level.own(node, one) or "none")) for one in level.input_names(node))
    shape = called("returned", "it", quoted(node.id), packed_ports(node.outputs))
    inputs = ir.Fields(
        (
            ("code", ir.Constant(text)),
            ("module", ir.Constant(is_module)),
            ("name", ir.Constant(name or node.id)),
            ("inputs", ir.Fields(tuple(given))),
        )
    )
    return [ir.Task(kind="javascript", inputs=inputs, shape=expression(shape), **common(node))]

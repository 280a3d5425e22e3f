"""Shell nodes: values enter a script as variables, never as text of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import flag_of, scalar_of
from whorl.dialects.shodan.nodes.files import named_files
from whorl.dialects.shodan.nodes.shared import common, packed_ports
from whorl.dialects.shodan.sources import called, expression, literal, quoted
from whorl.dialects.shodan.texts import read_shell, read_text
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def read_shell_node(level: Level, node: GraphNode) -> list[ir.Node]:
    """Runs a script; any other exit code than 0 is a failure."""
    written = _script(level, node)
    fields = common(node)
    if written is None:
        nothing = literal({"stdout": "", "stderr": "", "exit_code": 0})
        return [ir.Compute(value=_outputs(node, nothing), **fields)]
    script, variables = read_shell(level, node, written, written.text)
    is_tolerated = flag_of(node.fields, "continueOnFailure")
    inputs: list[tuple[str | ir.Expression, ir.Value]] = [
        ("script", ir.Constant(script)),
        ("variables", ir.Fields(tuple(variables))),
        ("folder", read_text(level, node, scalar_of(node.fields, "path"))),
        # One that others may go on after is a result, so that they can read its exit code.
        ("check", ir.Constant(not is_tolerated)),
    ]
    given = ir.Fields(tuple(inputs))
    return [ir.Task(kind="run", inputs=given, shape=_outputs(node, "it"), **fields)]


def _outputs(node: GraphNode, source: str) -> ir.Expression:
    ports = packed_ports(node.outputs)
    return expression(called("finished", source, quoted(node.id), ports))


def _script(level: Level, node: GraphNode) -> Scalar | None:
    """The script; older files have a list of commands, and some have files."""
    parts: list[str] = [text for _, text in named_files(level, node, "scriptFiles")]
    written = scalar_of(node.fields, "script")
    commands = node.fields.get("commands")
    if written is not None:
        parts.append(written.text)
    elif isinstance(commands, Sequence):
        lines = [item for item in commands if isinstance(item, Scalar)]
        parts += [line.text for line in lines]
        written = lines[0] if lines else None
    if len(parts) == 1 and written is not None and written.text == parts[0]:
        return written
    text = "\n".join(parts)
    span = node.span if written is None else written.span
    return Scalar(text, span) if text.strip() else None

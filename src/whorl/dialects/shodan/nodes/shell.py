"""Shell nodes: values enter a script as variables, never as text of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import flag_of, scalar_of
from whorl.dialects.shodan.nodes.files import named_files, read_folder
from whorl.dialects.shodan.nodes.shared import common, packed_ports
from whorl.dialects.shodan.sources import called, expression, literal, quoted
from whorl.dialects.shodan.texts import read_shell
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def read_shell_node(level: Level, node: GraphNode) -> list[ir.Node]:
    """Runs a script; any other exit code than 0 is a failure."""
    return run_scripts(level, node, *_scripts(level, node))


def run_scripts(
    level: Level, node: GraphNode, scripts: list[str], variables: list[tuple[str, ir.Value]]
) -> list[ir.Node]:
    """One task for all of them; nothing at all is a result too."""
    fields = common(node)
    if not scripts:
        nothing = literal({"stdout": "", "stderr": "", "exit_code": 0})
        return [ir.Compute(value=_outputs(node, nothing), **fields)]
    is_tolerated = flag_of(node.fields, "continueOnFailure")
    inputs: list[tuple[str | ir.Expression, ir.Value]] = [
        ("script", ir.Constant(_one_by_one(scripts))),
        ("variables", ir.Fields(tuple(variables))),
        ("folder", read_folder(level, node)),
        # One that others may go on after is a result, so that they can read its exit code.
        ("check", ir.Constant(not is_tolerated)),
    ]
    given = ir.Fields(tuple(inputs))
    return [ir.Task(kind="run", inputs=given, shape=_outputs(node, "it"), **fields)]


def _outputs(node: GraphNode, source: str) -> ir.Expression:
    ports = packed_ports(node.outputs)
    return expression(called("finished", source, quoted(node.id), ports))


def _scripts(level: Level, node: GraphNode) -> tuple[list[str], list[tuple[str, ir.Value]]]:
    """What is run one by one: files as they are, then the script, or the commands of older files.

    Values are put into the script and the commands only, never into a file.
    """
    scripts = [text for _, text in named_files(level, node, "scriptFiles") if text.strip()]
    written = _written(node)
    if written is None:
        return scripts, []
    script, variables = read_shell(level, node, written)
    return [*scripts, script], variables


def _written(node: GraphNode) -> Scalar | None:
    script = scalar_of(node.fields, "script")
    if script is not None and script.text.strip():
        return script
    commands = node.fields.get("commands")
    found = commands if isinstance(commands, Sequence) else ()
    lines = [item for item in found if isinstance(item, Scalar) and item.text.strip()]
    if len(lines) > 1:
        return Scalar(_one_by_one([line.text for line in lines]), lines[0].span)
    return lines[0] if lines else None


def _one_by_one(scripts: list[str]) -> str:
    """Each in a shell of its own; the first that fails is the last that runs."""
    if len(scripts) == 1:
        return scripts[0]
    # A shell refuses to hold nothing but remarks, so there is always a command in it.
    return " && ".join(f"( :\n{script}\n)" for script in scripts)

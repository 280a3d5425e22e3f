"""Script nodes: a file of the project, run by the program that its ending stands for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from whorl.dialects.shodan.fields import scalar_of, span_of, text_of
from whorl.dialects.shodan.nodes.shell import run_scripts
from whorl.dialects.shodan.texts import read_shell
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode

PROGRAMS = {".sh": "bash", ".js": "node", ".mjs": "node", ".ts": "node"}


def read_script_node(level: Level, node: GraphNode) -> list[ir.Node]:
    """Runs a file with arguments, which the shell takes apart; its outputs are those of a shell."""
    file, arguments = scalar_of(node.fields, "scriptFile"), text_of(node.fields, "scriptArgs")
    name = "" if file is None else file.text.strip()
    program = next((what for end, what in PROGRAMS.items() if name.endswith(end)), "")
    if file is None or not program:
        level.draft.report(
            "W006" if not name else "W009",
            f"script {node.id!r} lacks its 'scriptFile'"
            if not name
            else f"script {node.id!r} is the file {name[:60]!r}, which no program is known for",
            span_of(node.fields, "scriptFile"),
            label="no file" if not name else "unknown ending",
            help=f"name a file that ends with {', '.join(PROGRAMS)}",
        )
        return run_scripts(level, node, [], [])
    path = f'"{name}"' if "{{" in name else shlex.quote(name)
    line = Scalar(f"{program} {path} {arguments}".strip(), file.span)
    script, variables = read_shell(level, node, line)
    return run_scripts(level, node, [script], variables)

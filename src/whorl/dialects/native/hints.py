"""What is valid but probably not meant: a command's exit code that nobody will ever read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.ir.checks.scopes import uses_in
from whorl.ir.walk import walk
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft


def give_hints(draft: Draft, workflow: ir.Workflow) -> None:
    """Warns where an exit code is read of a command that fails at any code but 0."""
    commands = {node.name for _, node in walk(workflow.body) if _fails_by_code(node)}
    if not commands:
        return
    for use in uses_in(workflow):
        try:
            names = draft.names.uses(use.expression)
        except LanguageError:
            continue
        for name in names:
            if name.name in commands and name.path[:1] == ("exit_code",):
                commands.discard(name.name)
                draft.report(
                    "W023",
                    f"step {name.name!r} fails at any exit code but 0, so this is always 0",
                    draft.places.span(use.expression, name.offset, len(name.name)),
                    label="always 0",
                    help=f"add check: false to step {name.name!r}",
                    severity="warning",
                )


def _fails_by_code(node: ir.Node) -> bool:
    return (
        isinstance(node, ir.Task)
        and node.kind == "run"
        and all(name != "check" for name, _ in node.inputs.entries)
    )

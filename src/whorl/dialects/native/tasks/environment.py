"""Variables of a command's `env` that hold values: a script may use them, and not run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.tasks.shell import read_script
from whorl.ir.checks.commands import CODE_FLAG, SHELLS, name_of
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.native.context import Context

_ADVICE = 'use it as an argument, as in `git commit -m "$TEXT"`, or let a program of yours read it'


def check_environment(context: Context, workflow: ir.Workflow) -> None:
    """Reports each script that would run a variable of its `env` as code (W021)."""
    for path, node in walk(workflow.body):
        if not isinstance(node, ir.Task) or node.kind != "run":
            continue
        inputs = {name: value for name, value in node.inputs.entries if isinstance(name, str)}
        env = inputs.get("env")
        entries = env.entries if isinstance(env, ir.Fields) else ()
        names = {str(name) for name, value in entries if not isinstance(value, ir.Constant)}
        for text in _scripts(inputs) if names else ():
            for fault in read_script(text, names).faults[:1]:
                message = f"{fault.message}: a variable of `env` holds it"
                context.report("W021", message, context.places.node(path), help=_ADVICE)


def _scripts(inputs: dict[str, ir.Value]) -> Iterator[str]:
    """What a shell reads of a command: its script, or that of `[sh, -c, ...]`."""
    script, argv = inputs.get("script"), inputs.get("argv")
    if isinstance(script, ir.Constant):
        yield str(script.value)
    items = argv.items if isinstance(argv, ir.Items) else ()
    words = [str(item.value) if isinstance(item, ir.Constant) else "" for item in items]
    if isinstance(argv, ir.Constant) and isinstance(argv.value, list):
        words = [str(word) for word in argv.value]
    for at, word in enumerate(words[:-1]):
        if name_of(words[0]) in SHELLS and at and CODE_FLAG.fullmatch(word):
            yield words[at + 1]

"""No value is put where the program of a command would take it for code (W021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.code import taking_code
from whorl.ir.nodes import Task
from whorl.ir.values import Constant, Items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject

_ADVICE = 'write the command as a text, `run: "..."`, or pass the value through `env` or `stdin`'


def check_commands(subject: Subject) -> Iterator[Diagnostic]:
    """Reports lists of arguments such as `[sh, -c, "echo {{ x }}"]`."""
    for path, node in subject.nodes():
        if not isinstance(node, Task) or node.kind != "run":
            continue
        argv = next((value for name, value in node.inputs.entries if name == "argv"), None)
        if not isinstance(argv, Items):
            continue
        words: list[str] = []
        for item in argv.items:
            if isinstance(item, Constant):
                words.append(str(item.value))
                continue
            if reader := taking_code(words):
                span = subject.places.span(item) or subject.places.node(path)
                message = f"{reader!r} would take the value for code"
                yield Diagnostic("W021", message, span, "here", _ADVICE)
            words.append("x")

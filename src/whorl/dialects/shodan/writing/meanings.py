"""What functions of graph files mean in plain Jinja, beside what `plain.py` says of whole nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.dialects.writing.meanings import About, Meaning

_OUTPUT = "a declared output is taken out of an answer or of what a command prints, by its type"
_PORT = "a port gives its default for null and changes what arrives to its type"
_WHY = {
    "arrive": ("what arrives at a port", _PORT),
    "mapped": ("a mapping of some iterations", "null stands for no value there"),
    "kept": ("a slot that keeps its value", "null stands for no new value there"),
    "continues": ("a comparison of an output", "values of another type end the run there"),
    "leaves": ("a comparison of an output", "values of another type end the run there"),
    "goes_on": ("a value that says to go on", "texts and numbers are true in another way there"),
    "shown": ("a value in a text", "null and 2.0 are printed otherwise there"),
    "whole": ("a number in a calculation of the shell", "any other text is refused there"),
    "dig": ("a part of a value", "what is missing is null there"),
    "ready": ("what must arrive at a node", _PORT),
    "answered": ("the outputs of an agent", _OUTPUT),
    "finished": ("the outputs of a command", _OUTPUT),
    "returned": ("the outputs of a function", _OUTPUT),
    "gathered": ("an output of all items", _OUTPUT),
    "picked": ("an output of a loop", _OUTPUT),
    "timestamp": ("the time of the run", "a trigger tells it there"),
}


def _given(call: tree.Apply, about: About) -> tree.Expr:
    name = call.arguments[0]
    if isinstance(name, tree.Literal) and isinstance(name.value, str):
        return tree.Name(name.value, 0)
    raise CannotSay("a name that is computed", "names are written down elsewhere")


def _port(call: tree.Apply, about: About) -> tree.Expr:
    words = [one.value for one in call.arguments if isinstance(one, tree.Literal)]
    raise CannotSay(f"the output {'.'.join(map(str, words))!r}", _OUTPUT)


def _untold(call: tree.Apply, about: About) -> tree.Expr:
    raise CannotSay(*_WHY[call.function.name])


MEANINGS: Mapping[str, Meaning] = {
    "given": _given,
    "port": _port,
    **dict.fromkeys(_WHY, _untold),
}

"""What steps, inputs, variables and carried values may be called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from whorl.language import Expression

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.source import Scalar

NAME_MAX = 128
# The names of what the engine tells an iteration about its loop, with the engine's own words.
FACTS = {
    "iteration": "number",
    "previous": "previous",
    "history": "history",
    "best": "best",
    "past": "past",
    "person": "person",
}
# `results` reads a step whose name an expression cannot spell: results['first-draft'].
RESULTS = "results"
# The field of the result of `if` and `choose` that names the branch that was taken.
BRANCH = "branch"
_CONSTANTS = frozenset({"true", "false", "none", "null", "undefined", "True", "False", "None"})
_OPERATORS = frozenset({"and", "or", "not", "in", "is", "if", "else"})
_WORDS = _CONSTANTS | _OPERATORS | {"steps", "loop", "it"}
RESERVED = frozenset({*FACTS, RESULTS, *_WORDS})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DASHED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def check_name(draft: Draft, key: Scalar, what: str, allowed: Literal["plain", "dashed"]) -> None:
    """Reports a name that an expression could not read, or that means something already."""
    name = key.text
    if name in RESERVED:
        draft.report(
            "W012",
            f"{what} cannot be called {name!r}: that word has a meaning of its own",
            key.span,
            label="reserved",
            help=f"choose another name, such as {('my_' + name)!r}",
        )
        return
    pattern = _PLAIN if allowed == "plain" else _DASHED
    if pattern.fullmatch(name) and len(name) <= NAME_MAX:
        return
    marks = "letters, digits and '_'" if allowed == "plain" else "letters, digits, '_' and '-'"
    draft.report(
        "W012",
        f"{what} cannot be called {name[:40]!r}",
        key.span,
        label="not a name",
        help=f"a name begins with a letter, is made of {marks}, and has up to {NAME_MAX} of them",
    )


def read_result(name: str, part: str = "") -> Expression:
    """The expression that reads the result of a step, or a part of it such as `.stdout`."""
    if _PLAIN.fullmatch(name):
        return Expression("jinja", name + part)
    # A name with a dash is a subtraction in Jinja; a plain path can spell it.
    return Expression("plain", f"{{{{ {name}{part} }}}}")

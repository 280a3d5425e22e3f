"""How a router decides: by the category that a model names, or by the words in its input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.functions.arguments import items

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value

_READ_MAX = 20_000
_EXPLANATION_MAX = 10_000
# What may stand around a category: Markdown, quotes, brackets, punctuation.
_AROUND = " \t\r\n*_`#>\"'“”‘’()[]{}.,:;!?-–—|="


def choose(run: Run, answer: Value, branches: Value, value: Value, fallback: Value) -> Value:
    """The category that an answer begins with, or else the first one in it; the rest explains."""
    names = [str(name) for name in items(branches, "choose")]
    said = run.text(answer)[:_READ_MAX]
    run.check_text(len(said) * (1 + len(names)), "choose")
    chosen, rest = _named(said.strip(_AROUND), names)
    if chosen is None:
        chosen, rest = str(fallback), said.strip()
    return _route(chosen, value, rest[:_EXPLANATION_MAX])


def _named(said: str, names: list[str]) -> tuple[str | None, str]:
    """The longest name at the beginning, or the earliest one anywhere, as a word of its own."""
    best: tuple[int, int, str, int] | None = None
    for name in names:
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said, re.IGNORECASE)
        if name and found is not None:
            rank = (found.start(), -len(name), name, found.end())
            best = rank if best is None else min(best, rank)
    if best is None:
        return None, ""
    start, _, name, end = best
    return name, (said[end:] if start == 0 else said).strip(_AROUND[:-1])


def match(run: Run, value: Value, branches: Value) -> Value:
    """The first branch whose name is in the text, upper and lower case aside; else the last one."""
    names = [str(name) for name in items(branches, "match")]
    folded = run.text(value).casefold()
    run.check_text(len(folded) * (1 + len(names)), "match")
    chosen = next((name for name in names if name.casefold() in folded), names[-1])
    return _route(chosen, value, "")


def _route(chosen: str, value: Value, explanation: str) -> dict[str, Value]:
    return {"selectedBranch": chosen, "value": value, "explanation": explanation}


ROUTES = (
    (
        "choose(answer, branches, value, fallback)",
        choose,
        "the route that a model's answer names, with its explanation",
    ),
    ("match(value, branches)", match, "the route whose name is in the text of a value"),
)

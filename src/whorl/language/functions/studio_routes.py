"""How a router decides: by the category that a model names, or by the words in its input."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from whorl.language.functions.arguments import items

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value

_READ_MAX = 20_000
_JUDGED = frozenset({"done", "continue"})
_EXPLANATION_MAX = 10_000
# What may stand around a category: Markdown, quotes, brackets, punctuation.
_AROUND = " \t\r\n*_`#>\"'“”‘’()[]{}.,:;!?-–—|="


def choose(run: Run, answer: Value, branches: Value, value: Value, fallback: Value) -> Value:
    """The category that an answer begins with, or else the first one in it; the rest explains.

    Where it decides whether a loop is done, only the first word counts: a text that is judged must
    not end the loop because its words are quoted.
    """
    names = [str(name) for name in items(branches, "choose")]
    said = run.text(answer)[:_READ_MAX]
    run.check_text(len(said) * (1 + len(names)), "choose")
    chosen, rest = _named(said.strip(_AROUND), names, first=set(names) >= _JUDGED)
    if chosen is None:
        chosen, rest = str(fallback), said.strip()
    return _route(chosen, value, rest[:_EXPLANATION_MAX])


def _named(said: str, names: list[str], *, first: bool) -> tuple[str | None, str]:
    """The longest name at the beginning, or the earliest one anywhere, as a word of its own.

    With `first`, one that does not come first is none.
    """
    best: tuple[int, int, str, int] | None = None
    for name in names:
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said, re.IGNORECASE)
        if name and found is not None:
            rank = (found.start(), -len(name), name, found.end())
            best = rank if best is None else min(best, rank)
    if best is None or (first and best[0] > 0):
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


def fenced(run: Run, value: Value) -> Value:
    """A text between two lines that it does not hold, which tell where it ends.

    They follow from the text, so a call that is sent again is the same to the byte, and who writes
    a text that holds them has another text with other lines.
    """
    text = run.text(value)
    run.check_text(2 * len(text), "fenced")
    number = 0
    while (mark := sha256(f"{number}:{text}".encode("utf-8", "replace")).hexdigest()[:16]) in text:
        number += 1
    line = f"=====[{mark}]====="
    return f"{line}\n{text}\n{line}"


def _route(chosen: str, value: Value, explanation: str) -> dict[str, Value]:
    return {"selectedBranch": chosen, "value": value, "explanation": explanation}


ROUTES = (
    (
        "choose(answer, branches, value, fallback)",
        choose,
        "the route that a model's answer names, with its explanation",
    ),
    ("fenced(value)", fenced, "a text between two lines that it does not hold"),
    ("match(value, branches)", match, "the route whose name is in the text of a value"),
)

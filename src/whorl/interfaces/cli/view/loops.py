"""The loops of a run in lines: each of a few, and of many how often each thing happened."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from whorl.interfaces.figures import line, plural, score
from whorl.interfaces.wording import exit_words
from whorl.interpreter.events import unescape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# So many loops are told one by one.
ONE_BY_ONE_MAX = 8
# Of more, so many that did not meet their condition are told beside the counts.
_UNMET_MAX = 5
_ITERATION = re.compile(r"\[[0-9]+\]")
_ENDS = {
    "condition_met": "met",
    "max_iterations": "stopped by the limit of iterations",
    "timeout": "stopped by the limit of time",
    "budget": "stopped by budget",
    "": "under way",
}
# These end a loop, and say nothing about whether its result is good.
_ENDS_ONLY = frozenset({"plateau", "stable"})
_MET = frozenset({"condition_met", "accepted"})


def loops_lines(loops: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The loops of a result document."""
    if len(loops) <= ONE_BY_ONE_MAX:
        yield from map(loop_words, loops)
        return
    yield from _counts(loops)
    unmet = [one for one in loops if one["exit_reason"] and one["exit_reason"] not in _MET]
    for loop in unmet[:_UNMET_MAX]:
        yield f"  {loop_words(loop)}"


def all_loops(run: str, loops: Sequence[dict[str, Any]]) -> list[str]:
    """How to see all loops, where `loops_lines` does not tell each."""
    told = f"`whorl show {run}` lists all {len(loops):,} loops"
    return [told] if len(loops) > ONE_BY_ONE_MAX else []


def _counts(loops: Sequence[dict[str, Any]]) -> Iterator[str]:
    """For each loop of the file, how many times it ended in which way."""
    found: dict[str, Counter[str]] = {}
    for loop in loops:
        path = unescape(_ITERATION.sub("", loop["path"]))
        found.setdefault(path, Counter())[_end(loop)] += 1
    for path, ends in found.items():
        told = sorted(ends.items(), key=lambda one: (one[0] != _ENDS["condition_met"], -one[1]))
        yield f"{line(path, 60)}: {', '.join(f'{number:,} {end}' for end, number in told)}"


def _end(loop: dict[str, Any]) -> str:
    reason = loop["exit_reason"] or ""
    words = _ENDS.get(reason, reason)
    return f"{words} ({loop['stopped_by']})" if loop["stopped_by"] in _ENDS_ONLY else words


def loop_words(loop: dict[str, Any]) -> str:
    """A loop of the result document in one line."""
    iterations = plural(loop["iterations"], "iteration")
    words = f"{line(loop['path'], 60)}: {iterations} so far"
    if loop["exit_reason"]:
        reason = exit_words(loop["exit_reason"], loop["stopped_by"] or "")
        words = f"{line(loop['path'], 60)}: {reason} after {iterations}"
    if loop["returned_iteration"] is not None:
        words += f", returned iteration {loop['returned_iteration']}"
    if loop["score"] is not None:
        words += f", score {score(loop['score'])}"
    return words

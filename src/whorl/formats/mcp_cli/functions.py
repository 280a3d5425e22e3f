"""Functions of the workflows of mcp-cli: flat variables, loop state, lists of items, votes."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.language.calls import Run, declare, text, whole
from whorl.language.core.text import code, from_json
from whorl.language.faults import EvaluationError
from whorl.language.libraries import Library
from whorl.language.values import UNDEFINED, kind_of

if TYPE_CHECKING:
    from whorl.language.values import Value

SEPARATOR = "---"
# The names of a loop's facts in its scope; no text of a workflow can spell them.
NUMBER, PREVIOUS, HISTORY = "loop:number", "loop:previous", "loop:history"

_SHARES = {"unanimous": 1.0, "2/3": 2 / 3, "majority": 0.5}
_ONE_LIST = "ask for one list: a JSON array, JSON lines, or one item per line"
_FIRST_WORD = re.compile(r"(?=((?:<[^<>]*>|[\W_])*))\1([^\W_]++)")
_YES = "YES PASS PASSED APPROVE APPROVED ACCEPT ACCEPTED"
_DECISIONS = frozenset(f"{_YES} NO REJECT REJECTED DENY DENIED".split())


def variable(run: Run, name: Value) -> Value:
    """Returns the value of a name that an expression cannot spell."""
    return run.lookup(text(name, "variable", "name"))


def required(run: Run, value: Value, name: Value) -> Value:
    """Returns the value; raises if it is missing."""
    if value is UNDEFINED:
        advice = "give it as an input, or add a step of that name before this one"
        raise EvaluationError(f"variable {run.text(name)!r} is not set", help=advice)
    return value


def left_over(run: Run, places: Value) -> dict[str, Value] | None:
    """Returns a warning about variables that are not set and were sent as written, or None."""
    listed = places if isinstance(places, dict) else {}
    names = ", ".join(written for written, is_set in listed.items() if not is_set)
    message = f"{names} is not set, so it was sent as it is written"
    return {"code": "W023", "message": message} if names else None


def is_true(run: Run, value: Value) -> bool:
    """Returns whether a condition holds: its text is not empty, `false` or `0`."""
    return run.text(value).strip().lower() not in ("", "false", "0")


def main_output(run: Run, outputs: Value) -> str | None:
    """Returns the text of the first output of a called workflow; null if it has none."""
    output = next(iter(outputs.values()), None) if isinstance(outputs, dict) else outputs
    return None if output is None else run.text(output)


def joined(run: Run, outputs: Value) -> str:
    """Returns outputs as one text."""
    parts = [run.text(part) for part in outputs] if isinstance(outputs, list) else []
    whole_text = SEPARATOR.join(parts)
    run.read(whole_text, Run.pay)
    return whole_text


def loop_state(run: Run) -> dict[str, Value]:
    """Returns the value of `loop` for an iteration; the first one sees empty texts."""
    previous = run.lookup(PREVIOUS)
    last = run.text(previous.get("output")) if isinstance(previous, dict) else ""
    history = run.lookup(HISTORY)
    results = history if isinstance(history, list) else []
    return {
        "iteration": run.text(run.lookup(NUMBER)),
        "output": last,
        "last": {"output": last},
        "history": joined(run, [past.get("output") for past in results if isinstance(past, dict)]),
    }


def items_in(run: Run, source: Value, most: Value) -> list[Value]:
    """Returns the items of a JSON array, of JSON lines or of plain lines, each with its index.

    The count is limited.
    """
    items = _parsed(run, source)
    if not items:
        raise EvaluationError("there are no items", help=_ONE_LIST)
    taken = items[: whole(most, "items_in", "most")]
    run.check_items(len(taken), "items_in")
    count = str(len(taken))
    return [
        {"iteration": str(n), "index": str(n - 1), "count": count, "current": item, "item": item}
        for n, item in enumerate(taken, start=1)
    ]


def _parsed(run: Run, source: Value) -> list[Value]:
    """Parses a JSON array, or lines, which are JSON if all of them are; also in a code fence."""
    if isinstance(source, list):
        return source
    written = run.text(source).strip()
    run.limit_text(len(written), "items_in")
    content = code(run, written, "json").strip()
    for array in (written, content):
        with suppress(EvaluationError):
            if array.startswith("[") and isinstance(items := from_json(run, array), list):
                return items
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    run.check_items(len(lines), "items_in")
    try:
        return [from_json(run, line) for line in lines]
    except EvaluationError:
        is_json = content != written and content[:1] in ("[", "{")
        if not is_json and (content == written or written.count("```") <= 2):
            return [*lines]
        problem = "a JSON code fence that is neither a JSON array nor JSON lines"
        problem = problem if is_json else "several code fences"
        raise EvaluationError(f"the items are in {problem}", help=_ONE_LIST) from None


def item_input(run: Run, given: dict[str, Value], item: Value) -> str:
    """Returns the input of a workflow for one item: a JSON object that holds it as `item`."""
    return run.json_text(given | {"item": item})


def each_result(run: Run, results: Value) -> dict[str, Value]:
    """Returns the result of all items: the last output, all outputs joined, and their count."""
    listed = results if isinstance(results, list) else []
    outputs = [part.get("output") for part in listed if isinstance(part, dict)]
    return {
        "output": run.text(outputs[-1]) if outputs else "",
        "accumulator": joined(run, outputs),
        "iterations": str(len(listed)),
        "succeeded": str(len(outputs)),
        "failed": str(len(listed) - len(outputs)),
    }


def merged(run: Run, below: Value, above: Value) -> dict[str, Value]:
    """Merges two objects; the second one wins."""
    result = dict(below) if isinstance(below, dict) else {}
    if isinstance(above, dict):
        result |= above
    run.check_items(len(result), "merged")
    return result


def vote(run: Run, answers: Value, share: Value, least: Value, wanted: Value) -> str:
    """Returns the answer of enough voters; raises if too few agree or answered."""
    if not isinstance(answers, list):
        raise EvaluationError(f"vote needs a list, not {kind_of(answers)}")
    given = [run.text(answer) for answer in answers if answer is not None]
    texts = [answer for answer in given if answer.strip()]
    if len(texts) < whole(least, "vote", "least"):
        missing = f"{len(texts)} of {plural(len(answers), 'model')} answered, not {least}"
        raise EvaluationError(f"no consensus: {missing}")
    for answer in texts:
        run.check_text(len(answer), "vote")
    voted = [_vote_of(answer) for answer in texts]
    winner, number = Counter(voted).most_common(1)[0]
    agreement = number / len(voted)
    needed = _SHARES[text(share, "vote", "share")]
    if agreement < needed or (needed == 0.5 and agreement <= needed):
        votes = ", ".join(f"{word[:40]!r}" for word in voted)
        missing = f"{number} of {len(voted)} agree, and {share} is required ({votes})"
        raise EvaluationError(f"no consensus: {missing}")
    if wanted is not None and winner != wanted:
        raise EvaluationError(f"the models agree on {winner[:40]!r}, not on {wanted!r}")
    return texts[voted.index(winner)]


def _vote_of(answer: str) -> str:
    """Returns an answer as a vote: FAIL, SUCCESS, the decision at its beginning, or all of it."""
    upper = answer.upper()
    for word in ("FAIL", "SUCCESS"):
        if word in upper:
            return word
    decision = _FIRST_WORD.match(upper[:1_000])
    if decision is not None and decision[2] in _DECISIONS:
        return decision[2]
    return " ".join(upper.split())


_BORROWING = (variable, required, main_output, joined)
_COMPUTING = (left_over, is_true, loop_state, items_in, item_input, each_result, merged, vote)
LIBRARY = Library(functions=declare("workflow", *_BORROWING, *_COMPUTING, borrowing=_BORROWING))

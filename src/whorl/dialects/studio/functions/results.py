"""What nodes of a canvas give: answers, ends of loops, gathered items, feedback for a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.core.conversion import from_json
from whorl.language.core.lists import join
from whorl.language.entry import paid_items, whole
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run

SEPARATOR = "\n---\n"
_PREVIEW = 200
# The loop's words for why it stopped, by what stopped it.
_REASONS = {"branch": "evaluator_done", "stable": "stable_output"}


def answered(run: Run, value: Value) -> Value:
    """The answer of a model, under all its names, and what it took."""
    usage = run.lookup("$usage")
    used = usage if isinstance(usage, dict) else {}
    tokens = {name: used.get(name, 0) for name in ("input_tokens", "output_tokens")}
    return {
        "response": value,
        "content": value,
        "usage": tokens,
        "cost": used.get("cost_usd") or 0.0,
    }


def ended(run: Run, value: Value, last: Value) -> Value:
    """What a loop gives at its handles; an iteration that reached no exit changes no result."""
    found = value if isinstance(value, dict) else {}
    told = found.get("loop")
    facts = told if isinstance(told, dict) else {}
    reason = facts.get("exit_reason")
    if reason == "condition_met":
        reason = _REASONS.get(str(facts.get("stopped_by")), reason)
    results = found.get("iterations", [])
    output = found.get(str(last))
    if output is None and isinstance(results, list):
        output = next((one for one in reversed(results) if one is not None), None)
    return {
        "output": output,
        "iterations": results,
        "count": facts.get("iterations", 0),
        "exit_reason": reason,
    }


def text_only(run: Run, value: Value, loop: Value) -> Value:
    """The first input of a loop that appends."""
    if isinstance(value, str):
        return value
    raise EvaluationError(
        f"loop {loop!r} appends, which takes text only, but its input is {kind_of(value)}; set "
        "feedbackMode to 'replace', or make a text of it with a transform"
    )


def append(run: Run, before: Value, after: Value, node: Value, number: Value) -> Value:
    """The input of the next turn: the present one, a line, and what came of it."""
    if not isinstance(after, str):
        raise EvaluationError(
            f"{node!r} gave {kind_of(after)} in iteration {number}, but feedbackMode 'append' "
            "takes text only; set it to 'replace', or make a text of it with a transform"
        )
    text = run.text(before)
    run.check_text(len(text) + len(SEPARATOR) + len(after), "append")
    return f"{text}{SEPARATOR}{after}"


def items_of(run: Run, value: Value, node: Value) -> Value:
    """What an iterator goes through: a list, a text that holds one as JSON, or lines of text."""
    if isinstance(value, str):
        return _items_in(run, value)
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        if len(lists) == 1:
            return lists[0]
    if not isinstance(value, list):
        raise EvaluationError(f"{node!r} goes through a list, and its input is {kind_of(value)}")
    return value


def _items_in(run: Run, text: str) -> Value:
    run.check_text(len(text), "items")
    if text.lstrip().startswith("["):
        try:
            found = from_json(run, text)
        except EvaluationError:
            found = None
        if isinstance(found, list):
            return found
    return [line.strip() for line in text.splitlines() if line.strip()]


def gathered(run: Run, value: Value, node: Value, strategy: Value, separator: Value) -> Value:
    """What an aggregator makes of the results of all items."""
    results = paid_items(run, value, "gathered")
    found = [part.get(str(node)) if isinstance(part, dict) else None for part in results]
    result: Value = found
    if strategy == "concat":
        result = join(run, [part for part in found if part is not None], separator, None)
    elif strategy == "merge":
        result = _merged(run, found, str(node))
    return {"result": result, "count": len(found)}


def _merged(run: Run, found: list[Value], node: str) -> dict[str, Value]:
    merged: dict[str, Value] = {}
    for number, part in enumerate(found, start=1):
        if part is None:
            continue
        if not isinstance(part, dict):
            raise EvaluationError(f"{node!r} merges objects, and item {number} is {kind_of(part)}")
        merged.update(part)
        run.check_items(len(merged), "merge")
    return merged


def checked(run: Run, value: Value, node: Value, fails: Value) -> Value:
    """The verdict of a validator; an error if it is to fail on what is not valid."""
    found = value if isinstance(value, dict) else {}
    if fails and not found.get("valid"):
        errors = found.get("errors")
        listed = errors if isinstance(errors, list) else []
        told = "; ".join(str(error) for error in listed[:3])
        raise EvaluationError(f"{node!r} refuses its input: {told}")
    return value


def shell_text(run: Run, value: Value) -> Value:
    """What the built-in shell gives: its output, and what went wrong on lines of their own."""
    found = value if isinstance(value, dict) else {}
    output, errors = (str(found.get(name) or "").rstrip("\n") for name in ("stdout", "stderr"))
    lines = [output] if output else []
    lines += [f"[stderr] {errors}"] if errors else []
    lines += ["[timed out]"] if found.get("timed_out") else []
    lines += [f"[exit code: {found['exit_code']}]"] if found.get("exit_code") else []
    text = "\n".join(lines) or "(no output)"
    run.check_text(len(text), "shell_text")
    return text


def file_text(run: Run, value: Value) -> Value:
    """What the built-in reader of files gives."""
    found = value.get("content") if isinstance(value, dict) else None
    return found or "(empty file)"


def written_text(run: Run, value: Value) -> Value:
    """What the built-in writer of files gives."""
    found = value if isinstance(value, dict) else {}
    return f"wrote {found.get('size', 0)} bytes to {found.get('path', '')}"


def remembered(run: Run, past: Value, prompt: Value, answer: Value, keep: Value) -> Value:
    """A conversation with one more question and answer, cut at the oldest end."""
    kept = list(past) if isinstance(past, list) else []
    if answer is UNDEFINED or answer is None:
        return kept
    kept += [
        {"role": "user", "content": run.text(prompt)},
        {"role": "assistant", "content": run.text(answer)},
    ]
    most = max(2, whole(keep, "remembered", "keep"))
    return kept[-most:]


def preview(run: Run, value: Value) -> str:
    """The beginning of a value as text, for people who watch."""
    return run.text(value)[:_PREVIEW]


RESULTS = (
    ("preview(value)", preview, "the beginning of a value as text"),
    ("answered(value)", answered, "a model's answer with its usage and its cost"),
    ("ended(value, last)", ended, "what a loop gives: output, iterations, count, exit_reason"),
    ("text_only(value, loop)", text_only, "the text, or an error that names the loop"),
    (
        "append(before, after, node, number)",
        append,
        "two texts with a line between them, or an error that names node and iteration",
    ),
    ("items_of(value, node)", items_of, "the items that an iterator goes through"),
    (
        "gathered(value, node, strategy, separator)",
        gathered,
        "the results of all items: a list, one text, or one object",
    ),
    ("checked(value, node, fails)", checked, "the verdict of a validator, or its error"),
    ("shell_text(value)", shell_text, "the output of a command, with its errors, as one text"),
    ("file_text(value)", file_text, "the content of a file"),
    ("written_text(value)", written_text, "which file was written"),
    (
        "remembered(past, prompt, answer, keep)",
        remembered,
        "a conversation with one more question and answer",
    ),
)

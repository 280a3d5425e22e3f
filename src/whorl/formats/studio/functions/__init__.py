"""The function library of canvases: values of handles, results of nodes, and placeholders.

Names of nodes are arguments, since a node of a canvas may have a name that no expression can spell.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from whorl.formats.studio.functions.transforms import PIPES, find_path
from whorl.language.calls import declare, items, paid_items, text, whole
from whorl.language.core.lists import join
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError
from whorl.language.libraries import Library
from whorl.language.values import UNDEFINED, Value, item_of, kind_of

if TYPE_CHECKING:
    from whorl.language.calls import Run


# How a router decides: by the category that a model names, or by the words in its input.

_SHOWN_MAX = 200
# The characters allowed around a category: Markdown, quotes, brackets, punctuation.
_AROUND = " \t\r\n*_`#>\"'“”‘’()[]{}.,:;!?-–—|="
_FENCED = re.compile(r"```[a-zA-Z]*\s*+(.*?)```", re.DOTALL)
# An answer with one of these may deny the name that it has.
_DENIED = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|cannot|neither|nor|hardly|far from)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
# What takes a name back right behind it: "done: false", "done? not yet", "done once it is tested".
_TAKEN_BACK = re.compile(
    r"[\s*_`\"'“”‘’()\[\]{}]*+(?:\?|[.,:;!|=>–—-]*+[\s*_`\"'“”‘’]*+(?:false\b|0\s*$"
    r"|no\s*(?:$|[.,;!])|not (?:yet|really|quite)\b|(?:is|was) not\b|(?:is|was)n['’]t\b"
    r"|(?:if|when|once|unless)\b))",
    re.IGNORECASE,
)
# What may stand between the names where several are listed: "done/continue", "done or continue".
_LISTED = re.compile(r"(?:[\s*_`\"'“”‘’()\[\]{},:|/&+=–—-]|\b(?:or|and|vs)\b)*", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:my|the|final|selected|chosen)\s++)*(?:answer|branch|category|choice|decision|route"
    r"|verdict)[*_`\s]*+(?:[:=]|is\b)",
    re.IGNORECASE,
)
_DECIDING = frozenset({"branch", "selectedbranch", "category", "choice", "decision", "route"})
_EXPLAINING = frozenset({"reason", "reasoning", "explanation", "why", "rationale", "comment"})


def choose(run: Run, answer: Value, branches: Value, value: Value, fallback: Value) -> Value:
    """Returns the route that a model's answer names, with its explanation."""
    named = _category(run, answer, branches)
    chosen, explanation = named or (str(fallback), run.text(answer).strip())
    return _route(chosen, value, explanation)


def misread(run: Run, answer: Value, branches: Value, node: Value, fallback: Value) -> Value:
    """Returns a warning if a model's answer names no route."""
    if _category(run, answer, branches) is not None:
        return None
    words = " ".join(run.text(answer).split())
    shown = f"{words[:_SHOWN_MAX]}..." if len(words) > _SHOWN_MAX else words
    names = ", ".join(map(str, items(branches, "misread")))
    return (
        f"router {node!r} takes the branch {fallback!r}, because the answer {shown!r} does not say "
        f"which of its branches ({names}) it means; ask for the name alone in its prompt"
    )


def _category(run: Run, answer: Value, branches: Value) -> tuple[str, str] | None:
    """Returns the branch that an answer names, and its rest; None for no branch, or several.

    A branch comes first, or behind a label such as `Answer:`. If it does not decide a loop, it may
    be anywhere: a quoted word of a judged text must not end a loop.
    """
    names = [str(name) for name in items(branches, "choose") if str(name)]
    text = _unwrapped(run.text(answer))
    run.check_text(len(text) * (1 + len(names)), "choose")
    fence = _FENCED.search(text)
    inside = (fence[1] if fence else text).strip()
    if inside.startswith(("{", "[")):
        with suppress(EvaluationError):
            return _in_json(run, inside, names)
    words = text.strip(_AROUND)
    label = _LABEL.match(words)
    spans = _spans(words, names)
    if spans and not words[label.end() if label else 0 : spans[0][1]].strip(_AROUND):
        # The first name may be denied, asked, conditional, or the first one of a list.
        (name, _, end), bare = spans[0], text.lstrip(_AROUND)
        second = next((start for other, start, _ in spans if other != name), None)
        is_listed = second is not None and _LISTED.fullmatch(bare, end, second) is not None
        if is_listed or _TAKEN_BACK.match(bare, end):
            return None
        return name, words if label else words[end:].strip(_AROUND[:-1])
    is_meant = len({name for name, _, _ in spans}) == 1 and not _DENIED.search(text)
    return (spans[0][0], words) if is_meant and not {"done", "continue"} <= set(names) else None


def _unwrapped(text: str) -> str:
    """Returns an answer without the thoughts before it and the tag around it."""
    text = text.strip()
    if text.startswith("<think>"):
        text = text.rpartition("</think>")[2].strip()
    inside = text.removeprefix("<answer>").removesuffix("</answer>")
    return text if "<" in inside else inside


def _spans(words: str, names: list[str]) -> list[tuple[str, int, int]]:
    """Returns the places of the names as whole words; of names that overlap, the longest counts."""
    by_length = sorted(names, key=len, reverse=True)
    folded = {name.casefold(): name for name in reversed(by_length)}
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)"
    matches = re.finditer(pattern, words, re.IGNORECASE)
    return [
        (folded[m[0].casefold()], m.start(), m.end()) for m in matches if m[0].casefold() in folded
    ]


def _in_json(run: Run, text: str, names: list[str]) -> tuple[str, str] | None:
    """Returns the branch in a field of an object, or with a true field, and the other texts."""
    parsed = from_json(run, text)
    if isinstance(parsed, list):
        parsed = {"branch": parsed[0]} if len(parsed) == 1 else {}
    fields = parsed if isinstance(parsed, dict) else {}
    folded = {name.casefold(): name for name in names}
    deciding = {key for key in fields if key.casefold() in _DECIDING}
    deciding = deciding or {key for key in fields if key.casefold() not in _EXPLAINING}
    texts = {key: part for key, part in fields.items() if isinstance(part, str)}
    named = {key: folded.get(texts[key].strip(_AROUND).casefold()) for key in deciding & set(texts)}
    flags = {folded.get(key.casefold()) for key, part in fields.items() if part is True}
    chosen = {name for name in (*named.values(), *flags) if name is not None}
    if len(chosen) != 1:
        return None
    return chosen.pop(), "\n".join(part for key, part in texts.items() if named.get(key) is None)


def match(run: Run, value: Value, branches: Value) -> Value:
    """Returns the first branch whose name is in the text, in any case; else the last one."""
    names = [str(name) for name in items(branches, "match")]
    folded = run.text(value).casefold()
    run.check_text(len(folded) * (1 + len(names)), "match")
    chosen = next((name for name in names if name.casefold() in folded), names[-1])
    return _route(chosen, value, "")


def fenced(run: Run, value: Value) -> Value:
    """Returns a text between two lines that it does not hold, which mark its ends.

    The lines follow from the text, so a repeated call is the same to the byte. If an author writes
    a text with these lines, that is another text, and has other lines.
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


# The fields of a result's main text, in the order of search.
_MAIN = ("response", "content", "result", "value")
_SEPARATOR = "\n---\n"
_PREVIEW = 200
# The loop's words for why it stopped, by what stopped it.
_REASONS = {"branch": "evaluator_done", "stable": "stable_output"}
_Extra = tuple[Value, ...]
_Named = dict[str, Value]


def _object(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def known(run: Run, name: Value) -> Value:
    return run.lookup(text(name, "known", "name"))


def field(run: Run, name: Value, key: Value) -> Value:
    """Returns a field of a result; the whole result if it has no such field."""
    value = known(run, name)
    return _object(value).get(str(key), value)


def ran(run: Run, name: Value) -> bool:
    return known(run, name) is not UNDEFINED


def took(run: Run, name: Value, branch: Value) -> bool:
    return _object(known(run, name)).get("selectedBranch") == branch


def pick(run: Run, choices: _Extra, named: _Named) -> Value:
    for live, value in zip(reversed(choices[::2]), reversed(choices[1::2]), strict=True):
        if live:
            return None if value is UNDEFINED else value
    return None


def main(run: Run, value: Value, key: Value) -> Value:
    fields = _object(value)
    return next((fields[str(name)] for name in (key, *_MAIN) if name in fields), value)


def dig(run: Run, value: Value, written: Value, path: _Extra, named: _Named) -> Value:
    """Returns the value of a placeholder; a placeholder without a value stays as it is written."""
    for part in path:
        value = item_of(value, part)
    return written if value is UNDEFINED else value


def jsonpath(run: Run, value: Value, path: Value) -> Value:
    run.weigh(value)
    return find_path(text(path, "jsonpath", "path"), value)


def pipe(run: Run, value: Value, name: Value, arguments: _Extra, named: _Named) -> Value:
    result = PIPES[text(name, "a pipe", "name")](run, value, *arguments)
    return None if result is UNDEFINED else result


def argument(run: Run, value: Value, name: Value, is_only: Value) -> Value:
    """Returns the value for an input of a called workflow: the field of its name, or everything."""
    return _object(value).get(str(name), value if is_only else None)


def only(run: Run, value: Value) -> Value:
    fields = _object(value)
    return next(iter(fields.values())) if len(fields) == 1 else value


def object_of(run: Run, value: Value, node: Value, bare: Value) -> Value:
    """Returns the input of a tool as an object, which a text may hold as JSON.

    Any other value becomes the field `bare` of an object, if that has a name.
    """
    if value is None or value is UNDEFINED:
        return {}
    parsed = value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(EvaluationError):
            parsed = from_json(run, value)
    if isinstance(parsed, dict):
        return parsed
    if bare:
        return {str(bare): value}
    raise EvaluationError(f"{node!r} takes an object as its input, not {kind_of(value)}")


def needed(run: Run, value: Value, name: Value, node: Value) -> Value:
    part = optional(run, value, name, None)
    if part is None:
        raise EvaluationError(f"the input of {node!r} lacks {name!r}")
    return part


def optional(run: Run, value: Value, name: Value, default: Value) -> Value:
    part = _object(value).get(str(name))
    return default if part is None else part


def fields(run: Run, value: Value, extra: _Extra, named: _Named) -> Value:
    combined = dict(_object(value))
    for name, part in zip(extra[::2], extra[1::2], strict=True):
        if part is not None and part is not UNDEFINED:
            combined[str(name)] = part
    run.check_items(len(combined), "fields")
    return combined


def merged(run: Run, first: Value, second: Value) -> Value:
    """Merges two objects; the second counts for fields that both have."""
    if second is not None and not isinstance(second, dict):
        raise EvaluationError(f"incoming headers must be an object, not {kind_of(second)}")
    united = _object(first) | _object(second)
    run.check_items(len(united), "merged")
    return united


def refuse(run: Run, message: Value) -> Value:
    raise EvaluationError(str(message))


def timestamp(run: Run) -> str:
    seconds = run.lookup("$now")
    moment = float(seconds) if isinstance(seconds, int | float) else 0.0
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def preview(run: Run, value: Value) -> str:
    return run.text(value)[:_PREVIEW]


def answered(run: Run, value: Value) -> Value:
    """Returns the answer of a model, under all its names, with its usage."""
    used = _object(run.lookup("$usage"))
    tokens = {name: used.get(name, 0) for name in ("input_tokens", "output_tokens")}
    cost = used.get("cost_usd") or 0.0
    return {"response": value, "content": value, "usage": tokens, "cost": cost}


def ended(run: Run, value: Value, last: Value) -> Value:
    """Returns the result of a loop: output, iterations, count, exit_reason."""
    outcome = _object(value)
    facts = _object(outcome.get("loop"))
    reason = facts.get("exit_reason")
    if reason == "condition_met":
        reason = _REASONS.get(str(facts.get("stopped_by")), reason)
    results = outcome.get("iterations", [])
    output = outcome.get(str(last))
    if output is None and isinstance(results, list):
        output = next((result for result in reversed(results) if result is not None), None)
    count = facts.get("iterations", 0)
    return {"output": output, "iterations": results, "count": count, "exit_reason": reason}


def text_only(run: Run, value: Value, loop: Value) -> Value:
    """Returns the first input of a loop that appends, which must be a text."""
    if isinstance(value, str):
        return value
    raise EvaluationError(
        f"loop {loop!r} appends, which takes text only, but its input is {kind_of(value)}; set "
        "feedbackMode to 'replace', or make a text of it with a transform"
    )


def append(run: Run, before: Value, after: Value, node: Value, number: Value) -> Value:
    """Joins two texts by a line break, or raises an error with the node and the iteration."""
    if not isinstance(after, str):
        raise EvaluationError(
            f"{node!r} gave {kind_of(after)} in iteration {number}, but feedbackMode 'append' "
            "takes text only; set it to 'replace', or make a text of it with a transform"
        )
    text = run.text(before)
    run.check_text(len(text) + len(_SEPARATOR) + len(after), "append")
    return f"{text}{_SEPARATOR}{after}"


def items_of(run: Run, value: Value, node: Value) -> Value:
    """Returns the items of an iterator: a list, a text with one as JSON, or lines of text."""
    if isinstance(value, str):
        run.check_text(len(value), "items")
        if value.lstrip().startswith("["):
            with suppress(EvaluationError):
                if isinstance(parsed := from_json(run, value), list):
                    return parsed
        return [line.strip() for line in value.splitlines() if line.strip()]
    lists = [part for part in _object(value).values() if isinstance(part, list)]
    if len(lists) == 1:
        return lists[0]
    if not isinstance(value, list):
        raise EvaluationError(f"{node!r} needs a list, but its input is {kind_of(value)}")
    return value


def gathered(run: Run, value: Value, node: Value, strategy: Value, separator: Value) -> Value:
    """Returns the results of all items: a list, one text, or one object."""
    parts = [_object(part).get(str(node)) for part in paid_items(run, value, "gathered")]
    result: Value = parts
    if strategy == "concat":
        result = join(run, [part for part in parts if part is not None], separator, None)
    elif strategy == "merge":
        result = united = dict[str, Value]()
        for number, part in enumerate(parts, start=1):
            if part is None:
                continue
            if not isinstance(part, dict):
                message = f"{str(node)!r} merges objects, and item {number} is {kind_of(part)}"
                raise EvaluationError(message)
            united.update(part)
            run.check_items(len(united), "merge")
    return {"result": result, "count": len(parts)}


def checked(run: Run, value: Value, node: Value, fails: Value) -> Value:
    verdict = _object(value)
    if fails and not verdict.get("valid"):
        errors = verdict.get("errors")
        listed = "; ".join(map(str, errors[:3])) if isinstance(errors, list) else ""
        raise EvaluationError(f"{node!r} refuses its input: {listed}")
    return value


def shell_text(run: Run, value: Value) -> Value:
    """Returns the output of a command, with its errors, as one text."""
    result = _object(value)
    output, errors = (str(result.get(name) or "").rstrip("\n") for name in ("stdout", "stderr"))
    lines = [output] if output else []
    lines += [f"[stderr] {errors}"] if errors else []
    lines += ["[timed out]"] if result.get("timed_out") else []
    lines += [f"[exit code: {result['exit_code']}]"] if result.get("exit_code") else []
    text = "\n".join(lines) or "(no output)"
    run.check_text(len(text), "shell_text")
    return text


def file_text(run: Run, value: Value) -> Value:
    return _object(value).get("content") or "(empty file)"


def written_text(run: Run, value: Value) -> Value:
    result = _object(value)
    return f"wrote {result.get('size', 0)} bytes to {result.get('path', '')}"


def remembered(run: Run, past: Value, prompt: Value, answer: Value, keep: Value) -> Value:
    """Returns a conversation with one more question and answer."""
    kept = list(past) if isinstance(past, list) else []
    if answer is UNDEFINED or answer is None:
        return kept
    for role, content in (("user", prompt), ("assistant", answer)):
        kept.append({"role": role, "content": run.text(content)})
    return kept[-max(2, whole(keep, "remembered", "keep")) :]


LIBRARY = Library(
    functions=declare(
        "canvas",
        *(known, field, ran, took, pick, main, dig, jsonpath, pipe, argument, only, object_of),
        *(needed, optional, fields, merged, refuse, timestamp, preview, answered, ended),
        *(text_only, append, items_of, gathered, checked, shell_text, file_text, written_text),
        *(remembered, choose, misread, fenced, match),
        borrowing=(known, field),
    )
)

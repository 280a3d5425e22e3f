"""How a router decides: by the category that a model names, or by the words in its input."""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from whorl.language.calls import items
from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.values import Value

# How much of an answer, and of its explanation, runs of earlier versions read.
_READ_MAX = 20_000
_EXPLANATION_MAX = 10_000
_SHOWN_MAX = 200
# What may stand around a category: Markdown, quotes, brackets, punctuation.
_AROUND = " \t\r\n*_`#>\"'“”‘’()[]{}.,:;!?-–—|="
_FENCED = re.compile(r"```[a-zA-Z]*\s*+(.*?)```", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?;\n]++[.!?;\n]?")
# A sentence with one of these denies something, makes it depend, or tells what another text says.
_HEDGED = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|cannot|neither|nor|hardly|barely|almost|nearly|partly"
    r"|far from|without|false|wrong|if|unless"
    r"|until|once|when|before|after|(?:to|should|would|could|will|can|must|may|might) be"
    r"|says|said|saying|claims|states|reads|asks|wants|tells|told|contains|quotes)\b"
    r"|n['’]t\b|\?$",
    re.IGNORECASE,
)
_REASON = r"[\s*_`\"'“”‘’()\[\]]*(?:$|[:!;.–—]|-\s|because\b|since\b|as\b)"
_DENIED = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|cannot|neither|nor|hardly|far from)\b|n['’]t\b",
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
_LISTED = re.compile(r"(?:[\s*_`\"'“”‘’()\[\]{},:|/&+=–—-]|\b(?:or|and|vs)\b)*+", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:my|the|final|selected|chosen)\s+)*+(?:answer|branch|category|choice|decision|route"
    r"|verdict)[*_`\s]*+[:=]",
    re.IGNORECASE,
)
_DECIDING = frozenset({"branch", "selectedbranch", "category", "choice", "decision", "route"})
_EXPLAINING = frozenset({"reason", "reasoning", "explanation", "why", "rationale", "comment"})


def choose(run: Run, answer: Value, branches: Value, value: Value, fallback: Value) -> Value:
    """The route that a model's answer names, with its explanation."""
    named = _category(run, answer, branches)
    chosen, explanation = named or (str(fallback), run.text(answer).strip())
    return _route(chosen, value, explanation[: None if run.reads_whole else _EXPLANATION_MAX])


def misread(run: Run, answer: Value, branches: Value, node: Value, fallback: Value) -> Value:
    """What to warn of where a model's answer names no route."""
    if _category(run, answer, branches) is not None:
        return None
    words = " ".join(run.text(answer)[:_READ_MAX].split())
    shown = f"{words[:_SHOWN_MAX]}..." if len(words) > _SHOWN_MAX else words
    names = ", ".join(map(str, items(branches, "misread")))
    return (
        f"router {node!r} takes the branch {fallback!r}, because the answer {shown!r} does not say "
        f"which of its branches ({names}) it means; ask for the name alone in its prompt"
    )


def _category(run: Run, answer: Value, branches: Value) -> tuple[str, str] | None:
    """The branch that an answer names, and the rest of it; None: it names none, or several.

    Where it decides whether a loop is done, a branch that is not the first word must be said as the
    answer: a text that is judged must not end the loop because its words are quoted.
    """
    names = [str(name) for name in items(branches, "choose") if str(name)]
    text = _unwrapped(run.text(answer)[: None if run.reads_whole else _READ_MAX])
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
        name, _, end = spans[0]
        if _is_taken_back(text.lstrip(_AROUND), spans):
            return None
        return name, words if label else words[end:].strip(_AROUND[:-1])
    if len({name for name, _, _ in spans}) != 1:
        return None
    is_judged = set(names) >= {"done", "continue"}
    is_meant = _is_stated(text, spans[0][0]) if is_judged else not _is_denied(words, spans)
    return (spans[0][0], words) if is_meant else None


def _unwrapped(text: str) -> str:
    """An answer without the thoughts before it and the tag around it."""
    text = text.strip()
    if text.startswith("<think>"):
        text = text.rpartition("</think>")[2].strip()
    inside = text.removeprefix("<answer>").removesuffix("</answer>")
    return text if "<" in inside else inside


def _is_taken_back(text: str, spans: list[tuple[str, int, int]]) -> bool:
    """Whether the first name is denied, asked or made to depend, or only the first of a list."""
    name, _, end = spans[0]
    if _TAKEN_BACK.match(text, end):
        return True
    second = next((start for other, start, _ in spans if other != name), None)
    return second is not None and _LISTED.fullmatch(text, end, second) is not None


def _is_denied(words: str, spans: list[tuple[str, int, int]]) -> bool:
    """Whether what stands before a name in its sentence denies it, or what stands behind it."""
    return any(
        _DENIED.search(re.split(r"[.!?;\n]", words[:start])[-1]) or _TAKEN_BACK.match(words, end)
        for _, start, end in spans
    )


def _spans(words: str, names: list[str]) -> list[tuple[str, int, int]]:
    """Where the names stand as words of their own; of names that overlap, the longest counts."""
    by_length = sorted(names, key=len, reverse=True)
    folded = {name.casefold(): name for name in reversed(by_length)}
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)"
    matches = re.finditer(pattern, words, re.IGNORECASE)
    return [
        (folded[m[0].casefold()], m.start(), m.end()) for m in matches if m[0].casefold() in folded
    ]


def _is_stated(text: str, name: str) -> bool:
    """Whether a sentence says the name as its answer, and none denies it."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    sentences = [sentence for sentence in _SENTENCE.findall(text) if named.search(sentence)]
    answer = rf"{named.pattern}{_REASON}|[*_`\"'“‘]{re.escape(name)}[*_`\"'”’]"
    return not any(map(_HEDGED.search, sentences)) and any(
        re.search(answer, sentence.strip(), re.IGNORECASE) for sentence in sentences
    )


def _in_json(run: Run, text: str, names: list[str]) -> tuple[str, str] | None:
    """The branch that a field of an object names, or whose own field is true; texts explain it."""
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

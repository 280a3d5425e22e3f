"""A dialect's own words for what a run tells: its reader left them in the workflow as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import safe

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json

# What is said where a dialect has no words of its own.
_JUDGEMENT = {
    "line": "judge: {question} -> {verdict}",
    "met": "YES",
    "not_met": "NO",
    "ambiguous": "AMBIGUOUS ({answer})",
}


def judgement_lines(vocabulary: Json, event: Event) -> list[str]:
    """A line for each judgement of an iteration that has just finished."""
    if event.kind != "iteration.finished":
        return []
    found: Any = vocabulary.get("judgement") if isinstance(vocabulary, dict) else None
    words: dict[str, str] = _JUDGEMENT | (found or {})
    facts: Any = event.body.get("facts") or []
    return [_line(words, fact) for fact in facts if fact.get("by") == "judge"]


def status_lines(vocabulary: Json, path: str, facts: dict[str, str]) -> list[str]:
    """What a dialect says about a run that is in a loop, line by line; nothing where it has no
    words for that. `path` is the loop's.
    """
    words: Any = vocabulary if isinstance(vocabulary, dict) else {}
    lines: list[str] = words.get("status") or []
    known = {name: str(word) for name, word in (words.get("loops") or {}).get(path, {}).items()}
    return [safe(_fill(line, known | facts)) for line in lines]


def _line(words: dict[str, str], fact: dict[str, Any]) -> str:
    met = fact.get("met")
    state = "ambiguous" if met is None else "met" if met else "not_met"
    filled = {"question": fact.get("question", ""), "answer": fact.get("answer", "")}
    return safe(_fill(words["line"], filled | {"verdict": _fill(words[state], filled)}))


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text

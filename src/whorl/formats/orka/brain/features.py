"""What a task is like: structures and patterns by keywords, its words, and how alike two are."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from whorl.formats.orka.outputs import texts_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.language import Json

STRUCTURES = {
    "decomposition": "break down|split|decompose|divide|parts|components",
    "sequential": "then|step by step|first|next|after|sequence|pipeline",
    "parallel": "simultaneously|parallel|concurrent|fork|at the same time",
    "aggregation": "combine|merge|aggregate|join|collect|summarize",
    "comparison": "compare|versus|difference|contrast|better|worse",
    "transformation": "convert|transform|translate|map|rewrite|format",
    "filtering": "filter|select|extract|pick|remove|exclude|subset",
    "routing": "route|direct|if|decide|branch|choose|switch",
    "iteration": "repeat|loop|iterate|until|converge|refine",
    "validation": "validate|verify|check|confirm|ensure|test|assess",
}
PATTERNS = {
    "analysis": "analyze|understand|examine|investigate|break down|study",
    "synthesis": "synthesize|combine|integrate|build|compose|create from",
    "evaluation": "evaluate|judge|assess|rate|score|quality|review",
    "generation": "generate|create|write|produce|draft|compose",
    "classification": "classify|categorize|label|sort|type|group",
    "extraction": "extract|find|locate|identify|pull out|retrieve",
    "reasoning": "reason|deduce|conclude|infer|logic|because|therefore",
    "planning": "plan|schedule|organize|prioritize|strategy|roadmap",
    "optimization": "optimize|improve|enhance|best|efficient|faster",
    "abstraction": "abstract|generalize|pattern|principle|concept",
}
_OUTPUTS = {"json": "structured", "object": "structured", "structured": "structured"}
_OUTPUTS |= {"list": "list", "array": "list", "bool": "boolean", "boolean": "boolean"}
_OUTPUTS |= {"number": "numeric", "numeric": "numeric", "score": "numeric"}
_LONG = 1_000
_WORD = re.compile(r"[^\W_]{3,}")
# Endings that the forms of one word differ by, the longest first.
_ENDINGS = ("ation", "ating", "ated", "ate", "ing", "ion", "ied", "ie", "ed", "e", "y")
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "from",
        "with",
        "that",
        "this",
        "are",
        "was",
        "were",
        "how",
        "what",
        "when",
        "which",
        "who",
        "will",
        "you",
        "your",
        "not",
        "has",
        "have",
        "into",
        "its",
        "can",
        "does",
        "into",
        "any",
        "all",
        "out",
        "our",
        "but",
    ]
)


def features(task: str, description: str, shown: Json, output_format: str = "") -> dict[str, Json]:
    """The features of a task; a keyword counts anywhere in its texts, even inside of a word."""
    text = f"{task} {description} {shown if isinstance(shown, str) else ''}".lower()
    structures = _named_in(text, STRUCTURES)
    patterns = _named_in(text, PATTERNS)
    return {
        "structures": [*structures],
        "patterns": [*patterns],
        "input": _shape_of(shown, text),
        "output": _OUTPUTS.get(output_format.strip().lower(), "text"),
        "complexity": min(10, 3 + min(3, len(structures)) + min(3, len(patterns))),
    }


def _named_in(text: str, table: dict[str, str]) -> list[str]:
    return [name for name, words in table.items() if any(word in text for word in words.split("|"))]


def _shape_of(shown: Json, text: str) -> str:
    if isinstance(shown, list):
        return "list"
    if isinstance(shown, dict):
        return "structured"
    if not text.strip():
        return "unknown"
    return "long_text" if len(text) > _LONG else "single_text"


def likeness(one: dict[str, Json], other: dict[str, Json]) -> float:
    """How alike two tasks are built, from 0 to 1."""
    score = 0.0
    for name in ("structures", "patterns"):
        score += 0.35 * _shared(texts_in(one.get(name)), texts_in(other.get(name)))
    for name in ("input", "output"):
        score += 0.15 * (one.get(name) == other.get(name))
    return round(score, 4)


def _shared(one: Iterable[str], other: Iterable[str]) -> float:
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def adaptations(source: dict[str, Json], target: dict[str, Json]) -> dict[str, Json]:
    """What differs between the task that a skill comes from and the one that it is wanted for."""
    found: dict[str, Json] = {}
    for name in ("input", "output"):
        before, after = source.get(name), target.get(name)
        if before != after:
            advice = f"turn {after} into {before}, or change the steps so that they take {after}"
            found[f"{name}_adaptation"] = {"from": before, "to": after, "suggestion": advice}
    had, wanted = texts_in(source.get("structures")), texts_in(target.get("structures"))
    for name, listed, others in (
        ("add_structures", wanted, had),
        ("remove_structures", had, wanted),
    ):
        if differing := [part for part in listed if part not in others]:
            found[name] = [*differing]
    before, after = source.get("complexity"), target.get("complexity")
    if isinstance(before, int) and isinstance(after, int) and abs(before - after) > 2:
        found["complexity"] = {"from": before, "to": after}
    return found


def overlap(wanted: str, text: str) -> float:
    """How much of the words of one text another one has, by their stems."""
    asked, there = _stems(wanted), _stems(text)
    if not asked or not there:
        return 0.0
    # Of two texts of very different lengths the shorter one decides.
    return round(len(asked & there) / math.sqrt(len(asked) * min(len(asked), len(there))), 4)


def _stems(text: str) -> set[str]:
    words = set(_WORD.findall(text.lower())) - _COMMON
    return {_stem(word) for word in words}


def _stem(word: str) -> str:
    word = word.removesuffix("s") if len(word) > 3 else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word

"""What agents gave, as templates read it, and the patterns and paths that look into it.

An agent's result is the text that a model wrote, or JSON. `previous_outputs.writer` prints the
text, `previous_outputs.writer.response` is the same, and the members of a text that is a JSON
object can be read like those of an object.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.language.faults import LanguageError
from whorl.language.patterns import Pattern, pattern
from whorl.language.values import UNDEFINED, Value, item_of, member_of, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.language.run import Run

# Names that the reader of the dialect binds and no author can write.
FLOW = "$flow"
THRESHOLD = "$threshold"
PREVIOUS = "$previous"

# The name under which templates find the results of agents.
OUTPUTS = "previous_outputs"
PAST = "past_loops"
# Members of a record that are kept for the engine and not shown to prompts.
INSIGHTS = "$insights"
# What a result without a member of that name gives for it: itself.
WORDS = frozenset(("response", "result", "output"))

_PARSED_MAX = 65_536
_UNWRAPPED_MAX = 8
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_AHEAD = "(?="
# An escaped letter, a class or any other letter of a pattern.
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?|.", re.DOTALL)
_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]'"$*?@\s](?:[^.\[\]'"*?@]*[^.\[\]'"*?@\s])?)"""
    r"""|\[(?P<index>-?\d{1,6})\]"""
    r"""|\[\s*(?:'(?P<single>[^']+)'|"(?P<double>[^"]+)")\s*\]"""
)
_HELP = "write members with dots and positions in brackets, as in $.eval.scores[0]"


class Output(dict[str, "Value"]):
    """The result of an agent that is an object; one without `response` stands for it itself."""

    __slots__ = ()


def previous_outputs(run: Run) -> dict[str, Value]:
    """The results of all agents that have run, by their names, and the past loops."""
    outputs = dict(outputs_of(run, listed(run, "agents")))
    past = run.lookup(PAST)
    if isinstance(past, list):
        outputs[PAST] = shown_records(past)
    return outputs


def outputs_of(run: Run, names: Iterable[str]) -> Iterator[tuple[str, Value]]:
    """The results of some agents, as far as they have one."""
    for name in names:
        run.spend(1)
        value = run.lookup(name)
        if value is not UNDEFINED and value is not None:
            yield name, presented(value)


def listed(run: Run, what: str) -> list[str]:
    """What the reader wrote down about the agents around: all of them, the forks or the joins."""
    flow = run.lookup(FLOW)
    return texts_in(flow.get(what)) if isinstance(flow, dict) else []


def texts_in(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def presented(value: Value) -> Value:
    """A result as templates see it: what is null in it is undefined."""
    if not isinstance(value, dict) or isinstance(value, Output):
        return value
    shown = Output((name, part) for name, part in value.items() if part is not None)
    inner = value.get("result")
    if "loops_completed" in value and isinstance(inner, dict):
        # Files of the public system read the figures of a loop inside of its `result`, too.
        figures = {name: part for name, part in shown.items() if name not in WORDS}
        shown["result"] = Output({**figures, **inner})
    return shown


def shown_records(past: Sequence[Value]) -> list[Value]:
    """Records of past loops without what only the engine needs."""
    return [
        {k: v for k, v in record.items() if v is not None and k != "number" and k[:1] != "$"}
        if isinstance(record, dict)
        else record
        for record in past
    ]


def member(value: Value, name: str) -> Value:
    """`value.name`, where a text or an object without `response` is its own."""
    if isinstance(value, dict):
        return value.get(name, value if isinstance(value, Output) and name in WORDS else UNDEFINED)
    inner = object_in(value) if isinstance(value, str) else None
    if inner is not None and name in inner:
        return inner[name]
    if name in WORDS and isinstance(value, str | bool | int | float | list):
        return value
    return member_of(value, name)


def item(value: Value, key: Value) -> Value:
    """`value[key]`, with the same rule for texts as keys."""
    return member(value, key) if isinstance(key, str) else item_of(value, key)


def printed(run: Run, value: Value) -> str:
    """A value as templates print it: an object with a response prints that."""
    return run.text(response_of(value))


def joined(run: Run, mark: str, texts: Iterable[str], operation: str) -> str:
    """Texts as one; what would be too long is refused before all of it is there."""
    parts: list[str] = []
    size = 0
    for text in texts:
        size += len(text) + len(mark)
        run.spend(1)
        run.limit_text(size, operation)
        parts.append(text)
    run.check_text(size, operation)
    return mark.join(parts)


def response_of(value: Value) -> Value:
    """What an agent said."""
    for _ in range(_UNWRAPPED_MAX):
        if isinstance(value, dict) and value.get("response") is not None:
            value = value["response"]
        elif isinstance(value, str) and (inner := object_in(value)) and "response" in inner:
            value = inner["response"]
        else:
            break
    return value


def text_of(value: Value) -> str:
    """The text in which scores and lessons are looked for."""
    response = response_of(value)
    if isinstance(response, str):
        return response
    if isinstance(response, dict):
        texts = [part for part in response.values() if isinstance(part, str)]
        return "\n".join([*texts, to_text(dict(response))])
    return "" if response is None or response is UNDEFINED else to_text(response)


def fields_of(value: Value) -> dict[str, Value]:
    """The members of a result: of the object, or of the one that a text holds."""
    if isinstance(value, dict):
        inner = value.get("response")
        spoken = fields_of(inner) if isinstance(inner, dict | str) else {}
        return {**spoken, **value}
    return dict(object_in(value) or {}) if isinstance(value, str) else {}


def object_in(text: str) -> dict[str, Value] | None:
    """The JSON object that a text is, or holds in a fence."""
    if len(text) > _PARSED_MAX or "{" not in text:
        return None
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> dict[str, Value] | None:
    fenced = _FENCE.search(text)
    for source in (text, fenced[1] if fenced else ""):
        if source.lstrip()[:1] == "{":
            with suppress(ValueError, RecursionError):
                parsed: dict[str, Value] = json.loads(source, parse_constant=_refuse)
                return parsed
    return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def search_pattern(source: str, *, lessons: bool = False) -> Pattern:
    """Compiles a pattern; raises LanguageError. Patterns for lessons ignore case and line ends.

    A look-ahead at its very end becomes a group: what a pattern only looks for there may as well
    belong to what it finds, since no more than its groups is ever read.
    """
    start = source.rfind(_AHEAD)
    if start >= 0 and _closing(source, start) == len(source) - 1:
        source = f"{source[:start]}(?:{source[start + len(_AHEAD) :]}"
    return pattern(source, ignore_case=lessons, dot_matches_newline=lessons)


def _closing(source: str, start: int) -> int:
    """Where the parenthesis at `start` is closed; -1 where it is not."""
    depth = 0
    for token in _TOKEN.finditer(source, start):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return token.start()
    return -1


def parse_path(text: str) -> list[str | int]:
    """The steps of a path; raises LanguageError with the offset of what is wrong."""
    at = 1 if text.startswith("$") else 0
    steps: list[str | int] = []
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (at > 0 and text[at] not in ".["):
            raise LanguageError(f"{text[:60]!r} is no path to a value", at, _HELP)
        index, name = step["index"], step["name"] or step["single"] or step["double"]
        steps.append(name if index is None else int(index))
        at = step.end()
    if not steps:
        raise LanguageError(f"{text[:60]!r} names no value", 0, _HELP)
    return steps


def value_at(value: Value, steps: list[Value]) -> Value:
    """The value at the end of a path: members of objects, positions of lists, and nothing else."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, UNDEFINED)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return UNDEFINED
    return value

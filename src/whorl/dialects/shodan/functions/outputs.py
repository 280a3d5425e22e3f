"""Outputs of nodes: what a command, an agent or a function gave, under the declared names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl.dialects.shodan.functions.ports import check, convert, shown, told
from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.patterns import pattern
from whorl.language.values import UNDEFINED, Value, item_of, to_json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run

ANSWER_SHOWN_MAX = 500
# What an agent has beside its answer; all other outputs are fields of the answer.
_WHOLE = ("output", "response")
_BESIDE = (*_WHOLE, "structured", "sessionId", "exitCode")
_FENCE = re.compile(r"```[A-Za-z]*+[ \t]*+\n(.*?)```", re.DOTALL)
_PLACES_MAX = 50


def finished(run: Run, value: Value, node: Value, written: Value) -> Value:
    """The outputs of a command: declared ones from its standard output, and the usual ones."""
    stdout = _text(item_of(value, "stdout"))
    usual: dict[str, Value] = {
        "output": stdout,
        "stdout": stdout,
        "stderr": _text(item_of(value, "stderr")),
        "exitCode": item_of(value, "exit_code"),
    }
    found: dict[str, Value] = {}
    for spec in _specs(run, written):
        name = spec["name"]
        if spec.get("extract") is None and name in usual:
            found[name] = usual[name]
        else:
            found[name] = _extracted(run, stdout, spec, f"output {name!r} of {node!r}")
    return found | {name: part for name, part in usual.items() if name not in found}


def _text(value: Value) -> str:
    return value.rstrip("\r\n") if isinstance(value, str) else ""


def _extracted(run: Run, text: str, spec: dict[str, Any], what: str) -> Value:
    extract = spec.get("extract") or {"type": "full"}
    run.check_text(len(text), what)
    found: Value = text
    if extract["type"] == "regex":
        match = pattern(str(extract["pattern"])).search(text)
        found = match.groups[0] if match is not None and match.groups else None
    elif extract["type"] == "json_path":
        found = _follow(find_object(run, text), str(extract["pattern"]))
    if found is None:
        return spec.get("default")
    return convert(run, found, str(spec.get("type", "any")), what)


def _follow(value: Value, path: str) -> Value:
    """Only paths such as `$.a.b.c` are known."""
    for key in path.removeprefix("$").split("."):
        if key:
            value = item_of(value, int(key) if key.isdigit() else key)
    return None if value is UNDEFINED else value


def answered(run: Run, value: Value, node: Value, written: Value) -> Value:
    """The outputs of an agent: its answer by declared names, checked against their types."""
    text, structure = _answer(run, value)
    usual: dict[str, Value] = {
        "output": text,
        "response": text,
        "structured": structure,
        "sessionId": _defined(item_of(value, "session")),
        "exitCode": _defined(item_of(value, "exit_code")),
    }
    specs = _specs(run, written)
    fields = structure if isinstance(structure, dict) else {}
    found: dict[str, Value] = {}
    for spec in specs:
        name = spec["name"]
        if spec.get("extract") is not None:
            found[name] = _extracted(run, text, spec, f"output {name!r} of {node!r}")
        elif name in _BESIDE and not (name in _WHOLE and name in fields):
            found[name] = usual[name]
        else:
            found[name] = _field(run, spec, specs, (text, fields, str(node)))
    rest = usual | fields
    return found | {name: part for name, part in rest.items() if name not in found}


def _answer(run: Run, value: Value) -> tuple[str, Value]:
    """The text of an answer and the JSON in it; an answer that was checked has its own."""
    if isinstance(value, dict) and "text" in value:
        checked = value.get("value")
        text = _text(value["text"])
        return text, checked if checked is not None else find_object(run, text)
    if isinstance(value, str):
        return _text(value), find_object(run, value)
    return run.json_text(value), value


def _field(
    run: Run, spec: dict[str, Any], specs: list[dict[str, Any]], answer: tuple[str, Any, str]
) -> Value:
    text, fields, node = answer
    name, wanted = spec["name"], str(spec.get("type", "any"))
    own = [one for one in specs if one["name"] not in _BESIDE and one.get("extract") is None]
    if name in fields:
        if fields[name] is None:
            return spec.get("default")
        try:
            check(fields[name], wanted, f"output {name!r} of {node!r}")
        except EvaluationError as fault:
            raise EvaluationError(f"{fault}; the answer was: {_cut(text)}") from None
        return fields[name]
    if len(own) == 1 and wanted in ("string", "any", "file"):
        return text
    if len(own) == 1 and wanted == "json":
        structure = find_object(run, text)
        return text if structure is None else structure
    if "default" in spec:
        return spec["default"]
    listed = ", ".join(repr(one["name"]) for one in own)
    raise EvaluationError(
        f"output {name!r} of {node!r} is missing: the answer must be a JSON object with {listed}, "
        f"but it was: {_cut(text)}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= ANSWER_SHOWN_MAX else f"{text[:ANSWER_SHOWN_MAX]}..."


def find_object(run: Run, text: str) -> Value:
    """The JSON object or list that a text is, or holds in a fence or between other words."""
    run.check_text(len(text), "an answer")
    candidates = [text.strip(), *(found[1].strip() for found in _FENCE.finditer(text))]
    candidates += [text[start:end] for start, end in _stretches(text)]
    for candidate in candidates:
        if candidate[:1] in ("{", "["):
            try:
                return from_json(run, candidate)
            except LimitExceeded:
                raise
            except EvaluationError:
                continue
    return None


def _stretches(text: str) -> list[tuple[int, int]]:
    """From each opening brace, as far as there are some, to the last closing one."""
    end = text.rfind("}") + 1
    starts: list[tuple[int, int]] = []
    at = text.find("{")
    while 0 <= at < end and len(starts) < _PLACES_MAX:
        starts.append((at, end))
        at = text.find("{", at + 1)
    return starts


def returned(run: Run, value: Value, node: Value, written: Value) -> Value:
    """The outputs of a function: every declared one must be there, of its type."""
    if not isinstance(value, dict):
        raise EvaluationError(f"{node!r} must return an object, not {told(value)}")
    found: dict[str, Value] = {}
    for spec in _specs(run, written):
        name = spec["name"]
        if name not in value:
            given = ", ".join(map(repr, value)) or "nothing"
            raise EvaluationError(f"{node!r} returned no output {name!r}; it returned {given}")
        part = value[name]
        wanted = str(spec.get("type", "any"))
        if part is not None:
            part = convert(run, part, wanted, f"output {name!r} of {node!r}")
        found[name] = part
    return found | {name: part for name, part in value.items() if name not in found}


def messages(run: Run, session: Value, prompt: Value) -> Value:
    """A conversation with a model: what was said so far, and the new prompt."""
    return [*_said(run, session), {"role": "user", "content": shown(run, prompt)}]


def conversed(run: Run, value: Value, session: Value, prompt: Value) -> Value:
    """An answer of a model with the conversation that it belongs to, as a text to go on with."""
    text = value if isinstance(value, str) else run.json_text(value)
    turns = messages(run, session, prompt)
    assert isinstance(turns, list)
    turns = [*turns, {"role": "assistant", "content": text}]
    run.weigh(turns)
    checked = None if isinstance(value, str) else value
    return {"text": text, "value": checked, "session": to_json_text(turns), "exit_code": 0}


def _said(run: Run, session: Value) -> list[Value]:
    if session is None or session is UNDEFINED or session == "":
        return []
    found = from_json(run, session) if isinstance(session, str) else session
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise EvaluationError("sessionId must be a conversation that another call gave")
    return found


def _specs(run: Run, written: Value) -> list[dict[str, Any]]:
    found = from_json(run, written)
    assert isinstance(found, list)
    return found


def _defined(value: Value) -> Value:
    return None if value is UNDEFINED else value


OUTPUTS: tuple[tuple[str, Callable[..., object], str], ...] = (
    ("finished(value, node, outputs)", finished, "the outputs of a command"),
    ("answered(value, node, outputs)", answered, "the outputs of an agent"),
    ("returned(value, node, outputs)", returned, "the outputs of a function"),
    ("messages(session, prompt)", messages, "a conversation, and a prompt after it"),
    ("conversed(value, session, prompt)", conversed, "an answer with its conversation"),
)

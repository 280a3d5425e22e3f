"""Outputs of nodes when they run: under the declared names, as values of the ports' types."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.patterns import pattern
from whorl.language.values import UNDEFINED, Value, item_of, kind_of, to_json_text

if TYPE_CHECKING:
    from whorl.language.run import Run

TYPES = ("string", "number", "boolean", "json", "file", "files", "any")
SHOWN_MAX = 200
ANSWER_SHOWN_MAX = 500
# What an agent has beside its answer; all other outputs are fields of the answer.
_WHOLE = ("output", "response")
_BESIDE = (*_WHOLE, "structured", "sessionId", "exitCode")
_FENCE = re.compile(r"```[A-Za-z]*+[ \t]*+\n(.*?)```", re.DOTALL)
_PLACES_MAX = 50
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}|(?=[\d.]{2,40}$)\d*\.\d*)(?:[eE][+-]?\d{1,3})?")
# The types that a value can be checked against without changing it.
_CHECKED: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "file": str,
    "number": (int, float),
    "boolean": bool,
    "files": list,
}


def finished(run: Run, value: Value, node: Value, written: Value) -> Value:
    """The outputs of a command: declared ones from its standard output, and the usual ones."""
    stdout = _text(item_of(value, "stdout"))
    usual: dict[str, Value] = {
        "output": stdout,
        "stdout": stdout,
        "stderr": _text(item_of(value, "stderr")),
        "exitCode": item_of(value, "exit_code"),
    }
    outputs: dict[str, Value] = {}
    for spec in _specs(run, written):
        name = spec["name"]
        if spec.get("extract") is None and name in usual:
            outputs[name] = usual[name]
        else:
            outputs[name] = _extracted(run, stdout, spec, f"output {name!r} of {node!r}")
    return outputs | {name: part for name, part in usual.items() if name not in outputs}


def _text(value: Value) -> str:
    return value.rstrip("\r\n") if isinstance(value, str) else ""


def _extracted(run: Run, text: str, spec: dict[str, Any], what: str) -> Value:
    extract = spec.get("extract") or {"type": "full"}
    run.check_text(len(text), what)
    part: Value = text
    if extract["type"] == "regex":
        match = pattern(str(extract["pattern"])).search(text)
        part = match.groups[0] if match is not None and match.groups else None
    elif extract["type"] == "json_path":
        part = _follow(find_object(run, text), str(extract["pattern"]))
    if part is None:
        return spec.get("default")
    return convert(run, part, str(spec.get("type", "any")), what)


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
        "sessionId": _follow(value, "session"),
        "exitCode": _follow(value, "exit_code"),
    }
    specs = _specs(run, written)
    fields = structure if isinstance(structure, dict) else {}
    outputs: dict[str, Value] = {}
    for spec in specs:
        name = spec["name"]
        if spec.get("extract") is not None:
            outputs[name] = _extracted(run, text, spec, f"output {name!r} of {node!r}")
        elif name in _BESIDE and not (name in _WHOLE and name in fields):
            outputs[name] = usual[name]
        else:
            outputs[name] = _field(run, spec, specs, (text, fields, str(node)))
    rest = usual | fields
    return outputs | {name: part for name, part in rest.items() if name not in outputs}


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
    own = [other for other in specs if other["name"] not in _BESIDE and not other.get("extract")]
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
    listed = ", ".join(repr(other["name"]) for other in own)
    raise EvaluationError(
        f"output {name!r} of {node!r} is missing: the answer must be a JSON object with {listed}, "
        f"but it was: {_cut(text)}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= ANSWER_SHOWN_MAX else f"{text[:ANSWER_SHOWN_MAX]}..."


def find_object(run: Run, text: str) -> Value:
    """The JSON object or list that a text is, or holds in a fence or between other words."""
    run.check_text(len(text), "an answer")
    candidates = [text.strip(), *(match[1].strip() for match in _FENCE.finditer(text))]
    # From each opening brace, as far as there are some, to the last closing one.
    end = text.rfind("}") + 1
    openings = islice(re.finditer(r"\{", text[:end]), _PLACES_MAX)
    candidates += [text[opening.start() : end] for opening in openings]
    for candidate in candidates:
        if candidate[:1] in ("{", "["):
            try:
                return from_json(run, candidate)
            except LimitExceeded:
                raise
            except EvaluationError:
                continue
    return None


def returned(run: Run, value: Value, node: Value, written: Value) -> Value:
    """The outputs of a function: every declared one must be there, of its type."""
    if not isinstance(value, dict):
        raise EvaluationError(f"{node!r} must return an object, not {described(value)}")
    outputs: dict[str, Value] = {}
    for spec in _specs(run, written):
        name = spec["name"]
        if name not in value:
            given = ", ".join(map(repr, value)) or "nothing"
            raise EvaluationError(f"{node!r} returned no output {name!r}; it returned {given}")
        part = value[name]
        wanted = str(spec.get("type", "any"))
        if part is not None:
            part = convert(run, part, wanted, f"output {name!r} of {node!r}")
        outputs[name] = part
    return outputs | {name: part for name, part in value.items() if name not in outputs}


def messages(run: Run, session: Value, prompt: Value) -> Value:
    """A conversation with a model: what was said so far, and the new prompt."""
    return [*_turns(run, session), {"role": "user", "content": shown(run, prompt)}]


def conversed(run: Run, value: Value, session: Value, prompt: Value) -> Value:
    """An answer of a model with the conversation that it belongs to, as a text to go on with."""
    text = value if isinstance(value, str) else run.json_text(value)
    turns = messages(run, session, prompt)
    assert isinstance(turns, list)
    turns = [*turns, {"role": "assistant", "content": text}]
    run.weigh(turns)
    checked = None if isinstance(value, str) else value
    return {"text": text, "value": checked, "session": to_json_text(turns), "exit_code": 0}


def _turns(run: Run, session: Value) -> list[Value]:
    if session is None or session is UNDEFINED or session == "":
        return []
    turns = from_json(run, session) if isinstance(session, str) else session
    if not isinstance(turns, list) or not all(isinstance(item, dict) for item in turns):
        raise EvaluationError("sessionId must be a conversation that another call gave")
    return turns


def _specs(run: Run, written: Value) -> list[dict[str, Any]]:
    specs = from_json(run, written)
    assert isinstance(specs, list)
    return specs


def shown(run: Run, value: Value) -> str:
    """A value as templates print it: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED or value is None:
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return run.json_text(value)


def described(value: Value) -> str:
    """A value in a message, cut where it is long."""
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, list | dict):
        return kind_of(value)
    return to_json_text(value)[:SHOWN_MAX]


def convert(run: Run, value: Value, wanted: str, what: str) -> Value:
    """A value for a port of a type; texts become numbers and truth values where they say so."""
    match wanted:
        case "string" | "file":
            return value if isinstance(value, str) else shown(run, value)
        case "number":
            return _number(run, value, what)
        case "boolean":
            if isinstance(value, str) and value.strip().lower() in ("true", "false"):
                return value.strip().lower() == "true"
            if not isinstance(value, bool):
                raise mismatch(value, "a boolean", what)
        case "json":
            return _structure(run, value)
        case "files":
            return value if isinstance(value, list) else [value]
    return value


def check(value: Value, wanted: str, what: str) -> None:
    """Refuses a value that is not of the type, without changing any."""
    kind = _CHECKED.get(wanted)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is None or (isinstance(value, kind) and (wanted != "number" or is_number)):
        return
    raise mismatch(value, "a list of files" if wanted == "files" else f"a {wanted}", what)


def mismatch(value: Value, wanted: str, what: str) -> EvaluationError:
    """The error for a value of another type."""
    return EvaluationError(f"{what} must be {wanted}, not {described(value)}")


def _number(run: Run, value: Value, what: str) -> Value:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        try:
            value = int(value)
        except ValueError:
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "a number", what)
    return run.check_number(value, what)


def _structure(run: Run, value: Value) -> Value:
    """JSON in a text is read; a text that is none is a JSON value too."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return from_json(run, value.strip())
        except EvaluationError:
            return value
    return value

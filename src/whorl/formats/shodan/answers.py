"""The outputs of nodes: found in printed text or answers, and converted to the types of ports."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.patterns import pattern
from whorl.language.values import UNDEFINED, Value, item_of, kind_of, to_json_text

if TYPE_CHECKING:
    from whorl.language.calls import Run


ANSWER_SHOWN_MAX = 500
# The outputs of an agent beside its answer; all others are fields of the answer.
_WHOLE = ("output", "response")
BESIDE = (*_WHOLE, "structured", "sessionId", "exitCode")
_FENCE = re.compile(r"```[A-Za-z]*+[ \t]*+\n(.*?)```", re.DOTALL)
_PLACES_MAX = 50
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}|(?=[\d.]{2,40}$)\d*\.\d*)(?:[eE][+-]?\d{1,3})?")
# The types that a value can be checked against without changing it.
_CHECKED: dict[str, type | tuple[type, ...]] = {"string": str, "file": str, "number": (int, float)}
_CHECKED |= {"boolean": bool, "files": list, "array": list, "object": dict}


def given(run: Run, name: Value) -> Value:
    value = run.lookup(str(name))
    return None if value is UNDEFINED else value


def finished(run: Run, value: Value, node: Value, written: Value) -> Value:
    """Returns the outputs of a command: declared ones from standard output, and usual ones."""
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
    return _with_rest(outputs, usual)


def _with_rest(outputs: dict[str, Value], rest: dict[str, Value]) -> Value:
    """Returns all outputs, the declared ones first: `output` means the first output of a node."""
    return outputs | {name: part for name, part in rest.items() if name not in outputs}


def _text(value: Value) -> str:
    return value.rstrip("\r\n") if isinstance(value, str) else ""


def _extracted(run: Run, text: str, spec: dict[str, Any], what: str) -> Value:
    extract = spec.get("extract") or {"type": "full"}
    run.check_text(len(text), what)
    part: Value = text
    if extract["type"] == "regex":
        program = pattern(str(extract["pattern"]))
        run.spend(program.price(len(text)))
        match = program.search(text)
        part = match.groups[0] if match is not None and match.groups else None
    elif extract["type"] == "json_path":
        part = _follow(find_object(run, text), str(extract["pattern"]))
    return spec.get("default") if part is None else typed(run, part, spec.get("type"), what)


def _follow(value: Value, path: str) -> Value:
    """Follows a path such as `$.a.b.c`; other forms are unknown."""
    for key in path.removeprefix("$").split("."):
        if key:
            value = item_of(value, int(key) if key.isdigit() else key)
    return None if value is UNDEFINED else value


def answered(run: Run, value: Value, node: Value, written: Value) -> Value:
    # An answer that was checked has its JSON beside its text.
    answer, structure = value, None
    if isinstance(value, dict) and "text" in value:
        answer, structure = _text(value["text"]), value.get("value")
    text = _text(answer) if isinstance(answer, str) else run.json_text(answer)
    if structure is None:
        structure = find_object(run, answer) if isinstance(answer, str) else answer
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
        elif name in BESIDE and not (name in _WHOLE and name in fields):
            outputs[name] = usual[name]
        else:
            outputs[name] = _field(run, spec, specs, (text, fields, str(node)))
    return _with_rest(outputs, usual | fields)


def _field(
    run: Run, spec: dict[str, Any], specs: list[dict[str, Any]], answer: tuple[str, Any, str]
) -> Value:
    text, fields, node = answer
    cut = text if len(text) <= ANSWER_SHOWN_MAX else f"{text[:ANSWER_SHOWN_MAX]}..."
    name, wanted = spec["name"], str(spec.get("type", "any"))
    own = [other for other in specs if other["name"] not in BESIDE and not other.get("extract")]
    if name in fields:
        if fields[name] is None:
            return spec.get("default")
        try:
            _check(fields[name], wanted, f"output {name!r} of {node!r}")
        except EvaluationError as fault:
            raise EvaluationError(f"{fault}; the answer was: {cut}") from None
        return fields[name]
    if len(own) == 1 and wanted in ("string", "any", "file"):
        return text
    if len(own) == 1 and wanted in ("json", "array", "object"):
        structure = find_object(run, text)
        found = text if structure is None else structure
        return typed(run, found, wanted, f"output {name!r} of {node!r}")
    if "default" in spec:
        return spec["default"]
    listed = ", ".join(repr(other["name"]) for other in own)
    raise EvaluationError(
        f"output {name!r} of {node!r} is missing: the answer must be a JSON object with {listed}, "
        f"but it was: {cut}"
    )


def find_object(run: Run, text: str) -> Value:
    """Returns the JSON object or list that a text is, or has in a fence or between other words."""
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
    """Returns the outputs of a function: every declared one must exist and have its type."""
    if not isinstance(value, dict):
        raise EvaluationError(f"{node!r} must return an object, not {described(value)}")
    outputs: dict[str, Value] = {}
    for spec in _specs(run, written):
        name = spec["name"]
        if name not in value:
            given = ", ".join(map(repr, value)) or "nothing"
            raise EvaluationError(f"{node!r} returned no output {name!r}; it returned {given}")
        outputs[name] = typed(run, value[name], spec.get("type"), f"output {name!r} of {node!r}")
    return _with_rest(outputs, value)


def _specs(run: Run, written: Value) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", from_json(run, written))


def shown(run: Run, value: Value) -> str:
    """Returns a value as templates print it: a text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED or value is None:
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return run.json_text(value)


def worded(run: Run, value: Value) -> str:
    """Returns a value as a text for a prompt; a missing value is "" (in a script it is `null`)."""
    return "" if value is UNDEFINED or value is None else shown(run, value)


def described(value: Value) -> str:
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, list | dict):
        return kind_of(value)
    return to_json_text(value)[:200]


def typed(run: Run, value: Value, wanted: Value, what: str) -> Value:
    """Returns a value of a port's type; texts are converted to numbers and booleans if possible."""
    if value is None or value is UNDEFINED:
        return None
    text = value.strip() if isinstance(value, str) else ""
    match wanted:
        case "string" | "file":
            return shown(run, value)
        case "files":
            return value if isinstance(value, list) else [value]
        case "json" | "array" | "object":
            # A text that is no JSON is a JSON value, too.
            with suppress(EvaluationError):
                value = from_json(run, text) if text[:1] in ("{", "[") else value
        case "boolean" if text.lower() in ("true", "false"):
            value = text.lower() == "true"
        case "number" if _NUMBER.fullmatch(text):
            value = float(text) if set(text) & set(".eE") else int(text)
    _check(value, str(wanted), what)
    is_number = wanted == "number" and isinstance(value, int | float)
    return run.check_number(value, what) if is_number else value  # type: ignore[arg-type]


def _check(value: Value, wanted: str, what: str) -> None:
    """Refuses a value of another type, and converts none."""
    kind = _CHECKED.get(wanted)
    is_truth = isinstance(value, bool) and wanted == "number"
    if kind is not None and (is_truth or not isinstance(value, kind)):
        noun = "a list of files" if wanted == "files" else f"a{'n' * (wanted[0] in 'ao')} {wanted}"
        raise EvaluationError(f"{what} must be {noun}, not {described(value)}")

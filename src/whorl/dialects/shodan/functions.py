"""The function library of graphs: what arrives at typed ports, what nodes give, when loops go on.

Names of nodes are arguments, since a node may have a name that no expression can spell.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, cast

from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.libraries import Library
from whorl.language.patterns import pattern
from whorl.language.signatures import Family
from whorl.language.values import UNDEFINED, Value, item_of, kind_of, to_json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, ">": gt}
OPERATORS |= {"<=": le, ">=": ge}
TYPES = ("string", "number", "boolean", "json", "file", "files", "any")
ANSWER_SHOWN_MAX = 500
# What an agent has beside its answer; all other outputs are fields of the answer.
_WHOLE = ("output", "response")
_BESIDE = (*_WHOLE, "structured", "sessionId", "exitCode")
_FENCE = re.compile(r"```[A-Za-z]*+[ \t]*+\n(.*?)```", re.DOTALL)
_PLACES_MAX = 50
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}|(?=[\d.]{2,40}$)\d*\.\d*)(?:[eE][+-]?\d{1,3})?")
# The types that a value can be checked against without changing it.
_CHECKED: dict[str, type | tuple[type, ...]] = {"string": str, "file": str, "number": (int, float)}
_CHECKED |= {"boolean": bool, "files": list}


def given(run: Run, name: Value) -> Value:
    value = run.lookup(str(name))
    return None if value is UNDEFINED else value


def port(run: Run, name: Value, key: Value) -> Value:
    """An output that a node does not have is null; `output` stands for its first one."""
    ports = run.lookup(str(name))
    if not isinstance(ports, dict):
        return None
    return ports.get(str(key), next(iter(ports.values()), None) if key == "output" else None)


def arrive(run: Run, value: Value, node: Value, written: Value) -> Value:
    spec = from_json(run, written)
    assert isinstance(spec, dict)
    if value is None or value is UNDEFINED:
        value = spec.get("default")
    what = f"input {spec['name']!r} of {node!r}"
    if value is None and spec.get("required"):
        raise EvaluationError(f"required {what} is missing")
    return _typed(run, value, spec.get("type"), what)


def ready(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> bool:
    """Looking at all that arrives is the check; what must not arrive has raised by now."""
    return True


def refuse(run: Run, message: Value) -> Value:
    raise EvaluationError(str(message))


def mapped(run: Run, number: Value, choices: tuple[Value, ...], named: dict[str, Value]) -> Value:
    """Of pairs of `first`, `subsequent` or `all` and a value: the one meant for this iteration."""
    wanted = "first" if number == 1 else "subsequent"
    pairs = zip(choices[::2], choices[1::2], strict=True)
    return next((value for when, value in pairs if when in (wanted, "all")), None)


def kept(run: Run, new: Value, old: Value) -> Value:
    return old if new is None or new is UNDEFINED else new


def _holds(run: Run, name: Value, sign: Value, wanted: Value, value: Value, *, field: str) -> bool:
    """Whether an output is what a condition of a loop says; one that is missing ends no loop."""
    what, is_equality = f"{field}: output {name!r}", sign in ("==", "!=")
    if (value is None or value is UNDEFINED) and wanted is not None:
        if field == "exitWhen":
            return False
        raise EvaluationError(f"{what} is missing; its node gave no value")
    is_ordered = isinstance(value, int | float | str) and not isinstance(value, bool)
    is_alike = kind_of(value) == kind_of(wanted) or (is_equality and wanted is None)
    if not is_alike or not (is_equality or is_ordered):
        raise EvaluationError(
            f"{what} is {described(value)}, which cannot be compared with {described(wanted)}"
        )
    return OPERATORS[str(sign)](value, wanted)


continues, leaves = (partial(_holds, field=field) for field in ("continueWhile", "exitWhen"))


def goes_on(run: Run, value: Value) -> bool:
    """A truth value, the text `true`, or what a script language takes for true."""
    if isinstance(value, str):
        return value.strip().lower() == "true"
    return isinstance(value, list | dict) or bool(value)


def picked(run: Run, value: Value, key: Value, node: Value, written: Value) -> Value:
    return _typed(run, item_of(value, key), written, f"output {key!r} of {node!r}")


def gathered(run: Run, value: Value, node: Value, key: Value, take: Value) -> Value:
    results = value if isinstance(value, list) else []
    run.check_items(len(results), "forEach")
    parts = [dig(run, result, (node, key), {}) for result in results]
    if take == "all":
        return parts
    return parts[0 if take == "first" else -1] if parts else None


def dig(run: Run, value: Value, path: tuple[Value, ...], named: dict[str, Value]) -> Value:
    for part in path:
        value = item_of(value, part)
    return None if value is UNDEFINED else value


def whole_or_refuse(run: Run, value: Value, place: Value) -> str:
    """A number for a calculation of the shell, which would take any other text for code."""
    text = shown(run, value).strip()
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise EvaluationError(
            f"{place} stands in a calculation of the shell and must be a whole number, "
            f"not {described(value)}"
        )
    return text


def overridden(run: Run, value: Value, text: Value) -> Value:
    return value if isinstance(value, str) and value.strip() else text


def settled(run: Run, value: Value, node: Value) -> bool:
    """Fails the run at its end for a node that failed while the others went on."""
    code = item_of(value, "exitCode")
    if value is None or value is UNDEFINED or (isinstance(code, int) and code != 0):
        how = f" with exit code {code}" if isinstance(code, int) else ""
        raise EvaluationError(f"{node!r} failed{how}; the others went on (continueOnFailure)")
    return True


def timestamp(run: Run) -> str:
    seconds = run.lookup("$now")
    moment = float(seconds) if isinstance(seconds, int | float) else 0.0
    written = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


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
    return _with_rest(outputs, usual)


def _with_rest(outputs: dict[str, Value], rest: dict[str, Value]) -> Value:
    """The declared outputs of a node come first: `output` stands for the first one."""
    return outputs | {name: part for name, part in rest.items() if name not in outputs}


def _text(value: Value) -> str:
    return value.rstrip("\r\n") if isinstance(value, str) else ""


def _extracted(run: Run, text: str, spec: dict[str, Any], what: str) -> Value:
    extract = spec.get("extract") or {"type": "full"}
    run.check_text(len(text), what)
    part: Value = text
    if extract["type"] == "regex":
        program = pattern(str(extract["pattern"]))
        run.spend_since(2, program.price(len(text)))
        match = program.search(text)
        part = match.groups[0] if match is not None and match.groups else None
    elif extract["type"] == "json_path":
        part = _follow(find_object(run, text), str(extract["pattern"]))
    return spec.get("default") if part is None else _typed(run, part, spec.get("type"), what)


def _follow(value: Value, path: str) -> Value:
    """Only paths such as `$.a.b.c` are known."""
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
        elif name in _BESIDE and not (name in _WHOLE and name in fields):
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
    own = [other for other in specs if other["name"] not in _BESIDE and not other.get("extract")]
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
    if len(own) == 1 and wanted == "json":
        structure = find_object(run, text)
        return text if structure is None else structure
    if "default" in spec:
        return spec["default"]
    listed = ", ".join(repr(other["name"]) for other in own)
    raise EvaluationError(
        f"output {name!r} of {node!r} is missing: the answer must be a JSON object with {listed}, "
        f"but it was: {cut}"
    )


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
        outputs[name] = _typed(run, value[name], spec.get("type"), f"output {name!r} of {node!r}")
    return _with_rest(outputs, value)


def messages(run: Run, session: Value, prompt: Value) -> list[Value]:
    """A conversation with a model: what was said so far, and the new prompt."""
    turns: Value = []
    if session is not None and session is not UNDEFINED and session != "":
        turns = from_json(run, session) if isinstance(session, str) else session
    if not isinstance(turns, list) or not all(isinstance(item, dict) for item in turns):
        raise EvaluationError("sessionId must be a conversation that another call gave")
    return [*turns, {"role": "user", "content": shown(run, prompt)}]


def conversed(run: Run, value: Value, session: Value, prompt: Value) -> Value:
    """An answer of a model with the conversation that it belongs to, as a text to go on with."""
    text = value if isinstance(value, str) else run.json_text(value)
    turns = [*messages(run, session, prompt), {"role": "assistant", "content": text}]
    run.weigh(turns)
    checked = None if isinstance(value, str) else value
    return {"text": text, "value": checked, "session": to_json_text(turns), "exit_code": 0}


def _specs(run: Run, written: Value) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", from_json(run, written))


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
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, list | dict):
        return kind_of(value)
    return to_json_text(value)[:200]


def _typed(run: Run, value: Value, wanted: Value, what: str) -> Value:
    """A value for a port of a type; texts become numbers and truth values where they say so."""
    if value is None or value is UNDEFINED:
        return None
    text = value.strip() if isinstance(value, str) else ""
    match wanted:
        case "string" | "file":
            return shown(run, value)
        case "files":
            return value if isinstance(value, list) else [value]
        case "json" if text[:1] in ("{", "["):
            # A text that is no JSON is a JSON value, too.
            with suppress(EvaluationError):
                return from_json(run, text)
        case "boolean":
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            _check(value, wanted, what)
        case "number":
            if _NUMBER.fullmatch(text):
                value = float(text) if set(text) & set(".eE") else int(text)
            _check(value, wanted, what)
            assert isinstance(value, int | float)
            return run.check_number(value, what)
    return value


def _check(value: Value, wanted: str, what: str) -> None:
    """Refuses a value that is not of the type, without changing any."""
    kind = _CHECKED.get(wanted)
    is_truth = isinstance(value, bool) and wanted == "number"
    if kind is not None and (is_truth or not isinstance(value, kind)):
        noun = "a list of files" if wanted == "files" else f"a {wanted}"
        raise EvaluationError(f"{what} must be {noun}, not {described(value)}")


_FUNCTIONS: tuple[tuple[str, Callable[..., object], str], ...] = (
    ("given(name)", given, "the value of a name, however it is spelt"),
    ("port(name, key)", port, "an output of a node"),
    ("arrive(value, node, port)", arrive, "what a typed port takes in"),
    ("ready(...)", ready, "true, once all that arrives was looked at"),
    ("refuse(message)", refuse, "fails with a message"),
    ("mapped(number, ...)", mapped, "the mapping that is meant for this iteration"),
    ("kept(new, old)", kept, "the new value, or the old one where there is no new one"),
    ("continues(name, operator, wanted, value)", continues, "whether a loop goes on"),
    ("leaves(name, operator, wanted, value)", leaves, "whether a loop is left early"),
    ("goes_on(value)", goes_on, "whether a continue value means true"),
    ("picked(value, key, node, type)", picked, "an output of a loop"),
    ("gathered(value, node, key, take)", gathered, "an output of all items"),
    ("dig(value, ...)", dig, "a part of a value"),
    ("shown(value)", shown, "a value as templates print it"),
    ("whole(value, place)", whole_or_refuse, "a whole number as text"),
    ("overridden(value, text)", overridden, "the value, or the text where there is none"),
    ("settled(value, node)", settled, "fails for a node that failed and was tolerated"),
    ("timestamp()", timestamp, "the time of the run, in UTC"),
    ("finished(value, node, outputs)", finished, "the outputs of a command"),
    ("answered(value, node, outputs)", answered, "the outputs of an agent"),
    ("returned(value, node, outputs)", returned, "the outputs of a function"),
    ("messages(session, prompt)", messages, "a conversation, and a prompt after it"),
    ("conversed(value, session, prompt)", conversed, "an answer with its conversation"),
)
LIBRARY = Library(functions=tuple(Family("function", "ports")(*row) for row in _FUNCTIONS))

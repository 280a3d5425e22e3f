"""The function library of graphs: inputs of typed ports, outputs of nodes, and ends of loops.

Names of nodes are arguments, since a node may have a name that no expression can spell.
"""

from __future__ import annotations

from datetime import UTC, datetime
from operator import eq, ne
from typing import TYPE_CHECKING, Any

from whorl.formats.shodan import answers
from whorl.language.calls import declare
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError
from whorl.language.libraries import Library
from whorl.language.operators import ORDER
from whorl.language.values import UNDEFINED, Value, item_of, kind_of, to_json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, **ORDER}
TYPES = ("string", "number", "boolean", "json", "array", "object", "file", "files", "any")


def port(run: Run, name: Value, key: Value) -> Value:
    """Returns an output of a node, or null; `output` means its first one."""
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
    return answers.typed(run, value, spec.get("type"), what)


def ready(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> bool:
    """Returns true: evaluating the inputs is the check, and a wrong one has raised by now."""
    return True


def refuse(run: Run, message: Value) -> Value:
    raise EvaluationError(str(message))


def mapped(run: Run, number: Value, choices: tuple[Value, ...], named: dict[str, Value]) -> Value:
    """Returns this iteration's value, from pairs of `first`, `subsequent` or `all` and a value."""
    wanted = "first" if number == 1 else "subsequent"
    pairs = zip(choices[::2], choices[1::2], strict=True)
    return next((value for when, value in pairs if when in (wanted, "all")), None)


def kept(run: Run, new: Value, old: Value) -> Value:
    return old if new is None or new is UNDEFINED else new


def _holds(name: Value, sign: Value, wanted: Value, value: Value, *, field: str) -> bool:
    """Returns whether an output meets a condition of a loop; a missing one ends no loop."""
    what, is_equality = f"{field}: output {name!r}", sign in ("==", "!=")
    if (value is None or value is UNDEFINED) and wanted is not None:
        if field == "exitWhen":
            return False
        raise EvaluationError(f"{what} is missing; its node gave no value")
    is_ordered = isinstance(value, int | float | str) and not isinstance(value, bool)
    is_alike = kind_of(value) == kind_of(wanted) or (is_equality and wanted is None)
    if not is_alike or not (is_equality or is_ordered):
        found, other = answers.described(value), answers.described(wanted)
        raise EvaluationError(f"{what} is {found}, which cannot be compared with {other}")
    return OPERATORS[str(sign)](value, wanted)


def continues(run: Run, name: Value, sign: Value, wanted: Value, value: Value) -> bool:
    return _holds(name, sign, wanted, value, field="continueWhile")


def leaves(run: Run, name: Value, sign: Value, wanted: Value, value: Value) -> bool:
    return _holds(name, sign, wanted, value, field="exitWhen")


def goes_on(run: Run, value: Value) -> bool:
    """Returns a boolean for a boolean, the text `true`, or a truthy value of a script language."""
    if isinstance(value, str):
        return value.strip().lower() == "true"
    return isinstance(value, list | dict) or bool(value)


def picked(run: Run, value: Value, key: Value, node: Value, written: Value) -> Value:
    return answers.typed(run, item_of(value, key), written, f"output {key!r} of {node!r}")


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


def whole(run: Run, value: Value, place: Value) -> str:
    """Returns a number for shell arithmetic, which would run any other text as code."""
    text = answers.shown(run, value).strip()
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        why = f"must be a whole number, not {answers.described(value)}"
        raise EvaluationError(f"{place} is in shell arithmetic and {why}")
    return text


def overridden(run: Run, value: Value, text: Value) -> Value:
    return value if isinstance(value, str) and value.strip() else text


def settled(run: Run, value: Value, node: Value) -> bool:
    """Fails the run at its end if a node failed while the others continued."""
    code = item_of(value, "exitCode")
    if value is None or value is UNDEFINED or (isinstance(code, int) and code != 0):
        how = f" with exit code {code}" if isinstance(code, int) else ""
        raise EvaluationError(f"{node!r} failed{how}; the others continued (continueOnFailure)")
    return True


def timestamp(run: Run) -> str:
    seconds = run.lookup("$now")
    moment = float(seconds) if isinstance(seconds, int | float) else 0.0
    written = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


def messages(run: Run, session: Value, prompt: Value) -> list[Value]:
    """Returns a conversation with a model: the messages so far, and the new prompt."""
    turns: Value = []
    if session is not None and session is not UNDEFINED and session != "":
        turns = from_json(run, session) if isinstance(session, str) else session
    if not isinstance(turns, list) or not all(isinstance(item, dict) for item in turns):
        raise EvaluationError("sessionId must be a conversation that another call returned")
    return [*turns, {"role": "user", "content": answers.shown(run, prompt)}]


def conversed(run: Run, value: Value, session: Value, prompt: Value) -> Value:
    """Returns a model's answer, with its conversation as a text for the next call."""
    text = value if isinstance(value, str) else run.json_text(value)
    turns = [*messages(run, session, prompt), {"role": "assistant", "content": text}]
    run.weigh(turns)
    checked = None if isinstance(value, str) else value
    return {"text": text, "value": checked, "session": to_json_text(turns), "exit_code": 0}


LIBRARY = Library(
    functions=declare(
        "ports",
        *(answers.given, port, arrive, ready, refuse, mapped, kept, goes_on, picked, gathered, dig),
        *(answers.shown, answers.worded, whole, overridden, settled, timestamp, answers.finished),
        *(answers.answered, answers.returned, messages, conversed, continues, leaves),
    )
)

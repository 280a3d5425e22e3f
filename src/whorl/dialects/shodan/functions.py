"""The function library of graphs: what arrives at a typed port, when a loop goes on.

Names of nodes are arguments, since a node may have a name that no expression can spell.
"""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whorl.dialects.shodan import outputs
from whorl.dialects.shodan.outputs import convert, described, shown
from whorl.language.core.conversion import from_json
from whorl.language.entry import Family
from whorl.language.faults import EvaluationError
from whorl.language.libraries import Library
from whorl.language.values import UNDEFINED, Value, item_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def given(run: Run, name: Value) -> Value:
    value = run.lookup(str(name))
    return None if value is UNDEFINED else value


def port(run: Run, name: Value, key: Value) -> Value:
    """An output that a node does not have is null; `output` stands for its first one."""
    ports = run.lookup(str(name))
    if not isinstance(ports, dict):
        return None
    if key in ports:
        return ports[key]
    return next(iter(ports.values()), None) if key == "output" else None


def arrive(run: Run, value: Value, node: Value, written: Value) -> Value:
    """What a port takes in: its default for null, and a value of its type."""
    spec = from_json(run, written)
    assert isinstance(spec, dict)
    if value is None or value is UNDEFINED:
        value = spec.get("default")
    if value is None:
        if spec.get("required"):
            raise EvaluationError(f"required input {spec['name']!r} of {node!r} is missing")
        return None
    what = f"input {spec['name']!r} of {node!r}"
    return convert(run, value, str(spec.get("type", "any")), what)


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


def continues(run: Run, name: Value, sign: Value, wanted: Value, value: Value) -> bool:
    """Whether a loop goes on; an output that is missing or cannot be compared is an error."""
    if (value is None or value is UNDEFINED) and wanted is not None:
        raise EvaluationError(f"continueWhile: output {name!r} is missing; its node gave no value")
    return _compared(value, str(sign), wanted, f"continueWhile: output {name!r}")


def leaves(run: Run, name: Value, sign: Value, wanted: Value, value: Value) -> bool:
    """Whether a loop is left early; an output that is missing does not say so."""
    if (value is None or value is UNDEFINED) and wanted is not None:
        return False
    return _compared(value, str(sign), wanted, f"exitWhen: output {name!r}")


def _compared(value: Value, sign: str, wanted: Value, what: str) -> bool:
    is_equality = sign in ("==", "!=")
    is_ordered = isinstance(value, int | float | str) and not isinstance(value, bool)
    is_alike = kind_of(value) == kind_of(wanted) or (is_equality and wanted is None)
    if not is_alike or not (is_equality or is_ordered):
        raise EvaluationError(
            f"{what} is {described(value)}, which cannot be compared with {described(wanted)}"
        )
    return OPERATORS[sign](value, wanted)


def goes_on(run: Run, value: Value) -> bool:
    """A truth value, the text `true`, or what a script language takes for true."""
    if isinstance(value, str):
        return value.strip().lower() == "true"
    if isinstance(value, list | dict):
        return True
    return bool(value)


def picked(run: Run, value: Value, key: Value, node: Value, written: Value) -> Value:
    """A declared output of a loop, as a value of its type."""
    part = item_of(value, key)
    if part is None or part is UNDEFINED:
        return None
    return convert(run, part, str(written), f"output {key!r} of {node!r}")


def gathered(run: Run, value: Value, node: Value, key: Value, take: Value) -> Value:
    """An output of a node from the results of all items."""
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
    ("finished(value, node, outputs)", outputs.finished, "the outputs of a command"),
    ("answered(value, node, outputs)", outputs.answered, "the outputs of an agent"),
    ("returned(value, node, outputs)", outputs.returned, "the outputs of a function"),
    ("messages(session, prompt)", outputs.messages, "a conversation, and a prompt after it"),
    ("conversed(value, session, prompt)", outputs.conversed, "an answer with its conversation"),
)
_family = Family("function", "ports")
LIBRARY = Library(functions=tuple(_family(*function) for function in _FUNCTIONS))

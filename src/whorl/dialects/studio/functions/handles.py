"""Functions for canvases of nodes and edges: what a handle carries, what a placeholder stands for.

Names of nodes are arguments, since a node of a canvas may have a name that no expression can spell.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whorl.dialects.studio.functions.paths import find_path
from whorl.dialects.studio.functions.pipes import pipe
from whorl.dialects.studio.functions.results import RESULTS
from whorl.dialects.studio.functions.routes import ROUTES
from whorl.language.core.conversion import from_json
from whorl.language.entry import Family, FunctionEntry, text
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, item_of, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run

# Where the main text of a result stands, in the order in which it is looked for.
_MAIN = ("response", "content", "result", "value")


def known(run: Run, name: Value) -> Value:
    return run.lookup(text(name, "known", "name"))


def field(run: Run, name: Value, key: Value) -> Value:
    """A result without such a field is carried whole, as is one that has no fields."""
    value = known(run, name)
    if isinstance(value, dict) and key in value:
        return value[key]
    return value


def ran(run: Run, name: Value) -> bool:
    return known(run, name) is not UNDEFINED


def took(run: Run, name: Value, branch: Value) -> bool:
    value = known(run, name)
    return isinstance(value, dict) and value.get("selectedBranch") == branch


def pick(run: Run, choices: tuple[Value, ...], named: dict[str, Value]) -> Value:
    """Takes pairs of a condition and a value; the last one that is live counts."""
    for live, value in zip(reversed(choices[::2]), reversed(choices[1::2]), strict=True):
        if live:
            return None if value is UNDEFINED else value
    return None


def main(run: Run, value: Value, key: Value) -> Value:
    if not isinstance(value, dict):
        return value
    for name in (key, *_MAIN):
        if name in value:
            return value[name]
    return value


def dig(
    run: Run, value: Value, written: Value, path: tuple[Value, ...], named: dict[str, Value]
) -> Value:
    """What a placeholder stands for; one that stands for nothing stays as it is written."""
    for part in path:
        value = item_of(value, part)
    return written if value is UNDEFINED else value


def follow(run: Run, value: Value, path: Value) -> Value:
    run.weigh(value)
    return find_path(text(path, "jsonpath", "path"), value)


def apply_pipe(
    run: Run, value: Value, name: Value, arguments: tuple[Value, ...], named: dict[str, Value]
) -> Value:
    return pipe(run, text(name, "a pipe", "name"), value, list(arguments))


def argument(run: Run, value: Value, name: Value, is_only: Value) -> Value:
    """What an input of a called workflow gets: the field of its name, or all that there is."""
    if isinstance(value, dict) and name in value:
        return value[name]
    return value if is_only else None


def only(run: Run, value: Value) -> Value:
    if isinstance(value, dict) and len(value) == 1:
        return next(iter(value.values()))
    return value


def object_of(run: Run, value: Value, node: Value, bare: Value) -> Value:
    """The input of a tool is an object; a text that holds one as JSON will do.

    Any other value is the field `bare` of one, where that has a name.
    """
    if value is None or value is UNDEFINED:
        return {}
    found = value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(EvaluationError):
            found = from_json(run, value)
    if isinstance(found, dict):
        return found
    if bare:
        return {str(bare): value}
    raise EvaluationError(f"{node!r} takes an object as its input, not {kind_of(value)}")


def needed(run: Run, value: Value, name: Value, node: Value) -> Value:
    """A field of a tool's input that must be there."""
    found = optional(run, value, name, None)
    if found is None:
        raise EvaluationError(f"the input of {node!r} lacks {name!r}")
    return found


def optional(run: Run, value: Value, name: Value, default: Value) -> Value:
    found = value.get(str(name)) if isinstance(value, dict) else None
    return default if found is None else found


def joined_object(
    run: Run, value: Value, extra: tuple[Value, ...], named: dict[str, Value]
) -> Value:
    found = dict(value) if isinstance(value, dict) else {}
    for name, part in zip(extra[::2], extra[1::2], strict=True):
        if part is not None and part is not UNDEFINED:
            found[str(name)] = part
    run.check_items(len(found), "fields")
    return found


def merged(run: Run, first: Value, second: Value) -> Value:
    """Two objects as one; the second counts where both have a field."""
    parts = [part for part in (first, second) if isinstance(part, dict)]
    if second is not None and not isinstance(second, dict):
        raise EvaluationError(f"headers come in as an object, not {kind_of(second)}")
    found = {name: value for part in parts for name, value in part.items()}
    run.check_items(len(found), "merged")
    return found


def refuse(run: Run, message: Value) -> Value:
    raise EvaluationError(str(message))


def timestamp(run: Run) -> str:
    seconds = run.lookup("$now")
    moment = float(seconds) if isinstance(seconds, int | float) else 0.0
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


_function = Family("function", "canvas")

CANVAS_FUNCTIONS: tuple[FunctionEntry, ...] = (
    _function("known(name)", known, "the value of a name, however it is spelt", borrows=True),
    _function("field(name, key)", field, "a field of a result, or the whole of it", borrows=True),
    _function("ran(name)", ran, "whether a node has a result"),
    _function("took(name, branch)", took, "whether a router took a branch"),
    _function("pick(...)", pick, "of pairs of condition and value, the last one that is live"),
    _function("main(value, key)", main, "the field, or else the main text of a result"),
    _function("dig(value, written, ...)", dig, "a part of a value, or the text as it is written"),
    _function("jsonpath(value, path)", follow, "what a JSONPath finds in a value"),
    _function("pipe(value, name, ...)", apply_pipe, "a value through one pipe of a script"),
    _function("argument(value, name, is_only)", argument, "what a called workflow's input gets"),
    _function("only(value)", only, "the one field of an object that has just one"),
    _function(
        "object_of(value, node, bare)", object_of, "an object, or an error that names the node"
    ),
    _function("needed(value, name, node)", needed, "a field, or an error that names the node"),
    _function("optional(value, name, default)", optional, "a field, or what stands for it"),
    _function("fields(value, ...)", joined_object, "an object with more fields; null ones aside"),
    _function("merged(first, second)", merged, "two objects as one"),
    _function("refuse(message)", refuse, "fails with a message"),
    _function("timestamp()", timestamp, "the time of the run, in UTC"),
    *(_function(*entry) for entry in (*RESULTS, *ROUTES)),
)

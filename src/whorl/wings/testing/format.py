"""The fields of a test: one table, as a JSON Schema, that checks test files and programs.

A mistake has the names and positions that lead to it, so that a file can show its line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.errors import did_you_mean
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


Path: TypeAlias = "tuple[str | int, ...]"

FORMAT = 1
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}
_WORDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "an object",
    "array": "a list",
}
# The fields of each object, with their types and meanings.
_ROWS = """
file.whorl_tests        version   the version of the format
file.workflow           text      its file; default: the one of the same name beside it
file.name               text      which workflow, if the file has several
file.tests              tests     the tests by what they show
given.inputs            object    what the run is given, by name
given.mocks             mocks     what steps give, by name or address
given.models            list      rules for models: {match, replies, by, exhaust}, as in whorl.toml
given.retries           truth     whether steps are tried again as the workflow says; default false
test.description        text      what it tests, for its readers
test.max_iterations     positive  a limit for all loops
test.budget             amount    dollars for the run
test.expect             expect    what has to be true after the run
answer.outputs          any       what the step gives, as later steps see it
answer.status           text      succeeded, failed, timed_out, skipped, or the dialect's word
answer.error            error     why it fails: a message, or {code, message, status, retryable}
answer.delay            duration  how long it takes, such as 90s, in virtual time
answer.usage            usage     what calls used
answer.times            positive  in a sequence: how often this answer is given
sequence.sequence       answers   the answers of the first call, the second, ...
sequence.then           then      after the last: error (default), or repeat it
usage.calls             count     calls
usage.input_tokens      count     tokens that were read
usage.output_tokens     count     tokens that were written
usage.cost_usd          amount    dollars
error.code              text      its code; default P100
error.message           text      what is wrong
error.status            count     the status of a web service, for `on` of a retry
error.retryable         truth     whether trying again may help; default true
expect.status           text      succeeded, failed, waiting, ...; default: as `error` says
expect.output           any       the main output
expect.outputs          object    outputs by name; others are not looked at
expect.error            error     why it failed: a part of the message, or {code, message}
expect.loops            loops     loops by name or address
expect.steps            steps     steps by name or address
expect.usage            usage     what calls used
expect.seconds          amount    how long the run took, in virtual time
loop.iterations         count     how many
loop.exit_reason        text      condition_met, max_iterations, timeout, budget, failed, ...
loop.stopped_by         text      expression, score, judge, branch, stable, plateau, ...
loop.score              number    of the returned iteration
loop.best_iteration     count     its number
loop.returned_iteration  count    its number
loop.mark               text      limit or budget
step.status             text      succeeded, failed, timed_out, skipped, or the dialect's word
step.calls              count     how often it was called, attempts included; else how often it ran
step.inputs             any       what it was given; only the fields that are named count
step.output             any       what it gave
step.error              error     why it failed: a part of the message, or {code, message}
"""
_ANSWER: dict[str, Any] = {"$ref": "#/$defs/answer"}
_KINDS: dict[str, dict[str, Any]] = {
    "any": dict[str, Any](),
    "amount": {"type": "number", "minimum": 0},
    "answers": {"type": "array", "items": _ANSWER, "minItems": 1},
    "count": {"type": "integer", "minimum": 0},
    "duration": {"type": ["string", "number"]},
    "expect": {"$ref": "#/$defs/expect"},
    "list": {"type": "array"},
    "number": {"type": "number"},
    "object": {"type": "object"},
    "positive": {"type": "integer", "minimum": 1},
    "scalar": {"type": ["string", "number", "boolean", "null"]},
    "text": {"type": "string"},
    "then": {"type": "string", "enum": ["error", "repeat"]},
    "truth": {"type": "boolean"},
    "version": {"type": "integer", "enum": [FORMAT]},
} | {
    f"{name}s": {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{name}"}}
    for name in ("test", "mock", "loop", "step")
}


def _object(*tables: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the schema of an object with only the fields of some tables."""
    fields: dict[str, Any] = {}
    for line in _ROWS.strip().splitlines():
        key, kind, description = line.split(None, 2)
        table, _, name = key.partition(".")
        if table in tables:
            fields[name] = _KINDS[kind] | {"description": description}
    whole = {"type": "object", "properties": fields, "additionalProperties": False}
    return whole | ({"required": [*required]} if required else {})


_KINDS["usage"] = _object("usage")
_KINDS["error"] = {"anyOf": [_KINDS["text"], _object("error")]}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Whorl tests",
    **_object("file", "given", required=("whorl_tests", "tests")),
    "$defs": {
        "test": _object("given", "test", required=("expect",)),
        "expect": _object("expect"),
        "loop": _object("loop"),
        "step": _object("step"),
        "answer": {"anyOf": [_KINDS["scalar"], _object("answer")]},
        "mock": {"anyOf": [_KINDS["scalar"], _KINDS["answers"], _object("answer", "sequence")]},
    },
}
# A program may give a function instead of these.
_FUNCTIONS = ("mock", "answer")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a test. `is_key`: it is about the name at the end of the path."""

    path: Path
    code: str
    message: str
    help: str = ""
    is_key: bool = False


def check(value: object, definition: str = "", path: Path = ()) -> list[Mistake]:
    """Returns the mistakes of a value against the schema, or against one definition of it."""
    schema = {"$ref": f"#/$defs/{definition}"} if definition else SCHEMA
    return list(_faults(schema, value, path))


def _faults(schema: dict[str, Any], value: Any, path: Path) -> Iterator[Mistake]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in _FUNCTIONS and callable(value):
            return
        schema = SCHEMA["$defs"][name]
    forms = [form if "$ref" not in form else SCHEMA["$defs"][form["$ref"].rpartition("/")[2]]
             for form in schema.get("anyOf", [schema])]  # fmt: skip
    fitting = next((form for form in forms if _is_of_type(form, value)), None)
    if fitting is None:
        wanted = " or ".join(dict.fromkeys(_WORDS[name] for f in forms for name in _names(f)))
        message = f"{_called(path)} must be {wanted}, not {_WORDS[_name_of(value)]}"
        yield Mistake(path, "W007", message, f"write {wanted}")
    elif isinstance(value, dict):
        yield from _object_faults(fitting, value, path)
    elif isinstance(value, list):
        if len(value) < fitting.get("minItems", 0):
            yield Mistake(path, "W007", f"{_called(path)} is empty", "write at least one")
        for at, item in enumerate(value):
            yield from _faults(fitting.get("items", {}), item, (*path, at))
    else:
        yield from _scalar_faults(fitting, value, path)


def _object_faults(schema: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Mistake]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, item in value.items():
        if name not in known and others is False:
            advice = did_you_mean(str(name), known) or f"it has {', '.join(known)}"
            message = f"{_called(path)} has no field {str(name)[:60]!r}"
            yield Mistake((*path, name), "W004", message, advice, is_key=True)
        else:
            yield from _faults(known.get(name, others), item, (*path, name))
    for name in schema.get("required", ()):
        if name not in value:
            advice = f"add {name}: {known[name].get('description', '...')}"
            yield Mistake(path, "W006", f"{_called(path)} lacks the field {name!r}", advice, True)


def _scalar_faults(schema: dict[str, Any], value: Any, path: Path) -> Iterator[Mistake]:
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        listed = ("one of " if len(choices) > 1 else "") + ", ".join(map(str, choices))
        advice = did_you_mean(str(value), map(str, choices)) or f"write {listed}"
        message = f"{_called(path)} must be {listed}, not {value!r:.40}"
        yield Mistake(path, "W007", message, advice)
    least = schema.get("minimum")
    if least is not None and value < least:
        yield Mistake(path, "W007", f"{_called(path)} is at least {least}, not {value}")


def _is_of_type(schema: dict[str, Any], value: object) -> bool:
    return "type" not in schema or any(type(value) in _TYPES[name] for name in _names(schema))


def _names(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return named if isinstance(named, list) else [named]


def _name_of(value: object) -> str:
    return next((name for name, types in _TYPES.items() if type(value) in types), "object")


def _called(path: Path) -> str:
    """Returns the name of a place for messages: its own name and that of its parent."""
    if not path:
        return "the file"
    names = [part for part in path[-2:] if isinstance(part, str)]
    return " of ".join(repr(name) for name in reversed(names)) or f"item {path[-1]}"

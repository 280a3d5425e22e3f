"""What may stand in a test: one table, a JSON Schema, against which files and programs are checked.

A mistake knows the names and positions that lead to it, which a file has lines for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.errors import did_you_mean
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json

Path: TypeAlias = "tuple[str | int, ...]"

FORMAT = 1
_SCALARS = ["string", "number", "boolean", "null"]
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


def _of(kind: str, description: str, **more: Json) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


def _object(description: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"properties": properties, "additionalProperties": False}
    fields |= {"required": [*required]} if required else {}
    return _of("object", description, **fields)


def _by_name(description: str, each: str) -> dict[str, Any]:
    return _of("object", description, additionalProperties={"$ref": f"#/$defs/{each}"})


_USAGE = _object(
    "what calls used",
    {
        "calls": _of("integer", "calls", minimum=0),
        "input_tokens": _of("integer", "tokens that were read", minimum=0),
        "output_tokens": _of("integer", "tokens that were written", minimum=0),
        "cost_usd": _of("number", "dollars", minimum=0),
    },
)
_ERROR = _object(
    "why it failed",
    {
        "code": _of("string", "its code; default P100"),
        "message": _of("string", "what is wrong"),
        "status": _of("integer", "the status of a web service, for `on` of a retry"),
        "retryable": _of("boolean", "whether trying again may help; default true"),
    },
)
_ANSWER: dict[str, Any] = {
    "outputs": {"description": "what the step gives, as later steps see it"},
    "status": _of("string", "succeeded, failed, timed_out, skipped, or the dialect's word"),
    "error": {
        "description": "why it fails: a message, or {code, message, status, retryable}",
        "anyOf": [_of("string", "what is wrong"), _ERROR],
    },
    "delay": {
        "description": "how long it takes, such as 90s, in virtual time",
        "type": ["string", "number"],
    },
    "usage": _USAGE,
    "times": _of("integer", "in a sequence: how often this answer is given", minimum=1),
}
_SEQUENCE = {
    "sequence": _of(
        "array",
        "the answers of the first call, the second, ...",
        items={"$ref": "#/$defs/answer"},
        minItems=1,
    ),
    "then": _of(
        "string",
        "after the last: error (default), or repeat it",
        enum=["error", "repeat"],
    ),
}
_EXPECTED_ERROR = {
    "$ref": "#/$defs/error",
    "description": "why it failed: a part of the message, or {code, message}",
}
_LOOP = _object(
    "how a loop ended",
    {
        "iterations": _of("integer", "how many", minimum=0),
        "exit_reason": _of("string", "condition_met, max_iterations, timeout, budget, failed, ..."),
        "stopped_by": _of("string", "expression, score, judge, branch, stable, plateau, ..."),
        "score": _of("number", "of the returned iteration"),
        "best_iteration": _of("integer", "its number"),
        "returned_iteration": _of("integer", "its number"),
        "mark": _of("string", "limit or budget"),
    },
)
_STEP = _object(
    "what is expected of a step; if several steps match, each must fit",
    {
        "status": _of("string", "succeeded, failed, timed_out, skipped, or the dialect's word"),
        "calls": _of(
            "integer",
            "how often it was called, attempts included; else how often it ran",
            minimum=0,
        ),
        "inputs": {"description": "what it was given; only the fields that are named count"},
        "output": {"description": "what it gave"},
        "error": _EXPECTED_ERROR,
    },
)
_EXPECT = _object(
    "what has to be true after the run",
    {
        "status": _of("string", "succeeded, failed, waiting, ...; default: as `error` says"),
        "output": {"description": "the main output"},
        "outputs": _of("object", "outputs by name; others are not looked at"),
        "error": _EXPECTED_ERROR,
        "loops": _by_name("loops by name or address", "loop"),
        "steps": _by_name("steps by name or address", "step"),
        "usage": _USAGE,
        "seconds": _of("number", "how long the run took, in virtual time", minimum=0),
    },
)
_GIVEN: dict[str, Any] = {
    "inputs": _of("object", "what the run is given, by name"),
    "mocks": _by_name("what steps give, by name or address", "mock"),
    "models": _of("array", "rules for models: {match, replies, by, exhaust}, as in whorl.toml"),
    "real": _of(
        "array", "steps that are really carried out, by name or address", items={"type": "string"}
    ),
    "retries": _of("boolean", "whether steps are tried again as the workflow says; default false"),
}
_TEST = _object(
    "one test",
    {
        **_GIVEN,
        "description": _of("string", "what it tests, for its readers"),
        "cassette": _of("string", "a recording that answers where no mock does"),
        "max_iterations": _of("integer", "a limit for all loops", minimum=1),
        "budget": _of("number", "dollars for the run", minimum=0),
        "expect": {"$ref": "#/$defs/expect", "description": "what has to be true after the run"},
    },
    "expect",
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Whorl tests",
    **_object(
        "tests of a workflow",
        {
            "whorl_tests": _of("integer", "the version of the format", enum=[FORMAT]),
            "workflow": _of("string", "its file; default: the one of the same name beside it"),
            "name": _of("string", "which workflow, if the file has several"),
            **{name: form | {"description": f"for all tests: {form['description']}"}
               for name, form in _GIVEN.items()},
            "tests": _by_name("the tests by what they show", "test"),
        },
        "whorl_tests",
        "tests",
    ),
    "$defs": {
        "test": _TEST,
        "expect": _EXPECT,
        "loop": _LOOP,
        "step": _STEP,
        "error": {"anyOf": [_of("string", "a part of the message"), _ERROR]},
        "answer": {"anyOf": [{"type": _SCALARS}, _object("an answer", _ANSWER)]},
        "mock": {
            "anyOf": [
                {"type": _SCALARS, "description": "the outputs"},
                {"$ref": "#/$defs/sequence"},
                _object("an answer, or a sequence of them", _ANSWER | _SEQUENCE),
            ]
        },
        "sequence": _SEQUENCE["sequence"],
    },
}  # fmt: skip
# A program may give a function in the place of these.
_FUNCTIONS = ("mock", "answer")


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong with a test; `is_key`: the name at the end of the path is meant."""

    path: Path
    code: str
    message: str
    help: str = ""
    is_key: bool = False


def check(value: object, definition: str = "", path: Path = ()) -> list[Mistake]:
    """What does not fit the table, or one definition of it."""
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
        yield Mistake(path, "W015", f"{_called(path)} is at least {least}, not {value}")


def _is_of_type(schema: dict[str, Any], value: object) -> bool:
    return "type" not in schema or any(type(value) in _TYPES[name] for name in _names(schema))


def _names(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return named if isinstance(named, list) else [named]


def _name_of(value: object) -> str:
    return next((name for name, types in _TYPES.items() if type(value) in types), "object")


def _called(path: Path) -> str:
    """What a place is called in messages: its own name, and whose it is."""
    if not path:
        return "the file"
    names = [part for part in path[-2:] if isinstance(part, str)]
    return " of ".join(repr(name) for name in reversed(names)) or f"item {path[-1]}"

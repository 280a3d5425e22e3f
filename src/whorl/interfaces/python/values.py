"""Values of a Python program: what it passes in, with checks, and what it gets back.

The program's own types are converted to JSON and back: dataclasses, TypedDicts, enumerations, and
models. A model is any class with `model_validate`, `model_dump` and `model_json_schema`, such as
Pydantic's; Pydantic itself is never imported.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    Protocol,
    Required,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from whorl.errors import Cause, RunFailed, UsageError
from whorl.interfaces.advice import advised
from whorl.lazily import dataclass
from whorl.providers.json_values import DEPTH_MAX, NotJson, as_json
from whorl.services.inspecting.results import usage_document

if TYPE_CHECKING:
    import os

    from whorl import ir
    from whorl.errors import Diagnostic
    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.services.project import Project


FilePath: TypeAlias = "str | os.PathLike[str]"
# A whorl.toml, or a table with the same content.
Config: TypeAlias = "FilePath | Mapping[str, object]"
Status: TypeAlias = Literal[
    "running", "succeeded", "failed", "waiting", "paused", "interrupted", "cancelled"
]
Mark: TypeAlias = Literal["limit", "budget", "warning"]
T = TypeVar("T")
_SECRET = "secret"
# An input that the run hides: `token: whorl.Secret[str]`.
Secret: TypeAlias = Annotated[T, _SECRET]
ExitReason: TypeAlias = (
    Literal["condition_met", "max_iterations", "timeout", "budget"]
    | Literal["failed", "cancelled", "accepted", "rejected"]
)
RecordStatus: TypeAlias = (
    Literal["running", "waiting", "succeeded", "failed"]
    | Literal["timed_out", "cancelled", "skipped"]
)
# What parameters take: also types whose items cannot be changed, such as tuples.
JsonLike: TypeAlias = (
    "bool | int | float | str | Sequence[JsonLike] | Mapping[str, JsonLike] | None"
)
R_co = TypeVar("R_co", covariant=True)
_BYTES = bytes | bytearray | memoryview
_PLAIN: dict[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_UNIONS = (Union, types.UnionType)
_MARKS = (Required, NotRequired)
_DOLLARS_MAX = 1e9


class TaskRaised(Exception):
    """What the function of a step raised, as its traceback in the journal; a cause of RunFailed."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of a run's journal: what happened, where, and when."""

    seq: int
    kind: str
    address: str
    at: float
    body: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used; `unpriced_calls` had no known price and are not in `cost_usd`.

    `cost_usd` is None if no price is known. It contains `reserved_usd`: what was reserved for
    calls in doubt, whose cost is unknown. Of the calls of a run, `model_calls` are those of
    models and agents.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    in_doubt: int = 0
    unpriced_calls: int = 0
    model_calls: int | None = None
    reserved_usd: float | None = None


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How a loop ended."""

    path: str
    iterations: int
    exit_reason: ExitReason | None
    stopped_by: str | None
    score: float | None
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: tuple[int, ...]
    usage: Usage
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """A finished iteration of a loop: what its steps gave, and how it was judged.

    `met`: a condition stopped the loop, `by` says which kind; `verdicts` has what each condition
    saw, with values, scores and the words of judges.
    """

    loop: str
    number: int
    status: str
    values: dict[str, Json]
    score: float | None
    met: bool
    by: str | None
    verdicts: tuple[dict[str, Any], ...]
    usage: Usage
    seconds: float


@dataclass(frozen=True)
class Result(Generic[R_co]):
    """The state of a run: the same facts as `whorl run --json` prints."""

    run: str
    status: Status
    output: Json
    outputs: dict[str, Json]
    loops: tuple[LoopResult, ...]
    usage: Usage
    warnings: tuple[dict[str, Json], ...]
    error: dict[str, Json] | None
    _past: Any = field(default=None, repr=False, compare=False, kw_only=True)
    _returns: Any = field(default=Any, repr=False, compare=False, kw_only=True)

    @property
    def value(self) -> R_co:
        """What the workflow returned, as its type; of a file, its output."""
        kind, output = self._returns, self.outputs.get("result", self.output)
        return cast("R_co", output if kind is Any else from_json(kind, output))

    @property
    def ok(self) -> bool:
        """Whether the run has succeeded."""
        return self.status == "succeeded"

    def iterations(self, at: str = "") -> tuple[Iteration, ...]:
        """The iterations of a loop, with the outputs of their steps and their verdicts.

        `at` says which loop, if there are several.
        """
        found: tuple[Iteration, ...] = self._past.iterations(at)
        return found

    def raise_for_status(self) -> Result[R_co]:
        """Raises RunFailed if the run has failed; otherwise returns itself."""
        if self.status == "failed":
            error: dict[str, Any] = self.error or {}
            code, message = error.get("code", "R100"), advised(error) or "the run failed"
            detail = {"cause": error["cause"]} if error.get("cause") else {}
            place = (str(error.get("path", "")), error.get("iteration"))
            failed = RunFailed(self.run, Cause(str(code), str(message), *place, detail))
            lines = error.get("traceback")
            raise failed from None if lines is None else TaskRaised(str(lines))
        return self


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of a step, an item or an iteration.

    `inputs` is what it was given, or the names that it reads; `reason` says why it was skipped
    (condition, order, halt, branch, around, end, budget), `because` has the facts of that.
    `repetitions` counts the items or iterations that have begun.
    """

    address: str
    path: str
    name: str
    kind: str
    status: RecordStatus
    started_at: float | None
    ended_at: float | None
    seconds: float | None
    inputs: Json
    output: Json
    error: dict[str, Json] | None
    usage: Usage
    reason: str = ""
    because: dict[str, Json] = field(default_factory=dict)
    branch: str | None = None
    number: int | None = None
    repetitions: int | None = None
    attempts: tuple[dict[str, Json], ...] = ()


def record_from(document: dict[str, Any]) -> Record:
    """The typed form of a record."""
    attempts = tuple(document.get("attempts", ()))
    return Record(**document | {"usage": Usage(**document["usage"]), "attempts": attempts})


def usage_from(given: Mapping[str, Any] | None) -> Usage:
    """The typed form of what a note says was used; what it leaves out is zero."""
    return Usage(**usage_document(given))  # type: ignore[arg-type]


def result_from(document: dict[str, Any]) -> Result[Any]:
    """The typed form of a result document."""
    names = ("run", "status", "output", "outputs", "error")
    return Result(
        **{name: document[name] for name in names},
        loops=tuple(
            LoopResult(
                **loop
                | {"failed_iterations": tuple(loop["failed_iterations"])}
                | {"usage": Usage(**loop["usage"])}
            )
            for loop in document["loops"]
        ),
        usage=Usage(**document["usage"]),
        warnings=tuple(document["warnings"]),
    )


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow that was checked; `warnings` lists what looks wrong."""

    name: str
    ir: ir.Workflow = field(repr=False, hash=False)
    file: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    warnings: tuple[Diagnostic, ...] = ()
    # The functions that its steps call, where it was written in Python.
    tasks: Tasks | None = field(default=None, repr=False, hash=False, compare=False)
    # Of a coroutine function: whether its budget pauses a run, and the type of what it returns.
    pauses: bool = False
    returns: Any = field(default=Any, repr=False, hash=False, compare=False)


class Definition(Protocol):
    """A workflow that is written as a function, such as `@whorl.workflow` makes."""

    def build(self, project: Project) -> Workflow: ...


Runnable: TypeAlias = "Workflow | Definition | FilePath"


def plain_value(value: object, place: str) -> Json:
    """Returns a copy of the value as plain JSON; raises UsageError with the place if it is not."""
    try:
        return as_json(to_json(value), place)
    except NotJson as fault:
        raise UsageError(str(fault)) from None
    except RecursionError:
        raise UsageError(f"{place} is more than {DEPTH_MAX} levels deep") from None


def plain_table(value: object, place: str) -> dict[str, Json]:
    """Returns the same for a value that must be a mapping; None means an empty one."""
    table = plain_value({} if value is None else value, place)
    if not isinstance(table, dict):
        raise UsageError(f"{place} must be a mapping of names to values, not {value!r:.80}")
    return table


def dollars(value: float | None, name: str = "budget") -> float | None:
    """Returns an amount of dollars, or None for None; raises UsageError for anything else."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < _DOLLARS_MAX:
        raise UsageError(f"{name} is {value!r:.80}, which is not an amount of dollars such as 0.50")
    return float(value)


def count(value: int | None, name: str, least: int = 1) -> int | None:
    """Returns a whole number of at least `least`, or None; raises UsageError for anything else."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(
            f"{name} is {value!r:.80}, which is not a whole number of at least {least}"
        )
    return int(value)


def text(value: str | None, name: str) -> str:
    """Returns a text, or "" for None. Raises UsageError for anything else."""
    if not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r:.80}, which is not a text")
    return value or ""


# Types of a program and JSON.


def is_model(kind: object) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_validate")


def fields_of(kind: object) -> dict[str, Any] | None:
    """Returns the fields of a type with their types, or None if it does not declare them."""
    kind = _bare(kind)
    if is_model(kind):
        own: Mapping[str, Any] = getattr(kind, "model_fields", {})
        return {name: getattr(each, "annotation", Any) for name, each in own.items()}
    if isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind)):
        return {name: _bare(hint) for name, hint in hints_of(kind).items()}
    return None


def is_secret(hint: object) -> bool:
    return _SECRET in getattr(hint, "__metadata__", ())


def hints_of(thing: object, *, is_whole: bool = False) -> dict[str, Any]:
    """Returns the types of the names of a class or a function; Any for those it cannot read."""
    try:
        return get_type_hints(thing, include_extras=is_whole)
    except (NameError, TypeError, AttributeError):
        # A type that is defined inside of a function, or imported for type checkers alone.
        names = getattr(thing, "__annotations__", {})
        return {name: hint if not isinstance(hint, str) else Any for name, hint in names.items()}


def _bare(kind: object) -> object:
    """Returns a type without `Required` and the like, and without None if it is one of two."""
    while get_origin(kind) in _MARKS:
        kind = get_args(kind)[0]
    if get_origin(kind) in _UNIONS:
        parts = [part for part in get_args(kind) if part is not type(None)]
        return parts[0] if len(parts) == 1 else kind
    return kind


def schema_of(kind: object, place: str) -> dict[str, Json]:
    """Returns the JSON Schema of a type; raises UsageError if JSON cannot hold its values."""
    if get_origin(kind) in _MARKS:
        kind = get_args(kind)[0]
    if kind is Any or kind is object:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind is None or kind is type(None):
        return {"type": "null"}
    if is_model(kind):
        schema: dict[str, Json] = getattr(kind, "model_json_schema")()  # noqa: B009
        return schema
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if fields_of(kind) is not None and get_origin(kind) not in _UNIONS:
        return _object_schema(kind, place)
    return _generic_schema(kind, place)


def _object_schema(kind: object, place: str) -> dict[str, Json]:
    hints = hints_of(kind)
    properties: dict[str, Json] = {
        name: schema_of(hint, f"{place}.{name}") for name, hint in hints.items()
    }
    required: list[Json] = [name for name in hints if _is_required(kind, name)]
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return schema | {"additionalProperties": False}


def _is_required(kind: Any, name: str) -> bool:
    if is_typeddict(kind):
        return name in kind.__required_keys__
    known = kind.__dataclass_fields__[name]
    return known.default is MISSING and known.default_factory is MISSING


def _generic_schema(kind: object, place: str) -> dict[str, Json]:
    origin, args = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in _UNIONS:
        return {"anyOf": [schema_of(part, place) for part in args]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object"}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        items = [part for part in args if part is not ...]
        inner = schema_of(items[0], f"{place}[]") if len(set(items)) == 1 else {}
        return {"type": "array", "items": inner} if inner else {"type": "array"}
    words = getattr(kind, "__name__", None) or str(kind)
    raise UsageError(
        f"{place} is of type {words!r}, which the journal cannot hold",
        help="a run is stored as JSON; use texts, numbers, lists, dataclasses, TypedDicts, "
        "enumerations or Pydantic models",
    )


def to_json(value: object) -> object:
    """Converts types of the program to plain values; leaves what JSON cannot hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if is_model(type(value)):
        return getattr(value, "model_dump")(mode="json")  # noqa: B009
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | _BYTES):
        return [to_json(item) for item in value]
    return value


def from_json(kind: object, value: Any) -> Any:
    """Returns the value as an instance of the type, as far as the type says how to make one."""
    if value is None:
        return None
    kind = _bare(kind)
    if is_model(kind):
        return getattr(kind, "model_validate")(value)  # noqa: B009
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
        hints = hints_of(kind)
        return kind(**{name: from_json(hints.get(name), part) for name, part in value.items()})
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    origin, args = get_origin(kind) or kind, get_args(kind)
    if origin in (list, tuple, Sequence) and isinstance(value, list):
        items = [from_json(args[0] if args else None, item) for item in value]
        return tuple(items) if origin is tuple else items
    return value

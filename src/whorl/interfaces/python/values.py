"""What a Python program gives, checked where it enters, and what it gets: workflows and results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.errors import Cause, InvalidWorkflow, RunFailed, UsageError
from whorl.interfaces.wording import advised
from whorl.providers.json_values import DEPTH_MAX, NotJson, as_json
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl import ir
    from whorl.errors import Diagnostic
    from whorl.language import Json
    from whorl.services.project import Project

FilePath: TypeAlias = "str | os.PathLike[str]"
# A whorl.toml, or what would stand in one.
Config: TypeAlias = "FilePath | Mapping[str, object]"
Status: TypeAlias = Literal[
    "running", "succeeded", "failed", "waiting", "paused", "interrupted", "cancelled"
]
Mark: TypeAlias = Literal["limit", "budget"]
ExitReason: TypeAlias = (
    Literal["condition_met", "max_iterations", "timeout", "budget"]
    | Literal["failed", "cancelled", "accepted", "rejected"]
)
StoppedBy: TypeAlias = Literal[
    "expression", "score", "judge", "branch", "stable", "plateau", "break", "items", "person"
]
# What parameters take: also types whose items cannot be changed, such as tuples.
JsonLike: TypeAlias = (
    "bool | int | float | str | Sequence[JsonLike] | Mapping[str, JsonLike] | None"
)
_BYTES = (bytes, bytearray, memoryview)
_DOLLARS_MAX = 1e9
_INDENT = 2
_KEYED = re.compile(r'"((?:[^"\\]|\\.)*)": ')


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
    """What was used; `unpriced_calls` had no known price and are not in `cost_usd`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    in_doubt: int = 0
    unpriced_calls: int = 0


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How a loop ended."""

    path: str
    iterations: int
    exit_reason: ExitReason | None
    stopped_by: StoppedBy | None
    score: float | None
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: tuple[int, ...]
    usage: Usage
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How a run stands: the same facts as `whorl run --json` prints."""

    run: str
    status: Status
    output: Json
    outputs: dict[str, Json]
    loops: tuple[LoopResult, ...]
    usage: Usage
    warnings: tuple[dict[str, Json], ...]
    error: dict[str, Json] | None

    @property
    def ok(self) -> bool:
        """Whether the run has succeeded."""
        return self.status == "succeeded"

    def raise_for_status(self) -> Result:
        """Raises RunFailed if the run has failed; gives itself otherwise."""
        if self.status == "failed":
            error: dict[str, Any] = self.error or {}
            code, message = error.get("code", "R100"), advised(error) or "the run failed"
            detail = {"cause": error["cause"]} if error.get("cause") else {}
            place = (str(error.get("path", "")), error.get("iteration"))
            raise RunFailed(self.run, Cause(str(code), str(message), *place, detail))
        return self


def result_from(document: dict[str, Any]) -> Result:
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
    """A workflow that is known to be sound; `warnings` tells what looks odd."""

    name: str
    ir: ir.Workflow = field(repr=False, hash=False)
    file: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    warnings: tuple[Diagnostic, ...] = ()


def load(path: FilePath, *, config: Config | None = None) -> Workflow:
    """Reads a workflow file. Raises InvalidWorkflow with everything that is wrong with it.

    It is read in the project that the working folder lies in, as on the command line: files that it
    names must lie in the project, or beside it where it lies elsewhere. `config` is a whorl.toml,
    or a table of what would stand in one.
    """
    return workflow_from(project_of(config), path)


def workflow_from(project: Project, path: FilePath) -> Workflow:
    file = os.fsdecode(path)
    reading = project.read(file)
    workflow = reading.workflow
    return Workflow(workflow.name, workflow, file, dict(reading.sources), reading.warnings)


def build(
    name: str,
    steps: Mapping[str, Mapping[str, object]],
    *,
    inputs: Mapping[str, object] | None = None,
    outputs: Mapping[str, object] | None = None,
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    description: str | None = None,
    budget: float | None = None,
) -> Workflow:
    """Builds a workflow in code; the words are those of the native format.

        whorl.build(
            "count",
            {"count": {"repeat": {"until": "iteration >= 3", "steps": {"say": {"value": "hi"}}}}},
            outputs={"said": "{{ count.say }}"},
        )

    `budget` is the most that a run may spend, in dollars. Raises InvalidWorkflow, in which each
    mistake has the names that lead to its place, and UsageError for a value that JSON cannot hold.
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"the name of a workflow is a text, not {name!r:.80}")
    fields: dict[str, object] = {"whorl": 1, "name": name, "description": description}
    fields |= {"inputs": inputs, "model": model, "system": system, "budget": budget}
    fields |= {"steps": steps, "outputs": outputs}
    given = {key: plain_value(value, key) for key, value in fields.items() if value is not None}
    text = json.dumps(given, indent=_INDENT, ensure_ascii=False)
    file = f"<{name.replace('/', '-')}>.json"
    try:
        reading = project_of().read_text(text, file)
    except InvalidWorkflow as fault:
        raise InvalidWorkflow(_named(fault.diagnostics, file, text)) from None
    warnings = _named(reading.warnings, file, text)
    return Workflow(name, reading.workflow, "", {file: text}, warnings)


def project_of(
    config: Config | None = None, store: FilePath | None = None, *, trust: bool = False
) -> Project:
    """The project of a whorl.toml and a store, or else of the working folder.

    A table is the program's own word, and so is a file that it names; `trust` makes one of what is
    found.
    """
    if not isinstance(trust, bool):
        raise UsageError(f"trust is {trust!r:.80}, which is neither True nor False")
    folder = None if store is None else os.fspath(store)
    if isinstance(config, Mapping):
        table = {str(name): value for name, value in config.items()}
        found = find_project(os.environ, store=folder)
        return replace(found, config=None, table=table)
    file = None if config is None else os.fspath(config)
    return find_project(os.environ, config=file, store=folder, trusts=trust)


def _named(diagnostics: Iterable[Diagnostic], file: str, text: str) -> tuple[Diagnostic, ...]:
    """The same with names instead of lines, since nobody has seen the text that was read."""
    named: list[Diagnostic] = []
    for diagnostic in diagnostics:
        if diagnostic.span is not None and diagnostic.span.file == file:
            place = _place(text, diagnostic.span.line)
            message = f"{place}: {diagnostic.message}" if place else diagnostic.message
            diagnostic = replace(diagnostic, message=message, span=None)
        named.append(diagnostic)
    return tuple(named)


def _place(text: str, number: int) -> str:
    """The names and positions that lead to what stands in a line of indented JSON."""
    way: list[str | int] = []
    for line in text.split("\n")[:number]:
        content = line.lstrip(" ")
        depth = (len(line) - len(content)) // _INDENT
        if depth == 0 or content[0] in "}]":
            continue
        keyed = _KEYED.match(content)
        before = way[depth - 1] if len(way) >= depth else None
        after = before + 1 if isinstance(before, int) else 0
        way[depth - 1 :] = [json.loads(f'"{keyed[1]}"') if keyed else after]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way).lstrip(".")


def plain_value(value: object, place: str) -> Json:
    """A copy of the value as plain JSON; raises UsageError with the place of what is none."""
    try:
        return _plain(value, place, 0)
    except NotJson as fault:
        raise UsageError(str(fault)) from None


def plain_table(value: object, place: str) -> dict[str, Json]:
    """The same for a value that must be a mapping; None stands for an empty one."""
    if not isinstance(value, Mapping | None):
        raise UsageError(f"{place} must be a mapping of names to values, not {value!r:.80}")
    table = plain_value(dict(value or {}), place)
    assert isinstance(table, dict)
    return table


def dollars(value: float | None, name: str = "budget") -> float | None:
    """An amount of dollars, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < _DOLLARS_MAX:
        raise UsageError(f"{name} is {value!r:.80}, which is no amount of dollars such as 0.50")
    return float(value)


def count(value: int | None, name: str) -> int | None:
    """A whole number of at least 1, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r:.80}, which is no whole number of at least 1")
    return int(value)


def text(value: str | None, name: str) -> str:
    """A text; None stands for an empty one. Raises UsageError for anything else."""
    if not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r:.80}, which is no text")
    return value or ""


def _plain(value: object, place: str, depth: int) -> Json:
    if depth > DEPTH_MAX:
        raise NotJson(f"{place[:80]}... is more than {DEPTH_MAX} levels deep")
    if isinstance(value, Mapping):
        return {
            _key(key, place): _plain(item, f"{place}.{key}", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, str):
        # A text that is a member of an enumeration would be shown as the name of the member.
        return as_json(str.__str__(value), place)
    if isinstance(value, Sequence) and not isinstance(value, _BYTES):
        return [_plain(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    return as_json(value, place)


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{place} has the key {key!r:.80}, which is no text")
    return str.__str__(key)

"""Mocks, bound to the steps that their keys mean, and the workflow as it runs with them.

A mocked step returns the outputs of its mock as they are. A mocked task loses the shape between
its reply and its result. Any other mocked step is replaced by a task of the same name.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl import ir
from whorl.dialects.mocking import mock_words
from whorl.errors import did_you_mean
from whorl.interpreter.events import unescape
from whorl.ir import Call, ForEach, Judge, Loop, Task
from whorl.ir.expressions import conditions_in
from whorl.ir.values import parse_duration
from whorl.ir.walk import blocks_of, with_all_nodes
from whorl.language.schema import TYPES, fit
from whorl.lazily import dataclass
from whorl.providers.task import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.dialects.mocking import MockWords
    from whorl.ir import Block, Node, Workflow
    from whorl.language import Json


# The steps that a key means: by name, or by the end of an address such as `polish[2]/review`.

Names: TypeAlias = tuple[tuple[str, bool], ...]

# A workflow that is called in several places has its steps in each of them.
STEPS_MAX = 10_000
_CALLS_MAX = 16
_LISTED_MAX = 8
_PART = re.compile(r"(.*?)(?:\[([0-9]+)\])?(?:#([0-9]+))?", re.DOTALL)
_JUDGE = ":judge"
_NUMBER = re.compile(r"~[0-9]+(?=[\[#/]|$)")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an address: a name, with the number of an iteration or item, and of an attempt."""

    name: str
    number: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step at its place, also inside calls: each name, and whether it is repeated there.

    An internal call of a loop has a name such as `:judge`, and no node.
    """

    names: Names
    node: Node | None
    owner: Workflow


@lru_cache(maxsize=4096)
def parts_of(address: str) -> tuple[Part, ...]:
    return tuple(map(_part, address.split("/")))


def _part(text: str) -> Part:
    match = _PART.fullmatch(text)
    assert match is not None
    number, attempt = (None if digits is None else int(digits) for digits in match.group(2, 3))
    return Part(unescape(match[1]), number, attempt)


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a mock. All its parts must match the end of an address."""

    text: str
    parts: tuple[Part, ...]

    @property
    def rank(self) -> int:
        """How specific the key is. If two keys fit an address, the higher rank counts."""
        numbers = [part.number for part in self.parts] + [part.attempt for part in self.parts]
        return len(self.parts) + sum(number is not None for number in numbers)

    def fits(self, address: str) -> bool:
        """Returns whether the key matches an address."""
        parts = parts_of(address)
        if len(self.parts) > len(parts):
            return False
        return all(map(_is_meant, self.parts, parts[-len(self.parts) :]))

    def means(self, step: Step) -> bool:
        """Returns whether the key can match an address of the step."""
        if len(self.parts) > len(step.names):
            return False
        ends = step.names[-len(self.parts) :]
        return all(
            _is_named(part.name, name) and (part.number is None or repeats)
            for part, (name, repeats) in zip(self.parts, ends, strict=True)
        )


def _is_meant(wanted: Part, part: Part) -> bool:
    return (
        _is_named(wanted.name, part.name)
        and wanted.number in (None, part.number)
        and wanted.attempt in (None, part.attempt or 1)
    )


def _is_named(wanted: str, name: str) -> bool:
    """Returns whether a name matches. Internal calls may be numbered: `:tool` fits `:tool2`."""
    return wanted == name or (wanted.startswith(":") and name.rstrip("0123456789") == wanted)


def key_of(text: str, steps: list[Step]) -> Key:
    """Parses a key. A name may contain any character, and `judge` means the judges of all loops."""
    names = {step.names[-1][0] for step in steps}
    if text in names:
        return Key(text, (Part(text),))
    parts = parts_of(text)
    if parts[-1].name == "judge" and "judge" not in names:
        parts = (*parts[:-1], Part(_JUDGE, attempt=parts[-1].attempt))
    return Key(text, parts)


def _unnumbered(address: str) -> str:
    """Returns the address without the numbers of requests of the same name: `text~2`."""
    return _NUMBER.sub("", address)


def meant_by(key: Key, steps: list[Step]) -> list[Step]:
    return [step for step in steps if key.means(step)]


def steps_of(workflow: Workflow) -> list[Step]:
    """Returns all steps of a workflow and of those that it calls, each at its place."""
    called = dict(workflow.workflows)

    def inside(block: Block, owner: Workflow, around: Names, depth: int = 0) -> Iterator[Step]:
        for node in block.nodes:
            names = around
            if not (isinstance(node, Call) and node.unnamed):
                yield Step((*around, (node.name, False)), node, owner)
                names = (*around, (node.name, isinstance(node, Loop | ForEach)))
            yield from (Step((*names, (word, False)), None, owner) for word in _own(node))
            for _, held in blocks_of(node):
                yield from inside(held, owner, names, depth)
            if isinstance(node, Call) and node.workflow in called and depth < _CALLS_MAX:
                other = called[node.workflow]
                yield from inside(other.body, other, names, depth + 1)

    return list(islice(inside(workflow.body, workflow, ()), STEPS_MAX))


def _own(node: Node) -> Iterator[str]:
    """Yields the names of the internal calls of a node, such as those of a judge or a tool."""
    if isinstance(node, Loop):
        if any(isinstance(part, Judge) for part in conditions_in(node.until)):
            yield _JUDGE
        if node.ask == "each":
            yield ":ask"
        if node.ask == "at_limit" or node.on_limit == "pause":
            yield ":limit"
    elif isinstance(node, Task) and node.kind == "ask":
        yield ":tool"


Function: TypeAlias = "Callable[[dict[str, Json]], object]"

_WORDS_OF_ANSWERS = frozenset(
    {"outputs", "status", "error", "delay", "usage", "times", "sequence", "then"}
)
# The kind of the task that replaces a mocked step of another type.
KIND = "mock"
_NEVER = ir.Expression("jinja", "false")
_STEERING = {
    ir.Assign: "sets variables",
    ir.Stop: "ends the run",
    ir.Break: "ends a loop",
    ir.Continue: "ends an iteration",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a call. A failed answer may also have outputs."""

    outputs: Json = None
    status: str = "succeeded"
    code: str = "P100"
    message: str = "the mock says that it failed"
    http_status: int | None = None
    retryable: bool = True
    delay_s: float = 0.0
    usage: Usage = Usage(calls=1)
    function: Function | None = None
    path: Path = ()


@dataclass(slots=True)
class Mock:
    """The answers for the calls that a key means; `used` counts those that were given."""

    key: Key
    path: Path
    answers: tuple[Answer, ...]
    repeats: bool
    steps: list[Step]
    used: int = 0

    def upcoming(self) -> Answer | None:
        """Returns the answer of the next call, or None if all are used."""
        if self.used < len(self.answers):
            return self.answers[self.used]
        return self.answers[-1] if self.repeats else None

    def take(self) -> Answer | None:
        answer = self.upcoming()
        self.used += answer is not None
        return answer


@dataclass(slots=True)
class Mocks:
    """The mocks of one run, and the mistakes in them."""

    workflow: ir.Workflow
    steps: list[Step] = field(init=False)
    mocks: list[Mock] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    given: dict[str, Json] = field(default_factory=dict)
    # Names in the source of a program, which a run may not have come to.
    mentioned: frozenset[str] = frozenset()
    _by_names: dict[tuple[str, ...], Step] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = steps_of(self.workflow)
        self._by_names = {tuple(name for name, _ in step.names): step for step in self.steps}

    def add(self, text: str, value: object, path: Path = ()) -> None:
        """Reads a mock. The mock of a trigger gives the inputs of the run."""
        words = mock_words(self.workflow.dialect)
        if self.is_program and isinstance(value, dict) and not _WORDS_OF_ANSWERS & value.keys():
            # The fields of what the step gives.
            value = {"outputs": value}
        faults = check(value, "mock", path)
        if not faults and text and text == words.trigger(self.workflow):
            self._take_trigger(words, value, path)
        elif faults or (key := self.key(text, path)) is None:
            self.mistakes += faults
        else:
            self._add(key, value, path)

    def _take_trigger(self, words: MockWords, value: Any, path: Path) -> None:
        fields = value if isinstance(value, dict) else {"outputs": value}
        status = str(fields.get("status", "succeeded")).lower()
        if status != "succeeded" or set(fields) - {"outputs", "status"}:
            message = "the trigger of a test has succeeded, and has outputs"
            self.mistakes.append(Mistake(path, "W007", message, "else there is no run to test"))
            return
        self.given = words.inputs(self.workflow, fields)

    def key(self, text: str, path: Path) -> Key | None:
        """Returns the parsed key, or None if it means no step."""
        key = Key(text, parts_of(text)) if self.is_program else key_of(text, self.steps)
        if self.is_program or meant_by(key, self.steps):
            return key
        message = f"{text!r} is not a step of workflow {self.workflow.name!r}"
        names = dict.fromkeys(step.names[-1][0] for step in self.steps)
        listed = [name for name in names if not name.startswith(":")]
        near = did_you_mean(key.parts[-1].name, listed)
        advice = near or f"steps: {', '.join(listed[:_LISTED_MAX])}"
        self.mistakes.append(Mistake(path, "W005", message, advice, is_key=True))
        return None

    def _add(self, key: Key, value: Any, path: Path) -> None:
        listed, repeats = [(path, value)], True
        if isinstance(value, dict) and "sequence" in value:
            if rest := sorted(set(value) - {"sequence", "then"}):
                message = f"{rest[0]!r} belongs in the answers of a sequence, not beside it"
                self.mistakes.append(Mistake((*path, rest[0]), "W007", message, is_key=True))
            repeats = value.get("then") == "repeat"
            listed = [((*path, "sequence", at), item) for at, item in enumerate(value["sequence"])]
        elif isinstance(value, list):
            listed, repeats = [((*path, at), item) for at, item in enumerate(value)], False
        steps = meant_by(key, self.steps)
        if self.is_program:
            # What its code requests is known only when it has run.
            names = tuple((part.name, part.number is not None) for part in key.parts)
            steps = [Step(names, None, self.workflow)]
        answers: list[Answer] = []
        for place, item in listed:
            fields = dict(item) if isinstance(item, dict) else {"outputs": item}
            if callable(item):
                fields = {"function": item}
            times = fields.pop("times", 1)
            answers += [self._answer(fields, steps[0], place)] * times
        mock = Mock(key, path, tuple(answers), repeats, steps)
        self.mistakes += _unfit(mock)
        self.mocks.append(mock)

    def _answer(self, fields: dict[str, Any], step: Step, path: Path) -> Answer:
        words = mock_words(step.owner.dialect)
        if step.node is not None:
            fields = words.answer(step.node, fields)
        error = fields.get("error", {})
        error = {"message": error} if isinstance(error, str) else error
        word = str(fields.get("status", "failed" if "error" in fields else "succeeded"))
        known = {each.lower(): status for each, status in words.statuses.items()}
        status = known.get(word.lower(), "")
        if not status or ("error" in fields and status not in ("failed", "timed_out")):
            message = f"a step that has the status {word!r} has no error"
            if not status:
                message = f"there is no status {word!r} that a step can be given"
            advice = did_you_mean(word, words.statuses) or f"write {', '.join(words.statuses)}"
            self.mistakes.append(Mistake((*path, "status"), "W007", message, advice))
        more = {name: error[name] for name in ("code", "message", "retryable") if name in error}
        if status == "timed_out":
            more = {"message": "the mock says that it took too long", **more, "code": "P108"}
        return Answer(
            outputs=fields.get("outputs"),
            status=status,
            http_status=error.get("status"),
            delay_s=self._duration(fields.get("delay", 0), (*path, "delay")),
            usage=Usage(**{"calls": 1, **fields.get("usage", {})}),
            function=fields.get("function"),
            path=path,
            **more,
        )

    def _duration(self, written: Any, path: Path) -> float:
        try:
            return parse_duration(written)
        except ValueError:
            message = f"{written!r:.40} is not a duration"
            self.mistakes.append(Mistake(path, "W007", message, "write 90s, 5m or PT5S"))
            return 0.0

    @property
    def is_program(self) -> bool:
        return any(isinstance(node, ir.Program) for node in self.workflow.body.nodes)

    def unmeant(self, requested: list[str]) -> Mistake | None:
        """Returns the mistake of a mock that fits nothing which the code of a run requested."""
        for mock in self.mocks:
            name = mock.key.parts[-1].name
            fits = any(map(mock.key.fits, (*requested, *map(_unnumbered, requested))))
            if mock.used or name in self.mentioned or fits:
                continue
            names = [*dict.fromkeys(parts_of(address)[-1].name for address in requested)]
            message = f"{mock.key.text!r} is not a step that workflow {self.workflow.name!r} "
            message += f"requested; its steps were {', '.join(names[:_LISTED_MAX]) or 'none'}"
            near = did_you_mean(name, names)
            return Mistake(mock.path, "W005", message, near, is_key=True)
        return None

    def find(self, address: str, function: Json = None) -> Mock | None:
        """Returns the most specific mock for an address, or for the function that it calls."""
        fitting = [mock for mock in self.mocks if mock.key.fits(address)]
        if not fitting and self.is_program:
            fitting = [mock for mock in self.mocks if mock.key.fits(_unnumbered(address))]
        if not fitting and self.is_program and isinstance(function, str):
            fitting = [mock for mock in self.mocks if mock.key.text == function]
        return max(fitting, key=lambda mock: mock.key.rank, default=None)

    def at(self, address: str) -> Step | None:
        """Returns the step that is called at an address."""
        return self._by_names.get(tuple(part.name for part in parts_of(address)))

    def mocked(self, *, keeps_retries: bool) -> ir.Workflow:
        """Returns the workflow with its mocked steps replaced."""
        if self.is_program:
            return self.workflow
        meant = {id(step.node): mock for mock in self.mocks for step in mock.steps if step.node}
        # Mocks of steps inside a replaced step have no effect.
        for mock in self.mocks:
            for step in mock.steps:
                for inside in _inside(step.node):
                    meant.pop(id(inside), None)

        def change(node: ir.Node) -> ir.Node:
            return _replaced(node, meant[id(node)]) if id(node) in meant else node

        changed = with_all_nodes(self.workflow, change)
        if keeps_retries:
            return changed
        return with_all_nodes(changed, lambda node: replace(node, retry=ir.Retry(times=0)))


def _inside(node: ir.Node | None) -> Iterator[ir.Node]:
    for _, block in blocks_of(node) if node is not None else ():
        for held in block.nodes:
            yield held
            yield from _inside(held)


def _replaced(node: ir.Node, mock: Mock) -> ir.Node:
    if mock.answers[0].status == "skipped":
        return replace(node, when=_NEVER)
    if isinstance(node, ir.Gate):
        return node
    if isinstance(node, ir.Task):
        return replace(node, shape=None, warns=None)
    shared = ("name", "after", "when", "on_failure", "retry", "place", "echo", "secure_outputs")
    fields: dict[str, Any] = {name: getattr(node, name) for name in shared}
    inputs = node.inputs if isinstance(node, ir.Call) else ir.Fields()
    return ir.Task(kind=KIND, inputs=inputs, **fields)


def _unfit(mock: Mock) -> Iterator[Mistake]:
    """Yields the mistakes of a mock that does not fit its steps."""
    if any(answer.status == "skipped" for answer in mock.answers) and (
        len(mock.answers) > 1 or mock.key.rank > len(mock.key.parts)
    ):
        message = "a step is skipped in all iterations, or in none"
        yield Mistake(mock.path, "W007", message, "write status: skipped alone, without numbers")
    for node in (step.node for step in mock.steps if step.node is not None):
        if type(node) in _STEERING:
            message = f"{node.name!r} {_STEERING[type(node)]}, which a mock cannot do"
            yield Mistake(
                mock.path, "W005", message, "remove the mock: the step makes no call", True
            )
        elif isinstance(node, ir.Gate):
            for answer in mock.answers:
                if decision(answer.outputs) is None and answer.status != "skipped":
                    message = f"{node.name!r} asks a person: its outputs are a decision"
                    advice = "write outputs: {approved: true, feedback: ...}, or true or false"
                    yield Mistake((*answer.path, "outputs"), "W007", message, advice)
        elif isinstance(node, ir.Task) and node.returns is not None and node.shape is None:
            for answer in mock.answers:
                if answer.status != "succeeded" or answer.function is not None:
                    continue
                if faults := fit(node.returns, answer.outputs)[1]:
                    message = f"outputs of {node.name!r} do not fit its `returns`: {faults[0]}"
                    yield Mistake((*answer.path, "outputs"), "W007", message)


def decision(outputs: Json) -> dict[str, Json] | None:
    """Returns the decision of a person from outputs, or None if they are not a decision."""
    fields = outputs if isinstance(outputs, dict) else {"approved": outputs}
    if not isinstance(fields.get("approved"), bool) or set(fields) - {"approved", "feedback", "by"}:
        return None
    return {"feedback": "", "by": "test", **fields}


# The fields of a test: one table, as a JSON Schema, that checks test files and programs.

Path: TypeAlias = "tuple[str | int, ...]"

FORMAT = 1
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
    return "type" not in schema or any(type(value) in TYPES[name] for name in _names(schema))


def _names(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return named if isinstance(named, list) else [named]


def _name_of(value: object) -> str:
    return next((name for name, types in TYPES.items() if type(value) in types), "object")


def _called(path: Path) -> str:
    """Returns the name of a place for messages: its own name and that of its parent."""
    if not path:
        return "the file"
    names = [part for part in path[-2:] if isinstance(part, str)]
    return " of ".join(repr(name) for name in reversed(names)) or f"item {path[-1]}"

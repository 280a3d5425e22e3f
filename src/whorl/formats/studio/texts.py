"""One node while it is read: its fields, its incoming values, and placeholders in its texts.

Placeholders are `{{input}}`, `{{node.output}}`, `{{node.field[0]}}`, `{{item}}`, `{{topic}}`. A
near miss of a known name is an error; any other unknown placeholder stays as it is written, with a
warning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from whorl import ir
from whorl.dialects.reading import REPORTED_MAX
from whorl.dialects.reading.fields import Fields
from whorl.dialects.reading.texts import Placeholder, called, joined, quoted, read_tree, split_text
from whorl.errors import did_you_mean
from whorl.formats.studio.canvas import CLOSED_BY, MAIN_FIELDS, RESULTS
from whorl.formats.studio.functions.transforms import PIPES, read_path
from whorl.formats.studio.scope import expression, value_of
from whorl.ir.checks.scopes import suggest
from whorl.language import LanguageError
from whorl.source import Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.formats.studio.canvas import CanvasNode
    from whorl.formats.studio.scope import Scope
    from whorl.language import Json
    from whorl.source import Value

    Inputs: TypeAlias = dict[str, ir.Value | Json]

_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_PATH = re.compile(r"(?:\.[\w-]+|\[\s*(?:-?\d{1,9}|'[^'\n]*'|\"[^\"\n]*\")\s*\])*")
_STEP = re.compile(r"\.([\w-]+)|\[\s*(?:(-?\d+)|'([^']*)'|\"([^\"]*)\")\s*\]")
_MAIN = ("output", "result")
_COUNTED = ("index", "total", "iteration")
PLACES_MAX = 1_000
TIMEOUT_MAX_S = 30 * 86_400.0
# No value that a run can hold is deeper.
_STEPS_MAX = 64

Path = list[str | int]
_VALUES = (ir.Constant, ir.Expression, ir.Items, ir.Fields)


class NodeReader(Fields):
    """Reads the fields of one node, and the texts in them."""

    def __init__(self, scope: Scope, node: CanvasNode) -> None:
        super().__init__(scope.context, node.fields, owner=str(node), span=node.span)
        self.scope = scope
        self.node = node
        self.id = node.id

    def common(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Returns the settings that all nodes have; `timeout` bounds every node."""
        written = self.number("timeout")
        if written is not None and not 0 < written <= TIMEOUT_MAX_S:
            self.wrong("timeout", "a number of seconds above 0")
            written = None
        limit_s = timeout_s if written is None else float(written)
        return {"name": self.id, "timeout_s": limit_s, "place": self.node.place}

    def compute(self, source: str | None) -> list[ir.Node]:
        """Returns the node as one that only computes; its value is null without a source."""
        value = ir.Constant(None) if source is None else expression(source)
        return [ir.Compute(value=value, **self.common())]

    def task(
        self, kind: str, inputs: Inputs, *, shape: str = "", timeout_s: float | None = None
    ) -> ir.Task:
        """Returns the node as a task; inputs that are plain JSON values become constants."""
        entries = tuple(
            (name, value if isinstance(value, _VALUES) else ir.Constant(value))
            for name, value in inputs.items()
        )
        shaped = expression(shape) if shape else None
        return ir.Task(kind=kind, inputs=ir.Fields(entries), shape=shaped, **self.common(timeout_s))

    @property
    def incoming(self) -> dict[str, str]:
        return self.scope.incoming(self.id)

    @property
    def value(self) -> str:
        return self.scope.value(self.id)

    @property
    def input(self) -> str | None:
        """Returns the source of `{{input}}`: the incoming value, or that of the region or run."""
        incoming, inputs = self.incoming, self.scope.inputs
        if "input" in incoming:
            return incoming["input"]
        if len(incoming) == 1:
            return next(iter(incoming.values()))
        around = self.scope.regions.around.get(self.id)
        if around is not None:
            return value_of(around.start)
        if incoming:
            return self.value
        only = next(iter(inputs.values())) if len(inputs) == 1 else None
        named = inputs.get("input") or only
        return None if named is None else self.scope.refer(self.id, named)

    def template(self, name: str) -> ir.Value:
        """Returns a field that is a text with placeholders, or any constant."""
        return self.read(self.scalar(name))

    def given(self, name: str) -> ir.Value:
        """Returns the incoming value at that handle, or the field with its placeholders."""
        if name in self.incoming:
            return expression(self.incoming[name])
        value = self.template(name)
        return ir.Constant(None) if value == ir.Constant("") else value

    def read(self, value: Value | None) -> ir.Value:
        """Returns a text with placeholders, or any constant."""
        if not isinstance(value, Scalar) or not isinstance(value.value, str):
            return ir.Constant(None if value is None else plain(value))
        source = self.source(value)
        return ir.Constant(value.value) if source is None else expression(source)

    def tree(self, value: Value | None) -> ir.Value:
        """Returns a value whose lists and objects may hold texts with placeholders."""
        return read_tree(value, self.read)

    def text_source(self, scalar: Scalar) -> str:
        return self.source(scalar) or quoted(scalar.text)

    def source(self, scalar: Scalar) -> str | None:
        """Returns the source of a text with placeholders; None if none of them has a meaning."""
        count = 0

        def source_of(place: Placeholder) -> str | None:
            nonlocal count
            count += 1
            if count == PLACES_MAX + 1:
                message = f"a text of {self.id!r} has more than {PLACES_MAX:,} places"
                span = scalar.locate(place.offset - 2)
                self.context.report("W002", message, span, help="split it into several transforms")
            return self.placed(place) if count <= PLACES_MAX else None

        return joined(split_text(scalar, _PLACE, source_of))

    def placed(self, place: Placeholder, *, stays: bool = True) -> str | None:
        """Returns the source of a reference with its pipes; None if it has no meaning.

        The placeholder then stays as it is written, with a warning; if it cannot, it is an error.
        """
        if "|" not in place.name:
            return self._resolved(place, place.name, stays=stays)
        return self.piped(place, "", stays=stays)

    def piped(self, place: Placeholder, bare: str, *, stays: bool) -> str | None:
        """Returns the source of a script; `bare` is the input of its pipes if they name none."""
        try:
            reference, pipes = read_script(place.content)
        except LanguageError as fault:
            span = place.scalar.locate(place.offset + (fault.offset or 0))
            self._tell("W005", str(fault), span, fault.help, stays=stays)
            return None
        source = bare
        if reference or not bare:
            source = self._resolved(place, reference or "input", stays=stays) or ""
        for name, arguments in pipes if source else ():
            sources = [quoted(a) if isinstance(a, str) else repr(a) for a in arguments]
            source = called("pipe", source, quoted(name), *sources)
        return source or None

    def _tell(self, code: str, message: str, span: Span, advice: str, *, stays: bool) -> None:
        # A name that is nearly another one can only be misspelt; others may be text that stays.
        if not stays or advice.startswith("did you mean"):
            self.context.report(code, message, span, label="unknown name", help=advice)
        else:
            message += ", and stays as it is written"
            self.context.warn(code, message, span, label="unknown name", help=advice)

    def _resolved(self, place: Placeholder, content: str, *, stays: bool) -> str | None:
        """Returns the source of a reference; reports one without a meaning."""
        source = self.resolve(content, place.written)
        lacking = None if source is None else self.unknown_field(content)
        is_reported = self.context.is_full or len(self.context.warnings) >= REPORTED_MAX
        if is_reported or (source is not None and lacking is None):
            return source
        message = f"{{{{{content[:60]}}}}} in {self.id!r}"
        if lacking is None:
            message += " has no meaning here"
            advice = self._advice(content, stays=stays)
        else:
            message += f": {lacking[0]} has no {lacking[1][:60]!r}"
            advice = suggest(lacking[1], sorted({*RESULTS[lacking[0].type], "output"}))
        self._tell("W005", message, place.span, advice, stays=stays)
        return source

    def _advice(self, content: str, *, stays: bool) -> str:
        scope, nodes = self.scope, self.scope.canvas.nodes
        head = re.split(r"[.\[]", content, maxsplit=1)[0]
        if head in nodes and head != self.id:
            return f"connect {head!r} to {self.id!r}, directly or through other nodes"
        counted = ("item", *_COUNTED) if self.id in scope.regions.around else ()
        names = [*counted, *nodes, *scope.inputs, *scope.variables, "input"]
        names += () if stays else PIPES
        return suggest(head.strip(), [name for name in names if name != self.id])

    def unknown_field(self, content: str) -> tuple[CanvasNode, str] | None:
        """Returns the node and the field of a reference, if nodes of that type lack the field."""
        scope = self.scope
        for head, rest in heads(content):
            other = scope.canvas.nodes.get(head)
            if other is None or not _PATH.fullmatch(rest):
                continue
            name = next(iter(_steps(rest)), "output")
            fields = RESULTS.get(other.type)
            started = scope.regions.by_start.get(other.id)
            if started is not None and scope.regions.is_inside(self.id, started):
                return None  # inside of its region, it stands for what comes in
            if fields is None or not isinstance(name, str) or name in (*fields, *_MAIN):
                return None
            return other, name
        return None

    def resolve(self, content: str, written: str) -> str | None:
        """Returns the source of a reference at this node; None if it has no meaning."""
        for head, rest in heads(content):
            named = self._named(head, _steps(rest)) if _PATH.fullmatch(rest) else None
            if named is not None:
                source, path = named
                steps = [quoted(step) if isinstance(step, str) else str(step) for step in path]
                return called("dig", source, quoted(written), *steps)
        return None

    def _named(self, head: str, path: Path) -> tuple[str, Path] | None:
        """Returns the source of a name, and the rest of the path."""
        scope = self.scope
        first = path[0] if path else None
        if head in ("input", "inputs") and isinstance(first, str) and first in scope.inputs:
            return scope.refer(self.id, scope.inputs[first]), path[1:]
        if head == "input":
            source = self.input
            return None if source is None else (source, path)
        if head == "inputs":
            return (self.value, path) if self.incoming else None
        counted = self._counted(head)
        if counted is not None:
            return counted, path
        if head in scope.canvas.nodes and self._may_see(head):
            return self._result(scope.canvas.nodes[head], path)
        if head in self.incoming:
            return self.incoming[head], path
        if head in scope.inputs:
            return scope.refer(self.id, scope.inputs[head]), path
        if head in scope.variables:
            return value_of(head), path
        return ("workspace", path) if head == "workspace" else None

    def _counted(self, head: str) -> str | None:
        """Returns the source of `item`, `index` and `total`; the latter two also for a loop."""
        region = self.scope.regions.around.get(self.id)
        while region is not None:
            if head == "item" and region.kind == "iterator":
                return value_of(region.start)
            if head in _COUNTED:
                return self.scope.counted(region, head)
            region = region.parent
        return None

    def _result(self, other: CanvasNode, path: Path) -> tuple[str, Path]:
        scope = self.scope
        first = path[0] if path else "output"
        names = (name for name, holder in scope.inputs.items() if holder == other.id)
        if other.type == "input" and first in ("value", *_MAIN, next(names, "")):
            return scope.refer(self.id, other.id), path[1:]
        if other.type in (*CLOSED_BY, *CLOSED_BY.values()) and isinstance(first, str):
            source = scope.refer(self.id, other.id, first)
            return called("main", source, quoted(first)), path[1:]
        source = scope.refer(self.id, other.id)
        if other.type in MAIN_FIELDS:
            source = value_of(other.id)
        if not path or first in _MAIN:
            return called("main", source, quoted(str(first))), path[1:]
        return source, path

    def _may_see(self, other: str) -> bool:
        """Returns whether a node's result exists for the text; adds an order if needed."""
        scope, regions = self.scope, self.scope.regions
        if other == self.id or scope.canvas.nodes[other].type == "note":
            return False
        started = regions.by_start.get(other)
        if started is not None and regions.is_inside(self.id, started):
            return True
        level = regions.level(other)
        if level is not None and not regions.is_inside(self.id, level):
            return False
        ended = regions.by_end.get(other)
        return not scope.leads_to(self.id, ended.start if ended else other)

    def path_source(self, written: Scalar) -> str:
        try:
            read_path(written.text)
        except LanguageError as fault:
            span = written.locate(fault.offset or 0)
            self.context.report("W008", fault.message, span, label="here", help=fault.help)
        return called("jsonpath", self.input or "none", quoted(written.text))


def is_written(value: Value | None) -> TypeGuard[Scalar]:
    """Returns whether a field holds a text that is more than blanks."""
    return isinstance(value, Scalar) and bool(value.text.strip())


def heads(content: str) -> Iterator[tuple[str, str]]:
    """Yields the first name and the rest; the longest name first, as ids may have dots."""
    marks = [match.start() for match in re.finditer(r"[.\[]", content)]
    if len(marks) > _STEPS_MAX:
        return
    for end in (len(content), *reversed(marks)):
        yield content[:end].strip(), content[end:]


def _steps(path: str) -> Path:
    steps: Path = []
    for name, index, *others in (match.groups() for match in _STEP.finditer(path)):
        parts = (part for part in (name, *others) if part is not None)
        steps.append(next(parts) if index is None else int(index))
    return steps


# Scripts of transforms: a path, and pipes that its value goes through.

PIPES_MAX = 30
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:\((.*)\))?", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_QUOTES = "'\""
# The name of a pipe, and its arguments.
_Pipe = tuple[str, tuple[str | int | float, ...]]


def read_script(source: str) -> tuple[str, tuple[_Pipe, ...]]:
    """Returns a script's input ("" means the node's) and pipes; raises LanguageError."""
    parts = _split(source, "|")
    bare = parts[0][0].strip().removeprefix("{{").removesuffix("}}").strip()
    call = _CALL.fullmatch(bare)
    is_pipe = call is not None and call[1] in PIPES
    rest = parts if is_pipe else parts[1:]
    if len(rest) > PIPES_MAX:
        raise LanguageError(f"a script has at most {PIPES_MAX} pipes", rest[PIPES_MAX][1])
    pipes: list[_Pipe] = []
    for text, at in rest:
        offset = at + len(text) - len(text.lstrip())
        call = _CALL.fullmatch(text.strip())
        name = call[1] if call else text.strip()
        if call is None or name not in PIPES:
            advice = did_you_mean(name, PIPES) or f"known: {', '.join(PIPES)}"
            raise LanguageError(f"there is no pipe {name[:40]!r}", offset, advice)
        arguments = _arguments(name, call[2])
        # Beside the run and the value.
        most = PIPES[name].__code__.co_argcount - 2
        least = most - len(PIPES[name].__defaults__ or ())
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} or {most}"
            raise LanguageError(f"pipe {name!r} takes {wanted} arguments", offset)
        pipes.append((name, arguments))
    return "" if is_pipe else bare, tuple(pipes)


def _arguments(name: str, written: str | None) -> tuple[str | int | float, ...]:
    if written is None or not written.strip():
        return ()
    if name == "join" and written.strip()[0] not in _QUOTES:
        # A separator without quotes is taken as it stands: join(, )
        return (written,)
    if name == "select":
        key, _, value = written.partition("=")
        return (str(_literal(key)), _literal(value.lstrip("=")))
    return tuple(_literal(part) for part, _ in _split(written, ","))


def _literal(written: str) -> str | int | float:
    text = written.strip()
    if len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]:
        return text[1:-1].replace("\\n", "\n").replace("\\t", "\t")
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text.removeprefix(".")


def _split(source: str, mark: str) -> list[tuple[str, int]]:
    """Returns the parts between marks outside of quotes and parentheses, with their offsets."""
    parts: list[tuple[str, int]] = []
    start = depth = 0
    quote = ""
    quoted = mark != "|"
    for at, character in enumerate(source):
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES and (depth or quoted):
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif character == mark and not depth:
            parts.append((source[start:at], start))
            start = at + 1
    return [*parts, (source[start:], start)]

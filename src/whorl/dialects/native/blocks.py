"""Steps in their order, and what holds them: a wrong step does not hide what is behind it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from whorl import ir
from whorl.dialects.native.context import Around, Location
from whorl.dialects.native.forms import Choice, Duration, Form, OneOf, Text, report_wrong, texts_of
from whorl.dialects.native.objects import (
    OMIT,
    Field,
    ListOf,
    MapOf,
    Object,
    defaults,
    derive,
    read_object,
    report_unknown,
    short,
)
from whorl.dialects.native.table import fields
from whorl.dialects.native.values import CannotWriteError, check_name
from whorl.errors import nearest
from whorl.ir.nodes import NodeFields
from whorl.ir.walk import names_given
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping as MappingOf

    from whorl.dialects.native.context import Context
    from whorl.dialects.native.objects import FieldTable
    from whorl.ir.nodes import Wanted
    from whorl.source import Entry, Value


# The field of the result of `if` and `choose` that names the branch that was taken.
BRANCH = "branch"
_ENDS = ("succeeded", "failed", "skipped", "timed_out", "cancelled")
_STATUSES = ("passed", *_ENDS, "any")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kind:
    """A kind of step: the field that says so, one line about it, its fields, and how it is made.

    `make` makes the node of the attributes that were read; `write` gives the step that is read as
    a node, or raises CannotWriteError.
    """

    name: str
    doc: str
    own: FieldTable
    make: Callable[[Context, dict[str, Any]], Any]
    write: Callable[[Kind, Context, Any], dict[str, Any]]
    rare: bool = False
    fields: FieldTable = field(init=False)

    def __post_init__(self) -> None:
        # All fields are looked up for each step.
        object.__setattr__(self, "fields", {**COMMON, **self.own})


def maker(node: type, own: FieldTable) -> Callable[[Context, dict[str, Any]], Any]:
    """What makes nodes of a class; one that lacks something, which is told, only has its name."""
    needed = [name for name, default in defaults(node).items() if default is MISSING]
    derived = {name: one for name, one in {**COMMON, **own}.items() if one.derive is not None}

    def make(context: Context, found: dict[str, Any]) -> Any:
        if "body" in needed:
            options = found.pop("block", {})
            found["body"] = replace(found.get("body", ir.Block(())), **options)
        derive(context, derived, found)
        if all(name in found for name in needed):
            return node(**found)
        kept = {name: found[name] for name in ("name", "place", "after")}
        return ir.Compute(value=ir.Constant(None), **kept)

    return make


@dataclass(eq=False, repr=False)
class Steps(Form):
    """Steps by name: a block, open or closed, whose steps follow each other or only `after`."""

    words: str = "steps by name"
    is_open: bool = False
    is_ordered: bool = True
    shape = Mapping
    ref = "steps"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            report_wrong(context, value, self, at)
            return None
        if not value.entries and not context.exact:
            advice = "add a step such as write: {ask: ...}"
            context.report("W006", f"{at.words} holds no step", value.span, help=advice)
        nodes: list[ir.Node] = []
        for entry in value:
            if context.is_full:
                break
            check_name(context, entry.key, "a step", "dashed")
            previous = nodes[-1].name if nodes and self.is_ordered else None
            nodes.append(_read_step(context, entry, previous))
        block = ir.Block(tuple(nodes), open=self.is_open)
        context.around.blocks.append(block)
        return block

    def write(self, context: Context, value: Any) -> Any:
        if not value.nodes and not context.exact:
            raise CannotWriteError(value)
        steps: dict[str, Any] = {}
        previous: str | None = None
        for node in value.nodes:
            path = f"{context.around.path}/{node.name}" if context.around.path else node.name
            inner = context.within(path=path, step=node.name, previous=previous, blocks=[])
            steps[node.name] = _write_step(inner, node)
            previous = node.name if self.is_ordered else None
        return steps


@dataclass(eq=False, repr=False)
class Body(Steps):
    """Steps right in their place, or under `steps` with what else is said about them.

    `slot` is the place of the block in a branch.
    """

    is_open: bool = True
    slot: str = ""
    ref = "body"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = self.read_parts(context, value, at, self.slot)
        return None if found is None else found["body"]

    def read_parts(self, context: Context, value: Value, at: Location, slot: str) -> Any:
        """Reads a block under `body`, and whatever is said beside its steps."""
        if slot:
            context = context.within(path=f"{context.around.path}@{slot}")
        if isinstance(value, Mapping) and "steps" in value:
            found = read_object(context, value, self.fields(), self.owner(at))
        else:
            found = {"body": super().read(context, value, at)}
        block = found.get("body")
        if block is None:
            return None
        if slot:
            _check_branch_name(context, block)
        options = found.pop("block", {})
        return {**found, "body": replace(block, **options)}

    def owner(self, at: Location) -> Location:
        """Whom messages name."""
        return at

    def fields(self) -> FieldTable:
        """What is said about the block where its steps stand under `steps`."""
        steps = Steps(is_open=self.is_open, is_ordered=self.is_ordered)
        return fields("body", {"steps": steps, "block": OPTIONS})

    def write(self, context: Context, value: Any) -> Any:
        return self.write_parts(context, value, {})

    def write_parts(self, context: Context, block: ir.Block, more: dict[str, Any]) -> Any:
        """A block, with what is said beside its steps."""
        steps = super().write(context, block)
        options = write_options(context, block, is_open=self.is_open)
        more |= {"block": options} if options else {}
        return {**more, "steps": steps} if more or "steps" in steps else steps


def _check_branch_name(context: Context, block: ir.Block) -> None:
    if not context.exact and any(name == BRANCH for name, _ in names_given(block)):
        context.report(
            "W012",
            f"a step inside of {context.around.step!r} cannot be called {BRANCH!r}: that is where "
            "the result says which branch was taken",
            context.places.node(f"{context.around.path}/{BRANCH}"),
            label="reserved here",
            help=f"choose another name, such as {('my_' + BRANCH)!r}",
        )


class Options(Object):
    """What is said about a block beside its steps."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        return None if found is None else {"block": found}

    def write(self, context: Context, value: Any) -> Any:
        return write_options(context, value.body) or OMIT


OPTIONS = Options("block", fields("block", None, ir.Block, "nodes"))


def write_options(context: Context, block: ir.Block, *, is_open: bool = False) -> dict[str, Any]:
    """What is to be said about a block beside its steps."""
    usual = ir.Block((), open=is_open)
    return {
        name: field.form.write(context, getattr(block, name))
        for name, field in OPTIONS.fields.items()
        if getattr(block, name) != getattr(usual, name)
    }


def _read_step(context: Context, entry: Entry, previous: str | None) -> ir.Node:
    name, span, step = entry.name, entry.key.span, entry.value
    context.count_step(span)
    outer = context.around
    path = f"{outer.path}/{name}" if outer.path else name
    context.places.remember_node(path, span)
    at = Location(f"step {name[:60]!r}", "", span)
    found: dict[str, Any] = {"name": name, "place": f"{span.line}:{span.column}"}
    fields_of_step = step if isinstance(step, Mapping) else None
    # A copy of the context for each step would take longer than reading it.
    context.around = Around(path, name, fields_of_step, previous, outer.loops)
    try:
        return _read_kind(context, step, found, at)
    finally:
        context.around = outer


def _read_kind(context: Context, step: Value, found: dict[str, Any], at: Location) -> ir.Node:
    if not isinstance(step, Mapping):
        report_wrong(context, step, Text("an object such as {ask: ...}"), at)
        return cast("ir.Node", maker(ir.Compute, {})(context, found))
    kinds = kinds_of(step, context.kinds)
    if len(kinds) != 1:
        _report_kinds(context, step, kinds, at)
        # Others may still refer to its name.
        order = Mapping(tuple(entry for entry in step if entry.name == "after"), step.span)
        found |= read_object(context, order, COMMON, at)
        return cast("ir.Node", maker(ir.Compute, {})(context, found))
    kind = context.kinds[kinds[0]]
    found |= read_object(context, step, kind.fields, at)
    _check_retries(context, step, at)
    return cast("ir.Node", kind.make(context, found))


def kinds_of(keys: Any, kinds: MappingOf[str, Kind]) -> list[str]:
    """The kinds that a step with these fields could be."""
    found = [name for name in kinds if name in keys and name != "if"]
    # `if` alone is a field of every step; with `then` or `else` it is a step of its own.
    return [*found, "if"] if "then" in keys or "else" in keys else found


def _report_kinds(context: Context, step: Mapping, found: list[str], at: Location) -> None:
    if found:
        again = step.entry(found[1])
        context.report(
            "W009",
            f"{at.owner} has both {found[0]!r} and {found[1]!r}, but a step does one thing",
            again.key.span if again else at.span,
            label="a second kind",
            help="make a step of its own of each",
        )
        return
    usual = {kind.name: Field(Text(), "") for kind in context.kinds.values() if not kind.rare}
    known = {name for kind in context.kinds.values() for name in kind.fields}
    for entry in step:
        if nearest(entry.name, usual) and entry.name not in known:
            report_unknown(context, entry, usual, at)
            return
    context.report(
        "W009",
        f"{at.owner} does not say what it does",
        at.span,
        label="no kind of step",
        help="give it one of " + ", ".join(usual),
    )


def _check_retries(context: Context, step: Mapping, at: Location) -> None:
    """Two fields say how often a step is tried again; only one of them can be meant."""
    failure = step.entry("on_failure")
    if failure is None or not isinstance(failure.value, Mapping) or "retry" not in step:
        return
    context.report(
        "W007",
        f"{at.owner} has 'retry' and 'on_failure: {{retry: ...}}', but takes one of them",
        failure.key.span,
        label="retried in two ways",
        help="keep 'retry', which can also say `wait`, `backoff` and `on`",
    )


def _write_step(context: Context, node: ir.Node) -> dict[str, Any]:
    """The shortest step that is read as a node."""
    fault = CannotWriteError(node.name)
    for kind in context.kinds.values():
        try:
            return kind.write(kind, context, node)
        except CannotWriteError as one:
            fault = one
    raise fault


class After(OneOf):
    """The steps that a step waits for: a name, several, or each with how it must have ended."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if super().read(context, value, at) is None:
            return None
        if isinstance(value, Mapping):
            pairs = [(entry.key, texts_of(entry.value)) for entry in value]
        else:
            items = (value,) if isinstance(value, Scalar) else value.items
            pairs = [(item, ()) for item in items if isinstance(item, Scalar)]
        found: dict[str, ir.After] = {}
        for scalar, words in pairs:
            ends = [end for word in words for end in (_ENDS if word == "any" else (word,))]
            wanted = cast("tuple[Wanted, ...]", tuple(dict.fromkeys(ends)) or ("passed",))
            found[scalar.text] = ir.After(scalar.text, wanted)
            context.places.remember_part(found[scalar.text], scalar.span)
        return tuple(found.values())

    def write(self, context: Context, value: Any) -> Any:
        names = [after.node for after in value]
        if all(after.statuses == ("passed",) for after in value):
            return names[0] if len(names) == 1 else names
        return {after.node: self._ends(after.statuses) for after in value}

    def _ends(self, statuses: tuple[str, ...]) -> Any:
        if statuses == _ENDS:
            return "any"
        return statuses[0] if len(statuses) == 1 else list(statuses)


class OnFailure(OneOf):
    """What happens after a failure; another attempt is the same as `retry` of every fault."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if isinstance(found, dict):
            times = found.get("times")
            return {} if times is None else {"retry": ir.Retry(times, on=("*",))}
        return None if found is None else {"on_failure": found}

    def write(self, context: Context, value: Any) -> Any:
        return OMIT if value.on_failure == "halt" else value.on_failure


class _Timeout(Duration):
    """The time of a step, whose place is remembered for the check of limits."""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        context.places.remember_field(context.around.path, "timeout", scalar.span)
        return super().parse(context, scalar)


def _previous(context: Context, found: MappingOf[str, Any]) -> tuple[ir.After, ...]:
    del found
    return () if context.around.previous is None else (ir.After(context.around.previous),)


_ONCE_MORE = Object("on_failure", fields("on_failure"))
ON_FAILURE = (Choice(("halt", "continue")), _ONCE_MORE)
_RETRY = Object(
    "retry",
    fields("retry", None, ir.Retry, wait_max=lambda _, found: max(60.0, found.get("wait_s", 1.0))),
    ir.Retry,
)
_ENDED = MapOf(
    OneOf((Choice(_STATUSES), ListOf(Choice(_STATUSES), least=1))),
    "an object such as {review: failed}",
    "any",
)
COMMON = fields(
    "step",
    {
        "after": After((Text("a step"), ListOf(Text("a step")), _ENDED)),
        "retry": short("times", _RETRY),
        "timeout": _Timeout(),
        "on_failure": OnFailure(ON_FAILURE),
    },
    NodeFields,
    "name",
    "on_failure",
    after=_previous,
)

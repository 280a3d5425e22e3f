"""Steps in their order, and their containers; a wrong step does not hide the steps after it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import MISSING, field
from typing import TYPE_CHECKING, Any, cast

from whorl import ir
from whorl.dialects.native import forms
from whorl.dialects.native.context import CannotWriteError, Context, Enclosing, Location
from whorl.dialects.native.forms import Choice, Form, OneOf, Text, report_wrong
from whorl.dialects.native.table import DOCS, fields
from whorl.dialects.reading.fields import texts_of
from whorl.ir.nodes import NodeFields, Wanted
from whorl.ir.walk import names_given, node_path
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Value

if TYPE_CHECKING:
    from collections.abc import Iterable


# The field of the result of `if` and `choose` that names the branch that was taken.
BRANCH = "branch"
# The attributes that all nodes have.
NODE = tuple(forms.defaults(NodeFields))
_ENDS = ("succeeded", "failed", "skipped", "timed_out", "cancelled")
_STATUSES = ("passed", *_ENDS, "any")


@dataclass(eq=False, repr=False)
class Kind:
    """A kind of step: its section of the table, the node that it is read as, and its fields.

    Some attributes are `inside` of one of the fields.
    """

    section: str
    node: type
    own: forms.FieldTable
    inside: forms.FieldTable = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name, self.doc = self.section.strip("~"), DOCS[self.section]
        self.rare = self.section.startswith("~")
        self.fields = {**COMMON, **self.own}
        table = {**self.fields, **self.inside}
        self._derived = {name: entry for name, entry in table.items() if entry.derive is not None}
        attributes = forms.defaults(self.node).items()
        self._needed = [name for name, default in attributes if default is MISSING]

    def make(self, context: Context, attributes: dict[str, Any]) -> Any:
        """Makes the node with these attributes, or a stub if one is missing, which is reported."""
        if "body" in self._needed:
            attributes.setdefault("body", ir.Block(()))
        forms.derive(context, self._derived, attributes)
        if any(name not in attributes for name in self._needed):
            return _stub(context, attributes)
        return self.node(**attributes)

    def write(self, context: Context, node: Any) -> dict[str, Any]:
        """Returns the step that is read as this node; raises CannotWriteError."""
        if not isinstance(node, self.node):
            raise CannotWriteError(node)
        return forms.write_object(context, {**self.own, **COMMON} | self.own, node)


def _stub(context: Context, attributes: dict[str, Any]) -> ir.Compute:
    """Makes a stub for a step that cannot be read: others may still refer to its name."""
    forms.derive(context, COMMON, attributes)
    kept = {name: attributes[name] for name in ("name", "place", "after")}
    return ir.Compute(value=ir.Constant(None), **kept)


class Steps(Form):
    """Steps by name: a block, open or closed, whose steps follow each other or only `after`."""

    words = "steps by name"
    shape = Mapping
    ref = "steps"

    def __init__(self, *, is_open: bool = False, is_ordered: bool = True) -> None:
        self.is_open, self.is_ordered = is_open, is_ordered

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        if not value.entries and not context.exact:
            advice = "add a step such as write: {ask: ...}"
            context.report("W006", f"{at.words} has no steps", value.span, help=advice)
        nodes: list[ir.Node] = []
        for entry in value:
            if context.is_full:
                break
            context.check_name(entry.key, "a step", "dashed")
            before = (nodes[-1].name,) if nodes and self.is_ordered else ()
            nodes.append(_read_step(context, entry, before))
        block = ir.Block(tuple(nodes), open=self.is_open)
        context.around.blocks.append(block)
        return block

    def write(self, context: Context, value: Any) -> Any:
        if not value.nodes and not context.exact:
            raise CannotWriteError(value)
        steps: dict[str, Any] = {}
        before: tuple[str, ...] = ()
        for node in value.nodes:
            path = node_path(context.around.path, node.name)
            inner = context.within(path=path, step=node.name, before=before, blocks=[])
            steps[node.name] = _write_step(inner, node)
            before = (node.name,) if self.is_ordered else ()
        return steps


class Options(forms.Object):
    """The options of a block beside its steps."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        options = super().read(context, value, at)
        return None if options is None else {"block": options}

    def write(self, context: Context, value: Any) -> Any:
        return self.of(context, value.body) or forms.OMIT

    def of(self, context: Context, block: ir.Block, *, is_open: bool = False) -> dict[str, Any]:
        """Returns the options of a block that differ from the defaults."""
        usual = ir.Block((), open=is_open)
        parts = [(name, getattr(block, name), getattr(usual, name)) for name in self.fields]
        changed = {name: part for name, part, other in parts if part != other}
        return {n: self.fields[n].form.write(context, part) for n, part in changed.items()}


OPTIONS = Options("block", fields("block", None, ir.Block, "nodes"))


class Body(Steps):
    """Steps as the value itself, or under `steps` with the options of the block.

    `slot` is the place of the block in a branch, `more` are further fields.
    """

    ref = "body"

    def __init__(
        self, slot: str = "", more: forms.FieldTable | None = None, *, is_ordered: bool = True
    ) -> None:
        super().__init__(is_open=True, is_ordered=is_ordered)
        steps = Steps(is_open=True, is_ordered=is_ordered)
        self.slot, self.more = slot, more or {}
        self.fields = {**self.more, **fields("body", {"steps": steps, "block": OPTIONS})}

    def read(self, context: Context, value: Value, at: Location) -> Any:
        return self.read_parts(context, value, at, self.slot).get("body")

    def read_parts(
        self, context: Context, value: Value, at: Location, slot: str, owner: Location | None = None
    ) -> dict[str, Any]:
        """Reads a block under `body`, and the fields beside its steps; gives {} if it is wrong."""
        if slot:
            context = context.within(path=f"{context.around.path}@{slot}")
        if isinstance(value, Mapping) and "steps" in value:
            attributes = forms.read_object(context, value, self.fields, owner or at)
        else:
            attributes = {"body": super().read(context, value, at)}
        if attributes.get("body") is None:
            return {}
        is_taken = any(name == BRANCH for name, _ in names_given(attributes["body"]))
        if slot and is_taken and not context.exact:
            message = f"{BRANCH!r} is a reserved name inside of {context.around.step!r}: it says "
            message += "which branch was taken"
            span = context.places.node(f"{context.around.path}/{BRANCH}")
            advice = f"choose another name, such as {('my_' + BRANCH)!r}"
            context.report("W012", message, span, label="reserved here", help=advice)
        return attributes

    def write(self, context: Context, value: Any) -> Any:
        return self.write_parts(context, value, {})

    def write_parts(self, context: Context, block: ir.Block, more: dict[str, Any]) -> Any:
        """Writes a block, with the fields beside its steps."""
        steps = super().write(context, block)
        options = OPTIONS.of(context, block, is_open=self.is_open)
        more |= {"block": options} if options else {}
        return {**more, "steps": steps} if more or "steps" in steps else steps


def _read_step(context: Context, entry: Entry, before: tuple[str, ...]) -> ir.Node:
    name, span, step = entry.name, entry.key.span, entry.value
    context.count_step(span)
    outer = context.around
    path = node_path(outer.path, name)
    context.places.remember_node(path, span)
    at = Location(f"step {name[:60]!r}", "", span)
    attributes: dict[str, Any] = {"name": name, "place": f"{span.line}:{span.column}"}
    fields_of_step = step if isinstance(step, Mapping) else None
    # A copy of the context for each step would take longer than reading it.
    context.around = Enclosing(path, name, fields_of_step, before, outer.loops)
    try:
        return _read_kind(context, step, attributes, at)
    finally:
        context.around = outer


def _read_kind(context: Context, step: Value, attributes: dict[str, Any], at: Location) -> ir.Node:
    if not isinstance(step, Mapping):
        report_wrong(context, step, Text("an object such as {ask: ...}"), at)
        return _stub(context, attributes)
    kinds = kinds_of(context.kinds, step)
    if len(kinds) != 1:
        _report_kinds(context, step, kinds, at)
        order = Mapping(tuple(entry for entry in step if entry.name == "after"), step.span)
        return _stub(context, attributes | forms.read_object(context, order, COMMON, at))
    kind = context.kinds[kinds[0]]
    attributes |= forms.read_object(context, step, kind.fields, at)
    timeout, failure = step.get("timeout"), step.entry("on_failure")
    if timeout is not None:
        context.places.remember_field(context.around.path, "timeout", timeout.span)
    if failure is not None and isinstance(failure.value, Mapping) and "retry" in step:
        message = f"{at.owner} has 'retry' and 'on_failure: {{retry: ...}}', but takes one of them"
        advice = "keep 'retry', which can also say `wait`, `backoff` and `on`"
        label = "retried in two ways"
        context.report("W007", message, failure.key.span, label=label, help=advice)
    return cast("ir.Node", kind.make(context, attributes))


def kinds_of(kinds: Iterable[str], step: Mapping) -> list[str]:
    """Returns the kinds of a step, by its fields; a correct step has one."""
    found = [name for name in kinds if name in step and name != "if"]
    # `if` alone is a field of every step; with `then` or `else` it is a step of its own.
    return [*found, "if"] if "then" in step or "else" in step else found


def _report_kinds(context: Context, step: Mapping, kinds: list[str], at: Location) -> None:
    if kinds:
        again = step.entry(kinds[1])
        span = again.key.span if again else at.span
        message = f"{at.owner} has both {kinds[0]!r} and {kinds[1]!r}, but a step does one thing"
        advice = "make one step for each"
        context.report("W009", message, span, label="a second kind", help=advice)
        return
    kinds_of_steps = context.kinds.values()
    usual = {kind.name: forms.Field(Text(), "") for kind in kinds_of_steps if not kind.rare}
    names = {name for kind in kinds_of_steps for name in kind.fields}
    for entry in step:
        word = forms.meant_field(entry.name, usual)
        if word == "ask" or (word and entry.name not in names):
            forms.report_unknown(context, entry, usual, at)
            return
    message, advice = f"{at.owner} does not say what it does", f"give it one of {', '.join(usual)}"
    context.report("W009", message, at.span, label="no kind of step", help=advice)


def _write_step(context: Context, node: ir.Node) -> dict[str, Any]:
    """Returns the shortest step that is read as a node."""
    for kind in context.kinds.values():
        with suppress(CannotWriteError):
            step: dict[str, Any] = kind.write(context, node)
            return step
    raise CannotWriteError(node.name)


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
        waits: dict[str, ir.After] = {}
        for scalar, words in pairs:
            ends = [end for word in words for end in (_ENDS if word == "any" else (word,))]
            wanted = cast("tuple[Wanted, ...]", tuple(dict.fromkeys(ends)) or ("passed",))
            waits[scalar.text] = ir.After(scalar.text, wanted)
            context.places.remember_part(waits[scalar.text], scalar.span)
        return tuple(waits.values())

    def write(self, context: Context, value: Any) -> Any:
        if all(after.statuses == ("passed",) for after in value):
            return forms.one_or_list([after.node for after in value])
        ends = {after.node: after.statuses for after in value}
        ends = {name: ("any",) if end == _ENDS else end for name, end in ends.items()}
        return {name: forms.one_or_list(end) for name, end in ends.items()}


class OnFailure(OneOf):
    """What happens after a failure; another attempt is the same as `retry` of every fault."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        action = super().read(context, value, at)
        if isinstance(action, dict):
            return {"retry": ir.Retry(action["times"], on=("*",))} if action else {}
        return None if action is None else {"on_failure": action}

    def write(self, context: Context, value: Any) -> Any:
        return forms.OMIT if value.on_failure == "halt" else value.on_failure


ON_FAILURE = (Choice(("halt", "continue")), forms.Object("on_failure", fields("on_failure")))
_WAIT_MAX = {"wait_max": lambda _, attributes: max(60.0, attributes.get("wait_s", 1.0))}
_RETRY = forms.Object("retry", fields("retry", None, ir.Retry, **_WAIT_MAX), ir.Retry)
_ENDED = OneOf(Choice(_STATUSES), forms.ListOf(Choice(_STATUSES), least=1))
_WAITED = forms.MapOf(_ENDED, "an object such as {review: failed}", "any")
_FORMS = {"retry": forms.Short("times", _RETRY), "on_failure": OnFailure(*ON_FAILURE)}
_FORMS["after"] = After(Text("a step"), forms.ListOf(Text("a step")), _WAITED)
_AFTER = {"after": lambda context, _: tuple(map(ir.After, context.around.before))}
COMMON = fields("step", _FORMS, NodeFields, "name", "on_failure", **_AFTER)

"""The kinds of steps and their fields: the table of the format's page, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from whorl import ir
from whorl.dialects.native.blocks import COMMON, OPTIONS, Body, Kind, Steps, maker
from whorl.dialects.native.context import Location
from whorl.dialects.native.forms import (
    WRONG,
    Computed,
    Condition,
    Form,
    OneOf,
    Text,
    Truth,
    duration_text,
    reads_as,
    report_wrong,
    seconds_of,
)
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.objects import (
    MapOf,
    Object,
    Values,
    read_object,
    report_unknown,
    short,
    write_object,
)
from whorl.dialects.native.table import EXPRESSION, TEMPLATE, VALUE, doc_of, fields
from whorl.dialects.native.tasks import ANY_TASK, NODE, TASKS
from whorl.dialects.native.values import (
    CannotWriteError,
    check_name,
    is_same,
    is_template,
    read_text,
)
from whorl.dialects.reader import Reading
from whorl.dialects.reading.arguments import Arguments, check_arguments
from whorl.errors import InvalidWorkflow, nearest
from whorl.ir.durations import parse_time
from whorl.ir.walk import names_given
from whorl.language import LanguageError, parse
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.native.context import Context
    from whorl.dialects.native.objects import FieldTable
    from whorl.language import Json
    from whorl.source import Value


FLAG = Truth("true or false, or nothing", is_flag=True)


class Called(Text):
    """A workflow: one of the file itself, or another file, read by its own dialect."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        reference = super().read(context, value, at)
        if reference is None:
            return None
        if reference in context.local:
            context.calls.append(partial(_check_inputs, context.within(), reference))
            return reference
        try:
            called = context.files.workflow(reference, value.span)
        except InvalidWorkflow as fault:
            context.adopt(fault.diagnostics)
            return ""
        workflow = called.reading.workflow
        context.sources.update(called.reading.sources)
        context.warnings.extend(called.reading.warnings)
        for key, one in (*workflow.workflows, (called.key, replace(workflow, workflows=()))):
            if context.workflows.setdefault(key, one) != one:
                message = f"two workflows are called {key!r}: one of them in {called.key!r}"
                advice = "choose another name for one of them"
                context.report("W012", message, value.span, label="called again", help=advice)
        _check_inputs(context, called.key, called.reading)
        if workflow.limits != ir.RunLimits():
            context.warn(
                "W023",
                f"the budget of workflow {workflow.name!r} does not count where it is called",
                value.span,
                label="its budget is for runs of its own",
                help="give this file a `budget`, or put the call in a `repeat` with `at_most`",
            )
        return called.key


def _check_inputs(context: Context, key: str, reading: Reading | None = None) -> None:
    """Reports what a call does not give to a workflow, and what that does not take."""
    given_in, span = context.around.fields, context.places.node(context.around.path)
    workflow = context.workflows.get(key)
    if context.exact or workflow is None or given_in is None or span is None:
        return
    given = given_in.get("with")
    entries = given.entries if isinstance(given, Mapping) else ()
    names = {entry.name: entry.key.span for entry in entries}
    # The main input of a file of another format may be left empty.
    others = frozenset({workflow.main_input} if workflow.open_inputs else ())
    what = f"step {context.around.step!r}"
    check_arguments(context, Arguments(what, span, names, others), reading or Reading(workflow))


class ItemName(Text):
    """What an item or its number is called."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if found is not None and isinstance(value, Scalar):
            check_name(context, value, f"{at.field!r} of {at.owner}", "plain")
        return found


class Moment(Form):
    """A duration or a point in time."""

    words = "a duration such as 5s or PT5S, or a time such as 2030-01-31T09:00:00Z"
    json: ClassVar[dict[str, Json]] = {"type": ["string", "number"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        seconds = seconds_of(context, scalar)
        if seconds is not WRONG:
            return {"duration": ir.Constant(seconds)}
        if not isinstance(scalar.value, str):
            return WRONG
        if is_template(scalar.value):
            return {"duration": read_text(context, scalar)}
        try:
            parse_time(scalar.text)
        except ValueError:
            return WRONG
        return {"until": ir.Constant(scalar.text)}

    def write(self, context: Context, value: Any) -> Any:
        said = {name: getattr(value, name) for name in ("duration", "until")}
        said = {name: one for name, one in said.items() if one is not None}
        for one in said.values():
            text = getattr(one, "value", getattr(one, "source", None))
            if isinstance(text, float) and "duration" in said:
                text = duration_text(text)
            if isinstance(text, str | float) and reads_as(context, self, text, said):
                return text
        raise CannotWriteError(value)


class Stop(OneOf):
    """The end of the run: true, a message, or an object."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if isinstance(found, bool) or found == ir.Constant(""):
            return {}
        return found if found is None or isinstance(found, dict) else {"message": found}

    def write(self, context: Context, value: Any) -> Any:
        written = self.forms[-1].write(context, value)
        if list(written) == ["message"] and written["message"]:
            return written["message"]
        return written or True


class Jump(OneOf):
    """The loop that a step leaves: by name, or the innermost one."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if found is None or (isinstance(found, str) and found):
            return found
        if context.around.loops:
            return context.around.loops[-1]
        context.report(
            "W010",
            f"{at.owner} stands in no loop that it could {at.field}",
            context.places.node(context.around.path),
            label="no loop around it",
            help="put it inside of a `repeat`, or use `stop` to end the run",
        )
        return ""

    def write(self, context: Context, value: Any) -> Any:
        is_innermost = bool(context.around.loops) and context.around.loops[-1] == value
        return True if is_innermost else super().write(context, value)


def _make_if(context: Context, found: dict[str, Any]) -> Any:
    test = found.pop("test", None) or ir.Expression("jinja", "false")
    then = found.pop("then", None) or ir.Block((), open=True)
    otherwise = found.pop("otherwise", None)
    found["cases"] = (ir.Case("then", then, when=test),)
    found["default"] = None if otherwise is None else ir.Case("else", otherwise)
    return maker(ir.Branch, {})(context, found)


def _write_if(kind: Kind, context: Context, node: Any) -> dict[str, Any]:
    if not isinstance(node, ir.Branch) or len(node.cases) != 1 or node.subject is not None:
        raise CannotWriteError(node)
    case, default = node.cases[0], node.default or ir.Case("else", ir.Block(()))
    if (case.name, case.equals, default.name) != ("then", None, "else") or case.when is None:
        raise CannotWriteError(node)
    if node.when is not None or (default.when, default.equals) != (None, None):
        raise CannotWriteError(node)
    step = {"if": EXPRESSION.write(context, case.when), "then": _BODY.write(context, case.body)}
    if node.default is not None:
        step["else"] = _BODY.write(context, default.body)
    return {**step, **write_object(context, COMMON, node)}


def _check_item_names(context: Context, node: ir.ForEach) -> None:
    """A name means one thing inside of the steps: the item, its number, or a step."""
    item, index, step = node.item_name, node.index_name, context.around
    field = step.fields.get("index") if step.fields is not None else None
    if item == index and field is not None:
        context.report(
            "W012",
            f"{item!r} is the name of the item and of its number",
            field.span,
            label="both have this name",
            help="choose another name for one of them",
        )
    for name, _ in names_given(node.body):
        if name in (item, index):
            what = "the item" if name == item else "the number of the item"
            context.report(
                "W012",
                f"{name!r} is the name of {what} and of a step inside of {node.name!r}",
                context.places.node(f"{step.path}/{name}"),
                label=f"{what} has this name, too",
                help="choose another name for the step, or write `as` and `index` otherwise",
            )


class On(Condition):
    """What `choose` looks at, as a text: 1 fits the case '1', true fits 'true'."""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        bare = super().parse(context, scalar)
        if bare is WRONG:
            return WRONG
        try:
            parse(bare)
        except LanguageError:
            return bare
        source = bare.source.strip()
        lead = bare.source.index(source)
        if source.startswith("{{") and source.endswith("}}"):
            source, lead = source[2:-2], lead + 2
        text = ir.Expression("jinja", f"({source}) ~ ''", context.library)
        context.places.remember(text, scalar, lead - 1)
        return text

    def print(self, context: Context, value: Any) -> Any:
        source = value.source if isinstance(value, ir.Expression) else ""
        is_text = source.startswith("(") and source.endswith(") ~ ''")
        return source[1 : -len(") ~ ''")] if is_text else WRONG


@dataclass(eq=False, repr=False)
class CaseOf(Body):
    """One case of a choice: its steps, or under `steps` with when it is taken."""

    words: str = "the steps of the case"
    is_default: bool = False

    def read(self, context: Context, value: Value, at: Location) -> Any:
        slot = "default" if self.is_default else f"case.{at.field}"
        found = self.read_parts(context, value, at, slot) or {"body": ir.Block(())}
        found.setdefault("name", at.field)
        if not self.is_default and "when" not in found:
            found.setdefault("equals", ir.Constant(at.field))
        case = ir.Case(**found)
        context.places.remember_part(case, at.span)
        return case

    def owner(self, at: Location) -> Location:
        """Whom messages name."""
        return at if self.is_default else Location(f"case {at.field!r} of {at.owner}", "", at.span)

    def fields(self) -> FieldTable:
        """What is said about the case where its steps stand under `steps`."""
        own = DEFAULT if self.is_default else CASE
        return {**own, **super().fields()}

    def write(self, context: Context, value: Any) -> Any:
        more: dict[str, Any] = {}
        if value.when is not None:
            more["if"] = EXPRESSION.write(context, value.when)
        if self.is_default and value.name != "default":
            more["name"] = value.name
        usual = None if self.is_default or value.when is not None else ir.Constant(value.name)
        if not is_same(value.equals, usual):
            more["equals"] = VALUE.write(context, value.equals)
        return self.write_parts(context, value.body, more)

    def schema(self) -> dict[str, Json]:
        return {"$ref": "#/$defs/body" if self.is_default else "#/$defs/case"}


class Choose(Form):
    """What `choose` holds: what is looked at, the cases, and the steps where none fits."""

    words = "an object with on, cases and default"
    shape = Mapping
    ref = "choose"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            report_wrong(context, value, self, at)
            return None
        own = Mapping(tuple(entry for entry in value if entry.name in CHOOSE), value.span)
        found = read_object(context, own, CHOOSE, at)
        cases = list(found.pop("cases", ()))
        for entry in value:
            if entry.name in CHOOSE:
                continue
            if "cases" in value or nearest(entry.name, ("cases", "default")):
                report_unknown(context, entry, CHOOSE, Location(at.words, "", at.span))
                continue
            inner = Location(at.owner, entry.name, entry.key.span)
            cases.append(CaseOf("steps by name").read(context, entry.value, inner))
        self._check(context, value, at, cases, has_subject="subject" in found)
        return {**found, "cases": tuple(cases)}

    def _check(
        self,
        context: Context,
        value: Mapping,
        at: Location,
        cases: list[ir.Case],
        *,
        has_subject: bool,
    ) -> None:
        if not cases:
            message = f"'choose' of {at.owner} has no case"
            context.report("W006", message, value.span, help="add cases: {name: steps}")
        for case in cases:
            if case.when is None and not has_subject and not context.exact:
                context.report(
                    "W006",
                    f"case {case.name!r} of {at.owner} does not say when it is taken",
                    context.places.part(case),
                    help="add `on` to `choose`, or write the case as {if: expression, steps: ...}",
                )

    def write(self, context: Context, value: Any) -> Any:
        return write_object(context, CHOOSE, value)


CASE = fields("case")
DEFAULT = fields("default")
CHOOSE = fields(
    "cases",
    {
        "on": On(),
        "cases": MapOf(CaseOf(), "cases by name", "any", make=lambda _, case: case),
        "default": CaseOf("steps by name", is_default=True),
    },
)


class Together(OneOf):
    """Steps side by side: right in their place, or beside it under `steps`."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        fields_beside = context.around.fields
        if isinstance(found, bool) and (fields_beside is None or "steps" not in fields_beside):
            advice = "add the steps that run side by side"
            context.report(
                "W006",
                f"{at.owner} lacks the field 'steps'",
                context.places.node(context.around.path),
                help=advice,
            )
        return found if isinstance(found, ir.Block) else None


def _kind(
    name: str,
    node: type,
    forms: dict[str, Form] | None = None,
    inside: FieldTable | None = None,
    check: Callable[[Context, Any], None] | None = None,
) -> Kind:
    """A kind of step that its fields say all about, some of them `inside` of one."""
    said = [field.attribute or key for key, field in (inside or {}).items()]
    known = fields(name, forms, node, *NODE, *said)
    made = maker(node, {**known, **(inside or {})})

    def make(context: Context, found: dict[str, Any]) -> Any:
        one = made(context, found)
        if check is not None and isinstance(one, node) and not context.exact:
            check(context, one)
        return one

    def write(kind: Kind, context: Context, one: Any) -> dict[str, Any]:
        if not isinstance(one, node):
            raise CannotWriteError(one)
        return write_object(context, {**kind.own, **COMMON}, one)

    return Kind(name, doc_of(name), known, make, write)


_BODY = Body()
_SIDE_BY_SIDE = Body(is_ordered=False)
_JUMP: dict[str, Form] = {"jump": Jump((FLAG, Text("the name of a loop around the step")))}
_LIST = OneOf((Computed("an expression that gives a list", needed=True), Values(VALUE)))
_IF = fields("if", {"then": Body(slot="case.then"), "else": Body(slot="default")})
_EACH: dict[str, Form] = {
    "list": _LIST,
    "item_name": ItemName("a name", needed=True),
    "steps": Steps(),
    "block": OPTIONS,
}
_TOGETHER: dict[str, Form] = {
    "together": Together((FLAG, _SIDE_BY_SIDE)),
    "side_by_side": Steps(is_open=True, is_ordered=False),
}
_MOMENT = Object("wait", fields("moment"), rare=True)
_QUESTION = Object("approve", fields("question"))
_END = Object("stop", fields("end"))
_KINDS = (
    *TASKS,
    _kind("call", ir.Call, {"called": Called("a workflow file of the project", needed=True)}),
    _kind("set", ir.Assign),
    _kind("value", ir.Compute),
    Kind("if", doc_of("if"), _IF, _make_if, _write_if),
    _kind("choose", ir.Branch, {"choose": Choose()}, CHOOSE),
    _kind("each", ir.ForEach, _EACH, check=_check_item_names),
    _kind("together", ir.Group, _TOGETHER),
    _kind("repeat", ir.Loop, {"repeat": REPEAT}, REPEAT.fields),
    _kind("wait", ir.Wait, {"moment": OneOf((Moment(), _MOMENT))}, _MOMENT.fields),
    _kind("approve", ir.Gate, {"question": short("message", _QUESTION)}, _QUESTION.fields),
    _kind("stop", ir.Stop, {"stop": Stop((FLAG, TEMPLATE, _END))}, _END.fields),
    _kind("break", ir.Break, _JUMP),
    _kind("continue", ir.Continue, _JUMP),
    ANY_TASK,
)
KINDS = {kind.name: kind for kind in _KINDS}

"""The kinds of steps and their fields: the table of the format's page, as data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import context as native
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import COMMON, NODE, OPTIONS, Body, Kind, Steps
from whorl.dialects.native.context import Attributes, CannotWriteError, Context, Location
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.table import EXPRESSION, TEMPLATE, fields
from whorl.dialects.native.tasks import ANY_TASK, TASKS
from whorl.dialects.reader import Reading
from whorl.dialects.reading.fields import check_arguments
from whorl.ir.values import parse_time
from whorl.language import LanguageError, parse
from whorl.source import Mapping, Scalar, Value

if TYPE_CHECKING:
    from whorl.language import Json


class Called(forms.Text):
    """A workflow: one of the file itself, or another file, read by its own dialect."""

    def take(self, context: Context, value: Scalar, at: Location) -> Any:
        reference = super().take(context, value, at)
        if reference is forms.WRONG:
            return reference
        if reference in context.local:
            context.calls.append(partial(_check_inputs, context.within(), reference))
            return reference
        workflows = dict(context.workflows)
        called = context.call(reference, value.span)
        if called is None:
            return ""
        for key, workflow in workflows.items():
            if context.workflows[key] != workflow:
                message = f"{called.key!r} has another workflow of the name {key!r}"
                advice = "choose another name for one of them"
                context.report("W012", message, value.span, label="used twice", help=advice)
        _check_inputs(context, called.key, called.reading)
        if called.reading.workflow.limits != ir.RunLimits():
            name, label = called.reading.workflow.name, "it counts only in its own runs"
            message = f"the budget of workflow {name!r} has no effect where it is called"
            advice = "give this file a `budget`, or put the call in a `repeat` with `at_most`"
            context.warn("W023", message, value.span, label=label, help=advice)
        return called.key


def _check_inputs(context: Context, key: str, reading: Reading | None = None) -> None:
    """Reports the inputs that a call lacks, and those that the called workflow does not take."""
    given_in, span = context.around.fields, context.places.node(context.around.path)
    workflow = context.workflows.get(key)
    if context.exact or workflow is None or given_in is None or span is None:
        return
    given = given_in.get("with")
    entries = given.entries if isinstance(given, Mapping) else ()
    names = {entry.name: entry.key.span for entry in entries}
    # The main input of a file of another format may be left empty.
    others = frozenset({workflow.main_input} if workflow.open_inputs else ())
    owner = f"step {context.around.step!r}"
    called = reading or Reading(workflow)
    check_arguments(context, called, names, owner=owner, span=span, others=others)


class ItemName(forms.Text):
    """The name of an item or of its number."""

    def take(self, context: Context, value: Scalar, at: Location) -> Any:
        name = super().take(context, value, at)
        if name is not forms.WRONG:
            context.check_name(value, at.words, "plain")
        return name


class Moment(forms.Form):
    """A duration or a point in time."""

    words = "a duration such as 5s or PT5S, or a time such as 2030-01-31T09:00:00Z"
    json: dict[str, Json] = {"type": ["string", "number"]}  # noqa: RUF012

    def parse(self, context: Context, scalar: Scalar) -> Any:
        seconds = forms.seconds_of(context, scalar)
        if seconds is not forms.WRONG:
            return {"duration": ir.Constant(seconds)}
        if not isinstance(scalar.value, str):
            return forms.WRONG
        if native.is_template(scalar.value):
            return {"duration": context.read_text(scalar)}
        try:
            parse_time(scalar.text)
        except ValueError:
            return forms.WRONG
        return {"until": ir.Constant(scalar.text)}

    def write(self, context: Context, value: Any) -> Any:
        parts = {name: getattr(value, name) for name in ("duration", "until")}
        parts = {name: part for name, part in parts.items() if part is not None}
        for part in parts.values():
            text = getattr(part, "value", getattr(part, "source", None))
            if isinstance(text, float) and "duration" in parts:
                text = forms.duration_text(text)
            if isinstance(text, str | float) and forms.reads_as(context, self, text, parts):
                return text
        raise CannotWriteError(value)


class Stop(forms.OneOf):
    """The end of the run: true, a message, or an object."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        message = super().read(context, value, at)
        if isinstance(message, bool) or message == ir.Constant(""):
            return {}
        return message if message is None or isinstance(message, dict) else {"message": message}

    def write(self, context: Context, value: Any) -> Any:
        written = self.forms[-1].write(context, value)
        if list(written) == ["message"] and written["message"]:
            return written["message"]
        return written or True


class Jump(forms.OneOf):
    """The loop that a step leaves: by name, or the innermost one."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        loop = super().read(context, value, at)
        if loop is None or (isinstance(loop, str) and loop):
            return loop
        if context.around.loops:
            return context.around.loops[-1]
        message = f"{at.owner} is not inside a loop that it could {at.field}"
        advice = "put it inside of a `repeat`, or use `stop` to end the run"
        span = context.places.node(context.around.path)
        context.report("W005", message, span, label="no loop around it", help=advice)
        return ""

    def write(self, context: Context, value: Any) -> Any:
        is_innermost = bool(context.around.loops) and context.around.loops[-1] == value
        return True if is_innermost else super().write(context, value)


class IfKind(Kind):
    """A step with `if`, `then` and `else`: a branch with one case and perhaps a default."""

    def make(self, context: Context, attributes: dict[str, Any]) -> Any:
        test = attributes.pop("test", None) or ir.Expression("jinja", "false")
        then = attributes.pop("then", None) or ir.Block((), open=True)
        otherwise = attributes.pop("otherwise", None)
        attributes["cases"] = (ir.Case("then", then, when=test),)
        attributes["default"] = None if otherwise is None else ir.Case("else", otherwise)
        return super().make(context, attributes)

    def write(self, context: Context, node: Any) -> dict[str, Any]:
        if not isinstance(node, ir.Branch) or len(node.cases) != 1 or node.when is not None:
            raise CannotWriteError(node)
        case, default = node.cases[0], node.default or ir.Case("else", ir.Block(()))
        plain = ir.Case("then", case.body, case.when), ir.Case("else", default.body)
        if node.subject is not None or case.when is None or (case, default) != plain:
            raise CannotWriteError(node)
        step = {"if": EXPRESSION.write(context, case.when), "then": _BODY.write(context, case.body)}
        if node.default is not None:
            step["else"] = _BODY.write(context, default.body)
        return {**step, **forms.write_object(context, COMMON, node)}


class On(forms.Condition):
    """The subject of `choose`, as a text: 1 fits the case '1', true fits 'true'."""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        bare = super().parse(context, scalar)
        if bare is forms.WRONG:
            return forms.WRONG
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
        return source[1 : -len(") ~ ''")] if is_text else forms.WRONG


class CaseOf(Body):
    """One case of a choice: its steps, or under `steps` with when it is taken."""

    words = "the steps of the case"
    ref = "case"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        is_default = bool(self.slot)
        owner = at if is_default else Location(f"case {at.words}", "", at.span)
        slot = self.slot or f"case.{at.field}"
        attributes: dict[str, Any] = {} if is_default else {"name": at.field}
        attributes |= self.read_parts(context, value, at, slot, owner) or {"body": ir.Block(())}
        forms.derive(context, self.more, attributes)
        case = ir.Case(**attributes)
        context.places.remember_part(case, at.span)
        return case

    def write(self, context: Context, value: Any) -> Any:
        return self.write_parts(context, value.body, forms.write_object(context, self.more, value))


def _equals(context: Context, attributes: Attributes) -> ir.Value | None:
    """Returns the value that selects a case: its name, unless it has `when`."""
    return None if attributes.get("when") is not None else ir.Constant(attributes["name"])


class Choose(forms.Object):
    """The content of `choose`: the subject, the cases, and the steps if no case fits."""

    ref = "choose"

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        attributes = {"cases": (), **super().take(context, value, at)}
        if not attributes["cases"]:
            message = f"{at.words} has no case"
            context.report("W006", message, value.span, help="add cases: {name: steps}")
        for case in attributes["cases"]:
            if case.when is None and "subject" not in attributes and not context.exact:
                message = f"case {case.name!r} of {at.owner} does not say when it is taken"
                advice = "add `on` to `choose`, or write the case as {if: expression, steps: ...}"
                context.report("W006", message, context.places.part(case), help=advice)
        return attributes


def _kind(name: str, node: type, inside: forms.FieldTable | None = None, **own: forms.Form) -> Kind:
    """Makes a kind of step that its fields describe fully, some of them `inside` of one."""
    attributes = [field.attribute for field in (inside or {}).values()]
    return Kind(name, node, fields(name, own, node, *NODE, *attributes), inside or {})


FLAG = forms.Boolean(is_flag=True)
_BODY = Body()
CASE = CaseOf("", fields("case", equals=_equals))
_CASES = forms.MapOf(CASE, "cases by name", "any", make=lambda _, case: case)
# The steps that run if no case fits.
_DEFAULT = CaseOf("default", fields("default", name=lambda *_: "default"))
_DEFAULT.words, _DEFAULT.ref = Body.words, Body.ref
CHOOSE = fields("cases", {"on": On(), "cases": _CASES, "default": _DEFAULT})
_IF = fields("if", {"then": Body(slot="case.then"), "else": Body(slot="default")})
_CALLED = Called("a workflow file of the project", needed=True)
_GIVES_LIST = forms.Computed("an expression that gives a list", needed=True)
_ITEMS = forms.OneOf(_GIVES_LIST, forms.Values())
_ITEM_NAME = ItemName("a name", needed=True)
_JUMP = Jump(FLAG, forms.Text("the name of a loop around the step"))
_MOMENT = forms.Object("wait", fields("moment"), rare=True)
_QUESTION = forms.Object("approve", fields("question"))
_END = forms.Object("stop", fields("end"))
_KINDS = (
    *TASKS,
    _kind("call", ir.Call, called=_CALLED),
    _kind("set", ir.Assign),
    _kind("value", ir.Compute),
    IfKind("if", ir.Branch, _IF),
    _kind("choose", ir.Branch, CHOOSE, choose=Choose("choose", CHOOSE)),
    _kind("each", ir.ForEach, list=_ITEMS, item_name=_ITEM_NAME, steps=Steps(), block=OPTIONS),
    _kind("together", ir.Group, together=Body(is_ordered=False)),
    _kind("repeat", ir.Loop, REPEAT.fields, repeat=REPEAT),
    _kind("wait", ir.Wait, _MOMENT.fields, moment=forms.OneOf(Moment(), _MOMENT)),
    _kind("approve", ir.Gate, _QUESTION.fields, question=forms.Short("message", _QUESTION)),
    _kind("stop", ir.Stop, _END.fields, stop=Stop(FLAG, TEMPLATE, _END)),
    _kind("break", ir.Break, jump=_JUMP),
    _kind("continue", ir.Continue, jump=_JUMP),
    ANY_TASK,
)
KINDS = {kind.name: kind for kind in _KINDS}

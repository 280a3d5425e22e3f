"""The loop: everything that `repeat` can say, and every condition of `until`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import context as native
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import NODE, ON_FAILURE, OPTIONS, Steps
from whorl.dialects.native.context import Attributes, CannotWriteError, Context, Location
from whorl.dialects.native.forms import ListOf, MapOf, Object, Short, defaults, write_object
from whorl.dialects.native.table import EXPRESSION, fields
from whorl.ir.checks.scopes import suggest
from whorl.ir.expressions import inner_values
from whorl.ir.walk import names_given
from whorl.language import LanguageError, free_names
from whorl.lazily import regex
from whorl.source import Mapping, Scalar, Value

if TYPE_CHECKING:
    from whorl.language import Json


# When a loop stops: a condition holds, a score or a judge is content, or nothing changes.

_STEP_NAME = regex(native.NAMES["dashed"])
# The part of a result that is its text, where the result is an object by nature.
_TEXTS = {"run": ".stdout", "http": ".body", "file_read": ".content"}
_SILENT = (ir.Assign, ir.Wait, ir.Stop, ir.Break, ir.Continue)


class Subject(forms.Form):
    """What a condition reads: a step of the body, a template or an expression."""

    marked = True
    words = "a step of the body, or a text with {{ }}"
    json: dict[str, Json] = {"type": "string"}  # noqa: RUF012

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if not isinstance(scalar.value, str):
            return forms.WRONG
        name, steps = scalar.value.strip(), dict(names_given(context.body))
        if native.is_template(name):
            return context.read_text(scalar)
        if name in steps:
            return result_text(steps[name])
        if not _STEP_NAME.fullmatch(name):
            return context.read_expression(scalar)
        message = f"'of' names {name!r}, but the loop has no such step"
        advice = suggest(name, steps)
        context.report("W005", message, scalar.span, label="no step of the loop", help=advice)
        return ir.Constant(None)

    def print(self, context: Context, value: Any) -> Any:
        for name, node in names_given(context.body):
            if native.is_same(value, result_text(node)):
                return name
        is_step = isinstance(value, ir.Expression) and _STEP_NAME.fullmatch(value.source.strip())
        return value.source if isinstance(value, ir.Expression) and not is_step else forms.WRONG


def result_text(node: ir.Node) -> ir.Value:
    """Returns the text of a node's result."""
    part = _TEXTS.get(node.kind, "") if isinstance(node, ir.Task) else ""
    return native.read_result(node.name, part)


def last_with_result(block: ir.Block) -> ir.Node | None:
    """Returns the last step that has a result, or the last step at all."""
    loud = [node for node in block.nodes if not isinstance(node, _SILENT)]
    return next(reversed(loud or block.nodes), None)


def _last(context: Context, attributes: Attributes) -> ir.Value:
    node = last_with_result(context.body)
    return ir.Constant(None) if node is None else result_text(node)


class _Score(Object):
    """A score, whose number is computed or found in a text."""

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        if "from" not in value and "pattern" not in value:
            message = "'score' does not say where the number comes from"
            advice = "add from: \"{{ review.score }}\", or pattern: 'SCORE: ([0-9.]+)'"
            label = "no 'from' and no 'pattern'"
            context.report("W006", message, at.span, label=label, help=advice)
        score = super().take(context, value, at)
        pattern = value.get("pattern")
        if isinstance(pattern, Scalar) and score is not None:
            context.places.remember(score, pattern)
        return score

    def build(self, context: Context, attributes: dict[str, Any]) -> Any:
        has_range = "low" in attributes or "high" in attributes
        if _is_share(context, attributes.get("at_least")) and not has_range:
            attributes |= {"low": 0.0, "high": 1.0}
        return super().build(context, attributes)

    def write(self, context: Context, value: Any) -> Any:
        written = super().write(context, value)
        if value.pattern is None:
            source = self.fields["from"].form.write(context, value.source)
            written = {"from": source} | {k: v for k, v in written.items() if k != "of"}
        if _is_share(context, value.at_least) and (value.low, value.high) == (0.0, 1.0):
            written = {k: v for k, v in written.items() if k not in ("low", "high")}
        if not forms.reads_as(context, self, written, value):
            raise CannotWriteError(value)
        return written


def _is_share(context: Context, at_least: float | None) -> bool:
    """Checks whether a threshold is from 0 to 1: then an answer such as 20 is invalid."""
    return at_least is not None and 0 < at_least <= 1 and not context.exact


class _Judge(Object):
    """A question to a model. It is an instruction, so steps may not put words into it."""

    def build(self, context: Context, attributes: dict[str, Any]) -> Any:
        question, read = attributes.get("question"), set()
        if isinstance(question, ir.Expression) and not context.exact:
            with suppress(LanguageError):
                read = {use.name for use in free_names(question)}
        name = next((name for name, _ in names_given(context.body) if name in read), None)
        if name is not None:
            message = f"the question to the judge contains the result of {name!r}, which could "
            message += "tell the judge what to answer"
            advice = "ask about the text without quoting it, and name the step under 'of': "
            advice += f'judge: {{question: "The draft is good", of: {name}}}'
            label, span = "a result as an instruction", context.places.span(question)
            context.warn("W023", message, span, label=label, help=advice)
        return super().build(context, attributes)


class _Branches(MapOf):
    """The branches that one of several steps took: any of them counts."""

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        taken = super().take(context, value, at)
        if not taken or taken is forms.WRONG:
            return taken or None
        for condition in taken:
            entry = value.entry(condition.node)
            context.places.remember_part(condition, entry.key.span if entry else at.span)
        return taken[0] if len(taken) == 1 else ir.AnyOf(taken)

    def write(self, context: Context, value: Any) -> Any:
        return {value.node: value.name}


class _Case(forms.Text):
    """The name of a case, which may look like another value."""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return forms.WRONG if scalar.value is None else scalar.text

    def own_schema(self) -> dict[str, Json]:
        return {"type": ["string", "boolean", "number"]}


class Until(forms.Form):
    """A condition; a list is met if any of its conditions is."""

    words = "a condition"
    shape = object
    ref = "condition"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        condition = FORM.read(context, value, at)
        if isinstance(condition, tuple):
            return ir.AnyOf(condition) if len(condition) > 1 else next(iter(condition), None)
        is_condition = isinstance(value, Mapping) and not context.is_marked(value)
        return condition if condition is None or is_condition else ir.When(condition)

    def write(self, context: Context, value: Any) -> Any:
        if isinstance(value, ir.When) and not value.described:
            return EXPRESSION.write(context, value.test)
        word = _WORDS[type(value)]
        parts = getattr(value, "conditions", value)
        return {word: CONDITIONS[word].form.write(context, parts)}


class _Conditions(Object):
    """An object that says one condition by its name."""

    def __init__(self, title: str, table: forms.FieldTable) -> None:
        super().__init__(title, table)
        self.words = "an object with one of " + ", ".join(table)

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        if not value.entries:
            return forms.WRONG
        conditions = super().take(context, value, at)
        entries = [entry for entry in value if entry.name in self.fields]
        if len(entries) > 1:
            names = f"{entries[0].name!r} and {entries[1].name!r}"
            message = f"{at.words} has {names}, but takes one of them"
            advice = "write them as a list: one of them is enough; {all: [...]} needs all of them"
            context.report("W007", message, entries[1].key.span, label="one too many", help=advice)
        condition = next(iter(conditions.values()), None)
        if condition is not None and context.places.part(condition) is None:
            context.places.remember_part(condition, entries[0].key.span)
        return condition

    def own_schema(self) -> dict[str, Json]:
        return {**super().own_schema(), "minProperties": 1, "maxProperties": 1}


CONDITION = Until()
_SUBJECT = {"of": Subject()}
_SCORE = _Score("score", fields("score", _SUBJECT, ir.Score, of=_last), ir.Score)
_JUDGE = _Judge("judge", fields("judge", _SUBJECT, ir.Judge, of=_last), ir.Judge)
_STABLE = Object("stable", fields("stable", _SUBJECT, ir.Stable, of=_last), ir.Stable)
_PLATEAU = Object("plateau", fields("plateau", None, ir.Plateau), ir.Plateau)
_STATEMENT = forms.Template("a statement that a model answers with yes or no")
_CASE = _Case("the name of a case, or true or false, or a number")
_TAKEN = "a step and a case, such as {triage: done}"
_FORMS: dict[str, forms.Form] = {
    "when": Short("test", Object("when", fields("when", None, ir.When), ir.When)),
    "score": _SCORE,
    "judge": Short("question", _JUDGE, _STATEMENT),
    "stable": Short("threshold", _STABLE),
    "plateau": Short("patience", _PLATEAU),
    "branch": _Branches(_CASE, _TAKEN, "any", least=1, make=ir.BranchTaken),
    "any_of": ListOf(CONDITION, least=1, make=ir.AnyOf),
    "all_of": ListOf(CONDITION, least=1, make=ir.AllOf),
}
CONDITIONS = fields("condition", _FORMS)
_SIMPLE = (ir.When, ir.Score, ir.Judge, ir.Stable, ir.Plateau, ir.BranchTaken)
_WORDS: dict[type, str] = dict(zip((*_SIMPLE, ir.AnyOf, ir.AllOf), CONDITIONS, strict=True))
FORM = forms.OneOf(EXPRESSION, ListOf(CONDITION, least=1), _Conditions("condition", CONDITIONS))


HISTORY_KEPT = 50
TAKES = ("last", "best", "first", "all")


class Repeat(Object):
    """The fields of a loop; they see its steps."""

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        attributes = super().take(inside(context), value, at)
        for entry in value:
            span = entry.key.span if entry.name == "at_most" else entry.value.span
            context.places.remember_field(context.around.path, entry.name, span)
        return attributes

    def write(self, context: Context, value: Any) -> Any:
        inner = inside(context)
        inner.around.blocks.append(value.body)
        written = write_object(inner, self.fields, value)
        steps = written.pop("steps")
        return {**written, "steps": steps}


def inside(context: Context) -> Context:
    """Returns the place of the steps of a loop."""
    return context.within(loops=(*context.around.loops, context.around.step), blocks=[])


_PAIR = {"first", "then"}


class Carried(forms.Anything):
    """A value for the next iteration; {first, then} gives the first one another value."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping) or not _PAIR & {entry.name for entry in value}:
            return {"later": context.read_value(value)}
        for entry in value:
            if entry.name not in _PAIR:
                message = f"{entry.name!r} beside 'first' and 'then' of a carried value"
                advice = "write {first: ..., then: ...}; to carry an object: {then: {...}}"
                context.report("W004", message, entry.key.span, label="unknown field", help=advice)
        parts = {"first": value.get("first"), "later": value.get("then")}
        return {name: context.read_value(part) for name, part in parts.items() if part is not None}

    def write(self, context: Context, value: Any) -> Any:
        parts = {"first": value.first, "then": value.later}
        written = {name: context.write_value(part) for name, part in parts.items() if part}
        if not written:
            raise CannotWriteError(value)
        later = written.get("then")
        is_pair = isinstance(later, dict) and bool(_PAIR & set(later))
        return written if "first" in written or is_pair else later


class Collected(forms.Anything):
    """A value, with the iterations that it is taken from."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            return {"take": "all", "value": context.read_value(value)}
        take = next((entry for entry in value if entry.name in TAKES), None)
        if take is None or len(value) != 1:
            message = f"{at.field!r} of 'collect' must say which iterations it takes"
            advice = "write one of {all: ...}, {first: ...}, {last: ...}, {best: ...}"
            context.report("W007", message, value.span, help=advice)
        return take and {"take": take.name, "value": context.read_value(take.value)}

    def write(self, context: Context, value: Any) -> Any:
        return {value.take: context.write_value(value.value)}


class _Failure(forms.OneOf):
    """What happens when an iteration fails; the object has more fields in converted files."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        action = super().read(context, value, at)
        if isinstance(action, dict):
            action = {"action": "retry" if action.get("times") else "halt", **action}
            return ir.IterationFailure(**action)
        return None if action is None else ir.IterationFailure(action)

    def write(self, context: Context, value: Any) -> Any:
        written: dict[str, Any] = self.forms[1].write(context, value)
        if value.action != "retry" and not written.keys() - {"action"}:
            return value.action
        action = {} if value.action == "retry" and value.times else {"action": value.action}
        return {**written, "retry": value.times, **action}


def _facts(context: Context, attributes: Attributes) -> tuple[tuple[str, str], ...]:
    """Returns the facts that an iteration receives: those that expressions in the loop use."""
    own = {name: attributes[name] for name in attributes if name in defaults(ir.Loop)}
    loop = ir.Loop(**{"name": "", **own})
    named = context.names.in_block(loop.body) | context.names.in_values(inner_values(loop))
    return tuple((name, fact) for name, fact in native.FACTS.items() if name in named)


_FAILED = Object("on_failure", fields("on_failure", None, ir.IterationFailure))
_CARRY = MapOf(
    Carried(), "names with values, such as {feedback: '{{ review.feedback }}'}", make=ir.Carry
)
_TAKEN_VALUES = "names with {all: ...}, {first: ...}, {last: ...} or {best: ...}"
_COLLECT = MapOf(Collected(), _TAKEN_VALUES, "dashed", make=ir.Collect)
_LIMITS = Object("at_most", fields("limits", None, ir.LoopLimits), ir.LoopLimits)
_HISTORY = {"history_keep": lambda _, a: HISTORY_KEPT if "history" in dict(a["facts"]) else 0}
_KEY = {"key": lambda c, a: f"{c.name}/{c.around.path}" if a.get("across_runs") else ""}
_LOOP: dict[str, forms.Form] = {
    "condition": CONDITION,
    "limits": Short("iterations", _LIMITS),
    "carry": _CARRY,
    "failed": _Failure(ON_FAILURE[0], _FAILED),
    "collect": _COLLECT,
    "memory": Object("memory", fields("memory", None, ir.Memory, **_KEY), ir.Memory),
    "steps": Steps(),
    "block": OPTIONS,
}
_FIELDS = fields("loop", _LOOP, ir.Loop, *NODE, facts=_facts, **_HISTORY)
REPEAT = Repeat("repeat", _FIELDS)

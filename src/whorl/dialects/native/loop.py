"""The loop: everything that `repeat` can say, and every condition of `until`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from whorl import ir
from whorl.dialects.native.blocks import ON_FAILURE, OPTIONS, Steps
from whorl.dialects.native.forms import WRONG, Anything, Form, OneOf, Template, Text, reads_as
from whorl.dialects.native.objects import ListOf, MapOf, Object, defaults, short, write_object
from whorl.dialects.native.table import EXPRESSION, fields
from whorl.dialects.native.values import (
    FACTS,
    CannotWriteError,
    is_marked,
    is_same,
    is_template,
    read_expression,
    read_result,
    read_text,
)
from whorl.ir.checks.subject import suggest
from whorl.ir.expressions import inner_values
from whorl.ir.nodes import NodeFields
from whorl.ir.walk import names_given
from whorl.language import LanguageError, free_names
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from whorl.dialects.native.context import Context, Location
    from whorl.language import Json
    from whorl.source import Value


_STEP_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# The part of a result that is its text, where the result is an object by nature.
_TEXTS = {"run": ".stdout", "http": ".body"}
_SILENT = (ir.Assign, ir.Wait, ir.Stop, ir.Break, ir.Continue)


class Subject(Form):
    """What a condition reads: a step of the body, a template or an expression."""

    marked = True
    words = "a step of the body, or a text with {{ }}"
    json: ClassVar[dict[str, Json]] = {"type": "string"}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        text = scalar.value
        if not isinstance(text, str):
            return WRONG
        if is_template(text):
            return read_text(context, scalar)
        name = text.strip()
        known = dict(names_given(context.body))
        if name in known:
            return result_text(known[name])
        if not _STEP_NAME.fullmatch(name):
            return read_expression(context, scalar)
        context.report(
            "W010",
            f"'of' names {name!r}, but the loop has no such step",
            scalar.span,
            label="no step of the loop",
            help=suggest(name, known),
        )
        return ir.Constant(None)

    def print(self, context: Context, value: Any) -> Any:
        for name, node in names_given(context.body):
            if is_same(value, result_text(node)):
                return name
        is_step = isinstance(value, ir.Expression) and _STEP_NAME.fullmatch(value.source.strip())
        return value.source if isinstance(value, ir.Expression) and not is_step else WRONG


def result_text(node: ir.Node) -> ir.Value:
    """The text of a node's result."""
    part = _TEXTS.get(node.kind, "") if isinstance(node, ir.Task) else ""
    return read_result(node.name, part)


def last_with_result(block: ir.Block) -> ir.Node | None:
    """The last step that has a result, or the last step at all."""
    for node in reversed(block.nodes):
        if not isinstance(node, _SILENT):
            return node
    return block.nodes[-1] if block.nodes else None


def _last(context: Context, found: MappingOf[str, Any]) -> ir.Value:
    del found
    node = last_with_result(context.body)
    return ir.Constant(None) if node is None else result_text(node)


class _Score(Object):
    """A score, whose number is computed or found in a text."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if isinstance(value, Mapping) and "from" not in value and "pattern" not in value:
            context.report(
                "W006",
                "'score' does not say where the number comes from",
                at.span,
                label="no 'from' and no 'pattern'",
                help="add from: \"{{ review.score }}\", or pattern: 'SCORE: ([0-9.]+)'",
            )
        score = super().read(context, value, at)
        pattern = value.get("pattern") if isinstance(value, Mapping) else None
        if isinstance(pattern, Scalar) and score is not None:
            context.places.remember(score, pattern)
        if isinstance(score, ir.Score) and isinstance(value, Mapping) and not context.exact:
            _check_reach(context, score, value)
        return score

    def build(self, context: Context, found: dict[str, Any]) -> Any:
        source = found.pop("from", None)
        if source is not None:
            found["source"] = source
        at_least = found.get("at_least")
        is_share = at_least is not None and 0 < at_least <= 1
        if is_share and not context.exact and not {"low", "high"} & found.keys():
            # A threshold from 0 to 1 means that scale; a model that answers 20 has not answered.
            found |= {"low": 0.0, "high": 1.0}
        return super().build(context, found)

    def write(self, context: Context, value: Any) -> Any:
        written = super().write(context, value)
        if value.pattern is None:
            source = self.fields["from"].form.write(context, value.source)
            written = {"from": source} | {k: v for k, v in written.items() if k != "of"}
        is_share = value.at_least is not None and 0 < value.at_least <= 1
        if is_share and not context.exact and (value.low, value.high) == (0.0, 1.0):
            written = {k: v for k, v in written.items() if k not in ("low", "high")}
        if not reads_as(context, self, written, value):
            raise CannotWriteError(value)
        return written


def _check_reach(context: Context, score: ir.Score, written: Mapping) -> None:
    """A goal above the highest score that counts is never reached, and no limit crosses another."""
    if score.high is None:
        return
    for name, number in (("low", score.low), ("at_least", score.at_least)):
        place = written.get(name)
        if number is not None and number > score.high and place is not None:
            context.report(
                "W007",
                f"'{name}: {number:g}' can never be reached: no score above "
                f"'high: {score.high:g}' counts",
                place.span,
                label="above 'high'",
                help=f"lower '{name}', or raise 'high'",
            )


class _Judge(Object):
    """A question to a model, which no step may put words into."""

    def build(self, context: Context, found: dict[str, Any]) -> Any:
        question = found.get("question")
        if isinstance(question, ir.Expression) and not context.exact:
            _check_question(context, question)
        return super().build(context, found)


def _check_question(context: Context, question: ir.Expression) -> None:
    """Whatever stands in the question is an instruction to the judge, so no step may write it."""
    try:
        read = {use.name for use in free_names(question)}
    except LanguageError:
        return
    for name, _ in names_given(context.body):
        if name in read:
            context.warn(
                "W023",
                f"the question to the judge holds what the step {name!r} gives, which could tell "
                "the judge what to answer",
                context.places.span(question),
                label="a step's words as an instruction",
                help="ask about the text without quoting it, and name the step under 'of': "
                f'judge: {{question: "The draft is good", of: {name}}}',
            )
            return


class _Branches(MapOf):
    """The branches that one of several steps took: any of them counts."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        taken = super().read(context, value, at)
        if not taken or not isinstance(value, Mapping):
            return None
        for condition, entry in zip(taken, value, strict=True):
            context.places.remember_part(condition, entry.key.span)
        return taken[0] if len(taken) == 1 else ir.AnyOf(taken)

    def write(self, context: Context, value: Any) -> Any:
        return {value.node: value.name}


class _Case(Text):
    """The name of a case, which may look like another value."""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return WRONG if scalar.value is None else scalar.text

    def own_schema(self) -> dict[str, Json]:
        return {"type": ["string", "boolean", "number"]}


class Until(Form):
    """A condition; a list is met when any one of it is."""

    words = "a condition"
    shape = object
    ref = "condition"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = FORM.read(context, value, at)
        if isinstance(found, tuple):
            return found[0] if len(found) == 1 else ir.AnyOf(found) if found else None
        if not isinstance(value, Mapping) or is_marked(context, value):
            return None if found is None else ir.When(found)
        entry = next((entry for entry in value if entry.name in CONDITIONS), None)
        if found is not None and entry is not None and context.places.part(found) is None:
            context.places.remember_part(found, entry.key.span)
        return found

    def write(self, context: Context, value: Any) -> Any:
        if isinstance(value, ir.When) and not value.described:
            return EXPRESSION.write(context, value.test)
        word = _WORDS[type(value)]
        parts = getattr(value, "conditions", value)
        return {word: CONDITIONS[word].form.write(context, parts)}


class _Together(ListOf):
    """Several conditions as one."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        make = ir.AllOf if at.field == "all" else ir.AnyOf
        return None if found is None else make(found)


CONDITION = Until()
_WORDS: dict[type, str] = {
    ir.When: "when",
    ir.Score: "score",
    ir.Judge: "judge",
    ir.Stable: "stable",
    ir.Plateau: "plateau",
    ir.BranchTaken: "branch",
    ir.AnyOf: "any",
    ir.AllOf: "all",
}
_CASE = _Case("the name of a case, or true or false, or a number")
_SUBJECT = {"of": Subject()}
_SCORE = _Score("score", fields("score", _SUBJECT, ir.Score, of=_last), ir.Score)
_JUDGE = _Judge("judge", fields("judge", _SUBJECT, ir.Judge, of=_last), ir.Judge)
_STABLE = Object("stable", fields("stable", _SUBJECT, ir.Stable, of=_last), ir.Stable)
_PLATEAU = Object("plateau", fields("plateau", None, ir.Plateau), ir.Plateau)
_STATEMENT = Template("a statement that a model answers with yes or no")
_FORMS: dict[str, Form] = {
    "when": short("test", Object("when", fields("when", None, ir.When), ir.When)),
    "score": _SCORE,
    "judge": short("question", _JUDGE, _STATEMENT),
    "stable": short("threshold", _STABLE),
    "plateau": short("patience", _PLATEAU),
    "branch": _Branches(
        _CASE, "a step and a case, such as {triage: done}", "any", 1, ir.BranchTaken
    ),
    "conditions": _Together(CONDITION, least=1),
}
CONDITIONS = fields("condition", _FORMS)
FORM = OneOf(
    (EXPRESSION, ListOf(CONDITION, least=1), Object("condition", CONDITIONS, exactly_one=True))
)


HISTORY_KEPT = 50
TAKES = ("last", "best", "first", "all")


class Repeat(Object):
    """The fields of a loop: they stand in the loop, and know its steps."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(inside(context), value, at)
        if found is None or not isinstance(value, Mapping):
            return found
        for entry in value:
            span = entry.key.span if entry.name == "at_most" else entry.value.span
            context.places.remember_field(context.around.path, entry.name, span)
        if not context.exact and "body" in found:
            _check_clashes(context, value, found["body"])
        return found

    def write(self, context: Context, value: Any) -> Any:
        inner = inside(context)
        inner.around.blocks.append(value.body)
        written = write_object(inner, self.fields, value)
        steps = written.pop("steps")
        return {**written, "steps": steps}


def inside(context: Context) -> Context:
    """The place of the steps of a loop."""
    return context.within(loops=(*context.around.loops, context.around.step), blocks=[])


def _check_clashes(context: Context, repeat: Mapping, body: ir.Block) -> None:
    """A name means one thing: a step of the body, a carried value or a collected result."""
    steps = dict(names_given(body))
    for field in ("carry", "collect"):
        names = repeat.get(field)
        for entry in names.entries if isinstance(names, Mapping) else ():
            if entry.name in steps:
                context.report(
                    "W012",
                    f"{entry.name!r} in {field!r} is also the name of a step of the loop",
                    entry.key.span,
                    label="a step has this name",
                    help=f"choose another name, such as {('last_' + entry.name)!r}",
                )


class Carried(Anything):
    """A value for the next iteration; {first, then} tells the first one apart."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        keys = {entry.name for entry in value} if isinstance(value, Mapping) else set()
        if not isinstance(value, Mapping) or not keys or not keys <= {"first", "then"}:
            return {"later": super().read(context, value, at)}
        parts = {"first": value.get("first"), "later": value.get("then")}
        return {
            name: super(Carried, self).read(context, part, at)
            for name, part in parts.items()
            if part is not None
        }

    def write(self, context: Context, value: Any) -> Any:
        parts = {"first": value.first, "then": value.later}
        written = {k: super(Carried, self).write(context, v) for k, v in parts.items() if v}
        if not written:
            raise CannotWriteError(value)
        later = written.get("then")
        is_pair = isinstance(later, dict) and set(later) <= {"first", "then"}
        return written if "first" in written or is_pair else later


class Collected(Anything):
    """A value, with the iterations that it is taken from."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            return {"take": "all", "value": super().read(context, value, at)}
        take = next((entry for entry in value if entry.name in TAKES), None)
        if take is None or len(value) != 1:
            context.report(
                "W007",
                f"{at.field!r} of 'collect' must say which iterations it takes",
                value.span,
                help="write one of {all: ...}, {first: ...}, {last: ...}, {best: ...}",
            )
        if take is None:
            return None
        return {"take": take.name, "value": super().read(context, take.value, at)}

    def write(self, context: Context, value: Any) -> Any:
        return {value.take: super().write(context, value.value)}


class _Failure(OneOf):
    """What happens when an iteration fails; the object says more in converted files."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if isinstance(found, dict):
            found = {"action": "retry" if found.get("times") else "halt", **found}
            return ir.IterationFailure(**found)
        return None if found is None else ir.IterationFailure(found)

    def write(self, context: Context, value: Any) -> Any:
        written: dict[str, Any] = self.forms[1].write(context, value)
        if value.action != "retry" and not written.keys() - {"action"}:
            return value.action
        action = {} if value.action == "retry" and value.times else {"action": value.action}
        return {**written, "retry": value.times, **action}


def _facts(context: Context, found: MappingOf[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the engine tells an iteration, as far as anything in the loop asks for it."""
    known = {name: found[name] for name in found if name in defaults(ir.Loop)}
    loop = ir.Loop(**{"name": "", **known})
    named = context.names.in_block(loop.body) | context.names.in_values(inner_values(loop))
    return tuple((name, fact) for name, fact in FACTS.items() if name in named)


def _history(context: Context, found: MappingOf[str, Any]) -> int:
    del context
    return HISTORY_KEPT if "history" in dict(found["facts"]) else 0


def _key(context: Context, found: MappingOf[str, Any]) -> str:
    return f"{context.name}/{context.around.path}" if found.get("across_runs") else ""


_FAILED = Object("on_failure", fields("on_failure", None, ir.IterationFailure))
_CARRY = MapOf(
    Carried(),
    "names with values, such as {feedback: '{{ review.feedback }}'}",
    make=lambda name, found: ir.Carry(name, **found),
)
_COLLECT = MapOf(
    Collected(),
    "names with {all: ...}, {first: ...}, {last: ...} or {best: ...}",
    "dashed",
    make=lambda name, found: ir.Collect(name, **found),
)
_LOOP: dict[str, Form] = {
    "condition": CONDITION,
    "limits": short(
        "iterations", Object("at_most", fields("limits", None, ir.LoopLimits), ir.LoopLimits)
    ),
    "carry": _CARRY,
    "failed": _Failure((ON_FAILURE[0], _FAILED)),
    "collect": _COLLECT,
    "memory": Object("memory", fields("memory", None, ir.Memory, key=_key), ir.Memory),
    "steps": Steps(),
    "block": OPTIONS,
}
REPEAT = Repeat(
    "repeat",
    fields("loop", _LOOP, ir.Loop, *defaults(NodeFields), facts=_facts, history_keep=_history),
)

"""Variants: another model, another file, or another rule in the IR, so for every dialect."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from whorl.dialects.files import NoFiles
from whorl.dialects.native.context import FACTS, Context, Location
from whorl.dialects.native.forms import read_object
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.reader import Files, parse
from whorl.errors import Diagnostic, InvalidWorkflow, Span, UsageError, did_you_mean
from whorl.ir import AnyOf, Constant, Fields, Loop, LoopLimits, Plateau, Score, Task
from whorl.ir.checks.expressions import check_expressions
from whorl.ir.checks.scopes import Subject, suggest
from whorl.ir.checks.structure import check_best
from whorl.ir.expressions import Names, conditions_in, inner_values
from whorl.ir.walk import is_program, walk, with_nodes
from whorl.lazily import dataclass
from whorl.services.files.preflight import find_loop, not_explored
from whorl.services.replay import as_rehearsed
from whorl.source import Mapping
from whorl.wings.experiments.document import check_cases, workflow_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as Variants

    from whorl.dialects import Reading
    from whorl.ir import Node, Workflow
    from whorl.services.project import Project
    from whorl.source import Document
    from whorl.wings.experiments.document import Experiment, Variant

# The fields of a loop that a variant may change; any other change would make another loop.
RULE = ("until", "at_most", "return", "check")


@dataclass(frozen=True)
class Prepared:
    """A variant that can be run: its workflow, and the texts that it was read from."""

    variant: Variant
    workflow: Workflow
    sources: dict[str, str]

    @cached_property
    def shape(self) -> Workflow:
        """What rules are asked about; that of a program is known from a dry run."""
        return as_rehearsed(self.workflow)


def prepare(project: Project, experiment: Experiment) -> dict[str, Prepared]:
    """Returns all variants of an experiment; raises InvalidWorkflow with all mistakes.

    Their files are read once, so that a report is about the files that were run.
    """
    if experiment.prepared is not None:
        return dict(experiment.prepared)
    mistakes: list[Diagnostic] = []
    prepared: dict[str, Prepared] = {}
    for variant in experiment.variants.values():
        try:
            one = _prepared(project, experiment, variant)
        except InvalidWorkflow as fault:
            mistakes += fault.diagnostics
            continue
        lacking = _check_inputs(experiment, one)
        mistakes += lacking or check_cases(
            one.workflow, experiment.cases, experiment.inputs, variant.inputs
        )
        mistakes += check_explored(one.workflow, experiment)
        prepared[variant.name] = one
    if mistakes:
        raise InvalidWorkflow(mistakes)
    experiment.prepared = prepared
    return dict(prepared)


def _prepared(project: Project, experiment: Experiment, variant: Variant) -> Prepared:
    reading: Reading = experiment.reading
    if variant.workflow:
        reading = workflow_beside(project, experiment.file, variant.workflow, variant.span)
    workflow = with_steps(reading.workflow, variant)
    for name, words in variant.loops.items():
        loop = find_loop(workflow, name, words.span)
        changed = read_rule(experiment.document, words, loop, workflow)
        workflow = with_loop(workflow, loop, changed)
    return Prepared(variant, workflow, dict(reading.sources))


def _check_inputs(experiment: Experiment, one: Prepared) -> list[Diagnostic]:
    """Returns mistakes if a variant takes other inputs, since it would get other questions."""
    given = list(experiment.inputs or ())
    if experiment.inputs is None:
        columns = {name for case in experiment.cases for name in case.row}
        ports = experiment.reading.workflow.inputs
        given = [port.name for port in ports if port.name in columns]
    known = [port.name for port in one.workflow.inputs]
    span = one.variant.span or Span(experiment.file, 1, 1)
    mistakes = []
    for name in dict.fromkeys([*given, *one.variant.inputs]):
        if name not in known:
            words = f"variant {one.variant.name!r} has no input {name!r} that "
            words += "cases give" if name in given else "it is given"
            advice = did_you_mean(name, known) or "variants of one experiment take the same inputs"
            mistakes.append(Diagnostic("X101", words, span, help=advice))
    return mistakes


def with_steps(workflow: Workflow, variant: Variant) -> Workflow:
    """Returns the workflow with other models, systems and limits in its steps.

    Those of a program are in its defaults, for requests of these names.
    """
    everywhere = {"model": variant.model} if variant.model else {}
    steps = {name: {"model": model} for name, model in variant.models.items()}
    for name, fields in variant.steps.items():
        steps[name] = {**steps.get(name, {}), **fields}
    if is_program(workflow):
        given = {f"ask/{name}": fields for name, fields in {"": everywhere, **steps}.items()}
        made = [(place, _constants(fields)) for place, fields in given.items() if fields]
        return replace(workflow, defaults=(*workflow.defaults, *made))
    known = {node.name for _, node in walk(workflow.body) if isinstance(node, Task)}
    for name in steps:
        if name not in known:
            last = name.rpartition("/")[2]
            advice = f"write {last!r}" if last in known else suggest(name, sorted(known))
            words = f"variant {variant.name!r} names the step {name!r}, which does not exist"
            raise InvalidWorkflow([Diagnostic("W005", words, variant.span, help=advice)])

    def change(node: Node) -> Node:
        fields = {**everywhere, **steps.get(node.name, {})}
        if not isinstance(node, Task) or node.kind != "ask" or not fields:
            return node
        others = (entry for entry in node.inputs.entries if entry[0] not in fields)
        return replace(node, inputs=Fields((*others, *_constants(fields).entries)))

    changed = everywhere or steps
    return replace(workflow, body=with_nodes(workflow.body, change)) if changed else workflow


def _constants(fields: Variants[str, Any]) -> Fields:
    return Fields(tuple((name, Constant(value)) for name, value in fields.items()))


def fails_with(workflow: Workflow, loop: Loop) -> bool:
    """Returns whether a run fails if this loop fails: no step handles its failure."""
    if loop.on_failure != "halt" or not any(node is loop for node in workflow.body.nodes):
        return False
    waits = (a for node in workflow.body.nodes for a in node.after if a.node == loop.name)
    return all(set(each.statuses) <= {"passed", "succeeded"} for each in waits)


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """Returns the error for an unknown name, with the closest known name or all of them."""
    advice = did_you_mean(name, list(known)) or f"known: {', '.join(known)}"
    return UsageError(f"there is no {what} {name!r}", help=advice, code="W005")


def workflow_named(
    experiment: Experiment, prepared: Variants[str, Prepared], variant: str
) -> Workflow:
    """Returns the workflow of a variant; without a name, that of the baseline."""
    name = variant or experiment.baseline
    if name not in prepared:
        raise unknown("variant", name, prepared)
    return prepared[name].shape


def loop_named(
    experiment: Experiment, prepared: Variants[str, Prepared], loop: str, variant: str
) -> Loop:
    """Returns the loop of a variant; without a name, the explored one, or the first."""
    chosen = loop or next(iter(experiment.explore), "")
    return find_loop(workflow_named(experiment, prepared, variant), chosen)


def with_loop(workflow: Workflow, loop: Loop, changed: Loop) -> Workflow:
    body = with_nodes(workflow.body, lambda node: changed if node is loop else node)
    return replace(workflow, body=body)


def read_rule(
    document: Document, words: Mapping, loop: Loop, workflow: Workflow, *, keeps_score: bool = False
) -> Loop:
    """Returns a loop of a workflow with another rule, in the words of the native `repeat`.

    A rule that needs a score and has none is refused, or keeps the score of the loop.
    """
    # A rule calls no other workflow.
    library: Any = SimpleNamespace(files=NoFiles(), limits={})
    context = Context(document, Files(library, document.file, ""), kinds=KINDS)
    context = context.within(blocks=[loop.body], path=loop.name, step=loop.name)
    table = {name: REPEAT.fields[name] for name in RULE}
    at = Location(f"the rule of {loop.name!r}", "", words.span)
    given = read_object(context, words, table, at)
    limits = given.get("limits")
    if isinstance(limits, LoopLimits):
        given["limits"] = replace(
            limits,
            time_s=limits.time_s or loop.limits.time_s,
            iteration_time_s=limits.iteration_time_s or loop.limits.iteration_time_s,
        )
    changed = replace(loop, **{n: value for n, value in given.items() if value is not None})
    changed = _with_score(changed, loop) if keeps_score else changed
    if context.diagnostics:
        raise InvalidWorkflow(context.diagnostics)
    read = Names().in_values(inner_values(changed)) | Names().in_block(changed.body)
    known = dict(changed.facts)
    more: Any = ((n, fact) for n, fact in FACTS.items() if n in read and n not in known)
    made = replace(changed, facts=(*changed.facts, *more))
    if wrong := _mistakes(context, workflow, loop, made):
        raise InvalidWorkflow([replace(one, span=one.span or words.span) for one in wrong])
    return made


def _with_score(changed: Loop, loop: Loop) -> Loop:
    """Returns a rule with the score of the loop, if it needs a score and has none of its own."""
    own, other = (list(conditions_in(each.until)) for each in (loop, changed))
    score = next((part for part in own if isinstance(part, Score)), None)
    is_needed = changed.returns == "best" or any(isinstance(part, Plateau) for part in other)
    if score is None or not is_needed or any(isinstance(part, Score) for part in other):
        return changed
    measured = replace(score, at_least=None)
    until = measured if changed.until is None else AnyOf((measured, changed.until))
    return replace(changed, until=until)


def _mistakes(context: Context, workflow: Workflow, loop: Loop, changed: Loop) -> list[Diagnostic]:
    """Returns unknown names that the rule reads, and scores that it lacks."""
    before, after = (
        dict.fromkeys((*check_expressions(subject), *check_best(subject)))
        for each in (workflow, with_loop(workflow, loop, changed))
        for subject in [Subject(each, context.places, Names())]
    )
    return [one for one in after if one not in before]


def rule_from_text(text: str, loop: Loop, workflow: Workflow, **more: Any) -> Loop:
    """Returns a loop with a rule whose condition is written as YAML on a command line."""
    fields = {name: value for name, value in more.items() if value is not None}
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
    if text:
        is_plain = text.strip()[:1] not in "[{"
        lines.append(f"until: {json.dumps(text) if is_plain else text}")
    document = parse("\n".join(lines) + "\n", "<rule>")
    assert isinstance(document.root, Mapping)
    return read_rule(document, document.root, loop, workflow, keeps_score=True)


def check_explored(workflow: Workflow, experiment: Experiment) -> Iterator[Diagnostic]:
    """Yields the loops that cannot be explored, with the reason."""
    root: Any = experiment.document.root
    for entry in root.get("explore") or ():
        span = entry.key.span
        try:
            if why := not_explored(workflow, entry.name):
                yield Diagnostic("X107", why, span)
        except InvalidWorkflow as fault:
            yield from (replace(each, span=each.span or span) for each in fault.diagnostics)

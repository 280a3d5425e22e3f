"""Queries for what another rule would have done in one recorded run, and their JSON."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from whorl.dialects.files import NoFiles
from whorl.dialects.native.context import CannotWriteError, Context
from whorl.dialects.native.loop import CONDITION
from whorl.dialects.native.steps import KINDS
from whorl.dialects.reader import parse
from whorl.errors import InternalError, UsageError, plural
from whorl.interpreter.constructs.run import check_inputs
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.plan import loop_plan
from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Loop, content_hash
from whorl.ir.expressions import Names, expressions_in, outer_values
from whorl.ir.nodes import LoopLimits
from whorl.ir.walk import is_program, walk
from whorl.language import LanguageError, MappingScope
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.listing import MOCKED, RunFilter
from whorl.services.files.preflight import find_loop
from whorl.services.inspecting.results import result_of, shown_workflow, workflow_of
from whorl.services.replay import recording_from_run, replay
from whorl.wings.experiments.statistics import finite
from whorl.wings.experiments.trials import FAILED, end_of, unpriced_in
from whorl.wings.experiments.variants import rule_from_text, with_loop
from whorl.wings.experiments.what_if import loop_facts
from whorl.wings.experiments.what_if.evaluate import (
    Answer,
    Rule,
    answer,
    leaf_words,
    limits_left_out,
    obstacle,
    own_rule,
    reads_best,
    rule_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Condition, Value, Workflow
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.replay import Recording, Replayed
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.what_if.loop_facts import IterationFacts, LoopFacts
    from whorl.wings.experiments.what_if.sweep import RuleResult, Sweep

RUNS_MAX = 1_000
# A call of a judge: its loop, the number of the judge, and the attempt.
_ASKED = re.compile(
    r"(?P<before>(?:.*/)?(?P<loop>[^/\[]+)\[[0-9]+\](?:#[0-9]+)?/)"
    r":judge(?P<number>[0-9]*)(?P<attempt>(?:#[0-9]+)?)"
)


@dataclass(slots=True)
class WhatIf:
    """What a rule would have done in a run, beside what the run did.

    `outputs` are those of the run under the rule, if no step behind the loop makes a call.
    `results` are those of the iteration that it returns, by step. `remembers`: the run read the
    memory of other runs, so that several are not a sample. So many calls are `unpriced`; the cost
    is then unknown.
    """

    run: str
    loop: str
    as_it_was: Answer
    answer: Answer
    outputs: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    remembers: bool = False
    # The limits of the loop that the answer leaves out.
    without: str = ""
    workflow: str = ""
    unpriced: int = 0

    def document(self) -> dict[str, Any]:
        made: dict[str, Any] = {"run": self.run, "loop": self.loop, "outputs": self.outputs}
        made |= {"unpriced_calls": self.unpriced, "without": self.without}
        made |= {"as_it_was": asdict(self.as_it_was), "answer": asdict(self.answer)}
        for each in (made["as_it_was"], made["answer"]) if self.unpriced else ():
            each["usage"] = each["usage"] | {"cost_usd": None}
        return made

    def cost_of(self, answer: Answer) -> float | None:
        """Returns the cost of the run under an answer; None: a model of it has no price."""
        return None if self.unpriced else answer.usage.get("cost_usd", 0.0)


def rule_of(
    workflow: Workflow, loop: Loop, until: str = "", at_most: Any = None, returns: str | None = None
) -> Rule:
    """Returns the rule of a loop with some changes, in the words of the native format."""
    changed = rule_from_text(until, loop, workflow, at_most=at_most, **{"return": returns})
    limits = replace(changed.limits, iterations=1, iteration_time_s=None, interrupts=True)
    if at_most is not None and limits != LoopLimits(1, time_s=loop.limits.time_s):
        words = "what-if answers no limit of cost, tokens, calls or time"
        raise UsageError(words, help="give a number of iterations", code="X106")
    rule = own_rule(changed)
    if rule is None:
        raise UsageError(f"a limit of {loop.name!r} is computed; give --at-most", code="X106")
    return rule


def what_if_of(store: SqliteStore, run: RunId, loop_name: str = "", **asked: Any) -> WhatIf:
    """Returns what a rule would have done in a run; for an inner loop, in its first execution."""
    return what_ifs_of(store, run, loop_name, **asked)[0]


def what_ifs_of(
    store: SqliteStore, run: RunId, loop_name: str = "", *, check: bool = False, **asked: Any
) -> list[WhatIf]:
    """Returns the same for each loop of that name, since an inner loop is executed many times.

    The words of the rule are those of `rule_of`; `check` replays the answer through the engine.
    """
    if not any(asked.values()):
        raise UsageError("say which rule: until, at most or return")
    workflow, has_code = shown_workflow(store, run), is_program(workflow_of(store, run))
    loop = find_loop(workflow, loop_name)
    rule = rule_of(workflow, loop, **asked)
    atoms = loop_facts.atoms_in([loop.until, rule.until])
    found = loop_facts.facts_of(
        store, run, atoms, loop=loop.name, names=dict(rule.names), keep_results=True
    )
    if not found:
        raise UsageError(f"run {run} has not reached loop {loop.name!r}", code="X109")
    unpriced, answers = unpriced_in(end_of(store, run)), []
    for facts in found:
        made = WhatIf(str(run), facts.address, _as_it_was(facts), answer(facts, loop, rule))
        made.results = facts.results.get(made.answer.returned or 0)
        made.workflow, made.unpriced, made.without = workflow.name, unpriced, limits_left_out(loop)
        made.remembers = loop.memory is not None and loop.memory.across_runs
        if made.answer.exact and "[" not in facts.address and not has_code:
            recording = recording_from_run(store, run, result_of(store, run))
            _take_outputs(made, played(workflow, loop, rule, recording), rule if check else None)
        answers.append(made)
    return answers


def runs_of_version(
    store: SqliteStore, workflow: str, version: str = ""
) -> tuple[list[RunId], int]:
    """Returns the ended runs of one version (by default the newest), and the number of others."""
    by: dict[str, list[RunId]] = {}
    for row in store.list_runs(RunFilter(name=workflow), RUNS_MAX):
        if row.status in ("succeeded", "failed") and MOCKED not in row.labels:
            by.setdefault(content_hash(store.workflow(row.id)), []).append(row.id)
    if not by:
        advice = "`whorl ls --all` lists runs and their workflows"
        raise UsageError(f"no run of {workflow!r} has ended", help=advice, code="X110")
    found = [name for name in by if name.startswith(version)]
    if len(found) != 1 and version:
        words = f"the runs are of {plural(len(by), 'version')} of the workflow, but not {version!r}"
        raise UsageError(words, help=f"known: {', '.join(n[:12] for n in by)}", code="X110")
    return by.pop(found[0]), sum(map(len, by.values()))


def run_facts(
    store: SqliteStore, run: RunId, loop_name: str = ""
) -> tuple[Loop, loop_facts.Subject]:
    """Returns a loop of a run with its facts; iterations have no grade but their score."""
    loop = find_loop(shown_workflow(store, run), loop_name)
    found = loop_facts.facts_of(store, run, loop_facts.atoms_in([loop.until]), loop=loop.name)
    if not found:
        raise UsageError(f"run {run} has not reached loop {loop.name!r}", code="X109")
    is_priced = not unpriced_in(end_of(store, run))
    return loop, loop_facts.Subject(found[0], {}, is_priced=is_priced)


def _as_it_was(facts: LoopFacts) -> Answer:
    return Answer(
        True,
        iterations=facts.made,
        returned=facts.returned,
        exit_reason=facts.exit_reason,
        stopped_by=facts.stopped_by,
        usage=facts.usage,
        in_doubt=sum(c.is_in_doubt for row in facts.iterations[: facts.made] for c in row.calls),
    )


def with_rule(workflow: Workflow, loop: Loop, rule: Rule) -> Workflow:
    limits = LoopLimits(
        iterations=rule.at_most,
        iteration_time_s=loop.limits.iteration_time_s,
        interrupts=loop.limits.interrupts,
    )
    returns: Any = rule.returns
    changed = replace(loop, until=rule.until, limits=limits, returns=returns, facts=rule.names)
    return with_loop(workflow, loop, changed)


def played(workflow: Workflow, loop: Loop, rule: Rule, recording: Recording) -> Replayed:
    """Runs the workflow with the rule against the recorded replies."""
    numbers = _judges(rule.until)
    places = {n: numbers.get(atom) for atom, n in _judges(loop.until).items()}

    def moved(address: str) -> str | None:
        """Returns the new address of a judge's call, or None if the rule has no such judge."""
        at = _ASKED.fullmatch(address)
        if at is None or at["loop"] != loop.name:
            return address
        number = places.get(int(at["number"] or 1))
        word = "" if number == 1 else str(number)
        return None if number is None else f"{at['before']}:judge{word}{at['attempt']}"

    calls = {place: call for a, call in recording.calls.items() if (place := moved(a)) is not None}
    options = {n: v for n, v in recording.options.items() if n != "iterations"}
    return replay(with_rule(workflow, loop, rule), replace(recording, calls=calls, options=options))


def _judges(until: Condition | None) -> dict[str, int]:
    """Returns the judges of a rule, each with its number."""
    return {
        loop_facts.atom_of(judge): n for n, judge in enumerate(loop_plan(until).judges.values(), 1)
    }


def _take_outputs(made: WhatIf, played: Replayed, checked: Rule | None) -> None:
    """Takes the outputs of a replay; raises InternalError if a checked rule did otherwise."""
    result: dict[str, Any] = played.result
    # Else a step behind the loop would make a call that was not recorded.
    is_known = not (played.misses or played.changes)
    if is_known and result["status"] == "succeeded":
        made.outputs = result["outputs"]
    if checked is None:
        return
    names = ("iterations", "exit_reason", "stopped_by", "returned_iteration")
    found: dict[str, Any] = {name: getattr(made.answer, name, None) or None for name in names}
    found["returned_iteration"] = made.answer.returned
    rows = [row for row in result["loops"] if row["path"] == made.loop]
    replayed = [{name: row[name] or None for name in names} for row in rows]
    if replayed != [found]:
        of = f"what-if of run {made.run}, {rule_words(checked)!r}, differs from its replay"
        raise InternalError(f"{of}: {found} is not {replayed}; please report it")


def written(loop: Loop, rule: Rule) -> list[str]:
    """Returns a rule in the words of the native format, to be copied into a file."""
    import json

    document = parse("{}\n", "<rule>")
    context = Context(document, NoFiles(), kinds=KINDS)  # type: ignore[arg-type]
    context = context.within(blocks=[loop.body])
    lines = []
    if rule.until is not None:
        try:
            until = json.dumps(CONDITION.write(context, rule.until), ensure_ascii=False)
            lines.append(f"until: {until}")
        except (CannotWriteError, KeyError):
            lines.append("until: (as it is)")
    return [*lines, f"at_most: {rule.at_most}", f"return: {rule.returns}"]


def document_of(sweep: Sweep, loop: Loop) -> dict[str, Any]:
    """Returns a sweep as JSON for programs."""
    chosen, own, names = sweep.recommended, sweep.own, atom_names(loop)
    return {
        "sweep": 1,
        "loop": sweep.loop,
        "runs": sweep.runs,
        "trials": sweep.trials,
        "rules": [_row(result, names, n in sweep.frontier) for n, result in enumerate(sweep.rules)],
        "not_ranked": [_row(result, names) for result in sweep.not_ranked],
        "own": None if own is None else own.words,
        "recommended": None if chosen is None else chosen.words,
        "not_recommended": sweep.not_recommended,
        "honest": sweep.honest or None,
        "ideal": {
            name: {"grade": finite(grade), "cost_usd": finite(cost), "iterations": finite(count)}
            for name, (grade, cost, count) in sweep.ideal.items()
        },
        "curve": {name: [*map(finite, row)] for name, row in sweep.curve.items()},
        "bands": sweep.bands,
        "words": sweep.words,
        "use": [] if chosen is None else written(loop, chosen.rule),
    }


def _row(result: RuleResult, names: dict[str, str], is_frontier: bool = False) -> dict[str, Any]:
    count = len(result.grades)
    return {
        "rule": result.words,
        "at_most": result.rule.at_most,
        "return": result.rule.returns,
        "grade": result.grade if count else None,
        "cost_usd": finite(result.cost_usd),
        "iterations": sum(result.iterations) / count if count else None,
        "to_best": result.to_best and result.to_best.document(),
        "is_frontier": is_frontier,
        "unknown": result.unknown,
        "why": result.why,
        "bounds": result.bounds,
        # With the same names as in the facts, so that programs can answer the rule themselves.
        "asked": rule_document(result.rule, names),
    }


# The facts of recorded runs, for programs that answer rules themselves, such as the page.

# The numbers of a condition, which a rule may change.
_NUMBERS = ("at_least", "low", "high", "threshold", "patience", "min_delta", "votes")


def facts_document(
    loop: Loop, subjects: Sequence[loop_facts.Subject], margin: float
) -> dict[str, Any]:
    """Returns all facts for answering rules over these runs; `obstacle...` are for other rules."""
    names, own = atom_names(loop), own_rule(loop)
    # Another condition that ranks iterations by the same score.
    other = None if loop.until is None else AllOf((loop.until,))
    most = 1 if own is None else own.at_most + 1
    changes: dict[str, dict[str, Any]] = {
        "obstacle": {},
        "obstacle_at_most": {"at_most": most},
        "obstacle_score": {"until": None},
        "obstacle_until": {"until": other},
    }
    return {
        "facts": 1,
        "loop": loop.name,
        "margin": margin,
        "own": None if own is None else rule_document(own, names),
        "check": loop.check,
        "on_limit": loop.on_limit,
        "sees_best": reads_best(loop),
        "on_failure": loop.on_iteration_failure.action,
        "failed_grade": subjects[0].failed_grade if subjects else None,
        **{n: (own and obstacle(loop, replace(own, **each))) or "" for n, each in changes.items()},
        "runs": [_run(subject, names) for subject in subjects],
    }


def atom_names(loop: Loop) -> dict[str, str]:
    """Returns the short names of what the rule of a loop reads."""
    return {atom: f"a{n}" for n, atom in enumerate(loop_facts.atoms_in([loop.until]))}


def rule_document(rule: Rule, names: dict[str, str]) -> dict[str, Any]:
    until = None if rule.until is None else _condition_document(rule.until, names)
    return {"until": until, "at_most": rule.at_most, "return": rule.returns, "limits": {}}


def _condition_document(condition: Condition, names: dict[str, str]) -> dict[str, Any]:
    """Returns a condition as JSON: `any` or `all` of several, or a kind with atom and numbers."""
    if isinstance(condition, AnyOf | AllOf):
        parts = [_condition_document(part, names) for part in condition.conditions]
        return {"all" if isinstance(condition, AllOf) else "any": parts}
    is_branch = isinstance(condition, BranchTaken)
    made: dict[str, Any] = {"kind": "branch" if is_branch else type(condition).__name__.lower()}
    if (atom := names.get(loop_facts.atom_of(condition))) is not None:
        made["atom"] = atom
    known = {each.name for each in fields(condition)}
    made |= {name: getattr(condition, name) for name in _NUMBERS if name in known}
    if isinstance(condition, BranchTaken):
        made["branch"] = condition.name
    question = condition.question if isinstance(condition, Judge) else None
    words = getattr(question, "value", None) or getattr(question, "source", None)
    return made | {"words": str(words or leaf_words(condition))}


def _run(subject: loop_facts.Subject, names: dict[str, str]) -> dict[str, Any]:
    facts = subject.facts
    same = ("run", "steered", "returned", "made", "exit_reason")
    return {
        **{name: getattr(facts, name) for name in same},
        "case": subject.case,
        "group": subject.group,
        "outside_usd": facts.outside.get("cost_usd", 0.0),
        "is_priced": subject.is_priced,
        "ahead": facts.ahead and _iteration(facts.ahead, subject, names),
        "iterations": [_iteration(row, subject, names) for row in facts.iterations],
    }


def _iteration(
    row: IterationFacts, subject: loop_facts.Subject, names: dict[str, str]
) -> dict[str, Any]:
    votes = {short: _votes(row, atom) for atom, short in names.items()}
    asked = {names[call.judge] for call in row.calls if call.judge in names}
    known = names | {loop_facts.HANDED_OVER: loop_facts.HANDED_OVER}
    return {
        **{name: getattr(row, name) for name in ("number", "by", "is_judged", "is_approved")},
        "status": "held up" if row.has_waited and row.status == "failed" else row.status,
        "atoms": {known[atom]: value for atom, value in row.atoms.items() if atom in known},
        "body_usd": sum(c.usage.get("cost_usd", 0.0) for c in row.calls if not c.judge),
        "votes": {short: cast for short, cast in votes.items() if cast},
        # Judges that were asked, and gave no vote.
        "failed": [short for short, cast in votes.items() if short in asked and not cast],
        "grade": subject.grades.get(row.number),
        "is_solved": row.number in subject.solved,
    }


def _votes(row: IterationFacts, atom: str) -> list[dict[str, Any]]:
    """Returns the votes of a judge in an iteration, each with its cost."""
    costs = iter([call.usage.get("cost_usd", 0.0) for call in row.calls if call.judge == atom])
    return [
        {"verdict": verdict, "cost_usd": sum(islice(costs, took))}
        for verdict, took in loop_facts.votes_in(row.calls, atom)
    ]


# The outputs of a run if its loop had returned another iteration.
#
# If the outputs follow from the loop alone, they are computed. If steps are behind or beside it,
# the workflow is played against the recorded replies. A step with another call than the recorded
# one has no reply, so the outputs are then unknown.


class IterationOutputs:
    """The outputs of one recorded run by the iteration that its loop would have returned."""

    def __init__(
        self, store: SqliteStore, workflow: Workflow, loop: Loop, outcome: Outcome
    ) -> None:
        self._store, self._workflow, self._loop, self._outcome = store, workflow, loop, outcome
        self._follow = _follow_from(workflow, loop)
        self._can_play = not depends_on_end(workflow, loop)

    def of(self, number: int, results: dict[str, Any]) -> Any:
        """Returns the outputs, None if they are unknown, or FAILED if the run would have failed."""
        if self._follow:
            return self._computed(results)
        if not self._can_play:
            return None
        rule = Rule(None, number, "last", self._loop.facts)
        # In a separate thread, since the caller may be in an event loop, and a replay has its own.
        with ThreadPoolExecutor(1) as pool:
            of = (self._workflow, self._loop, rule, self._recording)
            found = pool.submit(played, *of).result()
        if found.misses or found.changes:
            return None
        if found.result["status"] == "failed":
            return FAILED
        outputs: Any = found.result["outputs"]
        return dict(outputs) if found.result["status"] == "succeeded" else None

    @cached_property
    def _recording(self) -> Recording:
        assert self._outcome.run is not None
        result = result_of(self._store, self._outcome.run)
        return recording_from_run(self._store, self._outcome.run, result)

    def _computed(self, results: dict[str, Any]) -> dict[str, Any]:
        names = check_inputs(self._workflow, self._outcome.trial.inputs)
        scope = MappingScope({**names, self._loop.name: results | {"loop": {}}})
        outputs: dict[str, Any] = {}
        for name, value in self._workflow.outputs:
            with suppress(LanguageError):
                outputs[name] = value_of(value, scope)
        return outputs


def _follow_from(workflow: Workflow, loop: Loop) -> bool:
    """Returns whether the outputs follow from the result of the loop, without steps behind it."""
    if not any(node is loop for node in workflow.body.nodes):
        return False
    read = Names().in_values([value for _, value in workflow.outputs])
    known = {loop.name, *(port.name for port in workflow.inputs)}
    followers = [n for n in workflow.body.nodes if any(a.node == loop.name for a in n.after)]
    return read <= known and not followers


def depends_on_end(workflow: Workflow, loop: Loop) -> bool:
    """Returns whether the steps behind the loop depend on more than the returned iteration.

    Such as the number of iterations, or a variable. Also True if the loop is inside another one.
    """
    if _follow_from(workflow, loop):
        return False
    nodes = list(walk(workflow.body))
    own = next((path for path, node in nodes if node is loop), None)
    if own is None or workflow.variables:
        return True
    if any(isinstance(n, Loop) and own.startswith(f"{path}/") for path, n in nodes):
        return True
    outside = [node for path, node in nodes if path != own and not path.startswith(f"{own}/")]
    values: list[Value | None] = [value for _, value in workflow.outputs]
    values += [value for node in outside for value in outer_values(node)]
    names = Names()
    with suppress(LanguageError):
        uses = [use for v in values for e in expressions_in(v) for use in names.uses(e)]
        of_loop = [use.path for use in uses if use.name == loop.name]
        return any(not path or path[0] == "loop" for path in of_loop)
    return True

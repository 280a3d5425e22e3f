"""Asking what another rule would have done in one recorded run, and telling it to programs."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.dialects.files import NoFiles
from whorl.dialects.native.context import CannotWriteError, Context
from whorl.dialects.native.loop import CONDITION
from whorl.dialects.native.steps import KINDS
from whorl.dialects.reader import parse
from whorl.errors import InternalError, UsageError, plural
from whorl.interpreter.plan import loop_plan
from whorl.ir import content_hash, from_json
from whorl.ir.nodes import LoopLimits
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.listing import RunFilter
from whorl.services.files.preflight import find_loop
from whorl.services.inspecting.results import result_of
from whorl.services.replay import cassette_from_run, replay
from whorl.wings.experiments.reporting.statistics import finite
from whorl.wings.experiments.trials import unpriced_in
from whorl.wings.experiments.variants import rule_from_text, with_loop
from whorl.wings.experiments.what_if.evaluate import answer
from whorl.wings.experiments.what_if.exporting import atom_names, rule_document
from whorl.wings.experiments.what_if.facts import Subject, atom_of, atoms_in
from whorl.wings.experiments.what_if.loop_facts import facts_of
from whorl.wings.experiments.what_if.rules import Answer, Rule, own_rule, rule_words

if TYPE_CHECKING:
    from whorl.ir import Condition, Loop, Workflow
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.replay import Cassette, Replayed
    from whorl.wings.experiments.what_if.facts import LoopFacts
    from whorl.wings.experiments.what_if.rule_results import RuleResult
    from whorl.wings.experiments.what_if.sweep import Sweep

RUNS_MAX = 1_000
# How many iterations, or limits by name, or these as YAML.
AtMost: TypeAlias = int | str | dict[str, Any] | None
# The words of the native format for limits; a time without a unit is in seconds.
_LIMITS = {"cost_usd": "cost", "tokens": "tokens", "calls": "calls", "time_s": "time"}
_TIMED = frozenset({"task.started", "task.finished", "task.failed"})
# A call of a judge: of which loop, which of its judges, and which attempt.
_ASKED = re.compile(
    r"(?P<before>(?:.*/)?(?P<loop>[^/\[]+)\[[0-9]+\](?:#[0-9]+)?/)"
    r":judge(?P<number>[0-9]*)(?P<attempt>(?:#[0-9]+)?)"
)


@dataclass(slots=True)
class WhatIf:
    """What a rule would have done in a run, beside what the run did.

    `outputs` are those of the run under the rule, where no step behind the loop makes a call;
    `results` are those of the iteration that it returns, by step. `remembers`: the run has seen
    what other runs left, so that several of them are no sample. So many calls of the run are
    `unpriced`: what it cost, and would have cost, is not known then.
    """

    run: str
    loop: str
    as_it_was: Answer
    answer: Answer
    outputs: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    remembers: bool = False
    workflow: str = ""
    unpriced: int = 0

    def document(self) -> dict[str, Any]:
        made: dict[str, Any] = {"run": self.run, "loop": self.loop, "outputs": self.outputs}
        made |= {"unpriced_calls": self.unpriced}
        made |= {"as_it_was": asdict(self.as_it_was), "answer": asdict(self.answer)}
        for each in (made["as_it_was"], made["answer"]) if self.unpriced else ():
            each["usage"] = each["usage"] | {"cost_usd": None}
        return made

    def cost_of(self, answer: Answer) -> float | None:
        """What the run cost, or would have; None: a model of it has no price."""
        return None if self.unpriced else answer.usage.get("cost_usd", 0.0)


def rule_of(
    workflow: Workflow,
    loop: Loop,
    *,
    until: str = "",
    at_most: AtMost = None,
    returns: str | None = None,
) -> Rule:
    """The rule of a loop with some of it changed, in the words of the native format."""
    changed = rule_from_text(until, loop, workflow, at_most=at_most, **{"return": returns})
    rule = own_rule(changed)
    if rule is None:
        raise UsageError(f"a limit of {loop.name!r} is computed; give --at-most", code="X106")
    return rule


def what_if_of(
    store: SqliteStore,
    run: RunId,
    loop_name: str = "",
    *,
    check: bool = False,
    until: str = "",
    at_most: AtMost = None,
    returns: str | None = None,
) -> WhatIf:
    """What a rule would have done in a run; `check` replays the answer through the engine.

    Of a loop inside another one, in its first one.
    """
    rule = {"until": until, "at_most": at_most, "returns": returns}
    return what_ifs_of(store, run, loop_name, check=check, **rule)[0]  # type: ignore[arg-type]


def what_ifs_of(
    store: SqliteStore,
    run: RunId,
    loop_name: str = "",
    *,
    check: bool = False,
    until: str = "",
    at_most: AtMost = None,
    returns: str | None = None,
) -> list[WhatIf]:
    """The same for each loop of that name: one that is inside another loop is there many times."""
    workflow = from_json(store.workflow(run))
    loop = find_loop(workflow, loop_name)
    rule = rule_of(workflow, loop, until=until, at_most=at_most, returns=returns)
    atoms = atoms_in([loop.until, rule.until])
    names = dict(rule.names)
    found = facts_of(store, run, atoms, loop=loop.name, names=names, keep_results=True)
    if not found:
        raise UsageError(f"run {run} has not reached loop {loop.name!r}", code="X109")
    unpriced, answers = _unpriced(store, run), []
    for facts in found:
        made = WhatIf(str(run), facts.address, _as_it_was(facts), answer(facts, loop, rule))
        made.results = facts.results.get(made.answer.returned or 0)
        made.workflow, made.unpriced = workflow.name, unpriced
        made.remembers = loop.memory is not None and loop.memory.across_runs
        if made.answer.exact and "[" not in facts.address:
            cassette = cassette_from_run(store, run, result_of(store, run))
            cassette = with_seconds(cassette, store, run) if made.answer.by_clock else cassette
            _take_outputs(made, played(workflow, loop, rule, cassette), rule if check else None)
        answers.append(made)
    return answers


def runs_of_version(
    store: SqliteStore, workflow: str, version: str = ""
) -> tuple[list[RunId], int]:
    """The ended runs of one version of a workflow, by default the newest, and how many others."""
    rows = store.list_runs(RunFilter(name=workflow), RUNS_MAX)
    by: dict[str, list[RunId]] = {}
    for row in rows:
        if row.status in ("succeeded", "failed"):
            by.setdefault(content_hash(store.workflow(row.id)), []).append(row.id)
    if not by:
        advice = "`whorl ls --all` lists runs and their workflows"
        raise UsageError(f"no run of {workflow!r} has ended", help=advice, code="X109")
    found = [name for name in by if name.startswith(version)]
    if len(found) != 1 and version:
        words = f"the runs are of {plural(len(by), 'version')} of the workflow, but not {version!r}"
        raise UsageError(words, help=f"known: {', '.join(n[:12] for n in by)}", code="X110")
    return by[found[0]], sum(map(len, by.values())) - len(by[found[0]])


def run_facts(store: SqliteStore, run: RunId, loop_name: str = "") -> tuple[Loop, Subject]:
    """A loop of a run with its facts; iterations have no grade but their score."""
    loop = find_loop(from_json(store.workflow(run)), loop_name)
    found = facts_of(store, run, atoms_in([loop.until]), loop=loop.name)
    if not found:
        raise UsageError(f"run {run} has not reached loop {loop.name!r}", code="X109")
    return loop, Subject(found[0], {}, is_priced=not _unpriced(store, run))


def _unpriced(store: SqliteStore, run: RunId) -> int:
    """How many calls of a run had no known price; 0 where it has not ended."""
    ends = [entry.event.body for entry in store.read(run, kinds=frozenset({"run.finished"}))]
    return unpriced_in(ends[-1]) if ends else 0


def _as_it_was(facts: LoopFacts) -> Answer:
    return Answer(
        True,
        iterations=facts.made,
        iteration=facts.made,
        returned=facts.returned,
        exit_reason=facts.exit_reason,
        stopped_by=facts.stopped_by,
        usage=facts.usage,
        in_doubt=sum(c.is_in_doubt for row in facts.iterations[: facts.made] for c in row.calls),
    )


def with_rule(workflow: Workflow, loop: Loop, rule: Rule) -> Workflow:
    budgets: Any = dict(rule.limits)
    limits = LoopLimits(
        iterations=rule.at_most,
        iteration_time_s=loop.limits.iteration_time_s,
        interrupts=loop.limits.interrupts,
        **budgets,
    )
    returns: Any = rule.returns
    changed = replace(loop, until=rule.until, limits=limits, returns=returns, facts=rule.names)
    return with_loop(workflow, loop, changed)


def played(workflow: Workflow, loop: Loop, rule: Rule, cassette: Cassette) -> Replayed:
    """Runs the workflow with the rule against the recorded replies."""
    numbers = _judges(rule.until)
    places = {n: numbers.get(atom) for atom, n in _judges(loop.until).items()}

    def moved(address: str) -> str | None:
        """Where a judge is asked stands in its address; None: the rule does not ask it."""
        at = _ASKED.fullmatch(address)
        if at is None or at["loop"] != loop.name:
            return address
        number = places.get(int(at["number"] or 1))
        word = "" if number == 1 else str(number)
        return None if number is None else f"{at['before']}:judge{word}{at['attempt']}"

    calls = {place: call for a, call in cassette.calls.items() if (place := moved(a)) is not None}
    options = {n: v for n, v in cassette.options.items() if n != "iterations"}
    return replay(with_rule(workflow, loop, rule), replace(cassette, calls=calls, options=options))


def with_seconds(cassette: Cassette, journal: Journal, run: RunId) -> Cassette:
    """The replies of a run with how long each call took, for rules that have a time limit."""
    calls, began = {address: dict(call) for address, call in cassette.calls.items()}, {}
    for entry in journal.read(run, kinds=_TIMED):
        event = entry.event
        if event.kind == "task.started":
            began[event.address] = event.at
        elif event.address in calls:
            calls[event.address]["seconds"] = event.at - began.get(event.address, event.at)
    return replace(cassette, calls=calls)


def _judges(until: Condition | None) -> dict[str, int]:
    """The judges of a rule, each with its number."""
    return {atom_of(judge): n for n, judge in enumerate(loop_plan(until).judges.values(), 1)}


def _take_outputs(made: WhatIf, played: Replayed, checked: Rule | None) -> None:
    """The outputs of a replay; raises InternalError where a rule that is checked did otherwise."""
    result: dict[str, Any] = played.result
    # Else a step behind the loop was never asked so.
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
        raise InternalError(f"I901: {of}: {found} is not {replayed}; please report it")


def written(loop: Loop, rule: Rule) -> list[str]:
    """A rule in the words of the native format, to be copied into a file."""
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
    limits = {_LIMITS[name]: amount for name, amount in rule.limits}
    most = json.dumps({"iterations": rule.at_most, **limits}) if limits else rule.at_most
    return [*lines, f"at_most: {most}", f"return: {rule.returns}"]


def document_of(sweep: Sweep, loop: Loop) -> dict[str, Any]:
    """A sweep as programs get it."""
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
    to_best = result.to_best
    count = len(result.grades)
    return {
        "rule": result.words,
        "at_most": result.rule.at_most,
        "return": result.rule.returns,
        "grade": result.grade if count else None,
        "cost_usd": finite(result.cost_usd),
        "iterations": sum(result.iterations) / count if count else None,
        "to_best": to_best and {"value": to_best.value, "low": to_best.low, "high": to_best.high},
        "is_frontier": is_frontier,
        "unknown": result.unknown,
        "why": result.why,
        "bounds": result.bounds,
        # In the words of the facts that programs get, so that they can answer it themselves.
        "asked": rule_document(result.rule, names),
    }

"""Writes tests/journals/VERSION/*.json: a journal of every construct, as this version writes it.

    PYTHONPATH=src:tests python tools/record_journals.py v1

Done once for each format of the journal. What was recorded is never recorded again, since every
later version must replay it; only a format that nobody has used yet may be overwritten (--again).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from conformance.literate import load_cases, read_cases
from journals.recorded import RECORDED_ONLY, Recorded, record
from whorl.interfaces.python.loading import project_of
from whorl.wings.cluster.messages import LOG_MAX, with_log

JOURNALS = Path(__file__).parent.parent / "tests" / "journals"

# What is recorded, by the name of its file: a case of conformance/ for each construct.
CASES = {
    "task": "steps/work: An agent, a command, a request and a task by name",
    "task-typed": "steps/work: An answer that does not fit is repaired once",
    "task-retry": "steps/retry: Retry on some faults only",
    "task-timeout": "steps/retry: A time for a step",
    "block-order": "steps/order: After a timeout, after anything",
    "variables": "steps/work: Variables of the run",
    "expression-failure": "steps/work: An expression that cannot be computed fails its step",
    "branch": "steps/branches: If, then, else",
    "branch-choose": "steps/branches: Choose by a value",
    "together": "steps/each: Steps side by side",
    "each": "steps/each: Items one after the other",
    "each-failure": "steps/each: A failed item fails the step after all items are done",
    "call": "loops/nesting: Another workflow in a loop",
    "wait": "steps/waits: Waiting",
    "gate": "steps/waits: Asking a person",
    "break": "loops/jumps: Break of an outer loop",
    "continue": "loops/jumps: Continue ends an iteration",
    "stop": "loops/jumps: Stop ends the run",
    "until-expression": "loops/until: An expression stops the loop",
    "until-score": "loops/until: A score stops the loop",
    "until-judge": "loops/until: A judge whose answer is unclear is asked once more",
    "until-stable": "loops/until: Two results in a row that are alike stop the loop",
    "until-stable-exceeded": "studio/loops: Stable: the threshold must be exceeded",
    "until-plateau": "loops/until: No better score for some iterations stops the loop",
    "until-branch": "loops/until: The branch that a step took stops the loop",
    "until-person": "loops/people: A person after each iteration",
    "until-nested": "loops/until: Conditions nest",
    "limit-iterations": "loops/until: A loop that never meets its condition ends at its limit",
    "limit-time": "loops/limits: A time for each iteration",
    "limit-asks": "loops/limits: Who continues at a limit gives more iterations",
    "budget-pauses": "loops/limits: A paused run goes on with more money",
    "budget-ends": "loops/budgets: An iteration that a budget stopped goes on where it stood",
    "carry": "loops/carry: A value for the first iteration",
    "memory": "loops/carry: Records of past iterations",
    "best": "loops/results: The best iteration",
    "collect": "loops/results: Named results beside the returned iteration",
    "iteration-failure": "loops/failure: A failed iteration can be tried again",
    "nested-loops": "loops/nesting: Loops side by side",
    "continued": "loops/people: Continuing a run that has ended",
    "accepted": "loops/people: Accepting an iteration",
    "resumed": "loops/failure: Resuming a failed run tries again only what failed",
    "resumed-branch": "runs/resuming: A branch whose condition failed is decided again",
    "paused": "runs/control: Resuming a paused run",
    "cancelled": "runs/control: Cancelling",
    "waiting": "runs/ends: A run that waits",
    "forked": "runs/forks: A fork redoes an iteration and keeps those before it",
    "forked-nested": "runs/forks: A fork of a nested loop",
    "inputs": "runs/inputs: Inputs and their defaults",
    "secret": "runs/secrets: The call that a secret is for has it",
    "block-cancels": "mcp-cli/steps: After a failure everything else is cancelled",
    "block-halts": "mcp-cli/steps: Independent steps run side by side where `parallel` is set",
    "branch-when": "studio/nesting: A router inside of a loop that is decided by another one",
    "budget-loop": "loops/limits: The message of a budget names what raises it",
    "budget-run": "loops/limits: Tokens, calls and time for the whole run",
    "call-order": "steps/calls: A workflow in the file that calls it",
    "call-retry": "mcp-cli/items: An item is tried again",
    "described": "mcp-cli/steps: The input goes through steps in order",
    "each-halts": "shodan/loops: A for-each gives what its mappings name",
    "each-ports": "shodan/loops: For each item of a list, several at once",
    "each-item-timeout": "mcp-cli/items: Each item has its time",
    "each-timeout": "mcp-cli/items: All items together have their time",
    "gate-approves": "steps/waits: Silence may mean yes",
    "gate-fails": "studio/nodes: An approval lets its input through",
    "gate-rejects": "steps/waits: An answer that comes too late",
    "limit-between": (
        "loom/azure: The time of Azure's Until interrupts nothing: "
        "the next iteration does not begin"
    ),
    "limit-person": "loops/people: A person at the limit",
    "limit-rejected": "loops/limits: Who rejects at a limit fails the loop",
    "limit-times-out": "loom/azure: With FailWhenLimitsReached it is one",
    "loop-delay": "loops/failure: A wait between iterations",
    "loop-timeout": "loops/nesting: A loop that has a time limit as a step",
    "loop-when": "mcp-cli/loops: A loop as a step",
    "session": "loops/nesting: A conversation over iterations",
    "stop-cancels": "loops/jumps: Stop can cancel the run",
    "stop-fails": (
        "loom/azure: A structured condition, a switch with numbers, and a run that is terminated"
    ),
    "stop-called": (
        "loom/azure: A Terminate ends the workflow that it stands in, and whoever called it goes on"
    ),
    "task-echo": "loom/outside: A record tells what an action was given",
    "task-secure": "loom/outside: A fault of a secure action in our own words is told by its kind",
    "task-total-time": "studio/nodes: An HTTP request",
    "until-judge-model": "loops/until: A judge can be another model and read another step",
    "until-pattern": "loops/until: A score is read from a text by a pattern",
    "variables-join": "loom/variables: What actions on variables give",
    "wait-timeout": "steps/waits: A wait that is longer than its step may take",
    "wait-until": "steps/waits: A wait until a time that is too far away",
    "seldom": "steps/work: Settings that few files have",
    "data": "loom/azure: Filter, select, join, tables and parsed JSON",
    "iteration-wait": "mcp-cli/loops: A number of retries of its own",
    "memory-across-runs": "loops/carry: Records across runs",
    "until-judge-votes": "loops/until: A judge can have several votes",
    "until-judge-evidence": "loops/until: A judge can quote its evidence",
    "until-judge-verdict": "loops/until: A judge need not be asked for its reason",
    "until-stable-part": "studio/loops: Stable: two results in a row that are alike",
    "warned": "orka/flow: A router chooses",
    "example": "shodan/loops: `take: all` makes an array",
    "task-held": "steps/waits: A call that the limits of a provider hold back",
    "doubt-repeated": "interrupted: A call in doubt is made again",
    "doubt-fails": "interrupted: A call in doubt that may be made once fails",
    "doubt-approved": "interrupted: A person makes a call in doubt again",
    "doubt-rejected": "interrupted: A person gives a call in doubt up",
    "computing": "computing: A time limit ends a loop that only computes",
    "exhausted": "computing: A run that computes for too long fails",
    "trigger-split": "loom/triggers: A run has one item of what a trigger splits on",
    "trigger-clock": "loom/triggers: A clock's trigger is started by hand",
    "trigger-recurrence": "loom/triggers: A recurrence with times of day is started by hand, too",
    "trigger-callback": "loom/triggers: An event of another system is a body",
    "trigger-polled": "loom/triggers: What is looked for elsewhere is a body, too",
    "trigger-asked": "loom/triggers: What a server asks for is given by hand, too",
    "trigger-subscribed": "loom/triggers: What another system would call with is given by hand",
    "answered": "loom/triggers: An answer that is fetched later",
    "call-awaited": "loom/triggers: A webhook waits until its address is called",
    "call-unsubscribed": "loom/triggers: A run that is cancelled unsubscribes before it ends",
}
# Programs, by the names of their functions in tests/crash/test_programs.py.
PROGRAMS = {"program": "parallel", "program-keeps": "state", "program-cluster": "left"}
# And one of each other format, for what its expressions mean.
DIALECTS = ("loom", "mcp-cli", "orka", "shodan", "studio")


def main() -> None:
    """Records what is not recorded yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="the folder below tests/journals: v1")
    parser.add_argument("--again", action="store_true", help="overwrite a format in the making")
    given = parser.parse_args()
    folder = JOURNALS / given.version
    folder.mkdir(exist_ok=True)
    recorded_only = (case for file in RECORDED_ONLY for case in read_cases(file))
    cases = {case.id: case for case in (*load_cases(), *recorded_only)}
    wanted = dict(CASES)
    for dialect in DIALECTS:
        foreign = (c for c in cases.values() if c.dialect == dialect and "outcome" in c.blocks)
        wanted[dialect] = max(foreign, key=_richness).id
    missing = sorted(set(wanted.values()) - set(cases))
    if missing:
        sys.exit(f"these cases are not there: {missing}")
    for name, case in wanted.items():
        file = folder / f"{name}.json"
        if given.again or not file.exists():
            file.write_text(record(cases[case]).text(), encoding="utf-8")
    for name, function in PROGRAMS.items():
        file = folder / f"{name}.json"
        if given.again or not file.exists():
            most = LOG_MAX if name == "program-cluster" else 0
            file.write_text(_program(function, most).text(), encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{len(wanted)} journals, {size // 1000} KB, in {folder}")


def _program(name: str, log_max: int) -> Recorded:
    """Records a run of a program, perhaps as a cluster keeps its log."""
    from crash import test_programs as programs

    blocks = {"input": {"topic": "t"}, "requests": [], "replies": programs.REPLIES}
    case: Any = SimpleNamespace(options={}, blocks=blocks | {"outcome": {"status": "succeeded"}})
    case.id, case.workflow, case.file = f"programs: {name}", "", "tests/crash/test_programs.py"
    built = programs.CASES[name].build(project_of(config={}))
    return record(case, with_log(built.ir, log_max) if log_max else built.ir)


def _richness(case: object) -> tuple[bool, int]:
    """Loops of a middle size say most."""
    text = case.workflow  # type: ignore[attr-defined]
    return "runs" not in case.options and len(text) < 900, len(text)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()

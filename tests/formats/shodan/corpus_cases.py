"""What a run of each file of the public system gives, by its own tests where it has some."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LIMIT, MET = "max_iterations", "condition_met"
CODE = "def fib(n): ..."
REVIEW = {"approved": True, "feedback": "good"}
NUMBERS = "Number 1: one\nNumber 2: two"
GOT_IT = "Got it, I remember BLUE42"


@dataclass(frozen=True)
class Case:
    """What a file is given and what comes of it.

    `says` is a part of the main output; `loops` are iterations and exit reasons; `fault` is the
    path of the error and a part of its message. Commands print `prints`, and never `silent`. The
    agents answer `replies`, by program.
    """

    says: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    loops: tuple[tuple[int, str], ...] = ()
    fault: tuple[str, str] | None = None
    prints: tuple[str, ...] = ()
    silent: str = ""
    replies: dict[str, list[Any]] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)


HELLO = {"text": "hello"}
CASES: dict[str, Case] = {
    "workflows/test-loop-dock.yaml": Case(loops=((5, MET),), outputs={"final_count": 5}),
    "workflows/test-loop-counter.yaml": Case(loops=((5, MET),), outputs={"final_count": 5}),
    "history/test-loop-counter.471c86a-inlineWorkflow.yaml": Case(loops=((5, MET),),
     outputs={"final_count": 5}),
    # Its script calculates with null, which only the shell that it was written for takes for 0.
    "docs-blocks/plan__completed__loop-primitive__L377.yaml": Case(given={"text": "5"},
     loops=((5, MET),), outputs={"final_count": 5}),
    "docs-blocks/plan__completed__progressive-results__L1379.yaml": Case(loops=((5, LIMIT),),
     prints=("Iteration 5: done",)),
    "workflows/test-constant.yaml": Case("String: Hello, Robomesh!\nNumber: 42\nBoolean: true"),
    "workflows/test-function-logic.yaml": Case("A AND B = false"),
    "workflows/test-component.yaml": Case("Original: hello\nTransformed: HELLO", HELLO),
    "workflows/test-inline-component.yaml": Case("Original: hello\nTransformed: HELLO", HELLO),
    "workflows/test-inline-component-nested.yaml": Case("Shouted: HELLO!!!", HELLO),
    "workflows/test-inline-component-reuse.yaml": Case(
        "Result 1: Hello, hello\nResult 2: Goodbye, hello", HELLO
    ),
    "workflows/test-nested-workflow.yaml": Case("SUCCESS: Nested workflow executed"),
    "workflows/nestable-greeting.yaml": Case("Greetings, Robomesh!",
     {"name": "Robomesh", "greeting": "Greetings"}),
    "workflows/test-phase2-io.yaml": Case("Received from trigger: Hello from tests!",
     {"text": "Hello from tests!"}, prints=("This is stdout output", "All tests passed!")),
    "workflows/multi-line-demo.yaml": Case("Loop result: Sum: 15",
     prints=("YAML files", "=== Report ===")),
    "workflows/test-cwd.yaml": Case("CWD: /"),
    "workflows/components/text-wrapper.yaml": Case("HELLO", {"input": "hello"}),
    # Nothing is connected in it.
    "workflows/components/json-parser.yaml": Case(given={"input": "{}"}, outputs={"output": None}),
    "workflows/test-stderr-exitcode.yaml": Case(fault=("shell-fail.status", "exit code 42"),
     prints=("This goes to stderr", "SUCCESS: Exit code 42 was captured correctly!")),
    "workflows/test-parallel/test-parallel-shell.yaml": Case(prints=("Finished A", "Finished B",
     "Finished C")),
    "workflows/test-parallel/test-parallel-failure-continue.yaml": Case(fault=("fail-node.status",
     "exit code 1"), prints=("Received: Success node starting", "This SHOULD execute")),
    "workflows/test-progressive-slow-linear.yaml": Case("Step 3 complete"),
    "workflows/test-progressive-slow-failure.yaml": Case(fault=("step2", "Step 2 failing!"),
     prints=("Step 1 success",), silent="never run"),
    # Three edges end at one input, which no node takes.
    "workflows/test-progressive-slow-parallel.yaml": Case(fault=("merge",
     "Multiple edges connected to input 'input'"),
     prints=("Fast done", "Medium done", "Slow done"), silent="All branches complete"),
    "dot-robomesh/workflows/test-wire.yaml": Case("manual"),
    "dot-robomesh/workflows/cron.yaml": Case("ran at 20"),
    "dot-robomesh/workflows/idle.yaml": Case(),
    "dot-robomesh/workflows/plan.yaml": Case("planned", HELLO, replies={"claude": ["planned"]}),
    "dot-robomesh/workflows/test-permissions.yaml": Case("ok", replies={"claude": ["ok"]}),
    "dot-robomesh/workflows/test-component.yaml": Case("Zboo boo", HELLO,
     replies={"claude": ["planned"]}),
    "workflows/test-session-persistence.yaml": Case("SUCCESS: Session persistence worked!",
     replies={"claude": [GOT_IT, "BLUE42"]}),
    "workflows/test-progressive-agent-stream.yaml": Case(NUMBERS, replies={"claude": [NUMBERS]}),
    # What the reviewer approves goes on, by the way it is connected.
    "history/test-resumable-claude-code.yaml": Case(loops=((3, LIMIT),),
     replies={"claude": [CODE, REVIEW] * 3}),
    "history/test-resumable-codex.yaml": Case(loops=((3, LIMIT),),
     replies={"codex": [CODE] * 3, "claude": [REVIEW] * 3}),
    "history/test-resumable-openai.yaml": Case(loops=((3, LIMIT),),
     replies={"openai": [CODE, REVIEW] * 3}),
}  # fmt: skip

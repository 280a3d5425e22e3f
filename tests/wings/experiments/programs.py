"""Random loops with random rules, and providers whose answers follow from what they are asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import whorl
from whorl.errors import ProviderError
from whorl.ir import Assign, Constant, Expression, Loop
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.simulated import SimulatedRuntime

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId

WHENS = (
    "review.approved",
    "iteration >= 3",
    "write | length > 54",
    "review.feedback == 'fix 2'",
    "previous is defined and previous.review.score > 0.8",
)
QUESTIONS = ("Is it good?", "Is it short?")
SCORE = {"from": "{{ review.score }}", "low": 0, "high": 1}


def drawn(*what: object) -> random.Random:
    return random.Random(hashlib.sha256(repr(what).encode()).digest())


class Answers:
    """Implements `Workers`: the reply follows from the seed, the address and the inputs."""

    def __init__(self, seed: object, failing: float = 0.0) -> None:
        self._seed, self._failing = seed, failing

    def kind(self, name: str) -> Answers:
        return self

    def effect(self, name: str, inputs: Any) -> str:
        return "outside"

    def redacted(self, value: Any) -> Any:
        return value

    def estimate(self, request: Any) -> Estimate:
        place = _place(request.address)
        cost = round(0.02 + 0.02 * drawn("estimate", self._seed, place).random(), 4)
        return Estimate(calls=1, tokens=100, cost_usd=cost)

    async def perform(self, request: Any, emit: Any) -> Reply:
        place = _place(request.address)
        r = drawn(self._seed, place, json.dumps(request.inputs, sort_keys=True, default=str))
        cost = round(0.02 * r.random(), 6)
        await asyncio.sleep(r.random() * 2)
        usage = Usage(calls=1, input_tokens=10, output_tokens=5, cost_usd=cost)
        if r.random() < self._failing:
            raise ProviderError("down", code="P101", retryable=r.random() < 0.5)
        if request.kind == "judge":
            word = r.choice(["met", "not_met", "not_met", "ambiguous"])
            return Reply({"verdict": word, "answer": word}, usage)
        if request.returns is not None:
            score = 7.5 if r.random() < 0.1 else round(r.random(), 2)
            feedback = f"fix {r.randrange(4)}"
            value = {"approved": r.random() < 0.2, "score": score, "feedback": feedback}
            return Reply(value, usage)
        return Reply("word " * 10 + r.choice("abcd") * r.randrange(1, 9), usage)


def _place(address: str) -> str:
    """Where a call is; a judge is the same one wherever it stands in a rule."""
    return re.sub(r":judge[0-9]*", ":judge", address)


def draw_shape(r: random.Random) -> Any:
    """What the body of a random loop is like."""
    return SimpleNamespace(
        failing=r.choice([0, 0, 0.06]),
        goes_on=r.random() < 0.5,
        has_break=r.random() < 0.25,
        has_continue=r.random() < 0.2,
        sees_best=r.random() < 0.3,
        is_parallel=r.random() < 0.25,
        collects=r.random() < 0.3,
        has_variable=r.random() < 0.3,
        check=r.choice(["after", "after", "before", "between"]),
        has_retry=r.random() < 0.3,
        has_inner=r.random() < 0.2,
        waits=r.random() < 0.2,
    )


def draw_tree(r: random.Random, questions: list[str], depth: int = 0) -> Any:
    kinds = ["when", "score", "stable", "plateau", "judge"]
    kind = r.choice(kinds + (["any", "all"] * 2 if depth < 2 else []))
    if kind in ("any", "all"):
        return {kind: [draw_tree(r, questions, depth + 1) for _ in range(r.randint(1, 3))]}
    if kind == "judge" and questions:
        question = questions.pop(r.randrange(len(questions)))
        return {"judge": {"question": question, "of": "write", "votes": r.randint(1, 3)}}
    if kind == "score":
        return {"score": SCORE | {"at_least": r.choice([0.3, 0.5, 0.7, 0.8, 0.9, 0.95])}}
    if kind == "stable":
        return {"stable": {"threshold": r.choice([0.8, 0.9, 0.95, 1.0]), "of": "write"}}
    if kind == "plateau":
        return {"plateau": {"patience": r.randint(1, 3), "min_delta": r.choice([0.0, 0.05])}}
    return r.choice(WHENS)


# All that a rule may read; it is met by nothing but a stroke of luck.
EVERYTHING: list[Any] = [
    {"score": SCORE},
    {"all": [*WHENS, {"stable": {"threshold": 1.0, "of": "write"}}, {"plateau": 9}]},
    *({"judge": {"question": text, "of": "write", "votes": 3}} for text in QUESTIONS),
]


def draw_rule(r: random.Random) -> dict[str, Any]:
    at_most: dict[str, Any] = {"iterations": r.randint(1, 9)}
    limit = r.choice(["", "", "", "cost", "calls", "tokens", "time"])
    if limit:
        amounts: dict[str, Any] = {"cost": [0.05, 0.1, 0.2], "calls": [4, 7], "tokens": [130, 210]}
        amounts["time"] = ["3s", "9s", "20s"]
        at_most[limit] = r.choice(amounts[limit])
    until = [{"score": SCORE}, draw_tree(r, list(QUESTIONS))]
    return {"until": until, "at_most": at_most, "return": r.choice(["last", "best", "first"])}


def program(shape: Any, rule: dict[str, Any]) -> Workflow:
    best = " {% if best is defined and best %}{{ best.write }}{% endif %}"
    asked = "Write {{ task }}. {{ feedback | default('') }}" + (best if shape.sees_best else "")
    steps: dict[str, Any] = {"write": {"ask": asked}}
    if shape.is_parallel:
        pair = {"one": {"ask": "Facts on {{ write }}"}, "two": {"ask": "More on {{ write }}"}}
        steps["both"] = {"together": pair}
    if shape.has_inner:
        inner = {"until": "more | length > 53", "at_most": 2}
        steps["inner"] = {"repeat": inner | {"steps": {"more": {"ask": "More on {{ write }}"}}}}
    fields = {"approved": "boolean", "score": "number", "feedback": "string"}
    steps["review"] = {"ask": "Review: {{ write }}", "returns": fields}
    if shape.has_retry:
        steps["review"]["retry"] = {"times": 2, "wait": "1s"}
    if shape.has_break:
        steps["halt"] = {"if": "review.score > 0.95", "break": "polish"}
    if shape.has_continue:
        steps["skip"] = {"if": "review.score < 0.2", "continue": "polish"}
    repeat = rule | {"carry": {"feedback": "{{ review.feedback }}"}, "steps": steps}
    if shape.waits:
        repeat["wait"] = "1s"
    if shape.goes_on:
        repeat["on_failure"] = "continue"
    if shape.collects:
        repeat["collect"] = {"drafts": {"all": "{{ write }}"}}
    outputs = {"text": "{{ polish.write | default('') }}", "n": "{{ polish.loop.iterations }}"}
    if shape.collects:
        outputs["drafts"] = "{{ polish.drafts }}"
    node = {"polish": {"repeat": repeat}}
    made = whorl.build("polish", node, inputs={"task": "string"}, outputs=outputs).ir
    # Some dialects check a rule between iterations, but not before the first one.
    loop: Any = replace(loop_in(made), check=shape.check)
    made = replace(made, body=replace(made.body, nodes=(loop,)))
    return _counting(made) if shape.has_variable else made


def _counting(workflow: Workflow) -> Workflow:
    """The workflow with a variable that its loop counts up, and that is read behind it."""
    count = Assign(name="count", sets=(("seen", Constant(1)),), operation="add")
    loop = loop_in(workflow)
    body = replace(loop.body, nodes=(count, *loop.body.nodes))
    return replace(
        workflow,
        body=replace(workflow.body, nodes=(replace(loop, body=body),)),
        variables=(("seen", Constant(0)),),
        outputs=(*workflow.outputs, ("seen", Expression("jinja", "{{ seen }}"))),
    )


def loop_in(workflow: Workflow) -> Loop:
    return next(node for node in workflow.body.nodes if isinstance(node, Loop))


def run(workflow: Workflow, answers: Answers, **options: Any) -> tuple[SimulatedRuntime, RunId]:
    runtime = SimulatedRuntime(answers)
    name = runtime.start(workflow, {"task": "a poem"}, run="r", **options)
    runtime.resume(name)
    return runtime, name


def notes(runtime: SimulatedRuntime, name: RunId, kind: str) -> list[dict[str, Any]]:
    """What was said of the run or of its outermost loop."""
    entries = runtime.journal.read(name, kinds=frozenset({kind}))
    return [e.event.body for e in entries if "/" not in e.event.address]

"""Random workflows: nested blocks, loops, items, branches, calls, waits, gates, jumps, budgets.

All choices come from one `Random`, so a seed names a program. Programs are small on purpose: what
goes wrong in a large one goes wrong in one of many small ones, and that one can be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from whorl import ir

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from whorl.ir.nodes import Wanted


_WANTED: tuple[tuple[Wanted, ...], ...] = (
    *((("passed",),) * 12),
    ("succeeded", "failed", "skipped", "timed_out"),
    ("failed", "timed_out"),
    ("succeeded", "skipped"),
)
_ON_FAILURE: tuple[Literal["go_on", "halt", "cancel"], ...] = ("go_on",) * 6 + ("halt", "cancel")
_NODES_MAX = 18


@dataclass(slots=True)
class _Around:
    """What surrounds a place: the loops that can be left, the names that can be read."""

    loops: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    depth: int = 0


@dataclass(slots=True)
class Programs:
    """Makes programs; `budgets` allows limits on money, tokens, calls and time.

    `foreign` allows what only converted files say.
    """

    random: Random
    budgets: bool = False
    people: bool = True
    deliveries: bool = False
    foreign: bool = False
    kinds: tuple[str, ...] = ("ask", "ask", "use")
    _count: int = 0
    _nodes: int = 0
    _called: list[str] = field(default_factory=list)

    def workflow(self) -> ir.Workflow:
        """A whole workflow, with those that it calls."""
        called = []
        for number in range(self.random.randrange(2)):
            self._nodes = _NODES_MAX - 4
            body = self.block(_Around(depth=2))
            child = ir.Workflow(name="child", body=body, variables=_VARIABLES)
            called.append((f"child{number}", child))
        self._called = [key for key, _ in called]
        self._nodes = 0
        body = self.block(_Around())
        outputs = tuple((node.name, _read(node.name)) for node in body.nodes)
        return ir.Workflow(
            name="program",
            body=body,
            outputs=outputs,
            variables=_VARIABLES,
            limits=self._run_limits(),
            workflows=tuple(called),
        )

    def block(self, around: _Around, *, is_open: bool = False) -> ir.Block:
        """Some nodes, ordered by random `after`."""
        nodes: list[ir.Node] = []
        for _ in range(self.random.choice((1, 2, 2, 3, 4))):
            names = (*around.names, *(node.name for node in nodes))
            here = _Around(around.loops, names, around.depth)
            nodes.append(self._node(here, [node.name for node in nodes]))
        if len(nodes) == 1 and isinstance(nodes[0], ir.Call):
            nodes = [replace(nodes[0], unnamed=around.depth > 0)]
        concurrency = self.random.choice((None, None, None, 1, 2))
        on_failure = self.random.choice(_ON_FAILURE) if self.foreign else "go_on"
        return ir.Block(tuple(nodes), open=is_open, concurrency=concurrency, on_failure=on_failure)

    def _node(self, around: _Around, before: list[str]) -> ir.Node:
        self._nodes += 1
        self._count += 1
        common: dict[str, Any] = {
            "name": f"n{self._count}",
            "after": self._after(before),
            "when": self._test(around) if self._chance(0.08) else None,
            "on_failure": "continue" if self._chance(0.2) else "halt",
            "retry": self._retry() if self._chance(0.15) else None,
            "timeout_s": float(self.random.randrange(1, 9)) if self._chance(0.1) else None,
            "shape": ir.Expression("jinja", "{{ it }}") if self._chance(0.05) else None,
        }
        leaves = (*(self._task,) * 8, self._compute, self._assign, self._wait)
        holders = (self._loop, self._loop, self._each, self._branch, self._group, self._call)
        makers: list[Callable[[dict[str, Any], _Around], ir.Node]] = list(leaves)
        if self._nodes < _NODES_MAX and around.depth < 4:
            makers.extend(holders * 2)
        if around.loops:
            makers.append(self._jump)
        if self.people:
            makers.append(self._gate)
        return self.random.choice(makers)(common, around)

    def _after(self, before: list[str]) -> tuple[ir.After, ...]:
        if not before or self._chance(0.25):
            return ()
        chosen = [before[-1]] if self._chance(0.8) else before
        return tuple(ir.After(name, self.random.choice(_WANTED)) for name in chosen)

    def _retry(self) -> ir.Retry:
        on = self.random.choice(((), ("*",), ("P103",)))
        return ir.Retry(self.random.randrange(1, 3), wait_s=1.0, on=on, jitter=0.1)

    def _task(self, common: dict[str, Any], around: _Around) -> ir.Task:
        delivery: Any = self.random.choice(("at_least_once",) * 8 + ("at_most_once", "ask"))
        return ir.Task(
            kind=self.random.choice(self.kinds),
            inputs=ir.Fields((("prompt", self._value(around)),)),
            delivery=delivery if self.deliveries else "at_least_once",
            session=self.random.choice(("", "", "talk")),
            **common,
        )

    def _compute(self, common: dict[str, Any], around: _Around) -> ir.Compute:
        return ir.Compute(value=self._value(around), **common)

    def _assign(self, common: dict[str, Any], around: _Around) -> ir.Assign:
        # Sums commute, so the order of things side by side does not show.
        return ir.Assign(sets=(("total", ir.Expression("jinja", "{{ total + 1 }}")),), **common)

    def _wait(self, common: dict[str, Any], around: _Around) -> ir.Wait:
        return ir.Wait(duration=ir.Constant(self.random.randrange(0, 4)), **common)

    def _gate(self, common: dict[str, Any], around: _Around) -> ir.Gate:
        return ir.Gate(
            message=ir.Constant("well?"),
            on_timeout=self.random.choice(("approve", "reject", "fail")),
            on_reject=self.random.choice(("result", "fail")),
            **common,
        )

    def _jump(self, common: dict[str, Any], around: _Around) -> ir.Node:
        common |= {"when": self._test(around), "shape": None}
        word = self.random.choice(("break", "continue") * 3 + ("stop",))
        if word == "stop":
            status: Any = self.random.choice(("succeeded", "failed", "cancelled"))
            return ir.Stop(status=status, **common)
        kind = ir.Break if word == "break" else ir.Continue
        return kind(loop=self.random.choice(around.loops), **common)

    def _inside(self, around: _Around, *names: str, loop: str = "") -> _Around:
        loops = (*around.loops, loop) if loop else around.loops
        return _Around(loops, (*around.names, *names), around.depth + 1)

    def _each(self, common: dict[str, Any], around: _Around) -> ir.ForEach:
        return ir.ForEach(
            items=ir.Constant(list(range(self.random.randrange(4)))),
            body=self.block(self._inside(around, "item")),
            concurrency=self.random.randrange(1, 4),
            item_timeout_s=self.random.choice((None, None, 4.0)),
            min_success_rate=self.random.choice((1.0, 1.0, 0.5)),
            on_item_failure=self.random.choice(("continue", "halt")),
            **common,
        )

    def _branch(self, common: dict[str, Any], around: _Around) -> ir.Branch:
        is_open = self._chance(0.5)
        inside = self._inside(around)
        default = ir.Case("no", self.block(inside, is_open=is_open)) if self._chance(0.6) else None
        case = ir.Case("yes", self.block(inside, is_open=is_open), when=self._test(around))
        return ir.Branch(cases=(case,), default=default, **common)

    def _group(self, common: dict[str, Any], around: _Around) -> ir.Group:
        return ir.Group(body=self.block(self._inside(around), is_open=True), **common)

    def _call(self, common: dict[str, Any], around: _Around) -> ir.Node:
        if not self._called:
            return self._group(common, around)
        return ir.Call(workflow=self.random.choice(self._called), **common)

    def _loop(self, common: dict[str, Any], around: _Around) -> ir.Loop:
        name = common["name"]
        body = self.block(self._inside(around, "round", loop=name))
        inside = (*around.names, *(node.name for node in body.nodes))
        names = _Around(around.loops, inside)
        until = None if self._chance(0.2) else self._condition(names, 2)
        memory = None
        if self._chance(0.1):
            memory = ir.Memory(record=ir.Fields((("n", self._value(names)),)), keep=2)
        return ir.Loop(
            body=body,
            until=until,
            check=self._check(),
            limits=self._loop_limits(),
            on_limit=self._pick("finish", "finish", "finish", "fail", "pause"),
            carry=(ir.Carry("carried", ir.Constant(0), self._value(names)),),
            returns=self._pick("last", "first", "all", "best"),
            collect=(ir.Collect("kept", self._pick("all", "best"), self._value(names)),),
            delay=ir.Constant(1) if self._chance(0.15) else None,
            on_iteration_failure=self._failure(),
            session=self._pick("fresh", "continue"),
            memory=memory,
            ask=self._pick("never", "never", "never", "each", "at_limit"),
            facts=(("round", "number"), ("previous", "previous"), ("past", "past")),
            history_keep=self.random.choice((0, 2)),
            **common,
        )

    def _pick(self, *words: str) -> Any:
        people = ("pause", "each", "at_limit")
        return self.random.choice([w for w in words if self.people or w not in people])

    def _check(self) -> Literal["after", "before", "between"]:
        checks: tuple[Literal["after", "before", "between"], ...] = ("after", "after", "before")
        return self.random.choice((*checks, "between") if self.foreign else checks)

    def _failure(self) -> ir.IterationFailure:
        action: Literal["halt", "continue", "retry"] = self._pick("halt", "continue", "retry")
        return ir.IterationFailure(action, 1, float(self.random.randrange(2)))

    def _loop_limits(self) -> ir.LoopLimits:
        iterations = self.random.randrange(1, 4)
        if not self.budgets or self._chance(0.3):
            return ir.LoopLimits(iterations)
        return ir.LoopLimits(
            iterations,
            time_s=self.random.choice((None, 3.0)),
            iteration_time_s=self.random.choice((None, 2.0)),
            cost_usd=self.random.choice((None, 0.25)),
            tokens=self.random.choice((None, 60)),
            calls=self.random.choice((None, 3)),
            interrupts=not self.foreign or self._chance(0.7),
        )

    def _run_limits(self) -> ir.RunLimits:
        if not self.budgets or self._chance(0.3):
            return ir.RunLimits()
        return ir.RunLimits(
            cost_usd=self.random.choice((None, 0.5)),
            tokens=self.random.choice((None, 150)),
            calls=self.random.choice((None, 7)),
            time_s=self.random.choice((None, None, 20.0)),
        )

    def _condition(self, around: _Around, depth: int) -> ir.Condition:
        kinds = [self._when, self._score, self._judge, self._stable, self._plateau]
        if depth:
            kinds += [self._any, self._all]
        return self.random.choice(kinds)(around, depth - 1)

    def _when(self, around: _Around, depth: int) -> ir.Condition:
        return ir.When(self._test(around))

    def _score(self, around: _Around, depth: int) -> ir.Condition:
        return ir.Score(self._value(around), at_least=self.random.choice((None, 5.0, 8.0)))

    def _judge(self, around: _Around, depth: int) -> ir.Condition:
        votes = self.random.choice((1, 1, 3))
        return ir.Judge(ir.Constant("good?"), self._value(around), votes=votes)

    def _stable(self, around: _Around, depth: int) -> ir.Condition:
        return ir.Stable(self._value(around), 0.9)

    def _plateau(self, around: _Around, depth: int) -> ir.Condition:
        return ir.Plateau(self.random.randrange(1, 3), self.random.choice((0.0, 0.0, 1.0, 3.0)))

    def _any(self, around: _Around, depth: int) -> ir.Condition:
        return ir.AnyOf(tuple(self._condition(around, depth) for _ in range(2)))

    def _all(self, around: _Around, depth: int) -> ir.Condition:
        return ir.AllOf(tuple(self._condition(around, depth) for _ in range(2)))

    def _value(self, around: _Around) -> ir.Value:
        if not around.names or self._chance(0.2):
            return ir.Constant(self.random.randrange(10))
        return _read(self.random.choice(around.names[-4:]))

    def _test(self, around: _Around) -> ir.Expression:
        # A name may stand for an object or for nothing; then the comparison fails, as it should.
        name = self.random.choice(around.names[-4:]) if around.names else "total"
        safe = f"({name} if {name} is number else 3)"
        return ir.Expression("jinja", f"{name if self._chance(0.1) else safe} > 4")

    def _chance(self, share: float) -> bool:
        return self.random.random() < share


_VARIABLES: tuple[tuple[str, ir.Value], ...] = (("total", ir.Constant(0)),)


def _read(name: str) -> ir.Expression:
    return ir.Expression("jinja", f"{{{{ {name} }}}}")

"""The fold over a journal that the live view and the plain lines share."""

from __future__ import annotations

from typing import Any

from whorl.interfaces.cli.watchers import Lines, iteration_line, lines_of
from whorl.interfaces.progress import (
    ITERATIONS_MAX,
    LOOPS_MAX,
    STEPS_MAX,
    TEXT_MAX,
    Progress,
    name_of,
)
from whorl.interpreter.events import Event
from whorl.ir import Block, Workflow
from whorl.runtimes.journal.journal import Entry, RunId


def _told(*events: tuple[str, str, float, dict[str, Any]]) -> Progress:
    progress = Progress(run="r", workflow="w")
    for kind, address, at, body in events:
        progress.take(Event(kind, address, at, body))
    return progress


def _usage(cost: float, tokens: int = 10) -> dict[str, Any]:
    return {"usage": {"calls": 1, "input_tokens": tokens, "output_tokens": 0, "cost_usd": cost}}


LOOP = ("loop.started", "l", 1.0, {"path": "l", "limits": {"iterations": 5}})


def test_tasks_are_counted_once_at_the_call() -> None:
    progress = _told(
        ("run.started", "", 1.0, {"limits": {"cost_usd": 2}}),
        ("task.started", "a", 1.0, {"inputs": {"model": "m"}}),
        ("task.failed", "a", 2.0, {"error": {"message": "busy"}, **_usage(0.1)}),
        ("task.started", "a#2", 3.0, {}),
        ("task.finished", "a#2", 5.0, {"model": "p/m", **_usage(0.2)}),
    )

    assert (progress.calls, progress.tokens) == (2, 20)
    assert round(progress.cost_usd, 9) == 0.3
    assert progress.budget_usd == 2.0
    step = progress.steps["a"]
    assert (step.state, step.attempt, step.model) == ("succeeded", 2, "p/m")
    assert (step.started_at, step.ended_at) == (3.0, 5.0)


def test_iteration_that_goes_on_with_more_money_stays_one_row() -> None:
    progress = _told(
        LOOP,
        ("iteration.finished", "l[1]", 1.0, {"status": "succeeded", "score": 0.9}),
        ("iteration.finished", "l[2]", 2.0, {"status": "succeeded", "score": 0.8, **_usage(0.1)}),
        ("loop.continued", "l", 3.0, {"limits": {"iterations": 3}}),
        ("iteration.finished", "l[2]", 4.0, {"status": "succeeded", "score": 0.8, **_usage(0.3)}),
    )

    rows = progress.loops["l"].iterations
    assert [(row.number, row.before, row.cost_usd) for row in rows] == [
        (1, None, 0.0),
        (2, 0.9, 0.3),
    ]


def test_the_past_is_bounded() -> None:
    progress = _told(LOOP)
    for number in range(1, ITERATIONS_MAX + 50):
        for kind, body in (("started", {}), ("finished", {"status": "succeeded"})):
            progress.take(Event(f"iteration.{kind}", f"l[{number}]", number, dict(body)))
    progress.take(Event("task.started", "l[999]/w", 1.0))
    for _ in range(100):
        progress.stream("l[999]/w", "x" * 100)

    for number in range(STEPS_MAX * 2):
        progress.take(Event("task.finished", f"each[{number}]/w", 1.0))

    assert len(progress.steps) <= STEPS_MAX + 1
    assert len(progress.loops["l"].iterations) == ITERATIONS_MAX
    assert len(progress.steps["l[999]/w"].text) == TEXT_MAX


def test_loops_of_items_are_bounded_and_those_under_way_stay() -> None:
    progress = _told(("loop.started", "each[1]/l", 1.0, {"path": "l"}))
    for number in range(2, LOOPS_MAX + 50):
        for kind in ("started", "finished"):
            progress.take(Event(f"loop.{kind}", f"each[{number}]/l", 1.0))

    assert len(progress.loops) == LOOPS_MAX + 1
    assert "each[1]/l" in progress.loops
    assert f"each[{LOOPS_MAX + 49}]/l" in progress.loops


def test_an_iteration_takes_all_that_lies_in_it_away() -> None:
    progress = _told(
        ("loop.started", "l", 1.0, {}),
        ("iteration.started", "l[1]", 1.0, {}),
        ("task.started", "l[1]/all[1]/w", 1.0, {}),
        ("loop.started", "l[1]/all[2]/inner", 2.0, {}),
        ("iteration.started", "l[1]/all[2]/inner[1]", 2.0, {}),
        ("task.started", "l[1]/all[2]/inner[1]/w", 2.0, {}),
        ("task.started", "lo", 2.0, {}),
    )
    progress.take(Event("iteration.finished", "l[1]", 3.0, {"status": "succeeded"}))

    assert list(progress.steps) == ["lo"]
    assert list(progress.loops) == ["l"]


def test_who_joins_a_run_takes_no_entry_twice() -> None:
    events = [
        Event("run.started", "", 1.0),
        Event("loop.started", "l", 1.0),
        Event("iteration.started", "l[1]", 1.0),
        Event("iteration.finished", "l[1]", 2.0, {"status": "succeeded", "score": 0.41}),
        Event("iteration.started", "l[2]", 2.0),
    ]
    entries = [Entry(seq, event) for seq, event in enumerate(events, start=1)]
    watcher = Lines()
    watcher.begin(Progress(run="r"), Workflow(name="w", body=Block(())))

    watcher.entries(RunId("r"), entries[:4])
    watcher.entries(RunId("r"), entries[2:])

    assert [row.number for row in watcher.progress.loops["l"].iterations] == [1]
    assert (watcher.progress.loops["l"].number, watcher.progress.last_seq) == (2, 5)


def test_branches_and_gates_are_steps_too() -> None:
    progress = _told(
        ("node.finished", "pick", 1.0, {"branch": "then"}),
        ("node.skipped", "extra", 1.0, {"cause": "condition"}),
        ("gate.waiting", "check", 1.0, {"message": "Publish?"}),
        ("gate.waiting", "l/:limit", 1.0, {"message": "More?"}),
        ("gate.decided", "check", 2.0, {"approved": False}),
    )

    states = {step.address: step.state for step in progress.steps.values()}
    assert states == {"pick": "succeeded", "extra": "skipped", "check": "rejected"}
    assert progress.steps["pick"].branch == "then"
    assert list(progress.waiting) == ["l/:limit"]


def test_names_in_addresses() -> None:
    assert name_of("polish[3]/review#2") == "review"
    assert name_of("polish[3]/:judge") == "judge"
    assert name_of("a%2Fb[1]") == "a/b"


def test_lines_say_what_matters() -> None:
    progress = _told(LOOP, ("iteration.started", "l[1]", 1.0, {}))
    facts = [{"by": "score", "met": False, "score": 0.4, "at_least": 0.9}]
    body: dict[str, Any] = {"status": "succeeded", "score": 0.4, "seconds": 61.0, "facts": facts}
    event = Event("iteration.finished", "l[1]", 2.0, body)
    progress.take(event)

    assert lines_of(progress, event) == ["l  1/5  score 0.40  1m01s  · score 0.40 < 0.90"]
    retry = Event("task.retrying", "l[2]/w", 3.0, {"due": 5.0, "error": {"message": "429"}})
    assert lines_of(progress, retry) == ["l[2]/w: 429; Whorl tries again in 2s"]
    warning = Event("warning", "", 3.0, {"message": "a\x1b[2Jb"})
    assert lines_of(progress, warning) == ["warning: a␛[2Jb"]
    assert lines_of(progress, Event("task.finished", "w", 3.0)) == []


def test_failed_iteration_says_why() -> None:
    progress = _told(
        LOOP,
        ("iteration.started", "l[1]", 1.0, {}),
        ("iteration.finished", "l[1]", 2.0, {"status": "timed_out", "error": {"message": "slow"}}),
    )
    loop = progress.loops["l"]

    assert iteration_line(loop, loop.iterations[0]).endswith("✗ timed out: slow")

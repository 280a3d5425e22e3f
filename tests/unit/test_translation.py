"""What interfaces make of events: the words of a dialect, and a bounded view of a run."""

from __future__ import annotations

from typing import Any

from whorl import ir
from whorl.interfaces.progress import ITERATIONS_MAX, LOOPS_MAX, STEPS_MAX, TEXT_MAX, Progress
from whorl.interfaces.translation import Translator
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import Entry

WORDS = {
    "events": {
        "streaming": {"event": "words", "fields": {"id": "node", "text": "text"}},
        "run_failed": {"event": "broken", "fields": {"cause": {"message": "error"}}},
    }
}


def translator(words: object = WORDS) -> Translator:
    workflow = ir.Workflow(name="w", body=ir.Block(()), words=words)  # type: ignore[arg-type]
    return Translator("r1", workflow)


def entry(kind: str, address: str, **body: object) -> Entry:
    return Entry(1, Event(kind, address, 5.0, dict(body)))  # type: ignore[arg-type]


def test_streamed_text_and_nested_fields() -> None:
    found = translator()

    assert found.streamed("loop[1]/write", "hi") == [
        {"event": "words", "id": "write", "text": "hi"}
    ]
    failed = entry("run.finished", "", status="failed", error={"message": "no"})
    assert found.take(failed) == [{"event": "broken", "cause": {"message": "no"}}]


CHECKED = {
    "events": {
        "iteration_finished": {
            "event": "turned",
            "fields": {"kind": "loop.type", "met": "checked", "gave": "told.result"},
        }
    },
    "loops": {"turn": {"type": "spin"}},
}


def test_an_event_that_waits_is_sent_when_the_run_ends() -> None:
    loop = ir.Loop(name="turn", body=ir.Block(()), check="between")
    workflow = ir.Workflow(name="w", body=ir.Block((loop,)), words=CHECKED)  # type: ignore[arg-type]
    found = Translator("r1", workflow)
    found.take(entry("loop.started", "turn", path="turn", limits={}))
    found.take(entry("iteration.finished", "turn[1]"))

    assert found.take(entry("run.finished", "", status="cancelled")) == [
        {"event": "turned", "kind": "spin", "met": None, "gave": None}
    ]


def test_secure_values_are_not_translated() -> None:
    words = {"events": {"node_finished": {"event": "done", "fields": {"value": "value"}}}}
    said = translator(words).take(entry("task.finished", "a", value="hush", secure=True))

    assert said == [{"event": "done", "value": "***"}]


def _told(*events: tuple[str, str, float, dict[str, Any]]) -> Progress:
    progress = Progress(run="r", workflow="w")
    for kind, address, at, body in events:
        progress.take(Event(kind, address, at, body))
    return progress


LOOP = ("loop.started", "l", 1.0, {"path": "l", "limits": {"iterations": 5}})


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


def test_loops_of_items_are_bounded_and_running_ones_stay() -> None:
    progress = _told(("loop.started", "each[1]/l", 1.0, {"path": "l"}))
    for number in range(2, LOOPS_MAX + 50):
        for kind in ("started", "finished"):
            progress.take(Event(f"loop.{kind}", f"each[{number}]/l", 1.0))

    assert len(progress.loops) == LOOPS_MAX + 1
    assert "each[1]/l" in progress.loops
    assert f"each[{LOOPS_MAX + 49}]/l" in progress.loops

"""Event names and fields of a dialect, filled from the journal."""

from __future__ import annotations

from whorl import ir
from whorl.interfaces.translation import Translator
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import Entry

WORDS = {
    "events": {
        "iteration_started": {
            "event": "turn",
            "fields": {"id": "node", "index": "index", "of": "limit", "in": "told.input"},
        },
        "loop_finished": {"event": "turned", "fields": {"why": "exit_reason", "n": "iterations"}},
        "streaming": {"event": "words", "fields": {"id": "node", "text": "text"}},
        "run_failed": {"event": "broken", "fields": {"cause": {"message": "error"}}},
    },
    "exit_reasons": {"condition_met.stable": "stable_output", "failed": "error"},
}


def translator(words: object = WORDS) -> Translator:
    workflow = ir.Workflow(name="w", body=ir.Block(()), words=words)  # type: ignore[arg-type]
    return Translator("r1", workflow)


def entry(kind: str, address: str, **body: object) -> Entry:
    return Entry(1, Event(kind, address, 5.0, dict(body)))  # type: ignore[arg-type]


def test_an_iteration_is_told_in_the_dialects_words() -> None:
    found = translator()
    found.take(entry("loop.started", "a/loop", limits={"iterations": 7}))

    said = found.take(entry("iteration.started", "a/loop[3]", number=3, input="x"))

    assert said == [{"event": "turn", "id": "loop", "index": 2, "of": 7, "in": "x"}]


def test_exit_reasons_are_translated_with_what_stopped_the_loop() -> None:
    found = translator()
    finished = {"iterations": 2, "exit_reason": "condition_met", "stopped_by": "stable"}

    assert found.take(entry("loop.finished", "loop", **finished)) == [
        {"event": "turned", "why": "stable_output", "n": 2}
    ]
    assert found.take(entry("loop.finished", "loop", exit_reason="budget", iterations=1)) == [
        {"event": "turned", "why": "budget", "n": 1}
    ]


def test_streamed_text_and_nested_fields() -> None:
    found = translator()

    assert found.streamed("loop[1]/write", "hi") == [
        {"event": "words", "id": "write", "text": "hi"}
    ]
    failed = entry("run.finished", "", status="failed", error={"message": "no"})
    assert found.take(failed) == [{"event": "broken", "cause": {"message": "no"}}]


def test_whether_it_went_well_is_a_fact() -> None:
    words = {"events": {"iteration_finished": {"event": "done", "fields": {"ok": "succeeded"}}}}
    found = translator(words)

    for status, told in (("succeeded", True), ("failed", False)):
        finished = entry("iteration.finished", "loop[1]", status=status)
        assert found.take(finished) == [{"event": "done", "ok": told}]


def test_what_a_dialect_has_no_word_for_is_not_told() -> None:
    assert translator().take(entry("warning", "", message="x")) == []
    assert not translator(None).has_words


CHECKED = {
    "events": {
        "iteration_finished": {
            "event": "turned",
            "fields": {"kind": "loop.type", "met": "checked", "gave": "told.result"},
        }
    },
    "loops": {"turn": {"type": "spin"}},
}


def turning(check: str) -> Translator:
    loop = ir.Loop(name="turn", body=ir.Block(()), check=check)  # type: ignore[arg-type]
    workflow = ir.Workflow(name="w", body=ir.Block((loop,)), words=CHECKED)  # type: ignore[arg-type]
    found = Translator("r1", workflow)
    found.take(entry("loop.started", "turn", path="turn", limits={}))
    return found


def test_an_event_that_waits_is_told_when_the_run_ends() -> None:
    found = turning("between")
    found.take(entry("iteration.finished", "turn[1]"))

    assert found.take(entry("run.finished", "", status="cancelled")) == [
        {"event": "turned", "kind": "spin", "met": None, "gave": None}
    ]


def test_secure_values_are_not_translated() -> None:
    words = {"events": {"node_finished": {"event": "done", "fields": {"value": "value"}}}}
    said = translator(words).take(entry("task.finished", "a", value="hush", secure=True))

    assert said == [{"event": "done", "value": "***"}]

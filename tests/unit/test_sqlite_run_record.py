"""The row of a run: requests count once, and what is charged for calls in doubt is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.events import Event
from whorl.runtimes.sqlite.tables.progress import RunRecord

if TYPE_CHECKING:
    from whorl.language import Json

USAGE: dict[str, Json] = {"calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}


def row_of(*events: tuple[str, dict[str, Json]]) -> RunRecord:
    progress = RunRecord(number=1, owner=1)
    for kind, body in events:
        progress.take(Event(kind, "polish", 0.0, body))
    return progress


def test_a_request_that_is_journaled_twice_counts_once() -> None:
    start: dict[str, Json] = {"limits": {"cost_usd": 1.0}}
    more: dict[str, Json] = {"cost_usd": 0.5, "request": "r-1"}

    row = row_of(("run.started", start), ("run.resumed", more), ("run.resumed", more))

    assert (row.budget_usd, row.last_seq) == (1.5, 3)
    other = more | {"request": "r-2"}
    again = row_of(("run.started", start), ("run.resumed", more), ("run.resumed", other))
    assert again.budget_usd == 2.0


def test_a_loop_that_goes_on_has_the_limits_that_the_run_tells() -> None:
    ended: tuple[tuple[str, dict[str, Json]], ...] = (
        ("run.started", {"limits": {"cost_usd": 1.0}}),
        ("loop.started", {"limits": {"iterations": 5}}),
        ("iteration.started", {"number": 3}),
        ("loop.finished", {"iterations": 3, "exit_reason": "budget"}),
    )
    asked: dict[str, Json] = {"at": "polish", "iterations": 3, "cost_usd": 0.5}
    told: dict[str, Json] = {"limits": {"iterations": 6}, "run_limits": {"cost_usd": 1.5}}

    row = row_of(*ended, ("run.continued", asked), ("loop.continued", told))

    assert (row.shown.number, row.budget_usd, row.shown.exit_reason) == (3, 1.5, "")
    assert [change.limit for change in row.loop_changes] == [5, None, 6]


def test_an_iteration_that_the_budget_did_not_let_begin_is_not_counted() -> None:
    row = row_of(
        ("loop.started", {"limits": {"iterations": 5}}),
        ("iteration.started", {"number": 1}),
        ("loop.finished", {"iterations": 0, "exit_reason": "budget"}),
    )

    assert row.shown.number == 0


def test_a_budget_that_is_raised_when_a_run_is_resumed_is_shown() -> None:
    row = row_of(("run.started", {"limits": {"cost_usd": 1.0}}), ("run.resumed", {"cost_usd": 0.5}))

    assert row.budget_usd == 1.5


def test_a_call_without_an_answer_is_shown_as_in_doubt() -> None:
    row = row_of(("task.failed", {"usage": USAGE | {"in_doubt": 1}}))

    assert (row.calls, row.in_doubt) == (1, 1)


def test_a_call_in_doubt_is_charged_with_what_was_reserved() -> None:
    reserve: dict[str, Json] = {"calls": 1, "tokens": 40, "cost_usd": 0.5}

    row = row_of(("task.in_doubt", {"reserve": reserve}), ("task.finished", {"usage": USAGE}))

    assert (row.calls, row.input_tokens, row.output_tokens) == (2, 10, 45)
    assert (row.cost_usd, row.in_doubt) == (0.75, 1)


def test_a_doubt_without_a_reservation_is_only_counted() -> None:
    row = row_of(("task.in_doubt", {}), ("task.in_doubt", {"reserve": None}))

    assert (row.calls, row.cost_usd, row.in_doubt) == (0, 0.0, 2)


def test_the_end_of_a_run_tells_its_whole_usage() -> None:
    total: dict[str, Json] = {"calls": 3, "output_tokens": 9, "cost_usd": 1.25, "in_doubt": 1}

    row = row_of(
        ("task.finished", {"usage": USAGE}),
        ("run.finished", {"status": "succeeded", "usage": total}),
    )

    assert (row.calls, row.input_tokens, row.output_tokens) == (3, 0, 9)
    assert (row.cost_usd, row.in_doubt, row.status) == (1.25, 1, "succeeded")


def test_a_fork_pays_for_nothing_that_came_before_it() -> None:
    doubt: dict[str, Json] = {"reserve": {"calls": 1, "tokens": 40, "cost_usd": 0.5}}

    row = row_of(
        ("task.finished", {"usage": USAGE}),
        ("task.in_doubt", doubt),
        ("run.forked", {"limits": {"cost_usd": 2.0}}),
        ("task.finished", {"usage": USAGE}),
    )

    assert (row.calls, row.input_tokens, row.output_tokens, row.in_doubt) == (1, 10, 5, 0)
    assert (row.cost_usd, row.budget_usd) == (0.25, 2.0)

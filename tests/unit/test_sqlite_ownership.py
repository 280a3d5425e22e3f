"""Whether an owner is alive, and what the row of a run tells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interpreter.events import Event
from whorl.runtimes.sqlite.ownership import ClockPair, Identity, is_alive, is_gone, this_process
from whorl.runtimes.sqlite.rows import RunRecord

if TYPE_CHECKING:
    from whorl.language import Json

HERE = this_process()
NOW = ClockPair(at=1_000_000.0, monotonic=500.0)
NOBODY = 2**22 + 1  # above the largest process number that Linux gives


def before(seconds: float) -> ClockPair:
    return ClockPair(NOW.at - seconds, NOW.monotonic - seconds)


@pytest.mark.parametrize(
    "owner",
    [replace(HERE, pid=NOBODY), replace(HERE, started="1"), replace(HERE, pid=NOBODY, started="")],
)
def test_a_process_that_is_gone_is_dead_at_once(owner: Identity) -> None:
    assert is_gone(owner, HERE)
    assert not is_alive(owner, NOW, HERE, NOW)


def test_a_process_of_another_container_lives_by_its_heartbeat() -> None:
    hidden = replace(HERE, pid=NOBODY, namespace="pid:[1]")

    assert not is_gone(hidden, HERE)
    assert is_alive(hidden, before(9), HERE, NOW)
    assert not is_alive(hidden, before(11), HERE, NOW)


def test_an_owner_from_before_a_reboot_lives_by_the_wall_clock() -> None:
    earlier = replace(HERE, boot="another")

    assert is_alive(earlier, ClockPair(NOW.at - 9, 90_000.0), HERE, NOW)
    assert not is_alive(earlier, ClockPair(NOW.at - 11, NOW.monotonic), HERE, NOW)
    assert not is_alive(earlier, ClockPair(NOW.at + 3600, NOW.monotonic), HERE, NOW)


USAGE: dict[str, Json] = {"calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}
DOUBT: dict[str, Json] = {"reserve": {"calls": 1, "tokens": 40, "cost_usd": 0.5}}
TOTAL: dict[str, Json] = {"calls": 3, "output_tokens": 9, "cost_usd": 1.25, "in_doubt": 1}


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


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (
            [("run.started", {"limits": {"cost_usd": 1.0}}), ("run.resumed", {"cost_usd": 0.5})],
            {"budget_usd": 1.5},
        ),
        # A call without an answer is in doubt, and one in doubt is charged as was reserved.
        ([("task.failed", {"usage": USAGE | {"in_doubt": 1}})], {"calls": 1, "in_doubt": 1}),
        (
            [("task.in_doubt", DOUBT), ("task.finished", {"usage": USAGE})],
            {"calls": 2, "input_tokens": 10, "output_tokens": 45, "cost_usd": 0.75, "in_doubt": 1},
        ),
        (
            [("task.in_doubt", {}), ("task.in_doubt", {"reserve": None})],
            {"calls": 0, "cost_usd": 0.0, "in_doubt": 2},
        ),
        # The end of a run tells its whole usage.
        (
            [
                ("task.finished", {"usage": USAGE}),
                ("run.finished", {"status": "succeeded", "usage": TOTAL}),
            ],
            TOTAL | {"input_tokens": 0, "status": "succeeded"},
        ),
        # A fork pays for nothing that came before it.
        (
            [
                ("task.finished", {"usage": USAGE}),
                ("task.in_doubt", DOUBT),
                ("run.forked", {"limits": {"cost_usd": 2.0}}),
                ("task.finished", {"usage": USAGE}),
            ],
            USAGE | {"in_doubt": 0, "budget_usd": 2.0},
        ),
    ],
)
def test_what_a_row_tells(events: list[Any], told: dict[str, Any]) -> None:
    row = row_of(*events)

    assert {name: getattr(row, name) for name in told} == told

"""What the live view shows, as a whole: of many items, nested loops, small and large terminals.

The panes are stored in `panes/`; PANES=write in the environment writes them anew, to be looked at.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from panes import CASES, Watched

from conformance.literate import Case, load_cases
from whorl.interfaces.cli.live.outline import Counts
from whorl.interfaces.cli.live.view import keys_in
from whorl.interpreter.events import FED_KINDS, Event

PANES = Path(__file__).parent / "panes"
BOOK, MANY, NESTED, ASKING, QUIET = CASES
SMALL, LARGE = (80, 24), (200, 50)


@pytest.fixture(scope="module")
def many() -> Watched:
    return Watched(CASES[MANY])


def check(name: str, pane: str) -> None:
    """Compares a pane with the one that is stored."""
    stored = PANES / f"{name}.txt"
    if os.environ.get("PANES") == "write":
        stored.write_text(pane, encoding="utf-8")

    assert pane == stored.read_text(encoding="utf-8")


@pytest.mark.parametrize("seconds", [4.0, 13.0, 20.5])
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_items_side_by_side(seconds: float, size: tuple[int, int]) -> None:
    watched = Watched(CASES[BOOK])
    watched.go_to(seconds)

    check(f"book-{seconds:g}s-{size[0]}", watched.pane(*size))


def test_a_run_that_failed_leaves_its_last_picture() -> None:
    watched = Watched(CASES[BOOK])
    watched.go_to(60.0)

    check("book-last-80", watched.pane(*SMALL, is_last=True))


@pytest.mark.parametrize("seconds", [8.0, 21.0, 43.5, 60.0])
def test_a_loop_in_a_loop(seconds: float) -> None:
    watched = Watched(CASES[NESTED])
    watched.go_to(seconds)

    check(f"nested-{seconds:g}s-80", watched.pane(*SMALL))


def test_a_terminal_of_few_rows_keeps_the_budget_and_what_is_looked_at() -> None:
    watched = Watched(CASES[NESTED])
    watched.go_to(21.0)

    check("nested-21s-60", watched.pane(60, 14))


def test_steps_side_by_side_of_which_one_asks() -> None:
    watched = Watched(CASES[ASKING])
    watched.go_to(5.0)

    check("asking-5s-80", watched.pane(*SMALL))


@pytest.mark.slow
def test_a_thousand_items(many: Watched) -> None:
    many.go_to(60.0)
    check("many-60s-80", many.pane(*SMALL))
    check("many-60s-200", many.pane(*LARGE))

    for _ in range(3):
        many.focus.press("j", many.outline)
    check("many-60s-80-moved", many.pane(*SMALL))


@pytest.mark.parametrize("seconds", [2.0, 7.0, 12.0, 15.0])
def test_what_leaves_no_entry_is_drawn_as_it_is(seconds: float) -> None:
    watched = Watched(CASES[QUIET])
    watched.go_to(seconds)

    check(f"quiet-{seconds:g}s-80", watched.pane(*SMALL))


def test_of_many_steps_those_around_what_is_under_way_are_shown() -> None:
    steps = "".join(f"  s{number}: {{ask: go}}\n" for number in range(1, 41))
    replies = {f"s{number}": {"text": "ok", "delay": "1s"} for number in range(1, 41)}
    case = Case("Forty steps", PANES, 1, workflow=f"whorl: 1\nname: forty\nsteps:\n{steps}")
    case.blocks["replies"] = replies
    watched = Watched(case)
    watched.go_to(29.5)

    check("forty-29.5s-80", watched.pane(80, 16))


def test_a_run_that_is_cancelled_keeps_what_its_entries_tell() -> None:
    watched = Watched(CASES[NESTED])
    watched.go_to(21.0)
    watched.ask(Event("run.cancelled", "", watched.now, {}))

    check("nested-cancelled-80", watched.pane(*SMALL, is_last=True))


def test_of_loops_that_are_let_go_the_frames_tell_enough() -> None:
    """Whoever joins a long run knows nothing of most of its past."""
    watched = Watched(CASES[BOOK])
    watched.go_to(13.0)
    watched.progress.loops.clear()
    watched.progress.steps.clear()
    watched.progress.is_whole = False

    check("book-13s-joined", watched.pane(*SMALL))


def test_streamed_text_is_shown_and_steers_no_terminal() -> None:
    watched = Watched(CASES[BOOK])
    watched.go_to(4.0)
    watched.progress.stream("chapters[1]/polish[1]/write", "the guard\x1b[2J is now\nthere")

    assert '"the guard␛[2J is now there…"' in watched.pane(*SMALL)


def counted(events: list[Event]) -> Counts:
    """The chapters by what the journal says of them."""
    of_loops = [event for event in events if event.kind.startswith("loop.")]
    ended = {e.address: e.body.get("exit_reason") for e in of_loops if e.kind == "loop.finished"}
    begun, failed = {e.address for e in of_loops}, list(ended.values()).count("failed")
    running = len(begun) - len(ended)
    return Counts(4, len(ended) - failed, failed, running, 4 - len(begun))


def test_the_counts_are_right_at_every_moment() -> None:
    watched = Watched(CASES[BOOK])
    seen: list[Counts] = []
    while (event := watched.take()) is not None:
        at = watched.events.index(event)
        following = watched.events[at + 1 : at + 2]
        # What the machine says of an event follows it in the journal.
        if event.kind in ("run.started",) or any(e.kind not in FED_KINDS for e in following):
            continue
        lists = [p for p in watched.outline.places(watched.outline.root) if p.kind == "foreach"]
        if lists[0].key:
            seen.append(watched.outline.counts(lists[0].key))
            assert seen[-1] == counted(watched.events[: at + 1])

    assert Counts(4, 0, 0, 3, 1) in seen
    assert Counts(4, 0, 1, 3, 0) in seen
    assert seen[-1] == Counts(4, 3, 1, 0, 0)


def test_the_focus_follows_and_can_be_moved() -> None:
    watched = Watched(CASES[BOOK])
    watched.go_to(4.0)
    focus, outline = watched.focus, watched.outline
    focus.follow(outline)
    assert focus.path == ("chapters", 0, "polish")

    for key, path in (
        ("j", ("chapters", 1, "polish")),
        ("j", ("chapters", 2, "polish")),
        ("j", ("chapters", 3)),
        ("j", ("chapters", 3)),
        ("k", ("chapters", 2, "polish")),
        ("h", ("chapters", 2)),
        ("h", ("chapters",)),
        ("h", ("chapters",)),
        ("l", ("chapters", 0, "polish")),
    ):
        focus.press(key, outline)
        assert (focus.path, focus.is_moved) == (path, True)

    watched.go_to(13.0)
    focus.follow(watched.outline)
    assert focus.path == ("chapters", 0, "polish")
    focus.press("f", watched.outline)
    focus.follow(watched.outline)
    assert focus.path == ("chapters", 1, "polish")


def test_arrows_are_keys() -> None:
    assert keys_in("\x1b[A\x1b[B\x1bOC\x1b[Dq\x1b[5~p") == ["k", "j", "l", "h", "q", "p"]


CALM = [
    case
    for case in load_cases()
    if "outcome" in case.blocks and not {"requests", "options"} & case.blocks.keys()
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", random.Random(7).sample(CALM, 40), ids=lambda case: case.id)
def test_whatever_a_run_does_it_fits_the_screen(case: Case) -> None:
    """Each size shows every moment, wherever one looks, and is not left."""
    watched, chance = Watched(case), random.Random(case.id)
    while watched.take() is not None:
        watched.focus.press(chance.choice("jklhf"), watched.outline)
        for width, height in ((80, 24), (40, 9)):
            lines = watched.pane(width, height).splitlines()
            assert len(lines) <= height
            assert {len(line) for line in lines} == {width}

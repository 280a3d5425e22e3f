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
from whorl.interfaces.progress import LoopProgress

PANES = Path(__file__).parent / "panes"
BOOK, MANY, NESTED, ASKING, QUIET = CASES
SMALL, LARGE = (80, 24), (200, 50)


def check(name: str, pane: str) -> None:
    """Compares a pane with the one that is stored."""
    stored = PANES / f"{name}.txt"
    if os.environ.get("PANES") == "write":
        stored.write_text(pane, encoding="utf-8")

    assert pane == stored.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "case", "seconds", "size"),
    [
        ("book-4s-80", BOOK, 4.0, SMALL),
        ("book-13s-80", BOOK, 13.0, SMALL),
        ("book-20.5s-200", BOOK, 20.5, LARGE),
        ("nested-21s-80", NESTED, 21.0, SMALL),
        # Few rows keep the budget and what is open.
        ("nested-21s-60", NESTED, 21.0, (60, 14)),
        ("nested-43.5s-80", NESTED, 43.5, SMALL),
        ("nested-60s-80", NESTED, 60.0, SMALL),
        ("asking-5s-80", ASKING, 5.0, SMALL),
        # What leaves no entry is drawn as it is.
        ("quiet-2s-80", QUIET, 2.0, SMALL),
        ("quiet-12s-80", QUIET, 12.0, SMALL),
        pytest.param("many-60s-80", MANY, 60.0, SMALL, marks=pytest.mark.slow),
    ],
)
def test_moments(name: str, case: str, seconds: float, size: tuple[int, int]) -> None:
    watched = Watched(CASES[case])
    watched.go_to(seconds)

    check(name, watched.pane(*size))


def test_streamed_text_is_shown_and_steers_no_terminal() -> None:
    watched = Watched(CASES[BOOK])
    watched.go_to(4.0)
    watched.progress.stream("chapters[1]/polish[1]/write", "the guard\x1b[2J is now\nthere")

    assert '"the guard␛[2J is now there…"' in watched.pane(*SMALL)


CALM = [
    case
    for case in load_cases()
    if "outcome" in case.blocks and not {"requests", "options"} & case.blocks.keys()
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", random.Random(7).sample(CALM, 40), ids=lambda case: case.id)
def test_every_run_fits_the_screen(case: Case) -> None:
    """Each size shows every moment, and is not left."""
    watched = Watched(case)
    while watched.take() is not None:
        for width, height in ((80, 24), (40, 9)):
            lines = watched.pane(width, height).splitlines()
            assert len(lines) <= height
            assert {len(line) for line in lines} == {width}


@pytest.mark.parametrize(
    ("number", "limit", "words"), [(2, 3, "2/3"), (4, 3, "4 (exploring to 6, rule 3)"), (4, 0, "4")]
)
def test_an_iteration_is_never_shown_beyond_its_limit(number: int, limit: int, words: str) -> None:
    assert LoopProgress("polish", number=number, limit=limit, most=6).count() == words

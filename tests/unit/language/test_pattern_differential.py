"""Our patterns against Python's own, on generated ones whose meaning is beyond dispute.

Left out is what both document differently: repetition of what may be empty, letters beyond ASCII
for `\\w` and around `\\b` and `\\B`, a line break before `$`.
"""

from __future__ import annotations

import random
import re

import pytest

from campaign import amount, seeds
from threats import tally
from whorl.language import pattern

pytestmark = pytest.mark.threat(row="T16")

ATOMS = ("a", "b", "c", "ab", r"\.", "[ab]", "[^a]", "[a-c]", ".", r"\d", r"\w", r"\s", "ä")
REPEATS = ("*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?", "+?", "??")
EDGES = ("^", "$", r"\b")
# A lone surrogate is searched as one other character.
TEXT = "abcabc. 12ä\t_b\ud800"


class Generator:
    """Writes patterns, and says of each whether it may match nothing."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def whole(self) -> str:
        written, _ = self._alternatives(2)
        before, behind = (self._random.choice(("", "", *EDGES)) for _ in range(2))
        return before + written + behind

    def text(self) -> str:
        return "".join(self._random.choices(TEXT, k=self._random.randint(0, 14)))

    def _alternatives(self, depth: int) -> tuple[str, bool]:
        parts = [self._sequence(depth) for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        return "|".join(part for part, _ in parts), any(empty for _, empty in parts)

    def _sequence(self, depth: int) -> tuple[str, bool]:
        parts = [self._repeated(depth) for _ in range(self._random.randint(1, 3))]
        return "".join(part for part, _ in parts), all(empty for _, empty in parts)

    def _repeated(self, depth: int) -> tuple[str, bool]:
        written, may_be_empty = self._atom(depth)
        if may_be_empty or self._random.random() < 0.6:
            return written, may_be_empty
        repeat = self._random.choice(REPEATS)
        if written == "ab":
            written = "(?:ab)"
        return written + repeat, repeat[0] in "*?" or repeat.startswith("{0")

    def _atom(self, depth: int) -> tuple[str, bool]:
        if depth == 0 or self._random.random() < 0.6:
            return self._random.choice(ATOMS), False
        inner, may_be_empty = self._alternatives(depth - 1)
        return self._random.choice(("(", "(?:")) + inner + ")", may_be_empty


@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(4, 100))
def test_patterns_mean_what_they_mean_in_python(seed: int) -> None:
    generator = Generator(seed)
    for _ in range(amount(500, 2_000)):
        source, text = generator.whole(), generator.text()
        wanted = re.search(source, text.replace("\ud800", "?"), re.ASCII)
        found = pattern(source).search(text)
        tally("patterns as Python has them")

        told = None if found is None else (found.span, found.groups)
        assert told == (None if wanted is None else (wanted.span(), wanted.groups())), (
            source,
            text,
        )

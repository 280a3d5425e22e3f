"""The dialect's own words for what a run tells, as data that the interfaces can print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language import Json

VOCABULARY: dict[str, Json] = {
    # The exit reasons of loops, by the engine's words; those that are the same are left out.
    "exit_reasons": {"failed": "error"},
    # A line for each judgement, filled from the facts of the note `iteration.finished`:
    # `question`, and the word below for the `met` of the fact (true, false, null).
    "judgement": {
        "line": "[INFO] Condition evaluation: '{question}' -> {verdict}",
        "met": "YES",
        "not_met": "NO",
        "ambiguous": "AMBIGUOUS ({answer})",
    },
}

"""`whorl run --dry-run`: shows how a run would go, with invented answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import safe
from whorl.interfaces.cli.options import print_json
from whorl.interfaces.cli.stage import Show, say
from whorl.interfaces.cli.view.audience import Events, Lines, Silence
from whorl.interfaces.cli.view.closing import print_outputs
from whorl.interfaces.cli.view.loops import loop_words
from whorl.interfaces.figures import plural
from whorl.interfaces.wording import EXIT_CODES, calls_words
from whorl.ir.worst_case import worst_case
from whorl.services.replay import rehearse

# An expression that failed: with invented answers, rarely by a mistake of the file.
_UNFIT = "R104"
UNFIT_WORDS = (
    "the file reads something out of an answer that an invented one does not have; this says "
    "nothing about a run. Where a step has `returns`, the answer fits; or record a run, and replay "
    "it with `whorl test`"
)

if TYPE_CHECKING:
    from typing import Any

    from whorl.ir import Workflow
    from whorl.runtimes.local import Start


def show_rehearsal(workflow: Workflow, start: Start, show: Show) -> int:
    """Rehearses a workflow and shows it; gives the exit code."""
    say("dry run: the answers are invented, nothing is sent, nothing is stored")
    audience = Events() if show.events else Lines(verbose=show.verbose)
    result: dict[str, Any] = rehearse(workflow, start, Silence() if show.as_json else audience)
    if show.as_json:
        print_json(result)
    elif not show.events:
        if result["status"] == "succeeded":
            print_outputs(result["outputs"])
        for loop in result["loops"]:
            say(f"  {loop_words(loop)}")
        if result["error"]:
            say(f"  error[{result['error']['code']}]: {safe(result['error']['message'])}")
            if result["error"]["code"] == _UNFIT:
                say(f"  {UNFIT_WORDS}")
        calls = plural(int(result["usage"]["calls"]), "call")
        say(f"dry run {result['status']}; it would have made {calls}{_most(workflow)}")
    return EXIT_CODES.get(str(result["status"]), 1)


def _most(workflow: Workflow) -> str:
    worst = worst_case(workflow)
    return f"; a run makes {calls_words(worst.calls, worst.typical)}" if worst.calls else ""

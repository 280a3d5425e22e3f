"""How long iterations have worked: not while a run that had failed, or a loop, was left standing.

What an iteration says itself goes from its beginning to its end. One that goes on after it had
ended (a person resumed the run, or continued the loop) says so again, with all time in between.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from whorl.interpreter.events import split_iteration
from whorl.lazily import dataclass
from whorl.runtimes.journal.fields import amount_of

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json

_LOOPS_KEPT: Final = 1_000
# What is told of a run beside its iterations. The machine takes pauses into account itself.
KINDS: Final = frozenset({"run.finished", "run.resumed", "run.continued", "iteration.finished"})


@dataclass(slots=True)
class WorkingTime:
    """A fold over the entries of these kinds."""

    is_over: bool = False
    went_on_at: float = 0.0
    # By loop: its last iteration that has ended, when, and how long it had stood until then.
    ends: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    def take(self, event: Event) -> dict[str, Json]:
        """Takes an event in; gives what it says, with the time that an iteration has worked."""
        if event.kind == "iteration.finished":
            return self._finished(event)
        if event.kind == "run.finished":
            self.is_over = True
        elif event.kind == "run.continued" or (event.kind == "run.resumed" and self.is_over):
            self.is_over, self.went_on_at = False, event.at
        return event.body

    def _finished(self, event: Event) -> dict[str, Json]:
        loop, stood = split_iteration(event.address)[0], 0.0
        address, ended_at, before = self.ends.pop(loop, ("", 0.0, 0.0))
        if address == event.address:
            stood = before + max(0.0, self.went_on_at - ended_at)
        self.ends[loop] = (event.address, event.at, stood)
        if len(self.ends) > _LOOPS_KEPT:
            del self.ends[next(iter(self.ends))]
        seconds = amount_of(event.body.get("seconds"))
        if not stood or seconds is None:
            return event.body
        return event.body | {"seconds": max(0.0, round(seconds - stood, 3))}

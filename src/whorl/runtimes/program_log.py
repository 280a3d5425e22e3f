"""The log of a program: what its code was given and has requested, read from the journal.

The code is run again through its log when a run is resumed. Replies are read where they are: a step
of the code names the address of each, and the journal is not folded.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.runtimes.journal.sealed_secrets import opened

if TYPE_CHECKING:
    from collections.abc import Generator

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals

_KINDS = frozenset({"program.stepped", "task.finished", "run.forked", "run.resumed"})
# So many entries are read before others may have their turn.
_AT_ONCE = 200


@dataclass(slots=True)
class Given:
    """An answer that the code was given."""

    number: int
    address: str
    at: float
    body: dict[str, Any]
    source: str = ""

    def as_json(self) -> Json:
        """Returns the form in the journal, without the value of a reply, which is there already."""
        return [self.number, self.address, self.at, self.source or self.body]


@dataclass(slots=True)
class Step:
    """Answers, and what the code requested then.

    The inputs of an `old` one may be others by now, since it comes from before a fork or a change
    of the code that a person accepted. One that is `free` need not be requested again, since the
    code has begun again without some of its answers. What a `late` one requested may come with a
    later answer, since some of its own are no longer in the log.
    """

    took: list[Given]
    requests: list[dict[str, Any]]
    old: bool = False
    free: bool = False
    late: bool = False


@dataclass(slots=True)
class Log:
    """The steps of the code in order, and the answers that it has not taken yet."""

    steps: list[Step] = field(default_factory=list)
    left: list[Given] = field(default_factory=list)


def kept_log(machine: Machine) -> Log | None:
    """Returns the log that the state of a run keeps, or None if only the journal has it."""
    code = machine.state["program"]
    kept = code.get("log")
    if kept is None:
        return None
    steps = [_kept(entry) for entry in kept]
    return Log(steps, [_given(answer) for answer in code["answers"]])


def reading(
    journal: Journal, run: RunId, machine: Machine, seals: Seals | None
) -> Generator[None, None, Log]:
    """Reads the log of a run, some entries at a time."""
    if (kept := kept_log(machine)) is not None:
        return kept
    log, values = Log(), dict[str, Any]()
    for count, entry in enumerate(journal.read(run, kinds=_KINDS), start=1):
        event = opened(entry.event, run, seals)
        body: Any = event.body
        if event.kind == "task.finished":
            values[event.address] = body.get("value")
        elif event.kind == "program.stepped":
            _take(log, body, values)
        elif event.kind == "run.forked" or body.get("new_code"):
            for step in log.steps:
                step.old = True
        if count % _AT_ONCE == 0:
            yield
    for answer in machine.state["program"]["answers"]:
        given = _given(answer)
        if given.source:
            given.body = {"status": "succeeded", "value": values.get(given.source)}
        log.left.append(given)
    return log


def _take(log: Log, body: dict[str, Any], values: dict[str, Any]) -> None:
    lost, zone = set(body.get("lost", ())), body.get("again")
    if zone is not None:
        for step in log.steps:
            step.free = step.free or any(given.number >= zone for given in step.took)
            step.took = [given for given in step.took if given.number not in lost]
    took = []
    for number, address, at, what in body["took"]:
        if number in lost:
            continue
        if isinstance(what, str):
            reply = {"status": "succeeded", "value": values.pop(what, None)}
            took.append(Given(number, address, at, reply, what))
        else:
            took.append(Given(number, address, at, what))
    log.steps.append(Step(took, body["requests"], free=zone is not None))


def _given(answer: Any) -> Given:
    facts = (answer["number"], answer["address"], answer["at"], answer["body"])
    return Given(*facts, answer.get("source", ""))


def _kept(entry: dict[str, Any]) -> Step:
    took = [_given(answer) for answer in entry["took"]]
    marks = {name: entry.get(name, False) for name in ("old", "free", "late")}
    return Step(took, entry["requests"], **marks)

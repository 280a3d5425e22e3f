"""What people ask of a run, as the `requests` of a case write it down.

    approve, reject   {at, feedback, value}: decides the only open question, or the one at an
                      address; with `late`, so much later, and nobody has looked at the clock
    continue          {at, iterations, cost_usd, tokens, calls}
    accept            {at, iteration}
    stop              {at}: the loop ends after the iteration that is under way
    resume, pause, cancel
    wait              a duration: nothing is asked, time passes
    fork              {at, set}: the rest of the case is about the new run
    refused           {continue: {...}, words}: that request is refused with these words

A request with `during: ADDRESS` is made while the call at that address is under way; every other
one when the run has come to rest, one after the other. `together: [...]` makes several at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl.interfaces.advice import advised
from whorl.interpreter.events import Event, numbered
from whorl.interpreter.requests import objection
from whorl.ir.values import parse_duration
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork, look_into, new_run_of

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import Journal, RunId

_KINDS = {
    "continue": "run.continued",
    "resume": "run.resumed",
    "pause": "run.paused",
    "cancel": "run.cancelled",
    "stop": "run.accepted",
}
ASKED = frozenset((*_KINDS.values(), "gate.decided"))


def events_for(request: dict[str, Any], journal: Journal, run: RunId, at: float) -> list[Event]:
    """The events that a request comes to."""
    if "refused" in request:
        return []
    if "together" in request:
        return [e for part in request["together"] for e in events_for(part, journal, run, at)]
    word, told = next(iter(request.items()))
    told = dict(told or {})
    told.pop("during", None)
    if word in ("approve", "reject"):
        address = told.pop("at", None) or _open_question(journal, run)
        told["approved"] = word == "approve"
        at += parse_duration(told.pop("late", 0))
        return [Event("gate.decided", address, at, told)]
    if word == "accept":
        return [Event("run.accepted", "", at, told | _results(journal, run, told))]
    return [Event(_KINDS[word], "", at, told)]


def check_refusal(request: dict[str, Any], journal: Journal, run: RunId) -> bool:
    """Whether a request is one that must be refused; it is."""
    told = dict(request.get("refused") or {})
    if not told:
        return False
    words = told.pop("words")
    machine = fold(journal, run).machine
    [event] = events_for(told, journal, run, machine.now)
    refusal = objection(machine, event)
    assert refusal is not None
    found = advised({"code": "W905", "message": str(refusal), "facts": refusal.facts})
    assert re.search(words, found), f"{found!r} lacks {words!r}"
    return True


def fork_for(request: dict[str, Any]) -> Fork | None:
    """The fork that a request asks for, if it does; it is made once."""
    told = request.get("fork")
    return Fork(told["at"], told.get("set") or {}, key="forked once") if told else None


async def fork_run(
    store: Journal, source: RunId, fork: Fork, *, run: RunId, now: float
) -> tuple[RunId, bool]:
    """Stores a fork in one transaction, without an owner; False if its key exists already."""
    made, events = new_run_of(store, source, fork, run=run, now=now)
    return await store.create(made, *events)


def during(request: dict[str, Any]) -> str | None:
    """The call during which a request is made, if it is."""
    told = next(iter(request.values()))
    return told.get("during") if isinstance(told, dict) else None


def _open_question(journal: Journal, run: RunId) -> str:
    pending = fold(journal, run).machine.pending
    questions = [address for address, entry in pending.items() if entry["what"] == "gate"]
    assert len(questions) == 1, f"the open questions are {questions}; say which with `at`"
    return questions[0]


def _results(journal: Journal, run: RunId, told: dict[str, Any]) -> dict[str, Any]:
    """What an iteration gave, found by replaying the run."""
    loop = told.get("at") or next(
        frame["address"]
        for frame in fold(journal, run).machine.frames.values()
        if frame["kind"] == "loop" and frame["loop"] is None
    )
    address = numbered(loop, told["iteration"])
    found = look_into(journal, run, frozenset({address}))
    return dict(found.get(address, {}))

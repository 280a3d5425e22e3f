"""Asking the person at the terminal what a run waits for: one question, one answer, by address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl.interfaces.cli.keyboard import forget_typed, read_line
from whorl.interfaces.cli.summary import budget_of, gate_lines
from whorl.interfaces.figures import as_much_again
from whorl.runtimes.folding import fold
from whorl.services.results import loop_frame, open_gates
from whorl.services.steering import asked, decided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

_MORE_ITERATIONS = 3
# What may be answered, by the reason of the question; any other question is a plain gate.
_CHOICES = {
    "iteration": ("accept", "go on with feedback", "later"),
    "limit": ("accept", "go on", "reject", "later"),
}
_USUAL = ("approve", "reject", "feedback", "later")
_YES = frozenset({"approve", "accept"})


class Gone(Exception):
    """Somebody else has answered, or the question's time is over."""


class Later(Exception):
    """The person leaves the question open."""


class Left(Exception):
    """The person leaves this and all other questions open."""


@dataclass(slots=True)
class Question:
    """What a run asks at an address."""

    store: SqliteStore
    run: RunId
    address: str
    reason: str
    _seen: int | None = None
    _was_open: bool = True

    @property
    def place(self) -> str:
        """The step, loop or iteration that asks."""
        return self.address.partition("/:")[0]

    def is_open(self) -> bool:
        """Whether the run still waits for the answer; cheap while nobody writes anything."""
        version = self.store.version()
        if version != self._seen:
            gates = open_gates(self.store, self.run)
            self._was_open = any(gate.address == self.address for gate in gates)
            self._seen = version
        return self._was_open


class Asker:
    """Asks one question after the other; what a person leaves for later is not asked again."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self._later: set[str] = set()

    async def answer(
        self, store: SqliteStore, run: RunId, gates: Sequence[dict[str, Any]]
    ) -> Event | None:
        """The answer to the first of the questions that is not left for later; None: to none."""
        for gate in gates:
            if gate["address"] in self._later:
                continue
            question = Question(store, run, gate["address"], gate["reason"])
            self.shown.add(question.address)
            forget_typed()
            try:
                return await _answered(question, "\n".join(gate_lines(gate)))
            except Later:
                self._later.add(question.address)
            except Left:
                return None
        return None


async def _answered(question: Question, about: str) -> Event:
    choices = list(_CHOICES.get(question.reason, _USUAL))
    if question.reason == "limit" and not _can_go_on(question):
        choices.remove("go on")
    chosen = await _choice(question, choices, f"{about}\n")
    feedback = ""
    if chosen == "feedback":
        while not feedback:
            feedback = await _line(question, "your words: ")
        chosen = await _choice(question, ["approve", "reject", "later"])
    elif chosen == "go on" and question.reason == "limit":
        return await _more(question)
    elif chosen not in _YES:
        feedback = await _line(question, "your words (Enter for none): ")
    return decided(
        question.store,
        question.run,
        question.address,
        approved=chosen in _YES,
        feedback=feedback,
    )


def _can_go_on(question: Question) -> bool:
    """Whether more can be given here; of tokens and calls only the file gives more."""
    budget = budget_of(question.store, question.run, question.place)
    return _limit_reason(question) != "budget" or budget is not None


async def _choice(question: Question, choices: Sequence[str], about: str = "") -> str:
    words = "  ".join(f"[{choice[0]}]{choice[1:]}" for choice in choices)
    while True:
        typed = (await _line(question, f"{about}{words}: ")).lower()
        about = ""
        meant = [choice for choice in choices if typed and choice.startswith(typed)]
        if meant == ["later"]:
            raise Later
        if meant:
            return meant[0]


async def _more(question: Question) -> Event:
    """More of what the loop has used up."""
    body: dict[str, Json] = {"at": question.place}
    match _limit_reason(question):
        case "max_iterations":
            words = f"how many more iterations (Enter for {_MORE_ITERATIONS}): "
            body["iterations"] = int(await _number(question, words, _MORE_ITERATIONS, least=1))
        case "budget":
            again = as_much_again(budget_of(question.store, question.run, question.place))
            words = f"how many dollars more (Enter for {again}): "
            body |= {"cost_usd": await _number(question, words, float(again)), "around": True}
    return asked("run.continued", body)


async def _number(question: Question, words: str, usual: float, least: float = 0.0) -> float:
    while True:
        typed = await _line(question, words)
        try:
            number = float(typed.lstrip("+$")) if typed else usual
        except ValueError:
            continue
        if max(least, 1e-9) <= number < 1e9:
            return number


async def _line(question: Question, words: str) -> str:
    typed = await read_line(words, question.is_open)
    if typed is not None:
        return typed
    raise Left if question.is_open() else Gone


def _limit_reason(question: Question) -> str:
    """Which limit a loop waits at."""
    frame = loop_frame(fold(question.store, question.run).machine, question.place)
    return str(frame.get("limit_reason", ""))

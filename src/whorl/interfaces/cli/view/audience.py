"""Who looks on while a run is driven: a program that wants JSON, or a person with plain lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.figures import (
    count,
    difference,
    dollars,
    line,
    seconds,
)
from whorl.interfaces.progress import Progress, name_of
from whorl.interfaces.wording import ending_words, judgement_lines
from whorl.services.redaction import shown
from whorl.services.results import with_run

if TYPE_CHECKING:
    from whorl.errors import StoreError
    from whorl.interfaces.progress import Iteration, LoopProgress
    from whorl.interfaces.translation import Translator
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, RunId

# By key: a word for it, and what it does.
Offers: TypeAlias = dict[str, tuple[str, Callable[[], None]]]


class Audience(Protocol):
    """A watcher of one run that is also told when the driving begins and ends."""

    def offer(self, offers: Offers) -> None:
        """What a person may do meanwhile, by keys."""

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        """The run has come this far, and goes on now."""

    def end(self, status: str, mark: str) -> None:
        """Nobody drives the run any more; it is left in this state."""

    def let_go(self) -> None:
        """The process is about to be killed: gives the terminal back as it was."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries are durable."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""


class Silence:
    """Says nothing until the result is there."""

    def offer(self, offers: Offers) -> None:
        """Nobody presses keys here."""

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        """Nothing is shown."""

    def end(self, status: str, mark: str) -> None:
        """Nothing is shown."""

    def let_go(self) -> None:
        """Nothing was taken."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Nothing is shown."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """Nothing is shown."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """A store that cannot be written is always said."""
        say_trouble(fault)


class Events(Silence):
    """Prints each entry of the journal as one line of JSON, once it is durable."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Prints them."""
        for entry in entries:
            click.echo(json.dumps(event_json(run, entry), ensure_ascii=False))

    def text(self, run: RunId, address: str, text: str) -> None:
        """Prints streamed text as it comes; it is not in the journal, so it has no number."""
        said = {"run": run, "seq": None, "kind": "task.text", "address": address, "text": text}
        click.echo(json.dumps(said, ensure_ascii=False))


def check_words(workflow: Workflow) -> None:
    """Refuses events in a dialect's own words where the dialect has none."""
    from whorl.interfaces.translation import Translator

    if not Translator("", workflow).has_words:
        raise UsageError(
            f"the dialect {workflow.dialect!r} has no event names of its own",
            help="leave `=dialect` out: --events prints the events of the journal",
        )


class DialectEvents(Silence):
    """Prints events under the names that the workflow's dialect has for them."""

    def __init__(self) -> None:
        self._translator: Translator | None = None

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        """Learns the dialect's words."""
        from whorl.interfaces.translation import Translator

        check_words(workflow)
        self._translator = Translator(progress.run, workflow)
        if not progress.steps and not progress.loops:
            self._print(self._translator.started(progress.started_at))

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Prints what the dialect has words for."""
        if self._translator is not None:
            for entry in entries:
                self._print(self._translator.take(entry))

    def text(self, run: RunId, address: str, text: str) -> None:
        """Prints streamed text, where the dialect tells it."""
        if self._translator is not None:
            self._print(self._translator.streamed(address, text))

    def _print(self, said: list[dict[str, Json]]) -> None:
        for one in said:
            click.echo(json.dumps(one, ensure_ascii=False))


class Lines(Silence):
    """One line on standard error for each iteration; with `verbose`, for each step."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.progress = Progress()
        self._verbose = verbose
        self._vocabulary: Json = None

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        """The lines go on where the run is."""
        self.progress = progress
        self._vocabulary = workflow.vocabulary

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Says what is worth a line."""
        for entry in entries:
            self.progress.take(entry.event)
            if self._verbose:
                for said in judgement_lines(self._vocabulary, entry.event):
                    click.echo(said, err=True)
            for said in lines_of(self.progress, entry.event, verbose=self._verbose):
                click.echo(said, err=True)


def event_json(run: str, entry: Entry) -> dict[str, Any]:
    """An entry as programs read it."""
    event = entry.event
    return {
        "run": run,
        "seq": entry.seq,
        "kind": event.kind,
        "address": event.address,
        "at": event.at,
        "body": shown(event),
    }


def say_trouble(fault: StoreError) -> None:
    """A store that cannot be written stops the run until it can."""
    click.echo(f"the store cannot be written, so the run waits: {safe(str(fault))}", err=True)


def lines_of(progress: Progress, event: Event, *, verbose: bool = False) -> list[str]:
    """What there is to say about an event that was just taken in."""
    body: dict[str, Any] = event.body
    where = line(event.address, 60)
    match event.kind:
        case "iteration.finished" if body.get("status") != "not_begun":
            address = event.address.rpartition("[")[0]
            loop = progress.loops.get(address)
            return [iteration_line(loop, loop.iterations[-1])] if loop and loop.iterations else []
        case "task.retrying":
            error = body.get("error") or {}
            wait = max(0.0, float(body.get("due", event.at)) - event.at)
            words = line(str(error.get("message", "failed")), 90)
            return [f"{where}: {words}; tried again in {seconds(wait).replace('.0s', 's')}"]
        case "task.in_doubt":
            return [f"{where}: was sent before the run was interrupted, and its answer is lost"]
        case "gate.waiting" if progress.is_busy():
            # A run that has nothing else to do asks with its last words.
            place = event.address.partition("/:")[0]
            return [f"{line(place, 60)} asks: {line(str(body.get('message', '')), 200)}"]
        case "warning":
            words = with_run(str(body.get("message", "")), progress.run)
            return [f"warning: {line(words, 400)}"]
        case "task.finished" | "task.failed" if verbose:
            return [step_line(progress, event)]
    return []


def iteration_line(loop: LoopProgress, done: Iteration) -> str:
    """A finished iteration in one line."""
    of = f"/{loop.limit}" if loop.limit else ""
    change = difference(done.score, done.before)
    parts = [f"{line(loop.address, 40)}  {done.number}{of}"]
    if done.score is not None:
        parts.append(f"score {done.shown_score}{f' ({change})' if change else ''}")
    parts.append(seconds(done.seconds))
    if done.tokens:
        parts.append(f"{count(done.tokens)} tok")
    if done.cost_usd:
        parts.append(dollars(done.cost_usd))
    parts.append(verdict(done))
    return "  ".join(part for part in parts if part)


def verdict(done: Iteration) -> str:
    """What an iteration came to: a mark and words."""
    if done.status not in ("succeeded", ""):
        return f"✗ {ending_words(done.status)}{f': {done.words}' if done.words else ''}"
    mark = "✓" if done.is_met else "·"
    return f"{mark} {done.words}" if done.words else mark if done.is_met else ""


def step_line(progress: Progress, event: Event) -> str:
    """A finished task in one line."""
    base = event.address.partition("#")[0] if "/" not in event.address else event.address
    step = progress.steps.get(base) or progress.steps.get(event.address.rpartition("#")[0])
    mark = "✓" if event.kind == "task.finished" else "✗"
    parts = [f"  {mark} {line(event.address or name_of(event.address), 60)}"]
    if step is not None:
        parts.append(line(step.model, 40))
        parts.append(seconds((step.ended_at or event.at) - step.started_at))
        parts.append(f"{count(step.tokens)} tok" if step.tokens else "")
        parts.append(dollars(step.cost_usd) if step.cost_usd else "")
        parts.append(line(step.error, 100))
    return "  ".join(part for part in parts if part)

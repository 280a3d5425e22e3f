"""Watchers of a run: JSON for a program, or plain lines for a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.errors import UsageError, safe
from whorl.interfaces.advice import advised
from whorl.interfaces.cli.options import carrying
from whorl.interfaces.cli.summary import inner_table
from whorl.interfaces.cli.terminal import SIGNS, echo, json_text, say, shortened
from whorl.interfaces.formatting import count, difference, joined, line, seconds, used
from whorl.interfaces.progress import LoopProgress, Progress
from whorl.interfaces.status_words import ending_words, exit_words, judgement_lines
from whorl.runtimes.journal.journal import iterations_in
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import StoreError
    from whorl.interfaces.progress import Iteration, Step
    from whorl.interfaces.translation import Translator
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore


# By key: a word for it, and what it does.
Offers: TypeAlias = dict[str, tuple[str, Callable[[], object]]]
# If a journal has more entries, they are not read, since reading all would take long.
PAST_MAX = 20_000


class NullWatcher:
    """A watcher of one run, which also learns when driving begins and ends; it shows nothing."""

    def offer(self, offers: Offers) -> None:
        """Receives what the user may do meanwhile, by keys."""

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        """Receives the progress of the run, which continues now."""

    def end(self, status: str, mark: str) -> None:
        """Receives the state of the run, which is not driven any more."""

    def leave(self, words: str) -> None:
        """Says that the user has left the run; running calls end first."""
        say(words)

    def release(self) -> None:
        """Restores the terminal, since the process is about to be killed."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Receives entries that are durable."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """Receives text that a task has streamed."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Says that the run waits because the store cannot be written; printed in every mode."""
        echo(f"the store cannot be written, so the run waits: {safe(str(fault))}", err=True)


class Events(NullWatcher):
    """Prints each entry of the journal as one line of JSON, once it is durable."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        _print_json([event_json(run, entry) for entry in entries])

    def text(self, run: RunId, address: str, text: str) -> None:
        """Prints streamed text as it comes; it is not in the journal, so it has no number."""
        streamed = {"seq": None, "kind": "task.text", "address": address, "text": text}
        _print_json([{"run": run} | streamed])


class DialectEvents(NullWatcher):
    """Prints events under the names that the workflow's dialect has for them."""

    _translator: Translator

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        self._translator = translator_of(workflow, progress.run)
        if not progress.steps and not progress.loops:
            _print_json(self._translator.started(progress.started_at))

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in entries:
            _print_json(self._translator.take(entry))

    def text(self, run: RunId, address: str, text: str) -> None:
        _print_json(self._translator.streamed(address, text))


class Lines(NullWatcher):
    """One line on standard error for each iteration; with `verbose`, for each step."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.progress = Progress()
        self._verbose = verbose
        self._vocabulary: Json = None

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        self.progress = progress
        self._vocabulary = workflow.words

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in self.progress.unseen(entries):
            self.progress.take(entry.event)
            if self._verbose:
                say(*judgement_lines(self._vocabulary, entry.event))
            say(*lines_of(self.progress, entry.event, verbose=self._verbose))


def translator_of(workflow: Workflow, run: str = "") -> Translator:
    """Returns the translator into a dialect's words; raises UsageError if it has none."""
    from whorl.interfaces.translation import Translator

    translator = Translator(run, workflow)
    if not translator.events:
        words = f"the format {workflow.dialect!r} has no event names of its own"
        raise UsageError(words, help="write --events, which prints the events of the journal")
    return translator


def event_json(run: str, entry: Entry) -> dict[str, Any]:
    event = entry.event
    head = {"run": run, "seq": entry.seq, "kind": event.kind, "address": event.address}
    return {**head, "at": event.at, "body": shown(event)}


def past_of(store: SqliteStore, run: RunId) -> Progress:
    """Returns the progress of a run; of a long one, only its figures and its running loops."""
    row = store.run(run)
    progress = Progress(run=run, workflow=row.name, budget_usd=row.budget_usd)
    if row.last_seq <= PAST_MAX:
        for entry in store.read(run):
            progress.take(entry.event)
        return progress
    running = (loop for loop in store.loops(run) if loop.state == "running")
    progress.loops = {loop.address: loop_of(loop) for loop in running}
    progress.started_at, progress.calls = row.created_at, row.calls
    progress.cost_usd = row.cost_usd
    progress.input_tokens, progress.unpriced = row.tokens, row.unpriced_calls
    progress.last_seq = row.last_seq
    return progress


def loop_of(row: LoopRow) -> LoopProgress:
    """Returns the progress of a loop of which only its row is known."""
    loop = LoopProgress(row.address, row.path, iterations_in(row.limits), row.iterations)
    loop.exit_reason, loop.stopped_by, loop.mark = row.exit_reason, row.stopped_by, row.mark
    return loop


def lines_of(progress: Progress, event: Event, *, verbose: bool = False) -> list[str]:
    """Returns the lines for an event that was just taken in."""
    body: dict[str, Any] = event.body
    where = safe(event.address)
    match event.kind:
        case "iteration.finished" if body.get("status") != "not_begun":
            address = event.address.rpartition("[")[0]
            loop = progress.loops.get(address)
            return [iteration_line(loop, loop.iterations[-1])] if loop and loop.iterations else []
        case "task.retrying":
            error = body.get("error") or {}
            wait = max(0.0, float(body.get("due", event.at)) - event.at)
            words = line(str(error.get("message", "failed")), 90)
            return [f"{where}: {words}; Whorl tries again in {seconds(wait).replace('.0s', 's')}"]
        case "task.in_doubt":
            return [f"{where}: sent before the run was interrupted; the answer is lost"]
        case "gate.waiting" if progress.is_busy():
            # A run that has nothing else to do asks with its last words.
            place = event.address.partition("/:")[0]
            return [f"{safe(place)} asks: {line(str(body.get('message', '')), 200)}"]
        case "warning":
            # If nothing is running any more, the missing amount is known, and shown.
            is_early = bool((body.get("facts") or {}).get("more"))
            words = str(body["message"]) if is_early else carrying(advised(body, progress.run))
            return [f"warning: {line(words, 400)}"]
        case "task.finished" | "task.failed" if verbose:
            base = event.address.rpartition("#")[0]
            step = progress.steps.get(event.address) or progress.steps.get(base)
            return [f"  {step_words(step)}"] if step else []
    return []


def iteration_line(loop: LoopProgress, done: Iteration) -> str:
    _, score, change, took, _, _ = iteration_cells(done)
    measured = f"score {score}{f' ({change})' if change else ''}"
    measured = measured if done.score is not None else ""
    place, usage = safe(loop.address), used(done.tokens, done.cost_usd)
    return shortened(joined(place, loop.count(done.number), measured, took, usage, verdict(done)))


def iteration_cells(done: Iteration) -> list[str]:
    """A finished iteration in a table: number, score, change, time, tokens, cost."""
    tokens, cost = (count(done.tokens) if done.tokens else ""), used(0, done.cost_usd)
    change = difference(done.score, done.before)
    took = seconds(done.seconds) if done.seconds > 0 else ""
    return [str(done.number), done.shown_score, change, took, tokens, cost]


def verdict(done: Iteration) -> str:
    """Returns the outcome of an iteration: a mark and words."""
    if done.status not in ("succeeded", ""):
        return f"✗ {ending_words(done.status)}{f': {done.words}' if done.words else ''}"
    mark = "✓" if done.is_met else "·"
    return f"{mark} {done.words}" if done.words else mark if done.is_met else ""


def step_words(step: Step, name: str = "", now: float = 0.0) -> str:
    """Returns a step on one line: its sign, name, model, time, usage and outcome."""
    took = (step.ended_at or now) - step.started_at
    answer = f": {step.feedback}" if step.feedback else ""
    if step.state == "rejected" or step.feedback:
        answer = ("rejected" if step.state == "rejected" else "approved") + answer
    return joined(
        f"{SIGNS.get(step.state, '·')[0]} {name or safe(step.address)}",
        line(step.model, 40),
        seconds(took) if took > 0 else "",
        used(step.tokens, step.cost_usd),
        f"attempt {step.attempt}" if step.attempt > 1 else "",
        f"→ {line(step.branch, 40)}" if step.branch else "",
        step.error if step.state == "failed" else "",
        answer,
    )


def position_words(loop: LoopProgress) -> str:
    """Returns the position of a loop, its newest score and why it ended."""
    score = ""
    if loop.iterations:
        newest = loop.iterations[-1]
        score = f"{newest.shown_score} {difference(newest.score, newest.before)}".strip()
    return joined(loop.count(), score, exit_words(loop.exit_reason, loop.stopped_by))


def loop_table(loop: LoopProgress, *, newest: int = 0, now: float = 0.0) -> Iterator[str]:
    """Yields a row for each finished iteration of a loop, and one for the running iteration."""
    rows: list[tuple[str, ...]] = [("#", "score", "Δ", "time", "tokens", "cost", "verdict")]
    done = list(loop.iterations)[-newest:]
    for each in done:
        number, measured, *others = iteration_cells(each)
        star = "★" if loop.best and loop.best[0] == each.number else ""
        rows.append((number, measured + star, *others, verdict(each)))
    if now and not loop.exit_reason and loop.number > (done[-1].number if done else 0):
        took = seconds(now - loop.iteration_at) if loop.iteration_at else ""
        rows.append((str(loop.number), "", "", took, "", "", ""))
    return inner_table(rows, right=6, shrink=6) if len(rows) > 1 else iter(())


def _print_json(documents: list[dict[str, Any]]) -> None:
    for document in documents:
        echo(json_text(document))

"""What happens in a run, typed: the events of `run.stream()`, made of entries of its journal.

Entries are read when the program is ready for them, and text that it has not taken yet is joined.
So a slow reader neither delays the run nor uses more memory.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from whorl.interfaces.python.values import Usage, usage_from
from whorl.lazily import dataclass
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from whorl.errors import StoreError
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.sqlite import SqliteStore

_POLL_S = 0.15
_MODELS = ("ask", "agent", "judge")
_ENDS = ("task.finished", "task.failed")
# If the program does not take the text, its end is kept.
_TEXT_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Token:
    """Text that a step streams, since the last one: of a model, an agent, or `Call.emit`."""

    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """What all entries of the journal have: their number, what they are about, and when."""

    seq: int
    address: str
    at: float


@dataclass(frozen=True, slots=True)
class RunStarted(Happened):
    """A run has begun, with these inputs."""

    inputs: Json


@dataclass(frozen=True, slots=True)
class StepStarted(Happened):
    """A step makes a call; steps without an effect are not announced."""

    kind: str
    inputs: Json


@dataclass(frozen=True, slots=True)
class StepFinished(Happened):
    """A step has its result."""

    value: Json
    usage: Usage
    model: str | None = None


@dataclass(frozen=True, slots=True)
class StepFailed(Happened):
    """An attempt at a step has failed; `error` has its code and message."""

    error: dict[str, Any]
    usage: Usage


@dataclass(frozen=True, slots=True)
class IterationStarted(Happened):
    """An iteration of a loop begins."""

    number: int


@dataclass(frozen=True, slots=True)
class IterationFinished(Happened):
    """An iteration has ended and was judged.

    `met`: a condition stops the loop, `by` says which kind; `verdicts` has what each condition saw.
    `best`: it has the highest score so far.
    """

    number: int
    status: str
    score: float | None
    met: bool
    by: str | None
    best: bool
    verdicts: tuple[dict[str, Any], ...]
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopFinished(Happened):
    """A loop has ended."""

    iterations: int
    exit_reason: str
    stopped_by: str | None
    score: float | None
    returned_iteration: int | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class ApprovalRequested(Happened):
    """The run asks a person; `run.approve()` or `run.reject()` answers."""

    message: str
    reason: str
    show: Json


@dataclass(frozen=True, slots=True)
class ApprovalGiven(Happened):
    """A person has answered."""

    approved: bool
    feedback: str


@dataclass(frozen=True, slots=True)
class Warned(Happened):
    """Something is not as it should be, and the run continues."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RunWaiting(Happened):
    """Nothing is running: the run waits for a person, or is paused."""


@dataclass(frozen=True, slots=True)
class RunFinished(Happened):
    """The run has ended."""

    status: str
    output: Json
    error: dict[str, Any] | None
    usage: Usage


StreamEvent: TypeAlias = (
    Token
    | RunStarted
    | StepStarted
    | StepFinished
    | StepFailed
    | IterationStarted
    | IterationFinished
    | LoopFinished
    | ApprovalRequested
    | ApprovalGiven
    | Warned
    | RunWaiting
    | RunFinished
)
E = TypeVar("E", bound=StreamEvent)


# What an entry of each kind is made into; those of other kinds are for `run.events()`.
KINDS: Final[dict[str, type[Happened]]] = {
    "run.started": RunStarted,
    "task.started": StepStarted,
    "task.finished": StepFinished,
    "task.failed": StepFailed,
    "iteration.started": IterationStarted,
    "iteration.finished": IterationFinished,
    "loop.finished": LoopFinished,
    "gate.waiting": ApprovalRequested,
    "gate.decided": ApprovalGiven,
    "warning": Warned,
    "run.waiting": RunWaiting,
    "run.finished": RunFinished,
}
# The fields that differ from the journal, or have another value if it does not have them.
_FIELDS: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "usage": lambda body: usage_from(body.get("usage")),
    "inputs": lambda body: body.get("inputs", body.get("input")),
    "verdicts": lambda body: tuple(body.get("facts") or ()),
    "seconds": lambda body: float(body.get("seconds") or 0.0),
    "reason": lambda body: body.get("reason", "gate"),
    "message": lambda body: body.get("message") or "",
    "feedback": lambda body: body.get("feedback") or "",
    "met": lambda body: bool(body.get("met")),
    "best": lambda body: bool(body.get("best")),
    "approved": lambda body: bool(body.get("approved")),
}


def typed(entry: Entry) -> StreamEvent | None:
    """Returns the entry as a typed event, or None if programs do not need it."""
    event = entry.event
    kind: Any = KINDS.get(event.kind)
    if kind is None:
        return None
    body = shown(event)
    known = {"seq": entry.seq, "address": event.address, "at": event.at}
    names = [each.name for each in fields(kind) if each.name not in known]
    read = {name: _FIELDS[name](body) if name in _FIELDS else body.get(name) for name in names}
    made: StreamEvent = kind(**known, **read)
    return made


def add_text(texts: dict[str, str], address: str, text: str) -> None:
    """Appends text to the text of a step."""
    texts[address] = (texts.get(address, "") + text)[-_TEXT_MAX:]


@dataclass(slots=True, eq=False)
class Listener:
    """One stream: what it has not taken yet, and whether there is news."""

    texts: dict[str, str] = field(default_factory=dict)
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, address: str, text: str) -> None:
        add_text(self.texts, address, text)
        self.awake.set()

    def take(self, before: dict[str, str]) -> None:
        """Adds the new text to what was taken before."""
        self.awake.clear()
        texts, self.texts = self.texts, {}
        for address, text in texts.items():
            add_text(before, address, text)


class Listeners:
    """The watcher of a session: passes the news of a run to the streams of that run."""

    def __init__(self) -> None:
        self._of: dict[str, list[Listener]] = {}
        # What running steps have streamed, for late readers.
        self._texts: dict[str, dict[str, str]] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        texts = self._texts.get(run, {})
        for entry in entries:
            if entry.event.kind in _ENDS:
                texts.pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                self._texts.pop(run, None)
        for listener in self._of.get(run, ()):
            listener.awake.set()

    def text(self, run: RunId, address: str, text: str) -> None:
        add_text(self._texts.setdefault(run, {}), address, text)
        for listener in self._of.get(run, ()):
            listener.add(address, text)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Does nothing, since the call that drives the run raises the error."""

    @contextmanager
    def listening(self, run: RunId) -> Iterator[Listener]:
        listener = Listener(dict(self._texts.get(run, {})))
        self._of.setdefault(run, []).append(listener)
        try:
            yield listener
        finally:
            self._of[run].remove(listener)
            if not self._of[run]:
                del self._of[run]


async def stream(
    store: SqliteStore,
    run: RunId,
    listeners: Listeners,
    *,
    is_driven: Callable[[], bool],
    after: int = 0,
) -> AsyncIterator[StreamEvent]:
    """Yields all events of a run, until it has ended or waits for a person."""
    streamed: set[str] = set()
    kinds: dict[str, str] = {}
    texts: dict[str, str] = {}
    with listeners.listening(run) as listener:
        while True:
            is_under_way = is_driven() or store.run(run).status == "running"
            version, before = store.version(), after
            listener.take(texts)
            for entry in store.read(run, after=after):
                after = entry.seq
                if entry.event.kind in _ENDS:
                    # What the step has streamed came before it.
                    listener.take(texts)
                for event in _events(entry, texts, streamed, kinds):
                    yield event
            for address in list(texts):
                streamed.add(address)
                yield Token(address, texts.pop(address))
            if listener.awake.is_set() or after > before:
                continue
            if not is_under_way:
                return
            while not listener.awake.is_set() and store.version() == version:
                with suppress(TimeoutError):
                    await asyncio.wait_for(listener.awake.wait(), _POLL_S)
                if not is_driven():
                    break


def _events(
    entry: Entry, texts: dict[str, str], streamed: set[str], kinds: dict[str, str]
) -> Iterator[StreamEvent]:
    """Yields an entry as events; the text of a step precedes its end, in one piece if need be."""
    event, made = entry.event, typed(entry)
    if isinstance(made, StepStarted):
        kinds[event.address] = made.kind
    if isinstance(made, StepFinished | StepFailed):
        kind = kinds.pop(event.address, "")
        text = texts.pop(event.address, "")
        is_text = isinstance(made, StepFinished) and isinstance(made.value, str)
        if not text and kind in _MODELS and event.address not in streamed and is_text:
            text = str(made.value)  # type: ignore[union-attr]
        if text:
            yield Token(event.address, text)
        streamed.discard(event.address)
    if made is not None:
        yield made

"""The journal's interface and records: append-only, one owner per run, any number of readers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, NewType, Protocol

from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import split_iteration
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.keys import Seals


RunId = NewType("RunId", str)
# Runs of these origins are taken up by a server when the process that drove them is gone.
KEEPING = frozenset({"server", "detached"})
# Whose process drives the runs that it makes, each at once.
DRIVING = frozenset({"terminal", "python"})
SNAPSHOT_EVERY = 256


@dataclass(frozen=True, slots=True)
class Entry:
    """An event at its place in a run's journal; `seq` counts from 1 without gaps."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class NewRun:
    """The stored data of a new run: the workflow that it pins, and its origin.

    `behaviour` is the version of the machine that drives it, `home` its project (see
    `Project.home`). `origin` is what started it: server, detached, terminal or python. A fork has
    the memories and the machine state of its past; its first `shared` entries are its parent's.
    """

    id: RunId
    workflow: Json
    workflow_hash: str
    name: str
    dialect: str
    file: str = ""
    key: str = ""
    parent: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    # How many runs of its workflow run at once; None: it does not wait for others.
    at_once: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    behaviour: int = BEHAVIOUR
    memories: Sequence[Record] = ()
    state: Json = None
    origin: str = ""
    home: str = ""
    shared: int = 0
    # When it was made, where that was not now.
    created_at: float | None = None
    # Whether this process is its owner from the first moment on, since it is about to drive it.
    is_owned: bool = False


def known_cost(cost_usd: float, unpriced: int) -> float | None:
    """Returns the cost of calls, or None if calls have no known price and no other call cost."""
    return None if unpriced and not cost_usd else cost_usd


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists show it. `status` is derived: running without an owner is interrupted.

    It shows one loop: the outermost one that runs, or that ran last; `iteration` is how many of it
    have begun. `mark` is `limit` or `budget` if a run succeeded with a loop that ended at one.
    `due` is when a waiting run resumes by itself, `held` why a server did not resume it. `seconds`
    is how long it has worked, or 0 if that is too short to measure. `position` is its place in the
    queue. `project` is the run's folder if it is another project, and `config` its configuration
    there if it is not the usual one.
    """

    id: RunId
    name: str
    status: str
    dialect: str
    file: str
    created_at: float
    updated_at: float
    key: str = ""
    parent: str = ""
    last_seq: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    tokens: int = 0
    budget_usd: float | None = None
    loop: str = ""
    iteration: int = 0
    iterations_max: int = 0
    score: float | None = None
    exit_reason: str = ""
    error: str = ""
    in_doubt: int = 0
    mark: str = ""
    stopped_by: str = ""
    origin: str = ""
    due: float | None = None
    held: str = ""
    seconds: float = 0.0
    position: int | None = None
    # So many calls had no known price, and are not in `cost_usd`.
    unpriced_calls: int = 0
    project: str = ""
    config: str = ""
    # What was reserved for calls in doubt, a part of `cost_usd`.
    reserved_usd: float = 0.0
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def known_usd(self) -> float | None:
        """The cost of the run, or None if it is unknown."""
        return known_cost(self.cost_usd, self.unpriced_calls)

    @property
    def waiting_for(self) -> dict[str, str] | None:
        """Returns what the run waits behind, or None if a process may drive it."""
        return {"reason": self.held} if self.held else None

    @property
    def belongs_to(self) -> str:
        """Returns words for the run's project, or "" if it is this one."""
        return f"{self.project} with {self.config}" if self.config else self.project


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop of a run. Until it has finished, its numbers are those of its newest iteration.

    `explored` is the iteration up to which it was explored, or 0; `iterations` is its rule's limit.
    """

    address: str
    path: str
    state: Literal["running", "finished"]
    iterations: int
    exit_reason: str = ""
    stopped_by: str = ""
    score: float | None = None
    best_iteration: int | None = None
    returned_iteration: int | None = None
    failed_iterations: tuple[int, ...] = ()
    usage: Json = None
    limits: Json = None
    until: Json = None
    started_seq: int = 0
    finished_seq: int | None = None
    mark: str = ""
    explored: int = 0


@dataclass(frozen=True, slots=True)
class IterationRow:
    """A finished iteration of a loop; `note` is all that its entry in the journal says."""

    loop: str
    number: int
    status: str
    score: float | None
    seq: int
    at: float
    note: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Record:
    """A record for a loop's memory across runs; only the newest `keep` of a key stay."""

    key: str
    record: Json
    keep: int


@dataclass(frozen=True, slots=True)
class Message:
    """A control request on its way to the owner of a run."""

    id: int
    run: RunId
    event: Event


class Journal(Protocol):
    """The store of all journals; only the owner of a run writes it, and any process may read."""

    # Encrypts the secret values in the journal.
    seals: Seals

    async def create(self, run: NewRun, *events: Event) -> tuple[RunId, bool]:
        """Stores a run with its first events; for a known key, returns its run and False."""

    async def claim(self, run: RunId) -> int:
        """Makes this process the owner; returns the owner number. Raises StoreError R902."""

    async def append(
        self,
        run: RunId,
        owner: int,
        events: Sequence[Event],
        *,
        messages: Sequence[int] = (),
        after: int | None = None,
        is_large: bool = False,
    ) -> int:
        """Appends events in one transaction; returns the last seq when they are durable.

        The requests that the events answer leave the inbox, and their memories are stored. `after`
        is the last seq of the run. If an event `is_large`, they are encoded beside the event loop.
        Raises Fenced if another process has claimed the run.
        """

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        """Stores the machine's state as it is after the entry `seq`."""

    async def release(self, run: RunId, owner: int) -> None:
        """Releases the run, so that any process may claim it."""

    def read(
        self, run: RunId, after: int = 0, *, kinds: frozenset[str] = frozenset()
    ) -> Iterator[Entry]:
        """The entries of a run after a sequence number, in order; all of them, or some kinds."""

    def last_snapshot(
        self, run: RunId, after: int = 0, before: int | None = None
    ) -> tuple[int, Json] | None:
        """Returns the newest snapshot between two entries, and the seq of its last entry."""

    def loop_start(self, run: RunId, loop: str) -> int | None:
        """The entry with which a loop started."""

    def iteration_ends(self, run: RunId, iterations: Iterable[str]) -> dict[str, int]:
        """Returns the first entry that reports the end of each iteration, by address."""

    def workflow(self, run: RunId) -> Json:
        """The workflow that the run pins."""

    def file(self, run: RunId) -> str:
        """The file that a run was started from."""

    def sources(self, run: RunId) -> dict[str, str]:
        """The source texts that the run pins, by file."""

    def loops(self, run: RunId) -> list[LoopRow]:
        """The loops of a run, in the order in which they started."""


def remembered(workflow: Workflow, records: Callable[[str], list[Json]]) -> dict[str, Json]:
    """Returns the records that a new run begins with, by key; `records` reads those of a key."""
    from whorl.ir import Loop
    from whorl.ir.walk import index_nodes

    loops = [node for node in index_nodes(workflow).values() if isinstance(node, Loop)]
    memories = [loop.memory for loop in loops if loop.memory is not None]
    kept = {memory.key: records(memory.key) for memory in memories if memory.across_runs}
    return {key: list(of_key) for key, of_key in kept.items() if of_key}


def entries_between(size: int) -> int:
    """Returns how many entries follow a snapshot of this size before the next snapshot."""
    return SNAPSHOT_EVERY + size // 64


# The fields of entries, as what they should be.
#
# One that is missing or has an odd type counts as not there: no entry is refused because of what a
# list shows.

_NUMBER_MAX: Final = 2**63
_MARKS: Final = ("limit", "budget")


def iteration_of(event: Event) -> tuple[str, int]:
    loop, number = split_iteration(event.address)
    return loop, number if number is not None else count_of(event.body.get("number"))


def iterations_in(limits: Json) -> int:
    return count_of(limits.get("iterations")) if isinstance(limits, dict) else 0


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def mark_of(value: Json) -> str:
    """Returns `limit` or `budget` if a loop ended at one before its condition was met."""
    return str(value) if value in _MARKS else ""


def number_of(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _NUMBER_MAX else None


def amount_of(value: Json) -> float | None:
    number = number_of(value)
    return number if number is not None and number >= 0 else None


def count_of(value: Json) -> int:
    if type(value) is int and 0 <= value < 2**53:
        # What nearly every usage is made of.
        return value
    return min(int(amount_of(value) or 0), 2**53)


def records_in(events: Iterable[Event]) -> list[Record]:
    bodies = [event.body for event in events if event.kind == "iteration.finished"]
    notes = [note for body in bodies if isinstance(note := body.get("remember"), dict)]
    return [Record(str(note["key"]), note["record"], int(str(note["keep"]))) for note in notes]


def tool_pins(journal: Journal, run: str) -> dict[str, str]:
    """Returns the hash of each tool's first description in the run, by its name."""
    pins: dict[str, str] = {}
    for entry in journal.read(RunId(run), kinds=frozenset({"task.finished"})):
        pins = pins_in(entry.event.body) | pins
    return pins


def pins_in(reply: dict[str, Json]) -> dict[str, str]:
    """Returns the hashes of tool descriptions in one reply."""
    tools = reply.get("tools")
    heard = dict(tools) if isinstance(tools, dict) else {}
    if isinstance(name := reply.get("tool"), str):
        heard[name] = reply.get("pin")
    return {name: pin for name, pin in heard.items() if isinstance(pin, str)}

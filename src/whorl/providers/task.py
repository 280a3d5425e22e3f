"""The inputs and results of a kind of task."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol, TypeAlias, TypeVar

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.json_values import as_text

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.providers.functions import Tasks, Threads
    from whorl.providers.models.client import Models
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import Settings
    from whorl.providers.tools.servers import Servers

T = TypeVar("T")
# none: repeating it costs nothing and changes nothing, so no intent is journaled before it.
Effect: TypeAlias = Literal["none", "outside", "priced"]

Emit: TypeAlias = Callable[[str], None]
Held: TypeAlias = Callable[[bool], None]


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a call; a cost of None means that no price is known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        costs = (self.cost_usd, other.cost_usd)
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if None in costs else sum(cost or 0.0 for cost in costs),
        )

    def as_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cap:
    """A limit that a budget may set for the answer: from `least` (reserved) to `most` tokens."""

    least: int
    most: int
    usd_per_token: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected usage of a call, which is reserved before it and settled after it.

    If `cap` is None, it is the maximum. Otherwise it has the least that the answer gets, and the
    machine sets `Request.cap` to the allowed amount. `at_worst` is the usage on a server that may
    ignore the limit of an answer. `input_tokens` are those of the `tokens` that are read.
    """

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    cap: Cap | None = None
    at_worst: MaxUsage | None = None
    input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class MaxUsage:
    """The usage of a call if its answer is as long as the model can make it."""

    tokens: int
    cost_usd: float | None


@dataclass(slots=True)
class Request:
    """One attempt at a task.

    `key` stays the same if a call whose outcome is unknown is sent again. `cap` is how many output
    tokens the budget allows, if the inputs do not limit them. `held` is called with True when the
    call has to wait before it is sent, and with False when the wait is over. `redacted` takes the
    run's secrets out of texts that others read.
    """

    run: str
    address: str
    kind: str
    inputs: dict[str, Json]
    attempt: int = 1
    key: str = ""
    timeout_s: float | None = None
    returns: Json = None
    session: str = ""
    repair: Json = None
    cap: int | None = None
    held: Held = field(default=lambda is_held: None, repr=False, compare=False)
    redacted: Callable[[Json], Json] = field(default=lambda v: v, repr=False, compare=False)


@dataclass(slots=True)
class Reply:
    """The result of a task. People see `detail`; its `warnings` become those of the run."""

    value: Json
    usage: Usage = Usage()
    detail: dict[str, Json] = field(default_factory=dict)


@contextmanager
def before_sending() -> Iterator[None]:
    """Marks each fault of the block as one from before anything was sent."""
    try:
        yield
    except ProviderError as fault:
        fault.detail["unsent"] = True
        raise


class TaskKind(Protocol):
    effect: Effect

    def estimate(self, request: Request) -> Estimate:
        """Computes the most that this request is expected to use, without effects."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Performs the task; `emit` takes streamed text. Raises ProviderError."""


@asynccontextmanager
async def time_limit(
    seconds: float | None, message: str, detail: dict[str, object] | None = None
) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds) as deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        raise ProviderError(message, code="P108", retryable=True, detail=detail) from None


def iteration_of(address: str) -> int:
    """Returns the iteration of the innermost loop around a task, from 1."""
    numbers = re.findall(r"\[(\d+)\]", address)
    return int(numbers[-1]) if numbers else 1


class Inputs:
    """Reads the inputs of a task, which a workflow computed. Raises ProviderError P113."""

    def __init__(self, kind: str, values: Mapping[str, Json]) -> None:
        self._kind = kind
        self.get = values.get

    def text(self, name: str, default: str = "") -> str:
        """Returns a text; any other value is written as JSON."""
        value = self.get(name)
        return default if value is None else as_text(value)

    def needed(self, name: str) -> str:
        return self.text(name) or self.refuse(name, "is missing or empty")

    def number(self, name: str) -> float | None:
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            self.refuse(name, f"must be a number, not {value!r}")
        return value

    def count(self, name: str) -> int | None:
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < 1:
            self.refuse(name, f"must be a whole number of at least 1, not {value!r}")
        return int(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return self._typed(name, bool, "true or false", default)

    def items(self, name: str) -> list[Json]:
        return self._typed(name, list, "a list", [])

    def table(self, name: str) -> dict[str, Json]:
        return self._typed(name, dict, "an object", {})

    def texts(self, name: str) -> dict[str, str]:
        """Returns an object of texts; other values in it are written as JSON."""
        return {key: as_text(value) for key, value in self.table(name).items() if value is not None}

    def _typed(self, name: str, kind: type[T], wanted: str, default: T) -> T:
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            self.refuse(name, f"must be {wanted}, not {value!r:.80}")
        return value

    def refuse(self, name: str, why: str) -> NoReturn:
        raise ProviderError(f"input {name!r} of task {self._kind!r} {why}", code="P113")


# The context of every kind of task, and the base of Whorl's own kinds.

# A change of records; it receives all of them, oldest first.
Change: TypeAlias = "Callable[[list[Json]], Amendment]"


class Memories(Protocol):
    """The place for records that tasks keep from run to run, such as the runs' store."""

    async def memory_records(self, key: str) -> list[Json]:
        """Returns the records under a key, oldest first."""

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record and keeps the newest ones; returns False if `once` is the `id` of one."""

    async def amend(self, key: str, change: Change, *, keep: int) -> Amendment:
        """Changes the records under a key in one step, without other changes in between."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of each kind of task from its first use, also in plugins.

    `plugin` returns the kind of task that another package adds under a name, if any. `memories`
    returns the place for records, once there is one.
    """

    settings: Settings
    outbound: Outbound
    models: Models
    functions: Tasks
    servers: Servers
    plugin: Callable[[str], TaskKind | None]
    threads: Threads
    memories: Callable[[], Memories | None] = lambda: None


class OwnTask:
    """The base of Whorl's own kinds: a call without a price, unless a kind overrides it."""

    effect: Effect = "outside"
    calls = 1

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings

    def estimate(self, request: Request) -> Estimate:
        return Estimate(calls=self.calls)

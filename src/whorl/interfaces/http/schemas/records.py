"""What became of the steps of a run, as it is told: records, attempts, all of one step."""

from typing import Literal

from pydantic import Field

from whorl.interfaces.http.schemas.runs import UsageItem
from whorl.interfaces.http.schemas.shared import Closed, JsonValue

RecordStatus = Literal[
    "running", "waiting", "succeeded", "failed", "timed_out", "cancelled", "skipped"
]


class RecordAttempt(Closed):
    """One time that a task was tried."""

    address: str
    status: str
    ended_at: float
    error: JsonValue


class RecordItem(Closed):
    """The outcome of a step, an item or an iteration.

    A large value in `inputs` or `output` is `{"$ref", "size", "preview"}`.
    """

    address: str
    path: str = Field(
        description="of the step in its file; `KEY:path` in a workflow that is called"
    )
    name: str
    kind: str = Field(description="the kind of a task, or another kind such as `item`")
    status: RecordStatus
    started_at: float | None
    ended_at: float | None
    seconds: float | None
    inputs: JsonValue = Field(description="what it was given, or the names that it reads")
    output: JsonValue
    error: JsonValue
    usage: UsageItem = Field(description="includes what is inside")
    reason: str | None = Field(
        description="why it was skipped: condition, order, halt, branch, around, end, budget; or "
        "`tolerated`, where the run went on without a step that failed"
    )
    because: dict[str, JsonValue] = Field(description="the facts for this reason")
    why: str = Field(description="why it was skipped, in words")
    branch: str | None = Field(description="the case that a branch took")
    number: int | None = Field(description="of an item or iteration")
    repetitions: int | None = Field(description="how many items or iterations have begun")
    attempts: list[RecordAttempt]


class RecordList(Closed):
    """Records, in the order in which their steps began."""

    records: list[RecordItem]
    more: bool


class History(Closed):
    """The history of a run in the shape of another system."""

    history: JsonValue


class Attempt(Closed):
    """One time that a step was carried out."""

    number: int
    address: str
    status: str
    started_at: float | None
    ended_at: float | None
    seconds: float | None
    model: str | None
    inputs: JsonValue
    output: JsonValue
    usage: UsageItem
    error: JsonValue
    in_doubt: bool


class Previous(Closed):
    """The same step in the iteration before."""

    address: str
    output: JsonValue


class NodeDetail(Closed):
    """All that happened at one step."""

    address: str
    kind: str
    record: RecordItem | None = Field(description="its record of the last time that it ran")
    attempts: list[Attempt]
    value: JsonValue = Field(description="the result of a step that only computes")
    previous: Previous | None

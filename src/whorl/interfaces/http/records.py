"""What became of the steps of a run: records, all of one step, and large values."""

import base64
import json
from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from whorl.errors import UsageError
from whorl.interfaces.http.journal import body_of, shortened
from whorl.interfaces.http.models import Closed, JsonValue, Shown
from whorl.interfaces.http.runs import UsageItem
from whorl.interfaces.http.state import KnownRun, State, check_query
from whorl.interfaces.status_words import skip_words
from whorl.services.inspecting.places import previous_address, unknown_place
from whorl.services.records import Records, RunRecords, document

RECORDS_MAX = 1_000

router = APIRouter(prefix="/api/runs/{run}", tags=["runs"], dependencies=[Depends(check_query)])


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
    path: str = Field(description="of the step in its file; `KEY:path` in a called workflow")
    name: str
    kind: str = Field(description="the kind of a task, or another kind such as `item`")
    status: Literal[
        "running", "waiting", "succeeded", "failed", "timed_out", "cancelled", "skipped"
    ]
    started_at: float | None
    ended_at: float | None
    seconds: float | None
    inputs: JsonValue = Field(description="what it was given, or the names that it reads")
    output: JsonValue
    error: JsonValue
    usage: UsageItem = Field(description="includes the steps inside")
    reason: str | None = Field(description="why it was skipped, or `tolerated` for a failure")
    because: dict[str, JsonValue] = Field(description="the facts for this reason")
    why: Shown = Field(description="why it was skipped, in words")
    branch: str | None = Field(description="the case that a branch took")
    number: int | None = Field(description="of an item or iteration")
    repetitions: int | None = Field(description="how many items or iterations have begun")
    attempts: list[RecordAttempt]


class RecordList(Closed):
    """Records, in the order in which their steps began."""

    records: list[RecordItem]
    more: bool


class RecordsQuery(Closed):
    """Which records: of a place and its inside; without one, of the run.

    Of iterations and items inside it as many levels as `depth` says.
    """

    at: str = Field(default="", max_length=4_000)
    depth: int = Field(default=0, ge=0, le=100)
    repetitions: bool = Field(default=False, description="only of items and iterations")
    after: int = Field(0, ge=0, le=100_000, description="how many to leave out at the start")
    limit: int = Field(default=200, ge=1, le=RECORDS_MAX)


@router.get("/records")
def list_records(
    state: State, run: KnownRun, query: Annotated[RecordsQuery, Query()]
) -> RecordList:
    """The records of steps, items and iterations: status, inputs, output, error, times, cost."""
    part = query.model_dump(include={"depth", "after", "limit"})
    found = state.records(run).of(query.at, only_repetitions=query.repetitions, **part)
    if query.at and not found.records and not query.after:
        raise unknown_place(state.store, run, query.at)
    return RecordList(records=_items(found), more=found.more)


# What the document of a record leaves out where there is nothing.
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("reason", "branch", "number", "repetitions")),
    "because": {},
    "attempts": [],
}


def _items(found: Records) -> list[RecordItem]:
    items = []
    seen: Counter[str] = Counter()
    for record in found.records:
        values = _NOTHING | document(record)
        for name in ("inputs", "output"):
            # Several records may have one address.
            place = (record.address, seen[record.address], name)
            values[name] = shortened(values[name], 0, place)
        seen[record.address] += 1
        is_skipped = record.status == "skipped"
        why = skip_words(record.reason, record.because) if is_skipped else ""
        items.append(RecordItem(**values, why=why))
    return items


class Previous(Closed):
    """The same step in the iteration before."""

    address: str
    output: JsonValue


class StepDetail(Closed):
    """What became of one step."""

    record: RecordItem = Field(description="its record of the last time that it ran")
    previous: Previous | None


@router.get("/step")
def show_step(
    state: State, run: KnownRun, at: Annotated[str, Query(min_length=1, max_length=4_000)]
) -> StepDetail:
    """What became of a step, and what it gave in the iteration before."""
    records = state.records(run)
    record = _last_record(records, at)
    if record is None:
        raise unknown_place(state.store, run, at)
    before = previous_address(at)
    earlier = _last_record(records, before) if before else None
    previous = None if earlier is None else Previous(address=before, output=earlier.output)
    return StepDetail(record=record, previous=previous)


def _last_record(records: RunRecords, address: str) -> RecordItem | None:
    found = _items(records.of(address))
    return next((record for record in reversed(found) if record.address == address), None)


class LargeValue(Closed):
    """A value that an event only referred to."""

    value: JsonValue


@router.get("/values/{ref}")
def show_value(
    state: State,
    run: KnownRun,
    ref: Annotated[str, Path(pattern=r"^[0-9]{1,15}\.[A-Za-z0-9_-]{1,4000}$")],
) -> LargeValue:
    """A value that an event only refers to."""
    return LargeValue(value=value_at(state.records(run), ref))


def value_at(records: RunRecords, ref: str) -> Any:
    """Returns the value of a preview in `journal`; raises UsageError W903 if it does not exist."""
    number, _, encoded = ref.partition(".")
    try:
        text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8")
        path, seq = json.loads(text), int(number)
        is_path = isinstance(path, list) and all(isinstance(step, str | int) for step in path)
        if not is_path or not path or not 0 <= seq < 2**53:
            raise ValueError
        if seq == 0:
            # Of a record, the path begins with its address, and which one of that address it is.
            address, occurrence, *path = path
            found = records.of(str(address), limit=RECORDS_MAX).records
            same = [record for record in found if record.address == address]
            value: Any = document(same[int(occurrence)])
        else:
            entry = next(iter(records.store.read(records.run, after=seq - 1, limit=1)))
            value = body_of(entry.event)
        for step in path:
            value = value[step]
    except (ValueError, RecursionError, TypeError, LookupError, StopIteration):
        raise UsageError(f"the run has no value {ref[:80]!r}", code="W903") from None
    return value

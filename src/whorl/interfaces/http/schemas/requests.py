"""What is asked of runs over HTTP: to start one, to steer it, to answer it; closed models."""

from typing import Annotated

from pydantic import Field, model_validator
from pydantic import StringConstraints as Text

from whorl.interfaces.http.schemas.shared import (
    Address,
    Closed,
    Dollars,
    FileName,
    JsonValue,
    Key,
    Number,
    Seen,
    Words,
    WorkflowName,
)


class NewRun(Closed):
    """A run to be started; `key` makes sure that at most one is ever started for it."""

    workflow: FileName
    named: WorkflowName = ""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    budget_usd: Dollars | None = None
    max_iterations: Number | None = None
    key: Key | None = None
    labels: dict[str, str] = Field(
        default_factory=dict, description="names and values that lists find it by"
    )


class Forked(Closed):
    """The new run."""

    run: str
    created: bool


class Hooked(Closed):
    """What a webhook has started."""

    run: str | None = Field(description="null if the call starts nothing, such as a ping")


class Started(Forked):
    """The run that was started, or the one that has the key already."""

    status: str = Field(default="running", description="of the run, as lists show it")
    forecast: str = Field(default="", description="what it may do and cost, in words")
    note: str = Field(default="", description="who answers, if it is not a real model")
    runs: list[str] = Field(
        default_factory=list, description="all runs, if a trigger starts one for each item"
    )


class Request(Closed):
    """The fields that all requests to a run have.

    `seen` is the last seq that the caller knows: the request is refused when somebody has steered
    the run since, so a button that is pressed twice has one effect.
    """

    seen: Seen = None


class More(Request):
    """What may be added to the budgets of a run."""

    budget_usd: Dollars | None = Field(default=None, description="added to the budget")
    tokens: Number | None = Field(default=None, description="added to the budget")
    calls: Number | None = Field(default=None, description="added to the budget")


class Resume(More):
    """Goes on after a pause or a crash; of a failed run, tries again what failed."""


class Cancel(Request):
    """Ends the run for good."""

    feedback: Words = ""


class Continue(More):
    """Reopens a loop for more iterations, or every loop that stopped for its budget.

    At least one of the amounts is needed.
    """

    loop: Address | None = None
    iterations: Number | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> "Continue":
        if {self.iterations, self.budget_usd, self.tokens, self.calls} == {None}:
            raise ValueError("say how much more: iterations, budget_usd, tokens or calls")
        return self


class Accept(Request):
    """Ends a loop with the result of an iteration."""

    loop: Address | None = None
    iteration: Number


class Stop(Request):
    """Lets no iteration of a loop begin after the one that is under way."""

    loop: Address | None = None


class StepChange(Closed):
    """The changes of a step that asks a model."""

    model: Annotated[str, Text(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Text(max_length=200_000)] | None = Field(
        default=None, description="with placeholders as the file writes them"
    )


class Fork(Closed):
    """A new run that keeps the iterations before `at` and redoes that one."""

    at: Annotated[str, Text(min_length=4, max_length=4_000)] = Field(
        description="such as polish[2]"
    )
    set: dict[str, JsonValue] = Field(
        default_factory=dict, description="other inputs, carried values or variables"
    )
    steps: dict[str, StepChange] = Field(
        default_factory=dict, description="other models and prompts, by the path or name of a step"
    )
    budget_usd: Dollars | None = None
    key: Key | None = Field(default=None, description="at most one fork is ever made for it")


class Decision(Request):
    """A person's answer to one question.

    It is refused when that question is answered already or is not open: an answer that comes late,
    or twice, never reaches another question.
    """

    address: Annotated[str, Text(min_length=1, max_length=4_000)] = Field(
        description="the question that is answered, as `gates` of the run names it"
    )
    feedback: Words = ""


class Approval(Decision):
    """A yes; `value` is what the person changed."""

    value: JsonValue = Field(
        default=None,
        description="replaces what `show` of the question has; for a loop, "
        "the changed results by their names. Without this field nothing is edited.",
    )

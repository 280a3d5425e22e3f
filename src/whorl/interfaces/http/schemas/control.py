"""What may be asked of runs: every field that a request has, and no other."""

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from whorl.interfaces.http.schemas.shape import (
    Address,
    Closed,
    Dollars,
    FileName,
    JsonValue,
    Number,
    Words,
)

Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Seen = Annotated[int | None, Field(ge=0, le=2**53)]


class NewRun(Closed):
    """A run to be started; `key` makes sure that at most one is ever started for it."""

    workflow: FileName
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    budget_usd: Dollars | None = None
    max_iterations: Number | None = None
    key: Key | None = None


class Started(Closed):
    """The run that was started, or the one that has the key already."""

    run: str
    created: bool
    forecast: str = Field(default="", description="what it may do and cost, in words")
    note: str = Field(default="", description="who answers, where it is no real model")


class Request(Closed):
    """What all requests to a run may say.

    `seen` is the last seq that the asker knew of: the request is refused when somebody has steered
    the run since, so a button that is pressed twice has one effect.
    """

    seen: Seen = None


class Resume(Request):
    """Goes on after a pause or a crash; of a failed run, tries again what failed."""

    budget_usd: Dollars | None = Field(default=None, description="added to the budget")
    tokens: Number | None = Field(default=None, description="added to the budget")
    calls: Number | None = Field(default=None, description="added to the budget")


class Cancel(Request):
    """Ends the run for good."""

    feedback: Words = ""


class Continue(Request):
    """Reopens a loop for more iterations, or every loop that stopped for its budget.

    At least one of the amounts is needed.
    """

    loop: Address | None = None
    iterations: Number | None = None
    budget_usd: Dollars | None = Field(default=None, description="added to the budget")
    tokens: Number | None = Field(default=None, description="added to the budget")
    calls: Number | None = Field(default=None, description="added to the budget")

    @model_validator(mode="after")
    def _asks_for_something(self) -> "Continue":
        if all(one is None for one in (self.iterations, self.budget_usd, self.tokens, self.calls)):
            raise ValueError("say how much more: iterations, budget_usd, tokens or calls")
        return self


class Accept(Request):
    """Ends a loop with the result of an iteration."""

    loop: Address | None = None
    iteration: Number


class Fork(Closed):
    """A new run that keeps the iterations before `at` and redoes that one."""

    at: Annotated[str, StringConstraints(min_length=4, max_length=4_000)] = Field(
        description="such as polish[2]"
    )
    set: dict[str, JsonValue] = Field(
        default_factory=dict, description="other inputs, carried values or variables"
    )
    budget_usd: Dollars | None = None
    key: Key | None = Field(default=None, description="at most one fork is ever made for it")


class Forked(Closed):
    """The new run."""

    run: str
    created: bool


class Decision(Request):
    """A person's answer to one question.

    It is refused when that question is answered already or is not open: an answer that comes late,
    or twice, never reaches another question.
    """

    address: Annotated[str, StringConstraints(min_length=1, max_length=4_000)] = Field(
        description="the question that is answered, as `gates` of the run names it"
    )
    feedback: Words = ""

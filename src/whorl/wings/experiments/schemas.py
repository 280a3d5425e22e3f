"""Experiments as JSON: what is asked about them, and what is answered."""

from typing import Annotated, Any

from pydantic import Field

from whorl.interfaces.http.schemas.shared import (
    Amount,
    Closed,
    Dollars,
    FileName,
    Flag,
    JsonValue,
    Number,
    Words,
)

Part = Annotated[str, Field(max_length=1_000)]


class Span(Closed):
    """A number with its interval of 95 %; without one, there are too few cases for it."""

    value: float | None
    low: float | None = None
    high: float | None = None


class BestItem(Closed):
    """The variant with the highest grade; `words` says whether that is seen to be better."""

    variant: str
    grade: Span
    difference: Span | None = Field(description="difference to the baseline, which has null")
    words: str


class ExperimentItem(Closed):
    """An experiment of the project; without a file, only runs are left of it."""

    name: str
    file: str | None = None
    state: str = Field(
        description="new, running, paused (by its budget), stopped, failed, open (trials are "
        "missing, and it is not running) or done"
    )
    reason: str = Field(default="", description="why it has failed")
    trouble: str = Field(default="", description="why its file cannot be used")
    cases: int = 0
    variants: list[str] = Field(default_factory=list, description="the baseline first")
    trials: int = 0
    done: int = 0
    running: int = Field(default=0, description="runs that are under way")
    runs: int
    spent_usd: float
    expected_usd: float | None = Field(default=None, description="in total, at the rate so far")
    budget_usd: float | None = None
    updated_at: float | None = None
    best: BestItem | None = Field(default=None, description="if the experiment is done")


class VariantItem(Closed):
    """How far a variant is."""

    name: str
    trials: int
    done: int


class GraderItem(Closed):
    """A grader; `person`, `judge`, `ask`, `use` and `run` grade by runs of their own."""

    name: str
    kind: str


class ExperimentDetail(ExperimentItem):
    """An experiment with everything that its page shows first."""

    generation: int
    baseline: str
    progress: list[VariantItem]
    graders: list[GraderItem] = Field(description="the first one is the main one")
    loops: list[str] = Field(description="of the baseline; those that are explored first")
    explore: dict[str, int]
    repeat: int
    margin: float
    whole_cases: int = Field(description="cases that all variants have")
    graded: int = Field(description="gradings that have ended")
    people: int = Field(description="gradings that wait for a person")


class NewExperiment(Closed):
    """An experiment file of the project to run or to continue."""

    file: FileName
    budget_usd: Dollars | None = Field(default=None, description="instead of the file's")
    fresh: Flag = Field(default=False, description="run everything again, also what is done")


class Nothing(Closed):
    """An object without fields."""


class TrialItem(Closed):
    """One run of a case under a variant."""

    run: str
    status: str
    error: str
    grades: dict[str, float | None]
    solved: bool | None
    cost_usd: float | None = Field(description="null: a model has no price")
    iterations: int
    returned: int | None


class CaseCell(Closed):
    """A case under a variant: means over its trials."""

    grade: float | None
    difference: float | None = Field(description="difference to the baseline")
    solved: float
    cost_usd: float | None
    iterations: float
    trials: list[TrialItem]


class CaseItem(Closed):
    """A case; `spread` is its largest difference to the baseline."""

    case: str
    group: str
    spread: float
    cells: dict[str, CaseCell] = Field(description="by variant")


class CaseList(Closed):
    """A row for each case, the largest differences first."""

    baseline: str
    variants: list[str]
    grader: str
    cases: list[CaseItem]


class GradingItem(Closed):
    """A result that waits for a person's grade; which variant made it is not shown."""

    run: str
    grader: str
    address: str = Field(description="the question, for approve and reject of the run")
    message: str
    show: JsonValue = None


class GradingList(Closed):
    """What waits for a person, in random order."""

    gradings: list[GradingItem]


class LoopQuery(Closed):
    """Which loop, and of which variant; without: the explored one, of the baseline."""

    loop: Part = ""
    variant: Part = ""


class RunLoopQuery(Closed):
    """Which loop; without: the first."""

    loop: Part = ""


class JudgeQuery(Closed):
    """The judge of a loop or of a grader (`of`), against the grades of another grader."""

    against: Part
    of: Part = ""
    variant: Part = ""


class AskedLimits(Closed):
    """The limits of a loop, in the words of the native format."""

    iterations: Number | None = None
    time: Words | None = None
    cost: Amount | None = None
    tokens: Number | None = None
    calls: Number | None = None


class AskedRule(Closed):
    """Another rule for a loop, in the words of the native format; what is left out stays."""

    loop: Words = ""
    variant: Words = ""
    until: Words = ""
    at_most: Number | AskedLimits | None = None
    returns: Annotated[str | None, Field(pattern="^(last|best|first)$")] = None

    def rule(self) -> dict[str, Any]:
        most: Any = self.at_most
        if isinstance(most, AskedLimits):
            most = most.model_dump(exclude_none=True)
        return {"until": self.until, "at_most": most, "returns": self.returns}


class Found(Closed):
    """What was found, in the shape that the command prints with --json."""

    document: JsonValue

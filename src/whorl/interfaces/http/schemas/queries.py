"""What a request about runs asks for: which runs, loops, iterations, steps and records."""

from typing import Annotated

from pydantic import Field

from whorl.interfaces.http.schemas.runs import RunStatus
from whorl.interfaces.http.schemas.shared import Closed
from whorl.runtimes.sqlite.listing import Sort
from whorl.services.inspecting import costs

RECORDS_MAX = 1_000

Amount = Annotated[float, Field(ge=0, le=1e12)]
IterationNumber = Annotated[int, Field(ge=1, le=1_000_000_000)]


class RunsQuery(Closed):
    """Which runs."""

    status: RunStatus | None = None
    workflow: str | None = Field(default=None, max_length=1_000)
    search: str | None = Field(default=None, max_length=200)
    exit: str | None = Field(
        default=None, max_length=100, description="why a loop of it ended, or its mark"
    )
    since: Amount | None = Field(default=None, description="when it began, at the earliest")
    until: Amount | None = Field(default=None, description="it began before then")
    cost_min: Amount | None = None
    cost_max: Amount | None = None
    sort: Sort = Field(default="started", description="what comes first is what is most")
    reverse: bool = False
    tries: bool = Field(default=False, description="whether tries are listed, too")
    experiments: bool = Field(
        default=False, description="whether runs of experiments are listed, too"
    )
    label: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_.-]{1,60}=.{1,200}$",
        description="NAME=VALUE; runs of experiments are listed, too",
    )
    limit: int = Field(default=50, ge=1, le=500)
    before: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,128}$")


class CostsQuery(Closed):
    """Whose costs, since when, and what they are added up by."""

    by: costs.By = "workflow"
    since: Amount = Field(default=0.0, description="calls that ended since its full hour")
    run: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,128}$")
    tries: bool = Field(default=False, description="whether tries count, too")


class LoopQuery(Closed):
    """Which loop; without one, the only outermost loop of the run."""

    loop: str = Field(default="", max_length=4_000)


class IterationsQuery(LoopQuery):
    """Which iterations."""

    after: int = Field(default=0, ge=0, le=1_000_000_000)
    limit: int = Field(default=500, ge=1, le=5_000)


class CompareQuery(LoopQuery):
    """Which two iterations."""

    one: IterationNumber
    other: IterationNumber
    with_: str | None = Field(
        default=None,
        alias="with",
        pattern=r"^[A-Za-z0-9_-]{1,128}$",
        description="the run that the second one is of, where it is another",
    )


class MatrixQuery(LoopQuery):
    """Which steps; without `node`, all of them."""

    node: str | None = Field(default=None, max_length=1_000)


class NodeQuery(Closed):
    """Which step."""

    address: Annotated[str, Field(min_length=1, max_length=4_000)]


class RecordsQuery(Closed):
    """Which records: of a place and what lies in it; without one, of the run.

    Of iterations and items inside it as many levels as `depth` says.
    """

    address: str = Field(default="", max_length=4_000)
    depth: int = Field(default=0, ge=0, le=100)
    repetitions: bool = Field(default=False, description="only of items and iterations")
    after: int = Field(
        default=0, ge=0, le=100_000, description="how many are left out at the start"
    )
    limit: int = Field(default=200, ge=1, le=RECORDS_MAX)


class HistoryQuery(Closed):
    """In the shape of which system, such as `azure`, and of which place."""

    shape: str = Field(alias="as", max_length=100)
    address: str = Field(default="", max_length=4_000)

"""What goes over HTTP about workflows and requests: closed models; OpenAPI is made of them."""

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic import StringConstraints as Text

from whorl.ir import Node
from whorl.runtimes.service.tokens import Role

# `Any` because a recursive type would be unrolled for every value of every answer; what comes in
# was read by the bounded JSON reader before (`limits`), and what goes out was JSON in the journal.
JsonValue: TypeAlias = Any

Address = Annotated[str, Text(max_length=4_000)]
Words = Annotated[str, Text(max_length=100_000)]
FileName = Annotated[str, Text(min_length=1, max_length=1_024)]

WorkflowName = Annotated[
    str,
    Text(max_length=1_000),
    Field(description="which workflow, if the file has several"),
]


def _is_number(value: object) -> object:
    """Truth values and texts are no numbers, although Python could make numbers of them."""
    if isinstance(value, bool | str):
        raise ValueError("this is not a number")
    return value


Dollars = Annotated[float, Field(gt=0, lt=1e9), BeforeValidator(_is_number)]
Number = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(_is_number)]
Key = Annotated[str, Text(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Seen = Annotated[int | None, Field(ge=0, le=2**53), BeforeValidator(_is_number)]
# The constructs of the IR, as its graph names them.
_NODES: list[Any] = [kind.__name__.lower() for kind in get_args(Node)]


class Closed(BaseModel):
    """A model whose fields are all there are."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)


class Diagnostic(Closed):
    """One finding about a workflow file; line and column count from 1."""

    code: str
    severity: str
    message: str
    label: str = ""
    help: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    node: str | None = Field(default=None, description="the path of the step that it is about")


class Fault(Closed):
    """What went wrong, and what to do."""

    code: str = Field(description="a stable code; `whorl explain CODE` says more")
    message: str
    help: str = ""
    diagnostics: list[Diagnostic] | None = Field(
        default=None, description="if the request is about a file: all mistakes in it"
    )
    file: str | None = Field(default=None, description="if an operation is refused: where")
    line: int | None = None
    column: int | None = None
    operation: int | None = Field(default=None, description="the index of the operation, from 0")


class Current(Closed):
    """The current text of a file that is not the expected version."""

    text: str
    etag: str | None


class ErrorAnswer(Closed):
    """The answer to every request that was not carried out."""

    error: Fault
    current: Current | None = Field(default=None, description="the file, if it has changed")


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


class ProviderItem(Closed):
    """Who answers the model steps."""

    name: str
    note: str


class NewSession(Closed):
    """A session of the page; it has no fields."""


class ProjectItem(Closed):
    """The project that is served."""

    name: str
    root: str
    version: str
    provider: ProviderItem
    workflows: int
    edit: bool = Field(default=False, description="whether this server saves files")
    who: str = Field(default="", description="the name of the token that asks")
    role: Role = Field(
        default="admin", description="what it may do; each role includes those before it"
    )


class InputItem(Closed):
    """An input of a workflow."""

    name: str
    type: str
    required: bool
    default: JsonValue
    description: str


class TriggerItem(Closed):
    """What starts a workflow, other than a person."""

    name: str
    kind: str = Field(description="request, recurrence, poll, callback or other")
    url: str = Field(description="everybody who has this address may start the workflow")


class WorkflowItem(Closed):
    """A workflow file of the project."""

    file: str
    name: str
    dialect: str
    description: str
    inputs: list[InputItem]
    main_input: str | None
    open_inputs: bool = Field(description="whether it takes inputs that it does not declare")
    errors: int
    named: str = Field(default="", description="which workflow, if the file has several")
    trigger: TriggerItem | None = None


class WorkflowList(Closed):
    """The workflow files of the project."""

    workflows: list[WorkflowItem]


class GraphLoop(Closed):
    """What a loop is made of, in words and numbers."""

    until: str
    target: float | None
    limits: dict[str, JsonValue]
    on_limit: str
    check: str
    carry: list[str]
    returns: str
    ask: str


class GraphPorts(Closed):
    """The ports of a step, as its file names them."""

    inputs: list[str]
    outputs: list[str]


class GraphNode(Closed):
    """A step. Its `path` is the address of its events without `[n]` and `#n`."""

    path: str
    name: str
    kind: str = Field(json_schema_extra={"enum": _NODES})
    title: str
    detail: str
    task: str | None
    model: str | None
    parent: str = Field(description="the path of the step that it lies in; empty at the top")
    case: str | None = Field(description="inside of a branch: in which case it lies")
    when: str | None = Field(description="a condition under which it runs")
    loop: GraphLoop | None
    ports: GraphPorts | None = Field(
        default=None, description="of a loop whose file draws it with ports; else null"
    )
    settings: dict[str, str] = Field(
        default_factory=dict, description="what the file says it is given, such as its prompt"
    )


class GraphEdge(Closed):
    """An arrow between two steps of the same parent."""

    from_: str = Field(alias="from", serialization_alias="from")
    to: str
    label: str
    kind: Literal["order", "feedback"]


class Graph(Closed):
    """A workflow as a picture shows it; workflows that it calls lie in the steps that call them."""

    name: str
    dialect: str
    nodes: list[GraphNode] = Field(description="each node after its parent")
    edges: list[GraphEdge]


class SourceItem(Closed):
    """The texts that a workflow is made of."""

    dialect: str
    main: str
    files: dict[str, str]


class Validation(Closed):
    """A file of the project, or a text with the name that it would have."""

    workflow: FileName | None = None
    named: WorkflowName = ""
    text: str | None = Field(default=None, max_length=2_000_000)
    name: FileName | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Validation":
        if (self.workflow is None) == (self.text is None):
            raise ValueError("give either workflow, the path of a file, or text")
        if self.name is not None and self.text is None:
            raise ValueError("name belongs to text")
        return self


class WorstCase(Closed):
    """What a run may do and cost; null if it depends on a value, or no price is known."""

    calls: int | None = Field(description="the most")
    cost_usd: float | None = Field(description="an estimate")
    bound_usd: float | None = Field(description="the most, if there is a limit")
    words: str


class Validated(Closed):
    """Everything that was found; a file without errors has a name and a worst case."""

    ok: bool
    diagnostics: list[Diagnostic]
    name: str | None
    dialect: str | None
    worst_case: WorstCase | None
